//! A fixed sequence of measured marginals, without selection (S4, Sec. 6, Table 2).

use matmech::Result;
use matmech::access::{PaidAccess, Question};
use matmech::domain::{AttributeSet, AxisSet};
use matmech::estimation::ResidualEstimates;
use matmech::mechanism::allocate;
use matmech::privacy::{NoiseStream, Rho};
use matmech::residual::{centre_in_place, marginalised, privacy_coefficient, variance_coefficient};
use matmech::schema::Schema;

use super::lazy_marginals::LazyMarginals;

/// The division of a marginal's budget over its residuals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarginalNoise {
    /// By [`allocate`]: optimal given the current precisions, residual by residual ("CRP").
    Conditional,
    /// One isotropic measurement of the marginal, decomposed into all its residuals ("IID").
    ///
    /// With noise of variance σ² per cell, residual τ has the independent variance σ² n_{γ∖τ}.
    Isotropic,
}

/// The update method for the marginals of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarginalUpdates {
    /// Only the changes are applied ([`LazyMarginals`]).
    Lazy,
    /// All marginals are recomputed after every measured marginal: the baseline (S4, Alg. 3).
    Full,
}

/// A marginal to measure, and its zCDP budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeasuredMarginal {
    /// The attributes γ.
    pub(super) attributes: AttributeSet,
    /// The budget.
    pub(super) rho: Rho,
}

/// The marginals to measure.
///
/// The workload's marginals are reconstructed after `first` and updated after each of `then`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MarginalSequence {
    /// The measurements before the first reconstruction.
    pub(super) first: Vec<MeasuredMarginal>,
    /// The measurements after it.
    pub(super) then: Vec<MeasuredMarginal>,
}

impl MarginalSequence {
    /// Builds the protocol of S4, Table 2.
    ///
    /// Half of the budget is divided equally over the single attributes, half equally over the
    /// workload, in its order.
    ///
    /// # Errors
    /// A budget whose shares are too small.
    pub(super) fn half_and_half(
        schema: &Schema,
        workload: &[AttributeSet],
        rho: Rho,
    ) -> Result<Self> {
        let equally = |sets: Vec<AttributeSet>| -> Result<Vec<MeasuredMarginal>> {
            let share = rho.get() / 2.0 / sets.len() as f64;
            sets.into_iter()
                .map(|attributes| Ok(MeasuredMarginal { attributes, rho: Rho::new(share)? }))
                .collect()
        };
        let single = AttributeSet::first(schema.attributes().len()).of_size(1).collect();
        Ok(MarginalSequence { first: equally(single)?, then: equally(workload.to_vec())? })
    }
}

/// The outcome of a sequence of measurements.
#[derive(Debug, Clone)]
pub(super) struct SequenceOutcome {
    /// The estimates of the workload's marginals, in its order.
    pub(super) marginals: Vec<Vec<f64>>,
    /// The estimates of the residuals.
    pub(super) estimates: ResidualEstimates,
    /// The number of cells that updates of the workload's marginals wrote.
    ///
    /// n_γ for each Recon to γ, without the first reconstruction.
    pub(super) cells_touched: u64,
    /// The number of residual measurements in the second part of the sequence.
    pub(super) residuals_measured: usize,
}

/// Measures a sequence of marginals and updates the estimates of a workload.
///
/// Every marginal is paid before it is measured. If the last one exceeds the remaining budget by
/// rounding, its budget is reduced to the remaining one.
///
/// *Time*: O(records + 2^k n_γ) per measured marginal, and the updated cells: for lazy updates
/// those of the marginals on supersets of the measured residuals, for full ones 2^k times the
/// workload. *Memory*: the workload's marginals and the measured residuals, 8 bytes per cell.
///
/// # Errors
/// [`BudgetExhausted`](matmech::Error::BudgetExhausted): a marginal costs more than the
/// remaining budget; it was not measured. A marginal on attributes that the schema lacks, or a
/// table of another schema.
pub(super) fn measure_sequence(
    schema: &Schema,
    workload: &[AttributeSet],
    sequence: &MarginalSequence,
    (division, updates): (MarginalNoise, MarginalUpdates),
    access: &mut dyn PaidAccess,
) -> Result<SequenceOutcome> {
    let mut estimates = ResidualEstimates::new(schema);
    for (round, marginal) in sequence.first.iter().enumerate() {
        measure(schema, &mut estimates, marginal, division, access, round as u64)?;
    }
    let mut kept = LazyMarginals::new(schema, &estimates, workload)?;
    let (mut cells_touched, mut residuals_measured) = (0, 0);
    for (step, marginal) in sequence.then.iter().enumerate() {
        let round = (sequence.first.len() + step) as u64;
        let changes = measure(schema, &mut estimates, marginal, division, access, round)?;
        residuals_measured += changes.len();
        match updates {
            MarginalUpdates::Lazy => {
                for (tau, change) in changes {
                    cells_touched += kept.apply(tau, &change)? as u64;
                }
            }
            MarginalUpdates::Full => cells_touched += kept.rebuild(&estimates)? as u64,
        }
    }
    Ok(SequenceOutcome {
        marginals: kept.into_marginals(),
        estimates,
        cells_touched,
        residuals_measured,
    })
}

