//! The rounds of the first measurements: single attributes before products, and products of coarser
//! levels before those of finer ones.
//!
//! Round 0 has the total and all single attributes and levels, round 1 the products of the coarsest
//! levels (without levels, all products), round r + 1 those products whose finest member has r coarser
//! levels. A product is measured only if everything that it determines has been, and if its size pays:
//! let q be its estimate from earlier rounds, λ the precision that it would get, and v its true
//! marginal. If v − q had standard deviation q in every cell, the expected evidence would be
//!
//! ```text
//! E L(τ = 1) = ½ Σ_cells [a − ln(1 + a)],  a = λ q²/p_τ
//! ```
//!
//! It pays if this exceeds the threshold of the evidence. Otherwise its measurement would rarely be
//! used by the fit, and its budget is left to the stages.

use std::collections::HashSet;

use super::scouts::ClosureResidual;
use crate::domain::AttributeSet;
use crate::schema::LevelSchema;

/// First measurements with their precisions.
pub(super) type Round = Vec<(AttributeSet, f64)>;

/// Divides the first measurements into rounds; none is empty except those without a product, or the
/// first one without other sets.
pub(super) fn rounds(domain: &LevelSchema, first: Vec<(AttributeSet, f64)>) -> Vec<Round> {
    let mut rounds = vec![Vec::new()];
    for (set, precision) in first {
        let round = if set.len() < 2 { 0 } else { 1 + domain.depth_of(set) };
        if rounds.len() <= round {
            rounds.resize(round + 1, Vec::new());
        }
        rounds[round].push((set, precision));
    }
    rounds
}

/// Returns whether everything that a set determines, without the set itself, is measured.
///
/// Attributes of one value have no residual.
pub(super) fn is_next(
    domain: &LevelSchema,
    set: AttributeSet,
    measured: &HashSet<AttributeSet>,
    has_residual: &dyn Fn(AttributeSet) -> bool,
) -> bool {
    domain
        .determined_by(set)
        .into_iter()
        .all(|below| below == set || measured.contains(&below) || !has_residual(below))
}

/// Returns the expected evidence of a set, for its estimated marginal q and the precision λ.
pub(super) fn expected_evidence(
    estimate: &[f64],
    residual: &ClosureResidual,
    precision: f64,
) -> f64 {
    let term = |q: &f64| {
        let a = precision * q * q / residual.price;
        0.5 * (a - a.ln_1p())
    };
    estimate.iter().map(term).sum()
}
