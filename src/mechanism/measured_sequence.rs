//! A fixed sequence of measured marginals: what an iterative mechanism does when nobody selects (S4, Sec. 6, Table 2).

use super::measure_residual::{ResidualNoise, add_noise, measure_residual, summed};
use crate::data::{MarginalCounter, Records};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::{LazyMarginals, ResidualEstimates, subset};
use crate::planner::{allocate, isotropic};
use crate::privacy::ZcdpAccountant;
use crate::residual::centre_in_place;
use crate::schema::Schema;

/// How the budget of one marginal is divided over its residuals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarginalNoise {
    /// By [`allocate`]: best for what is known, residual by residual ("CRP").
    Conditional,
    /// One isotropic measurement of the marginal, taken apart into all its residuals ("IID").
    Isotropic,
}

/// How the marginals of the workload are kept up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarginalUpdates {
    /// Only what changes ([`LazyMarginals`]).
    Lazy,
    /// All marginals from all their residuals after every measured marginal (Alg. 3 as it stands), the baseline.
    Full,
}

/// A marginal to measure, by ascending positions, and its zCDP budget.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMarginal {
    /// Ascending positions in the schema.
    pub positions: Vec<usize>,
    /// The budget.
    pub rho: f64,
}

/// The marginals to measure: `first` without keeping the workload's marginals, then, with them up to date after every
/// single one, `then`.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginalSequence {
    /// What is measured before the first reconstruction.
    pub first: Vec<MeasuredMarginal>,
    /// What is measured after it.
    pub then: Vec<MeasuredMarginal>,
}

impl MarginalSequence {
    /// The protocol of S4, Table 2: half of the budget equally on all single attributes, half equally on the workload, in
    /// the order given.
    pub fn half_and_half(schema: &Schema, workload: &[Vec<usize>], rho: f64) -> Self {
        let attributes = schema.attributes().len();
        let equally = |count: usize| rho / 2.0 / count as f64;
        let marginal = |positions: Vec<usize>, rho| MeasuredMarginal { positions, rho };
        MarginalSequence {
            first: (0..attributes).map(|p| marginal(vec![p], equally(attributes))).collect(),
            then: workload.iter().map(|p| marginal(p.clone(), equally(workload.len()))).collect(),
        }
    }
}

/// What a sequence of measurements gives.
#[derive(Debug, Clone)]
pub struct SequenceOutcome {
    /// The estimates of the workload's marginals, in its order.
    pub marginals: Vec<Vec<f64>>,
    /// The estimates of the residuals.
    pub estimates: ResidualEstimates,
    /// Cells of the workload's marginals that updates wrote, n_γ for each Recon to γ; without the first reconstruction.
    pub cells_touched: u64,
    /// Residual measurements in the second part of the sequence.
    pub residuals_measured: usize,
}

/// Measures a sequence of marginals and keeps the estimates of a workload up to date. Every marginal is paid before it is
/// measured; where rounding has used up a last bit of the budget, the last one is cut to what remains.
///
/// *Time*: per measured marginal O(records + 2^k n_γ), and the cells touched: for lazy updates those of the marginals on
/// supersets of the measured residuals, for full ones 2^k times the workload. *Memory*: the workload's marginals and the
/// measured residuals, 8 bytes per cell.
///
/// # Errors
/// More than the accountant has, positions that are not ascending positions of the schema, or records of another schema.
pub fn measure_sequence(
    schema: &Schema,
    records: &Records,
    workload: &[Vec<usize>],
    sequence: &MarginalSequence,
    (division, updates): (MarginalNoise, MarginalUpdates),
    budget: &mut ZcdpAccountant,
    noise: &ResidualNoise,
) -> Result<SequenceOutcome> {
    let counter = MarginalCounter::new(records)?;
    let mut counts = Vec::new();
    let mut estimates = ResidualEstimates::new(schema);
    for (round, marginal) in sequence.first.iter().enumerate() {
        let rho = pay(budget, marginal)?;
        counter.count_into(&marginal.positions, &mut counts)?;
        measure(&mut estimates, &mut counts, (&marginal.positions, rho), division, &Stream { noise, round })?;
    }
    let mut kept = LazyMarginals::new(&estimates, workload)?;
    let (mut cells_touched, mut residuals_measured) = (0, 0);
    for (step, marginal) in sequence.then.iter().enumerate() {
        let rho = pay(budget, marginal)?;
        let stream = Stream { noise, round: sequence.first.len() + step };
        counter.count_into(&marginal.positions, &mut counts)?;
        let changes = measure(&mut estimates, &mut counts, (&marginal.positions, rho), division, &stream)?;
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
    Ok(SequenceOutcome { marginals: kept.into_marginals(), estimates, cells_touched, residuals_measured })
}

/// The noise of one round.
struct Stream<'a> {
    noise: &'a ResidualNoise,
    round: usize,
}

