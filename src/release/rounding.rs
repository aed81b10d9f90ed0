//! From a planned strategy to whole numbers.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::linalg::{self, Semidefinite};
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::{IntegerFactor, StrategyFactor};

/// A joint factor over more cells is not released: its rows are a dense matrix.
const MOST_CELLS: usize = 2500;

/// What a strategy does not measure is measured too, with this share of the privacy cost: then
/// rounding cannot lose a query, since the rows span the whole residual subspace.
const COMPLETION: f64 = 1e-7;

/// A strategy whose V is this near to `(I − J/n)·n/(n − 1)` is rounded to `nI − J`.
const NEAR: f64 = 2e-7;

/// How finely strategies and measures are rounded: rows to multiples of 2^−strategy, measures to
/// multiples of 2^−measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Precision {
    /// k.
    pub strategy_bits: u32,
    /// As k, for measures that are not uniform.
    pub measure_bits: u32,
}

/// A measure in whole numbers p, ν = p/Σp: ones for the uniform measure.
///
/// # Errors
/// Weights that are all lost in rounding.
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

/// The reference measure of whole numbers per attribute; none for attributes that are not measured,
/// which get the uniform measure on their size.
///
/// # Errors
/// None for weights of [`weights`].
pub(super) fn reference_measure(weights: &[Vec<i64>], sizes: &[usize]) -> Result<ReferenceMeasure> {
    let own = weights.iter().zip(sizes).map(|(p, size)| measure(p, *size));
    Ok(ReferenceMeasure::new(own.collect::<Result<Vec<_>>>()?))
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

/// Whether a factor becomes `nI − J`, which needs no rounding.
pub(super) fn is_centred_identity(factor: &StrategyFactor, uniform: bool) -> Result<bool> {
    let &[n] = factor.shape() else { return Ok(false) };
    if !uniform || n < 2 {
        return Ok(false);
    }
    let (gram, n) = (factor.gram()?, n as f64);
    let top = gram.diag().iter().copied().fold(0.0, f64::max);
    Ok(gram.indexed_iter().all(|((i, j), v)| {
        let expected = if i == j { 1.0 } else { -1.0 / (n - 1.0) };
        (v / top - expected).abs() <= NEAR
    }))
}

/// Rows whose Gram is V, spanning the whole residual subspace of the measure.
///
/// # Errors
/// A factor over too many cells, or the eigensolver fails.
pub(super) fn spanning_rows(factor: &StrategyFactor, weights: &[Vec<i64>]) -> Result<Array2<f64>> {
    let cells = factor.cells();
    if cells > MOST_CELLS {
        return Err(Error::too_large(
            format!(
                "joint strategy over attributes of sizes {:?}, as whole numbers",
                factor.shape()
            ),
            "cells",
            MOST_CELLS as f64,
            cells as f64,
            "use families of single attributes (identity, prefix, range) or the planner query-smasher, or give the attributes fewer \
             values",
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
    let completed = gram.as_ref() + &(rest * (COMPLETION * factor.sensitivity_squared() / top));
    Ok(Semidefinite::of(completed.view())?.root())
}

/// The rank of a residual subspace.
pub(super) fn full_rank(shape: &[usize]) -> usize {
    shape.iter().map(|n| n - 1).product()
}

/// Real rows as integer ones; `None` if so few bits lose a query.
///
/// # Errors
/// Numbers that do not fit 64 bits.
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
