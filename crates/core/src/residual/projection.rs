//! The in-axis algebra for a reference measure ν_i per axis.
//!
//! S3 and S4 have ν_i = 1/n_i, for which there are faster paths.
//!
//! | input | operation | along a kept axis | along another axis |
//! |---|---|---|---|
//! | a query (row) f | [`contracted`], [`centre_for`] | f − f·ν | f·ν |
//! | data (column) x | [`project_for`], [`spread_for`] | x − ν · total | ν · x |
//!
//! Both rows apply the same matrix, `P = I − ν 1ᵀ` or `ν`, from the right or from the left.

use super::axis::AxisView;
use super::measure::Measure;
use super::{averaged, centre_box, spread_onto};
use crate::domain::AxisSet;

fn all_uniform<'a>(mut measures: impl Iterator<Item = &'a Measure>) -> bool {
    measures.all(Measure::is_uniform)
}

/// Iterates over the axes that are not kept, with their measures.
fn dropped(
    measures: &[Measure],
    kept: AxisSet,
) -> impl DoubleEndedIterator<Item = (usize, &Measure)> + Clone {
    measures.iter().enumerate().filter(move |(axis, _)| !kept.contains(*axis))
}

/// Contracts a query with the measures of the axes that are not kept.
///
/// O(cells) time.
pub fn contracted(
    sizes: &[usize],
    kept: AxisSet,
    values: Vec<f64>,
    measures: &[Measure],
) -> Vec<f64> {
    if all_uniform(dropped(measures, kept).map(|(_, m)| m)) {
        return averaged(sizes, kept, values);
    }
    let (mut sizes, mut values) = (sizes.to_vec(), values);
    for (axis, measure) in dropped(measures, kept) {
        values = contraction(&values, AxisView::of(&sizes, axis), measure);
        sizes[axis] = 1;
    }
    values
}

/// Returns `Σ_c ν(c) slice_c` of every block.
///
/// Maps outer × n × inner cells to outer × inner.
pub fn contraction(values: &[f64], view: AxisView, measure: &Measure) -> Vec<f64> {
    let mut sums = vec![0.0; view.outer * view.inner];
    let blocks = values.chunks_exact((view.n * view.inner).max(1));
    for (block, sums) in blocks.zip(sums.chunks_exact_mut(view.inner.max(1))) {
        for (value, slice) in block.chunks_exact(view.inner.max(1)).enumerate() {
            let weight = measure.weight(value);
            sums.iter_mut().zip(slice).for_each(|(sum, x)| *sum += weight * x);
        }
    }
    sums
}

/// Computes `f (⊗ P_i)`: subtracts a query's contraction along every axis in turn.
///
/// O(axes · cells) time.
pub fn centre_for(sizes: &[usize], values: &mut [f64], measures: &[Measure]) {
    if all_uniform(measures.iter()) {
        return centre_box(sizes, values);
    }
    for (axis, measure) in measures.iter().enumerate() {
        let view = AxisView::of(sizes, axis);
        let means = contraction(values, view, measure);
        subtract(values, view, &means, |_| 1.0);
    }
}

/// Computes `(⊗ P_i) x`: subtracts ν times the data's total along every axis in turn.
///
/// O(axes · cells) time.
pub fn project_for(sizes: &[usize], values: &mut [f64], measures: &[Measure]) {
    if all_uniform(measures.iter()) {
        return centre_box(sizes, values);
    }
    for (axis, measure) in measures.iter().enumerate() {
        let view = AxisView::of(sizes, axis);
        let mut totals = vec![0.0; view.outer * view.inner];
        super::axis::sum(values, view, &mut totals);
        subtract(values, view, &totals, |value| measure.weight(value));
    }
}

/// Computes `slice_c ← slice_c − factor(c) · term` in every block.
fn subtract(values: &mut [f64], view: AxisView, term: &[f64], factor: impl Fn(usize) -> f64) {
    let blocks = values.chunks_exact_mut((view.n * view.inner).max(1));
    for (block, term) in blocks.zip(term.chunks_exact(view.inner.max(1))) {
        for (value, slice) in block.chunks_exact_mut(view.inner.max(1)).enumerate() {
            let factor = factor(value);
            slice.iter_mut().zip(term).for_each(|(x, t)| *x -= factor * t);
        }
    }
}

