//! Rounding of planned strategies to integers.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::{IntegerFactor, StrategyFactor};
use matmech_linalg::{self as linalg, Semidefinite};

/// Maximum cells of a joint factor, whose rows are a dense matrix.
const MAX_CELLS: usize = 2500;

/// Minimum share of the privacy cost for directions that a strategy does not measure.
///
/// With it the rows span the whole residual subspace, and rounding cannot lose a query.
const MIN_COMPLETION_SHARE: f64 = 1e-7;

/// Maximum quotient of the singular values of a product of strategies that is due to completion.
///
/// Estimates have rounding errors of up to about ε times the quotient, in standard errors.
const MAX_CONDITION: f64 = 1e6;

/// Returns the share of the privacy cost with which strategies are completed, if products have up to
/// that number of factors that do not measure their whole subspace.
///
/// A factor that is completed with the share s has singular values that differ by s^(−½), and a
/// product of k such factors has some that differ by s^(−k/2): at most 10⁶, so that
/// s = max(10⁻⁷, 10^(−12/k)).
pub(super) fn completion_share(factors: usize) -> f64 {
    MAX_CONDITION.powf(-2.0 / factors.max(1) as f64).max(MIN_COMPLETION_SHARE)
}

/// Returns whether a factor measures its whole residual subspace.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn spans(factor: &StrategyFactor) -> Result<bool> {
    let eigenvalues = linalg::eigvalsh(factor.gram()?.view())?;
    Ok(linalg::nonzero_eigenvalues(&eigenvalues).len() == full_rank(factor.shape()))
}

/// Maximum difference of V from `(I − J/n)·n/(n − 1)` for rounding to `nI − J`.
const MAX_DIFFERENCE: f64 = 2e-7;

/// The precision of integer strategies and measures.
///
/// Rows are rounded to multiples of 2^−`strategy_bits`, measures to multiples of 2^−`measure_bits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Precision {
    /// Bits of the rows.
    pub strategy_bits: u32,
    /// Bits of measures that are not uniform.
    pub measure_bits: u32,
}

/// Returns a measure ν = p/Σp as integers p; ones for the uniform measure.
///
/// # Errors
/// All weights round to zero.
pub(super) fn weights(measure: &Measure, bits: u32) -> Result<Vec<i64>> {
    if measure.is_uniform() {
        return Ok(vec![1; measure.size()]);
    }
    let scale = f64::from(bits).exp2();
    let rounded: Vec<i64> = (measure.to_vec().iter())
        .map(|weight| {
            let whole = (weight * scale).round() as i64;
            if *weight > 0.0 { whole.max(1) } else { whole }
        })
        .collect();
    if rounded.iter().sum::<i64>() <= 0 {
        return Err(Error::bug(
            "integer measure",
            "weights with a positive sum",
            format!("{rounded:?}"),
        ));
    }
    Ok(rounded)
}

/// Returns the reference measure of integers per attribute.
///
/// Attributes that are not measured have no integers and get the uniform measure.
///
/// # Errors
/// None for the weights of [`weights`].
pub(super) fn reference_measure(weights: &[Vec<i64>], sizes: &[usize]) -> Result<ReferenceMeasure> {
    let measures = weights.iter().zip(sizes).map(|(p, size)| measure(p, *size));
    Ok(ReferenceMeasure::new(measures.collect::<Result<Vec<_>>>()?))
}

fn measure(weights: &[i64], size: usize) -> Result<Measure> {
    if weights.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(Measure::uniform(size));
    }
    let sum: i64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|w| *w as f64 / sum as f64).collect();
    if shares.iter().all(|share| *share > 0.0) {
        return Measure::of(shares);
    }
    Measure::signed(&shares).ok_or_else(|| {
        Error::bug("integer measure", "weights that sum to 1", format!("{weights:?}"))
    })
}

/// Returns whether a factor is represented by `nI − J`, which needs no rounding.
pub(super) fn is_centred_identity(factor: &StrategyFactor, uniform: bool) -> Result<bool> {
    let &[n] = factor.shape() else { return Ok(false) };
    if !uniform || n < 2 {
        return Ok(false);
    }
    let (gram, n) = (factor.gram()?, n as f64);
    let top = gram.diag().iter().copied().fold(0.0, f64::max);
    Ok(gram.indexed_iter().all(|((i, j), v)| {
        let expected = if i == j { 1.0 } else { -1.0 / (n - 1.0) };
        (v / top - expected).abs() <= MAX_DIFFERENCE
    }))
}

/// Returns rows with Gram matrix V that span the whole residual subspace of the measure.
///
/// `share` is that of the privacy cost for directions that V does not measure.
///
/// # Errors
/// The factor has too many cells, or the eigensolver fails.
pub(super) fn spanning_rows(
    factor: &StrategyFactor,
    weights: &[Vec<i64>],
    share: f64,
) -> Result<Array2<f64>> {
    let cells = factor.cells();
    if cells > MAX_CELLS {
        return Err(Error::too_large(
            format!("integer joint strategy over attributes of sizes {:?}", factor.shape()),
            "cells",
            MAX_CELLS as f64,
            cells as f64,
            "use families of single attributes (identity, prefix, range), the planner \
             query-smasher, or attributes with fewer values",
        ));
    }
    let gram = factor.gram()?;
    let range = Semidefinite::of(gram.view())?;
    if range.rank() == full_rank(factor.shape()) {
        return Ok(range.root());
    }
    let centring = weights.iter().map(|p| {
        let sum: i64 = p.iter().sum();
        Array2::from_shape_fn((p.len(), p.len()), |(i, j)| {
            f64::from(u8::from(i == j)) - p[i] as f64 / sum as f64
        })
    });
    let centring: Vec<Array2<f64>> = centring.collect();
    let rest = linalg::gram_of(linalg::kron_all(centring.iter().map(|c| c.view())).view());
    let top = rest.diag().iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let completed = gram.as_ref() + &(rest * (share * factor.sensitivity_squared() / top));
    Ok(Semidefinite::of(completed.view())?.root())
}

/// Returns the rank of a residual subspace.
pub(super) fn full_rank(shape: &[usize]) -> usize {
    shape.iter().map(|n| n - 1).product()
}

/// Rounds real rows to integers; `None` if the rounded rows lose a query.
///
/// # Errors
/// Integers that do not fit 64 bits.
pub(super) fn rounded(
    shape: &[usize],
    rows: &Array2<f64>,
    weights: Vec<Vec<i64>>,
    bits: u32,
) -> Result<Option<IntegerFactor>> {
    let scale = f64::from(bits).exp2();
    let factor =
        IntegerFactor::centring(shape, weights, &rows.mapv(|x| (x * scale).round() as i64))?;
    if factor.rows().iter().all(|x| *x == 0) {
        return Ok(None);
    }
    let rank = Semidefinite::of(factor.real()?.gram()?.view())?.rank();
    Ok((rank == full_rank(shape)).then_some(factor))
}

#[cfg(test)]
mod tests {
    use super::completion_share;

    #[test]
    fn products_of_completed_strategies_have_a_bounded_condition_number() {
        assert_eq!([0, 1].map(completion_share), [1e-7; 2]);
        for factors in 1..10 {
            let condition = completion_share(factors).powf(-0.5 * factors as f64);
            assert!(condition <= 1e6 * (1.0 + 1e-12), "{factors}: {condition}");
        }
    }
}
