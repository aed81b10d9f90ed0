//! Queries on several attributes that are not a Kronecker product, streamed row by row.

use std::sync::Arc;

use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::count::QueryCount;
use super::family::Family;
use super::gram::sum_of_squares;
use super::shape::format_shape;
use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::residual::{Measure, centre_for, contracted};

/// Queries over the cells of a box, without product structure.
///
/// Equal queries compare equal, so that their residual problems are solved once.
#[derive(Debug, Clone, PartialEq)]
pub struct JointQueries {
    sizes: Vec<usize>,
    rows: Rows,
    /// One weight per query; empty if all are 1.
    weights: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
enum Rows {
    Family(Family),
    Matrix(Arc<Array2<f64>>),
    Random(RandomRows),
}

/// Random counting queries: every query contains every cell with the given probability,
/// independently.
///
/// The stream is ChaCha20 with the seed; every cell of a query takes one 64-bit number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomRows {
    /// The seed of the stream.
    pub seed: u32,
    /// The number of draws to skip.
    pub skip: usize,
    /// The number of queries.
    pub queries: usize,
    /// The probability that a cell is in a query.
    pub probability: f64,
}

impl JointQueries {
    /// Creates the queries of a family that spans all attributes, e.g. [`Family::AFFINE`] on a
    /// pair.
    ///
    /// # Errors
    /// Sizes that do not fit the family.
    pub fn family(family: Family, sizes: &[usize]) -> Result<Self> {
        family.count(sizes)?;
        Ok(JointQueries { sizes: sizes.to_vec(), rows: Rows::Family(family), weights: Vec::new() })
    }