/// The outcome of a sequence of conditional measurements without any data.
#[derive(Debug, Clone)]
pub(super) struct ConditionalPrecisions {
    /// The estimates of the residuals, of which only the precisions are meaningful.
    pub(super) estimates: ResidualEstimates,
    /// The number of marginals of the second part of the sequence for which the closed form of the
    /// relaxed problem is valid ([`relaxed_solution_is_valid`]).
    pub(super) closed_forms: usize,
}

/// Returns the precisions that a sequence of conditional measurements gives.
///
/// *Time*: O(2^k n_γ) per measured marginal.
///
/// # Errors
/// A marginal on attributes that the schema lacks.
pub(super) fn conditional_precisions(
    schema: &Schema,
    sequence: &MarginalSequence,
) -> Result<ConditionalPrecisions> {
    let mut estimates = ResidualEstimates::new(schema);
    let mut closed_forms = 0;
    for (step, marginal) in sequence.first.iter().chain(&sequence.then).enumerate() {
        let gamma = marginal.attributes;
        let sizes = schema.shape_of(gamma)?;
        let precisions = estimates.precisions(gamma);
        let allocation = allocate(&sizes, &precisions, marginal.rho)?;
        let is_valid = relaxed_solution_is_valid(&sizes, &precisions, marginal.rho);
        closed_forms += usize::from(step >= sequence.first.len() && is_valid);
        for (axes, variance) in allocation.measured() {
            let cells = axes.select(&sizes).iter().product();
            estimates.update(gamma.at(axes), &vec![0.0; cells], variance)?;
        }
    }
    Ok(ConditionalPrecisions { estimates, closed_forms })
}

/// Returns whether the solution of the problem without x_τ ≥ 0 has no negative x_τ (S4, Thm D.1).
///
/// x_τ = (1 + Σ p a)/Σ √(p v) · √(v_τ/p_τ) − a_τ, in units of 2ρ.
fn relaxed_solution_is_valid(sizes: &[usize], precisions: &[f64], rho: Rho) -> bool {
    let cost = rho.privacy_cost().get();
    let residuals: Vec<[f64; 3]> = AxisSet::subsets(sizes.len())
        .zip(precisions)
        .map(|(tau, precision)| {
            let (p, v) = (privacy_coefficient(sizes, tau), variance_coefficient(sizes, tau));
            [p, v, precision / cost]
        })
        .filter(|[p, ..]| *p > 0.0)
        .collect();
    let known: f64 = residuals.iter().map(|[p, _, a]| p * a).sum();
    let scale: f64 = residuals.iter().map(|[p, v, _]| (p * v).sqrt()).sum();
    residuals.iter().all(|[p, v, a]| (1.0 + known) / scale * (v / p).sqrt() >= *a)
}

/// Returns the budget of a marginal, reduced to the remaining budget if only rounding exceeds it.
///
/// The sum of equal shares may exceed the total budget by rounding.
fn affordable(access: &dyn PaidAccess, rho: Rho) -> Rho {
    let all_but_rounding =
        |left: &Rho| *left < rho && rho.get() - left.get() <= 1e-9 * access.total().get();
    access.remaining().filter(all_but_rounding).unwrap_or(rho)
}