impl Stream<'_> {
    fn generator(&self, tau: AttributeSet) -> impl rand::Rng {
        self.noise.generator(tau, self.round as u64)
    }
}

/// Pays for a marginal. Equal shares may together exceed the budget by rounding: the last is cut to what remains.
fn pay(budget: &mut ZcdpAccountant, marginal: &MeasuredMarginal) -> Result<f64> {
    let remaining = budget.remaining();
    let missing = marginal.rho - remaining;
    let rounding = missing > 0.0 && missing <= 1e-9 * budget.rho() && remaining > 0.0;
    let rho = if rounding { remaining } else { marginal.rho };
    budget.spend(&format!("marginal on {:?}", marginal.positions), rho)?;
    Ok(rho)
}

/// Measures one marginal, given its counts, and returns the changes of the residual estimates.
fn measure(
    estimates: &mut ResidualEstimates,
    counts: &mut [f64],
    (positions, rho): (&[usize], f64),
    division: MarginalNoise,
    stream: &Stream<'_>,
) -> Result<Vec<(AttributeSet, Vec<f64>)>> {
    let sizes = estimates.own_sizes(positions)?;
    let precisions = estimates.precisions(positions)?;
    let allocation = match division {
        MarginalNoise::Conditional => allocate(&sizes, &precisions, rho)?,
        MarginalNoise::Isotropic => {
            let mut rng = stream.generator(AttributeSet::from_positions(positions)?);
            add_noise(counts, &sizes, (2.0 * rho).recip(), &mut rng)?;
            isotropic(&sizes, &precisions, rho)?
        }
    };
    let mut changes = Vec::new();
    for (mask, variance) in allocation.measured() {
        let tau = subset(positions, mask)?;
        let kept: Vec<bool> = (0..sizes.len()).map(|i| mask >> i & 1 == 1).collect();
        let own: Vec<usize> = sizes.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(&n, _)| n).collect();
        let mut part = summed(counts, &sizes, &kept);
        match division {
            MarginalNoise::Conditional => part = measure_residual(part, &own, variance, &mut stream.generator(tau))?,
            MarginalNoise::Isotropic => centre_in_place(&own, &mut part),
        }
        changes.push((tau, estimates.update(tau, &part, variance)?));
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::domain::{Attribute, AttributeKind};
    use crate::workload::attribute_sets;

    const ALL: [(MarginalNoise, MarginalUpdates); 3] = [
        (MarginalNoise::Conditional, MarginalUpdates::Lazy),
        (MarginalNoise::Isotropic, MarginalUpdates::Lazy),
        (MarginalNoise::Isotropic, MarginalUpdates::Full),
    ];

    fn schema(sizes: &[usize]) -> Schema {
        let attribute =
            |(k, &size): (usize, &usize)| Attribute { name: format!("A{k}"), size, kind: AttributeKind::Categorical };
        Schema::new(sizes.iter().enumerate().map(attribute).collect()).unwrap()
    }

    struct Case {
        schema: Schema,
        records: Records,
        workload: Vec<Vec<usize>>,
        rng: ChaCha20Rng,
    }

    fn case() -> Case {
        let schema = schema(&[5, 2, 7, 3]);
        let mut rng = ChaCha20Rng::seed_from_u64(10);
        let records = Records::uniform(&schema, 300, &mut rng).unwrap();
        let workload = attribute_sets(&schema, &[3]).unwrap();
        Case { schema, records, workload, rng }
    }

    fn run(case: &Case, rho: f64, how: (MarginalNoise, MarginalUpdates), noise: &ResidualNoise) -> SequenceOutcome {
        let sequence = MarginalSequence::half_and_half(&case.schema, &case.workload, rho);
        let mut budget = ZcdpAccountant::new(rho).unwrap();
        let outcome =
            measure_sequence(&case.schema, &case.records, &case.workload, &sequence, how, &mut budget, noise).unwrap();
        assert_eq!(budget.ledger().len(), 8);
        assert!(budget.remaining() < 1e-12 * rho);
        outcome
    }

    #[test]
    fn with_much_budget_the_estimates_are_the_counts() {
        let mut case = case();
        let noise = ResidualNoise::from_rng(&mut case.rng);
        for how in ALL {
            let outcome = run(&case, 1e20, how, &noise);
            for (estimate, positions) in outcome.marginals.iter().zip(&case.workload) {
                let truth = case.records.marginal(positions).unwrap();
                assert_abs_diff_eq!(estimate.as_slice(), truth.as_slice(), epsilon = 1e-6);
            }
        }
    }

    /// Lazy and full updates of the same measurements agree, and touch the cells that Prop. 4.2 and Alg. 3 say.
    #[test]
    fn lazy_and_full_updates_agree() {
        let mut case = case();
        let noise = ResidualNoise::from_rng(&mut case.rng);
        let lazy = run(&case, 0.5, ALL[1], &noise);
        let full = run(&case, 0.5, ALL[2], &noise);
        for (a, b) in lazy.marginals.iter().zip(&full.marginals) {
            assert_abs_diff_eq!(a.as_slice(), b.as_slice(), epsilon = 1e-9);
        }
        assert_eq!((lazy.residuals_measured, full.residuals_measured), (32, 32));
        let cells = |g: &Vec<usize>| g.iter().map(|&p| [5u64, 2, 7, 3][p]).product::<u64>();
        let all: u64 = case.workload.iter().map(cells).sum();
        // ∅ touches everything, an attribute three marginals of four, a pair two, a triple one.
        let mut expected = 0;
        for gamma in &case.workload {
            for mask in 0..8usize {
                let tau: Vec<usize> = (0..3).filter(|i| mask >> i & 1 == 1).map(|i| gamma[i]).collect();
                expected += case.workload.iter().filter(|g| tau.iter().all(|p| g.contains(p))).map(cells).sum::<u64>();
            }
        }
        assert_eq!(lazy.cells_touched, expected);
        // At most all eight residuals of all marginals after each of four measurements; less while some are unmeasured.
        assert!(full.cells_touched < 32 * all && full.cells_touched > 24 * all, "{} {all}", full.cells_touched);
        let conditional = run(&case, 0.5, ALL[0], &noise);
        assert!(conditional.residuals_measured < 32 && conditional.cells_touched < lazy.cells_touched);
    }

    /// Monte Carlo over 2,000 runs: the error is the one that the precisions imply, and the conditional division makes it
    /// smaller. A run's squared error is a quadratic form in Gaussian noise, of variance at most twice its squared mean.
    #[test]
    fn errors_are_those_of_the_precisions() {
        const RUNS: usize = 2000;
        let mut case = case();
        let truth: Vec<Vec<f64>> = case.workload.iter().map(|p| case.records.marginal(p).unwrap()).collect();
        let mut implied = Vec::new();
        for how in &ALL[..2] {
            let (mut sum, mut expected) = (0.0, 0.0);
            for _ in 0..RUNS {
                let noise = ResidualNoise::from_rng(&mut case.rng);
                let outcome = run(&case, 0.5, *how, &noise);
                expected = 0.0;
                for ((estimate, truth), positions) in outcome.marginals.iter().zip(&truth).zip(&case.workload) {
                    expected += outcome.estimates.cell_variance(positions) * truth.len() as f64;
                    sum += estimate.iter().zip(truth).map(|(a, t)| (a - t).powi(2)).sum::<f64>();
                }
            }
            let ratio = sum / RUNS as f64 / expected;
            assert!((ratio - 1.0).abs() < 5.0 * (2.0 / RUNS as f64).sqrt(), "{how:?}: {ratio}");
            implied.push(expected);
        }
        assert!(implied[0] < 0.95 * implied[1], "{implied:?}");
    }

    #[test]
    fn the_budget_is_halved_and_shared_equally() {
        let case = case();
        let sequence = MarginalSequence::half_and_half(&case.schema, &case.workload, 0.8);
        assert_eq!((sequence.first.len(), sequence.then.len()), (4, 4));
        for marginal in sequence.first.iter().chain(&sequence.then) {
            assert_relative_eq!(marginal.rho, 0.1, max_relative = 1e-14);
        }
        let mut budget = ZcdpAccountant::new(0.7).unwrap();
        let noise = ResidualNoise::from_rng(&mut ChaCha20Rng::seed_from_u64(0));
        let refused =
            measure_sequence(&case.schema, &case.records, &case.workload, &sequence, ALL[0], &mut budget, &noise);
        assert!(refused.unwrap_err().to_string().contains("at most"));
    }
}