    /// Creates explicit queries, one per row, over the row-major cells of a box.
    ///
    /// # Errors
    /// No row, entries that are not finite, or a column count other than the number of cells.
    pub fn matrix(sizes: &[usize], rows: Arc<Array2<f64>>) -> Result<Self> {
        let cells: usize = sizes.iter().product();
        if rows.nrows() == 0 || rows.ncols() != cells || rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::bad_input(
                "workload matrix of a query group",
                format!(
                    "at least one row of {cells} finite numbers for attributes of sizes {}",
                    format_shape(sizes)
                ),
                format!("{} x {}", rows.nrows(), rows.ncols()),
                "give one row per query and one column per cell; the last attribute varies fastest",
            ));
        }
        Ok(JointQueries { sizes: sizes.to_vec(), rows: Rows::Matrix(rows), weights: Vec::new() })
    }

    /// Creates random counting queries.
    ///
    /// # Errors
    /// No query, or a probability outside (0, 1).
    pub fn random(sizes: &[usize], rows: RandomRows) -> Result<Self> {
        if rows.queries == 0 || !(rows.probability > 0.0 && rows.probability < 1.0) {
            return Err(Error::bad_input(
                "random queries",
                "at least one query and a probability strictly between 0 and 1",
                format!("{} queries, probability {}", rows.queries, rows.probability),
                "use e.g. probability = 0.3 and queries_per_cell = 3",
            ));
        }
        Ok(JointQueries { sizes: sizes.to_vec(), rows: Rows::Random(rows), weights: Vec::new() })
    }

    /// Sets the weights of the queries.
    ///
    /// # Errors
    /// A number of weights other than the number of queries, or a weight that is not positive and
    /// finite.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.count() || weights.iter().any(|w| !(*w > 0.0 && w.is_finite())) {
            return Err(Error::bad_input(
                "query weights",
                format!("{} positive finite numbers, one per query", self.count()),
                format!(
                    "{} numbers{}",
                    weights.len(),
                    if weights.len() == self.count() { ", not all positive" } else { "" }
                ),
                "give every query a positive weight, or drop the query",
            ));
        }
        self.weights = weights;
        Ok(self)
    }

    /// Returns the sizes of the attributes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns whether they are the queries of a family that needs ordered attributes.
    pub fn needs_order(&self) -> bool {
        matches!(&self.rows, Rows::Family(family) if family.needs_order())
    }

    /// Returns the number of queries.
    pub fn count(&self) -> usize {
        match &self.rows {
            Rows::Family(family) => match family.count(&self.sizes) {
                Ok(QueryCount::Exact(count)) => usize::try_from(count).unwrap_or(usize::MAX),
                _ => usize::MAX,
            },
            Rows::Matrix(rows) => rows.nrows(),
            Rows::Random(random) => random.queries,
        }
    }

    /// Returns the weight of a query.
    pub fn weight(&self, query: usize) -> f64 {
        self.weights.get(query).copied().unwrap_or(1.0)
    }

    /// Iterates over the queries, over the row-major cells, in O(cells) memory.
    ///
    /// # Errors
    /// A family that cannot be enumerated.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        let cells: usize = self.sizes.iter().product();
        Ok(match &self.rows {
            Rows::Family(family) => family.rows(&self.sizes)?,
            Rows::Matrix(rows) => Box::new(rows.rows().into_iter().map(|row| row.to_vec())),
            Rows::Random(random) => {
                let mut generator = ChaCha20Rng::seed_from_u64(random.seed.into());
                generator.set_word_pos(2 * random.skip as u128);
                let probability = random.probability;
                Box::new((0..random.queries).map(move |_| {
                    (0..cells)
                        .map(|_| f64::from(u8::from(generator.random_bool(probability))))
                        .collect()
                }))
            }
        })
    }

    /// Computes the weighted Gram matrix `Σ_q w qᵀq`. O(queries · cells²).
    ///
    /// # Errors
    /// Too many cells for a dense matrix, or a family that cannot be enumerated.
    pub fn gram(&self) -> Result<Array2<f64>> {
        let scaled = self.rows()?.enumerate().map(|(query, mut row)| {
            let root = self.weight(query).sqrt();
            row.iter_mut().for_each(|x| *x *= root);
            row
        });
        sum_of_squares(self.sizes.iter().product(), scaled)
    }

    /// Iterates over the parts of the queries in residual subspace A, scaled by √weight.
    ///
    /// Averaged over the attributes outside A and centred along those in A,
    /// `√w · q (⊗_{i∈A} (I − J/n_i)) ⊗ (⊗_{i∉A} 1/n_i)` (S3, Eq. 3).
    ///
    /// # Errors
    /// A family that cannot be enumerated.
    pub fn residual_rows(&self, kept: AxisSet) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        let uniform: Vec<Measure> = self.sizes.iter().map(|&n| Measure::uniform(n)).collect();
        self.residual_rows_for(kept, &uniform)
    }

    /// Iterates over the parts of the queries in residual subspace A for reference measures.
    ///
    /// `√w · q (⊗_{i∈A} (I − ν_i 1ᵀ)) ⊗ (⊗_{i∉A} ν_i)` for measure ν_i on attribute i.
    ///
    /// # Errors
    /// As [`JointQueries::residual_rows`], or measures whose sizes are not those of the attributes.
    pub fn residual_rows_for(
        &self,
        kept: AxisSet,
        measures: &[Measure],
    ) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        let sizes: Vec<usize> = measures.iter().map(Measure::size).collect();
        if sizes != self.sizes {
            return Err(Error::bad_input(
                "reference measure of joint queries",
                format!("measures on {:?} values", self.sizes),
                format!("{sizes:?}"),
                "give one measure per attribute of the queries",
            ));
        }
        let kept_sizes = kept.select(&self.sizes);
        let kept_measures: Vec<Measure> = measures
            .iter()
            .enumerate()
            .filter(|(k, _)| kept.contains(*k))
            .map(|(_, m)| m.clone())
            .collect();
        let measures = measures.to_vec();
        let sizes = &self.sizes;
        Ok(Box::new(self.rows()?.enumerate().map(move |(query, row)| {
            let mut part = contracted(sizes, kept, row, &measures);
            centre_for(&kept_sizes, &mut part, &kept_measures);
            let root = self.weight(query).sqrt();
            part.iter_mut().for_each(|x| *x *= root);
            part
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residual::averaged;
    use approx::assert_abs_diff_eq;

    /// `skip` against a longer stream, and the share of ones within five standard deviations.
    #[test]
    fn random_queries_are_parts_of_one_stream() {
        let all = RandomRows { seed: 7, skip: 0, queries: 4, probability: 0.3 };
        let later = RandomRows { skip: 12, queries: 2, ..all };
        let rows = |random| -> Vec<Vec<f64>> {
            JointQueries::random(&[2, 3], random).unwrap().rows().unwrap().collect()
        };
        assert_eq!(rows(all)[2..], rows(later)[..]);
        let many = rows(RandomRows { queries: 2000, ..all }).concat();
        let share = many.iter().sum::<f64>() / many.len() as f64;
        let deviation = (0.3 * 0.7 / many.len() as f64).sqrt();
        assert_abs_diff_eq!(share, 0.3, epsilon = 5.0 * deviation);
    }

    #[test]
    fn averaging_keeps_the_given_axes() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        assert_eq!(
            averaged(&[3, 4], AxisSet::from_number(0b01), values.clone()),
            vec![1.5, 5.5, 9.5]
        );
        assert_eq!(
            averaged(&[3, 4], AxisSet::from_number(0b10), values.clone()),
            vec![4.0, 5.0, 6.0, 7.0]
        );
        assert_eq!(averaged(&[3, 4], AxisSet::EMPTY, values), vec![5.5]);
    }

    #[test]
    fn invalid_queries_are_refused() {
        assert!(JointQueries::family(Family::AFFINE, &[3]).is_err());
        assert!(JointQueries::matrix(&[2, 2], Arc::new(Array2::eye(3))).is_err());
        let none = RandomRows { seed: 1, skip: 0, queries: 0, probability: 0.3 };
        assert!(JointQueries::random(&[4], none).is_err());
        assert!(
            JointQueries::random(&[4], RandomRows { queries: 2, probability: 1.0, ..none })
                .is_err()
        );
        let abs = JointQueries::family(Family::ABS, &[3, 4]).unwrap();
        assert_eq!(abs.count(), 4);
        assert!(abs.clone().with_weights(vec![1.0; 3]).is_err());
        assert!(
            abs.clone()
                .with_weights(vec![1.0, 1.0, -1.0, 1.0])
                .unwrap_err()
                .to_string()
                .contains("positive")
        );
        assert_eq!(abs.with_weights(vec![1.0, 2.0, 3.0, 4.0]).unwrap().weight(2), 3.0);
    }
}