/// Measures one marginal and returns the changes of the residual estimates.
fn measure(
    schema: &Schema,
    estimates: &mut ResidualEstimates,
    marginal: &MeasuredMarginal,
    division: MarginalNoise,
    access: &mut dyn PaidAccess,
    round: u64,
) -> Result<Vec<(AttributeSet, Vec<f64>)>> {
    let gamma = marginal.attributes;
    let (sizes, precisions) = (schema.shape_of(gamma)?, estimates.precisions(gamma));
    let rho = affordable(access, marginal.rho);
    let stream = NoiseStream::Separate { round };
    let mut changes = Vec::new();
    access.reserved(&format!("marginal on {gamma:?}"), rho, &mut |access| {
        match division {
            MarginalNoise::Conditional => {
                let allocation = allocate(&sizes, &precisions, rho)?;
                // The largest residual comes first; the others are summed from its counts.
                let mut measured = Vec::new();
                for (axes, variance) in allocation.measured().collect::<Vec<_>>().into_iter().rev()
                {
                    let attributes = gamma.at(axes);
                    let answer =
                        access.measure(&Question::Residual { attributes, variance }, stream)?;
                    measured.push((attributes, variance, answer));
                }
                for (attributes, variance, answer) in measured.into_iter().rev() {
                    changes.push((attributes, estimates.update(attributes, &answer, variance)?));
                }
            }
            MarginalNoise::Isotropic => {
                let variance = rho.privacy_cost().get().recip();
                let noisy =
                    access.measure(&Question::Marginal { attributes: gamma, variance }, stream)?;
                for axes in AxisSet::subsets(sizes.len()) {
                    // An attribute of one value has no residual.
                    if privacy_coefficient(&sizes, axes) == 0.0 {
                        continue;
                    }
                    let (tau, mut part) = (gamma.at(axes), marginalised(&noisy, &sizes, axes)?);
                    centre_in_place(&axes.select(&sizes), &mut part)?;
                    let variance = (noisy.len() / part.len()) as f64 / rho.privacy_cost().get();
                    changes.push((tau, estimates.update(tau, &part, variance)?));
                }
            }
        }
        Ok(())
    })?;
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};
    use matmech::Error;
    use matmech::access::PrivateTable;
    use matmech::data::Records;
    use matmech::domain::AttributeKind;
    use matmech::workload::attribute_sets;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::s4::impulse::Impulse;

    const ALL: [(MarginalNoise, MarginalUpdates); 3] = [
        (MarginalNoise::Conditional, MarginalUpdates::Lazy),
        (MarginalNoise::Isotropic, MarginalUpdates::Lazy),
        (MarginalNoise::Isotropic, MarginalUpdates::Full),
    ];

    struct Case {
        schema: Schema,
        records: Records,
        workload: Vec<AttributeSet>,
    }

    /// Four attributes; the second has one value, and therefore no residual.
    fn case() -> Case {
        let schema = Schema::of_sizes(&[5, 1, 7, 3], AttributeKind::Categorical).unwrap();
        let records = Records::uniform(&schema, 300, &mut ChaCha20Rng::seed_from_u64(10)).unwrap();
        let workload = attribute_sets(&schema, &[3]).unwrap();
        Case { schema, records, workload }
    }

    fn rho(x: f64) -> Rho {
        Rho::new(x).unwrap()
    }

    fn run(
        case: &Case,
        budget: f64,
        method: (MarginalNoise, MarginalUpdates),
        seed: u64,
    ) -> SequenceOutcome {
        let sequence =
            MarginalSequence::half_and_half(&case.schema, &case.workload, rho(budget)).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut table = PrivateTable::of_records(&case.records, rho(budget), &mut rng).unwrap();
        let outcome =
            measure_sequence(&case.schema, &case.workload, &sequence, method, &mut table).unwrap();
        assert_eq!(table.accountant().ledger().len(), 8);
        assert!(table.remaining().map_or(0.0, Rho::get) < 1e-12 * budget);
        outcome
    }

    #[test]
    fn with_a_large_budget_the_estimates_are_the_counts() {
        let case = case();
        for method in ALL {
            let outcome = run(&case, 1e20, method, 11);
            for (estimate, &gamma) in outcome.marginals.iter().zip(&case.workload) {
                let truth = case.records.marginal(gamma).unwrap();
                assert_abs_diff_eq!(estimate.as_slice(), truth.as_slice(), epsilon = 1e-6);
            }
        }
    }

    /// Lazy and full updates of the same measurements agree, and update the numbers of cells that
    /// follow from S4, Prop. 4.2 and Alg. 3.
    #[test]
    fn lazy_and_full_updates_agree() {
        let case = case();
        let lazy = run(&case, 0.5, ALL[1], 12);
        let full = run(&case, 0.5, ALL[2], 12);
        for (a, b) in lazy.marginals.iter().zip(&full.marginals) {
            assert_abs_diff_eq!(a.as_slice(), b.as_slice(), epsilon = 1e-9);
        }
        // Eight residuals of the triple without the attribute of one value, four of the others.
        assert_eq!((lazy.residuals_measured, full.residuals_measured), (20, 20));
        let cells =
            |g: &AttributeSet| case.schema.shape_of(*g).unwrap().iter().product::<usize>() as u64;
        // The attribute of one value has no residual.
        let residuals = |g: &AttributeSet| g.subsets().filter(|tau| !tau.contains(1));
        // ∅ changes all four marginals, an attribute three, a pair two, a triple one.
        let mut expected = 0;
        for gamma in &case.workload {
            for tau in residuals(gamma) {
                expected +=
                    case.workload.iter().filter(|g| tau.is_subset(**g)).map(cells).sum::<u64>();
            }
        }
        assert_eq!(lazy.cells_touched, expected);
        // At most all residuals of all marginals after each of four measurements; fewer while some
        // residuals are unmeasured.
        let all: u64 = case.workload.iter().map(|g| residuals(g).count() as u64 * cells(g)).sum();
        assert!(
            full.cells_touched < 4 * all && full.cells_touched > 3 * all,
            "{} {all}",
            full.cells_touched
        );
        let conditional = run(&case, 0.5, ALL[0], 12);
        assert!(
            conditional.residuals_measured < 20 && conditional.cells_touched < lazy.cells_touched
        );
    }

    /// With noise in one coordinate at a time, the exact variance of every cell is the one that the
    /// precisions imply, and the conditional division has a smaller sum.
    #[test]
    fn variances_follow_from_the_precisions() {
        let case = case();
        let sequence =
            MarginalSequence::half_and_half(&case.schema, &case.workload, rho(0.5)).unwrap();
        let mut totals = Vec::new();
        for method in &ALL[..2] {
            let run = |access: &mut dyn PaidAccess| {
                measure_sequence(&case.schema, &case.workload, &sequence, *method, access).unwrap()
            };
            let silent = run(&mut Impulse::new(&case.records, rho(0.5), None));
            let truth = Impulse::truth(&case.records, &case.workload);
            assert_abs_diff_eq!(
                silent.marginals.concat().as_slice(),
                truth.as_slice(),
                epsilon = 1e-9
            );
            let variances =
                Impulse::exact_variances(&case.records, rho(0.5), |a| run(a).marginals.concat());
            let mut cells = variances.iter();
            for (marginal, &gamma) in silent.marginals.iter().zip(&case.workload) {
                let implied = silent.estimates.cell_variance(gamma);
                for variance in cells.by_ref().take(marginal.len()) {
                    assert_relative_eq!(*variance, implied, max_relative = 1e-9);
                }
            }
            totals.push(variances.iter().sum::<f64>());
        }
        assert!(totals[0] < 0.95 * totals[1], "{totals:?}");
    }

    /// Without estimates all residuals are measured; a total that is known well makes the relaxed
    /// solution negative, and [`allocate`] does not measure it.
    #[test]
    fn the_relaxed_solution_is_invalid_where_a_residual_is_known_well() {
        let sizes = [3, 4];
        assert!(relaxed_solution_is_valid(&sizes, &[0.0; 4], rho(0.1)));
        assert!(relaxed_solution_is_valid(&sizes, &[0.001, 0.0, 0.0, 0.0], rho(0.1)));
        let precisions = [100.0, 0.0, 0.0, 0.0];
        assert!(!relaxed_solution_is_valid(&sizes, &precisions, rho(0.1)));
        let allocation = allocate(&sizes, &precisions, rho(0.1)).unwrap();
        assert_eq!(allocation.measured().count(), 3);
    }

    #[test]
    fn the_budget_is_halved_and_shared_equally() {
        let case = case();
        let sequence =
            MarginalSequence::half_and_half(&case.schema, &case.workload, rho(0.8)).unwrap();
        assert_eq!((sequence.first.len(), sequence.then.len()), (4, 4));
        for marginal in sequence.first.iter().chain(&sequence.then) {
            assert_relative_eq!(marginal.rho.get(), 0.1, max_relative = 1e-14);
        }
    }

    /// Exhausted before the first marginal, and in the middle: a structured error, and no further
    /// marginal is measured.
    #[test]
    fn an_exhausted_budget_ends_the_sequence() {
        let case = case();
        let sequence =
            MarginalSequence::half_and_half(&case.schema, &case.workload, rho(0.8)).unwrap();
        for (budget, paid) in [(0.05, 0), (0.75, 7)] {
            let mut rng = ChaCha20Rng::seed_from_u64(0);
            let mut table = PrivateTable::of_records(&case.records, rho(budget), &mut rng).unwrap();
            let refused =
                measure_sequence(&case.schema, &case.workload, &sequence, ALL[0], &mut table);
            assert!(matches!(refused, Err(Error::BudgetExhausted { .. })));
            assert_eq!(table.accountant().ledger().len(), paid);
        }
    }
}
