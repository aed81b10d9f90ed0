//! Exact variances of unbiased answers.

use std::sync::Arc;

use ndarray::Array2;

use super::least_squares::Estimates;
use super::weights::dot;
use super::whitened::factors_of;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::{Measure, centre_for, project_for};
use crate::strategy::StrategyFactor;
use crate::workload::{Family, GroupQueries, QueryGroup};

impl Estimates {
    /// Returns the exact variances of [`Estimates::answers`]: `Σ_A Var_A |B_A^{+T} q_Aᵀ|²`, minus what
    /// the impossible cells and the public counts of the schema explain.
    ///
    /// For products of families, computes one variance per query of an attribute and factor of a
    /// strategy, then their products: O(2^k · queries). Joint queries are computed one by one,
    /// O(2^k · cells · Σ sizes) each.
    ///
    /// # Errors
    /// As [`Estimates::answers`].
    pub fn variances(&self, group: &QueryGroup) -> Result<Vec<f64>> {
        let mut variances = match group.queries() {
            GroupQueries::Joint(joint) => {
                let of_row = |row: Vec<f64>| -> Result<f64> {
                    let weights = self.weights_of_query(group.attributes(), &row)?;
                    Ok(self.whitened(weights).norm().powi(2))
                };
                joint.rows()?.map(of_row).collect::<Result<_>>()?
            }
            GroupQueries::Product(families) => self.product_variances(group, families)?,
        };
        self.subtract_known(group, &mut variances)?;
        Ok(variances)
    }

    fn product_variances(&self, group: &QueryGroup, families: &[Family]) -> Result<Vec<f64>> {
        let sizes = group.sizes();
        let positions: Vec<usize> = group.attributes().positions().collect();
        let mut mean_squares = Vec::with_capacity(sizes.len());
        for ((family, &size), &position) in families.iter().zip(sizes).zip(&positions) {
            let measure = self.measure.of_attribute(position);
            let mean = |row: Vec<f64>| {
                row.iter().enumerate().map(|(c, x)| x * measure.weight(c)).sum::<f64>()
            };
            let squares: Vec<f64> = family.rows(&[size])?.map(|row| mean(row).powi(2)).collect();
            mean_squares.push(Arc::new(squares));
        }
        let counts: Vec<usize> = mean_squares.iter().map(|squares| squares.len()).collect();
        let mut out = vec![0.0; counts.iter().product()];
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(group.attributes().subsets()) {
            let Some(part) = self.parts.get(&set) else { continue };
            let factors = factors_of(&part.strategy)?;
            // The variance is a product of tables, each over the queries of some axes.
            let averaged = (0..sizes.len()).filter(|axis| !kept.contains(*axis));
            let mut tables: Vec<(Vec<usize>, Arc<Vec<f64>>)> =
                averaged.map(|axis| (vec![axis], mean_squares[axis].clone())).collect();
            let mut axes = (0..sizes.len()).filter(|axis| kept.contains(*axis));
            for (factor, index) in factors.iter().zip(&part.factors) {
                let factor_axes: Vec<usize> = axes.by_ref().take(factor.shape().len()).collect();
                let chosen: Vec<Family> = factor_axes.iter().map(|axis| families[*axis]).collect();
                let set: Vec<usize> = factor_axes.iter().map(|axis| positions[*axis]).collect();
                tables.push((factor_axes, self.factor_variances(*index, factor, &set, chosen)?));
            }
            add_products(&mut out, &counts, part.noise, &tables);
        }
        Ok(out)
    }

    /// Returns `|B^{+T} qᵀ|²` for all products q of the families' queries, each centred.
    fn factor_variances(
        &self,
        index: usize,
        factor: &StrategyFactor,
        positions: &[usize],
        families: Vec<Family>,
    ) -> Result<Arc<Vec<f64>>> {
        let lock = || {
            self.known
                .lock()
                .map_err(|_| Error::bug("variances", "a lock that can be taken", "a poisoned one"))
        };
        let key = (index, families);
        if let Some(known) = lock()?.get(&key) {
            return Ok(known.clone());
        }
        let measures = self.measure.of(AttributeSet::from_positions(positions)?);
        let variance = |mut query: Vec<f64>| {
            centre_for(factor.shape(), &mut query, &measures);
            factor.weights_of(&query).map(|weights| dot(&weights, &weights))
        };
        let variances: Vec<f64> = match (key.1.as_slice(), factor.shape()) {
            // A large attribute has many rows: they are handled one at a time, intervals by sums of
            // weights.
            (&[family], &[size]) => {
                let sums = WeightSums::of(factor, &measures)?;
                let of_row = |row: Vec<f64>| match interval(&row) {
                    Some((first, end)) => Ok(sums.variance(first, end)),
                    None => variance(row),
                };
                family.rows(&[size])?.map(of_row).collect::<Result<_>>()?
            }
            (families, shape) => {
                let mut products = vec![vec![1.0]];
                for (family, &size) in families.iter().zip(shape) {
                    let rows: Vec<Vec<f64>> = family.rows(&[size])?.collect();
                    let times = |left: &Vec<f64>, row: &Vec<f64>| -> Vec<f64> {
                        left.iter().flat_map(|x| row.iter().map(move |y| x * y)).collect()
                    };
                    products = products
                        .iter()
                        .flat_map(|left| rows.iter().map(|row| times(left, row)))
                        .collect();
                }
                products.into_iter().map(variance).collect::<Result<_>>()?
            }
        };
        let variances = Arc::new(variances);
        lock()?.insert(key, variances.clone());
        Ok(variances)
    }
}