/// Adds the part of a marginal that a residual on the kept axes determines.
///
/// `marginal += part ⊗ (⊗_{not kept} ν_i)`, where `part` is already projected. O(axes · cells)
/// time, one pass for the uniform measure.
pub fn spread_for(
    marginal: &mut [f64],
    sizes: &[usize],
    kept: AxisSet,
    part: &[f64],
    measures: &[Measure],
) {
    if all_uniform(dropped(measures, kept).map(|(_, m)| m)) {
        return spread_onto(marginal, sizes, kept, part);
    }
    let mut lengths: Vec<usize> =
        (0..sizes.len()).map(|axis| if kept.contains(axis) { sizes[axis] } else { 1 }).collect();
    let mut whole = part.to_vec();
    for (axis, measure) in dropped(measures, kept) {
        lengths[axis] = sizes[axis];
        whole = product(&whole, AxisView::of(&lengths, axis), measure);
    }
    marginal.iter_mut().zip(&whole).for_each(|(x, part)| *x += part);
}

/// Returns the slices `slice_c = ν(c) · values`.
///
/// Maps outer × inner cells to outer × n × inner.
pub fn product(values: &[f64], view: AxisView, measure: &Measure) -> Vec<f64> {
    let mut whole = Vec::with_capacity(view.outer * view.n * view.inner);
    for slice in values.chunks_exact(view.inner.max(1)) {
        for value in 0..view.n {
            let weight = measure.weight(value);
            whole.extend(slice.iter().map(|x| weight * x));
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use ndarray::{Array1, Array2};

    use super::*;
    use matmech_linalg::kron_all;

    fn measures() -> Vec<Measure> {
        [vec![0.2, 0.5, 0.3], vec![0.9, 0.1], vec![0.1, 0.2, 0.3, 0.4]]
            .map(|w| Measure::of(w).unwrap())
            .to_vec()
    }

    const SIZES: [usize; 3] = [3, 2, 4];

    /// Returns `⊗ F_i`, with F_i = P_i (n × n) on kept axes and ν_i (n × 1) otherwise.
    fn matrix(kept: AxisSet, measures: &[Measure]) -> Array2<f64> {
        let factor = |(axis, m): (usize, &Measure)| {
            let weights = m.to_vec();
            if kept.contains(axis) {
                Array2::from_shape_fn((m.size(), m.size()), |(i, j)| {
                    f64::from(u8::from(i == j)) - weights[i]
                })
            } else {
                Array2::from_shape_fn((m.size(), 1), |(i, _)| weights[i])
            }
        };
        let factors: Vec<Array2<f64>> = measures.iter().enumerate().map(factor).collect();
        kron_all(factors.iter().map(|f| f.view()))
    }

    fn values() -> Vec<f64> {
        (0..24).map(|k| ((k * k + 3 * k) % 17) as f64 - 5.0).collect()
    }

    /// Queries and data against the explicit matrix, with no, some and all axes uniform.
    #[test]
    fn operations_on_queries_and_data_apply_the_same_matrix() {
        let mixed = vec![Measure::uniform(3), measures()[1].clone(), Measure::uniform(4)];
        for measures in [measures(), mixed, SIZES.map(Measure::uniform).to_vec()] {
            for kept in AxisSet::subsets(3) {
                let kept_sizes = kept.select(&SIZES);
                let kept_measures: Vec<Measure> =
                    (0..3).filter(|&k| kept.contains(k)).map(|k| measures[k].clone()).collect();
                let whole = matrix(kept, &measures);
                let mut query = contracted(&SIZES, kept, values(), &measures);
                centre_for(&kept_sizes, &mut query, &kept_measures);
                let expected = Array1::from_vec(values()).dot(&whole);
                assert_abs_diff_eq!(Array1::from_vec(query), expected, epsilon = 1e-12);
                let mut part = values()[..kept_sizes.iter().product()].to_vec();
                let expected = whole.dot(&Array1::from_vec(part.clone()));
                project_for(&kept_sizes, &mut part, &kept_measures);
                let mut marginal = vec![0.0; 24];
                spread_for(&mut marginal, &SIZES, kept, &part, &measures);
                assert_abs_diff_eq!(Array1::from_vec(marginal), expected, epsilon = 1e-12);
            }
        }
    }

    /// x = Σ_A (⊗_{A} P_i ⊗ ⊗_{not A} ν_i) x_A, where x_A has the sums of x over the other axes.
    #[test]
    fn a_marginal_is_the_sum_of_its_parts() {
        let measures = measures();
        let mut sum = vec![0.0; 24];
        for kept in AxisSet::subsets(3) {
            let kept_measures: Vec<Measure> =
                (0..3).filter(|&k| kept.contains(k)).map(|k| measures[k].clone()).collect();
            let mut part = crate::residual::summed(&SIZES, kept, &values());
            project_for(&kept.select(&SIZES), &mut part, &kept_measures);
            spread_for(&mut sum, &SIZES, kept, &part, &measures);
        }
        assert_abs_diff_eq!(sum.as_slice(), values().as_slice(), epsilon = 1e-12);
    }
}