/// The weights of the answers in the estimates of the sums of the first cells, centred.
///
/// Those of an interval of cells are the difference of two.
struct WeightSums(Array2<f64>);

impl WeightSums {
    /// Computes the sums in O(cells · answers).
    fn of(factor: &StrategyFactor, measures: &[Measure]) -> Result<Self> {
        let inverse = factor.inverse()?;
        let mut sums = Array2::zeros((inverse.nrows() + 1, inverse.ncols()));
        // The weights of q are q P A⁺ with P = I − ν 1ᵀ, which subtracts ν times the sum from columns.
        for (column, mut sums) in inverse.columns().into_iter().zip(sums.columns_mut()) {
            let mut values = column.to_vec();
            project_for(factor.shape(), &mut values, measures);
            let mut sum = 0.0;
            for (to, x) in sums.iter_mut().skip(1).zip(values) {
                sum += x;
                *to = sum;
            }
        }
        Ok(WeightSums(sums))
    }

    /// Returns the variance of the cells from `first` to below `end`. O(answers).
    ///
    /// All cells together have no component in the subspace.
    fn variance(&self, first: usize, end: usize) -> f64 {
        if end - first + 1 == self.0.nrows() {
            return 0.0;
        }
        let sums = self.0.row(end).into_iter().zip(self.0.row(first));
        let weights: Vec<f64> = sums.map(|(end, first)| end - first).collect();
        dot(&weights, &weights)
    }
}

/// Returns the first cell and the end if the query sums an interval of cells.
fn interval(row: &[f64]) -> Option<(usize, usize)> {
    let first = row.iter().position(|x| *x != 0.0)?;
    let length = row[first..].iter().take_while(|x| **x == 1.0).count();
    let end = first + length;
    (row[end..].iter().all(|x| *x == 0.0)).then_some((first, end))
}

/// Adds products of tables: `out[q] += scale · Π table[q]`.
///
/// q is in the box `counts`, and every table is over some of its axes.
pub(super) fn add_products(
    out: &mut [f64],
    counts: &[usize],
    scale: f64,
    tables: &[(Vec<usize>, Arc<Vec<f64>>)],
) {
    let strides: Vec<Vec<usize>> = (tables.iter())
        .map(|(axes, _)| {
            let mut strides = vec![0; counts.len()];
            let mut stride = 1;
            for &axis in axes.iter().rev() {
                strides[axis] = stride;
                stride *= counts[axis];
            }
            strides
        })
        .collect();
    let mut point = vec![0usize; counts.len()];
    let mut indices = vec![0usize; tables.len()];
    for value in out {
        *value += tables
            .iter()
            .zip(&indices)
            .fold(scale, |product, ((_, table), index)| product * table[*index]);
        // Moves to the next query, the last axis fastest.
        for axis in (0..counts.len()).rev() {
            point[axis] += 1;
            indices.iter_mut().zip(&strides).for_each(|(index, strides)| *index += strides[axis]);
            if point[axis] < counts[axis] {
                break;
            }
            indices
                .iter_mut()
                .zip(&strides)
                .for_each(|(index, strides)| *index -= strides[axis] * counts[axis]);
            point[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of weights against `StrategyFactor::variance`, for interval families and two measures.
    #[test]
    fn variances_of_intervals_are_sums_of_weights() {
        let n = 9;
        let rows = Array2::from_shape_fn((12, n), |(i, j)| ((i * 7 + j * j * 3) % 11) as f64 - 4.0);
        let weights: Vec<f64> = (0..n).map(|c| (c + 1) as f64 / 45.0).collect();
        for measure in [Measure::uniform(n), Measure::of(weights).unwrap()] {
            let measures = [measure];
            let centred: Vec<f64> = (rows.rows().into_iter())
                .flat_map(|row| {
                    let mut row = row.to_vec();
                    centre_for(&[n], &mut row, &measures);
                    row
                })
                .collect();
            let queries = Array2::from_shape_vec(rows.dim(), centred).unwrap();
            let factor = StrategyFactor::from_queries(&[n], queries).unwrap();
            let sums = WeightSums::of(&factor, &measures).unwrap();
            for family in [Family::RANGE, Family::PREFIX, Family::IDENTITY] {
                for mut row in family.rows(&[n]).unwrap() {
                    let (first, end) = interval(&row).unwrap();
                    centre_for(&[n], &mut row, &measures);
                    let expected = factor.variance(&row).unwrap();
                    approx::assert_relative_eq!(
                        sums.variance(first, end),
                        expected,
                        max_relative = 1e-9,
                        epsilon = 1e-14
                    );
                }
            }
        }
        assert_eq!(interval(&[0.0, 1.0, 1.0, 0.0]), Some((1, 3)));
        for query in [[0.0, 1.0, 0.0, 1.0], [0.0, 2.0, 0.0, 0.0], [0.0; 4]] {
            assert_eq!(interval(&query), None);
        }
    }
}
