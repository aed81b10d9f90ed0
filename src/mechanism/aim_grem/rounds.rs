//! The rounds of AIM+GReM.

use crate::access::{CandidateSelection, PaidAccess, Question};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Result;
use crate::estimation::{MarginalEstimates, ResidualEstimates};
use crate::mechanism::aim::{Closure, RoundBudget};
use crate::mechanism::conditional_residual_planner::allocate;
use crate::privacy::{NoiseStream, Rho};
use crate::residual::spread_onto;
use crate::schema::Schema;

/// The outcome of a run; it costs no privacy beyond the run itself.
#[derive(Debug, Clone)]
pub struct AimGremOutcome {
    /// The estimated residuals, from which every marginal of the workload's closure follows.
    pub estimates: ResidualEstimates,
    /// The adaptive rounds, in order, without the initial measurements of 1-way marginals.
    pub rounds: Vec<Round>,
}

/// One adaptive round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// The selected marginal.
    pub attributes: AttributeSet,
    /// The budget of the round.
    pub budget: RoundBudget,
    /// The number of measured residuals, of 2^|γ|.
    pub residuals: usize,
}

impl AimGremOutcome {
    /// Returns the mean number of residuals measured per round.
    pub fn residuals_per_round(&self) -> f64 {
        let measured: usize = self.rounds.iter().map(|round| round.residuals).sum();
        measured as f64 / self.rounds.len().max(1) as f64
    }
}

/// The estimates for selection, with the changes of the last round.
struct RoundEstimates {
    residuals: ResidualEstimates,
    /// The marginal γ measured in the last round.
    measured: AttributeSet,
    /// ‖μ̂_β − μ̂'_β‖₁ for every subset β of γ.
    norms: Vec<f64>,
}

impl MarginalEstimates for RoundEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.residuals.marginal(gamma)
    }

    fn norm_bound(&self, gamma: AttributeSet) -> f64 {
        self.residuals.norm_bound(gamma)
    }

    /// Returns the exact change of μ̂_γ.
    ///
    /// Only residuals on subsets of the measured marginal changed, so the change of μ̂_γ is that of
    /// the marginal on the shared attributes, spread.
    fn change_bound(&self, gamma: AttributeSet) -> f64 {
        let shared = self.measured.axes_in(gamma);
        self.norms.get(shared.number()).copied().unwrap_or(f64::INFINITY)
    }
}

/// Runs AIM+GReM on a workload of marginals until the budget of `access` is spent.
///
/// # Errors
/// A workload that does not fit the schema. Errors of `access`.
pub fn run(
    schema: &Schema,
    workload: &[AttributeSet],
    access: &mut dyn PaidAccess,
) -> Result<AimGremOutcome> {
    let closure = Closure::of_workload(schema, workload)?;
    let sizes = schema.sizes();
    let mut estimates = RoundEstimates {
        residuals: ResidualEstimates::new(schema),
        measured: AttributeSet::EMPTY,
        norms: Vec::new(),
    };
    let mut budget = RoundBudget::first(access.total(), closure.size());
    for position in closure.attributes().positions() {
        // A marginal with variance σ² is equivalent to its residuals with σ² · n_{γ∖τ}, at the same
        // cost.
        let total = (AttributeSet::EMPTY, budget.variance * sizes[position] as f64);
        let attribute = (AttributeSet::single(position), budget.variance);
        // An attribute with a single value has no residual and costs nothing.
        for (attributes, variance) in [total, attribute].into_iter().take(sizes[position].min(2)) {
            let measured = access
                .measure(&Question::Residual { attributes, variance }, NoiseStream::Shared)?;
            estimates.residuals.update(attributes, &measured, variance)?;
        }
    }
    let mut rounds = Vec::new();
    loop {
        let selection = CandidateSelection {
            epsilon: budget.epsilon,
            penalty_per_cell: budget.expected_noise(),
        };
        let index = access.select(&selection, closure.candidates(), &estimates)?;
        let chosen = closure.candidates().list()[index];
        let shape = chosen.attributes.select(&sizes);
        let precisions = estimates.residuals.precisions(chosen.attributes);
        let allocation = allocate(&shape, &precisions, Rho::new(budget.measurement_cost())?)?;
        let mut changes: Vec<Option<Vec<f64>>> = vec![None; precisions.len()];
        for (axes, variance) in allocation.measured() {
            let attributes = chosen.attributes.at(axes);
            let measured = access
                .measure(&Question::Residual { attributes, variance }, NoiseStream::Shared)?;
            changes[axes.number()] =
                Some(estimates.residuals.update(attributes, &measured, variance)?);
        }
        estimates.measured = chosen.attributes;
        estimates.norms =
            AxisSet::subsets(shape.len()).map(|axes| change_norm(&shape, axes, &changes)).collect();
        rounds.push(Round {
            attributes: chosen.attributes,
            budget,
            residuals: changes.iter().flatten().count(),
        });
        let Some(remaining) = access.remaining().filter(|_| !budget.last) else { break };
        let changed = estimates.norms.last().copied().unwrap_or(0.0);
        budget = budget.next(changed, chosen.cells, remaining);
    }
    Ok(AimGremOutcome { estimates: estimates.residuals, rounds })
}

/// Returns ‖Σ_{τ⊆β} Recon(z'_τ − z_τ, τ, β)‖₁ for a subset β of γ.
///
/// `sizes` are those of γ, and `changes` are indexed by τ ⊆ γ.
fn change_norm(sizes: &[usize], beta: AxisSet, changes: &[Option<Vec<f64>>]) -> f64 {
    let shape = beta.select(sizes);
    let mut total: Option<Vec<f64>> = None;
    for (tau, change) in
        AxisSet::subsets(sizes.len()).zip(changes).filter(|(tau, _)| tau.is_subset(beta))
    {
        if let Some(change) = change {
            let total = total.get_or_insert_with(|| vec![0.0; shape.iter().product()]);
            spread_onto(total, &shape, tau.among(beta), change);
        }
    }
    total.map_or(0.0, |change| change.iter().map(|x| x.abs()).sum())
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::access::{CandidateSelection, Candidates, PrivateTable, Question};
    use crate::data::{Column, Records};
    use crate::privacy::{SeededNoise, ZcdpAccountant};
    use crate::residual::centre_box;
    use crate::test_support::{Exchange, Forwarding, dependent, rho, rng, schema, set};
    use crate::workload::attribute_sets;

    /// The oracle for selection: the exponential mechanism with the scores of all candidates.
    struct Exhaustive<'a> {
        records: &'a Records,
        accountant: ZcdpAccountant,
        noise: SeededNoise<'a>,
    }

    fn true_error(
        records: &Records,
        gamma: AttributeSet,
        estimates: &dyn MarginalEstimates,
    ) -> f64 {
        let (truth, estimate) =
            (records.marginal(gamma).unwrap(), estimates.marginal(gamma).unwrap());
        truth.iter().zip(&estimate).map(|(t, e)| (t - e).abs()).sum()
    }

    impl PaidAccess for Exhaustive<'_> {
        fn sizes(&self) -> &[usize] {
            self.records.sizes()
        }

        fn total(&self) -> Rho {
            self.accountant.total()
        }

        fn remaining(&self) -> Option<Rho> {
            self.accountant.remaining()
        }

        fn reserved(
            &mut self,
            _: &str,
            _: Rho,
            _: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
        ) -> Result<()> {
            panic!("AIM pays step by step")
        }

        fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>> {
            let &Question::Residual { attributes, variance } = question else {
                panic!("only residuals are measured")
            };
            let sizes = attributes.select(self.records.sizes());
            let price: f64 = sizes.iter().map(|&n| (n as f64 - 1.0) / n as f64).product();
            self.accountant.spend("measurement", rho(price / (2.0 * variance)))?;
            let mut values = self.records.marginal(attributes)?;
            self.noise.add_gaussian(&mut values, variance.sqrt(), stream, attributes.bits())?;
            centre_box(&sizes, &mut values);
            Ok(values)
        }

        fn select(
            &mut self,
            selection: &CandidateSelection,
            candidates: &Candidates,
            estimates: &dyn MarginalEstimates,
        ) -> Result<usize> {
            self.accountant.spend("selection", rho(selection.epsilon.powi(2) / 8.0))?;
            let noise = self.noise.gumbel(candidates.list().len());
            let scale = 0.5 * selection.epsilon / candidates.max_weight();
            let key = |(c, noise): (&crate::access::Candidate, &f64)| {
                let error = true_error(self.records, c.attributes, estimates);
                scale * (c.weight * (error - selection.penalty_per_cell * c.cells as f64)) + noise
            };
            let keys: Vec<f64> = candidates.list().iter().zip(&noise).map(key).collect();
            Ok((0..keys.len())
                .max_by(|&a, &b| keys[a].total_cmp(&keys[b]).then(b.cmp(&a)))
                .unwrap())
        }
    }

    #[test]
    fn lazy_selection_equals_exhaustive_selection() {
        let schema = schema(&[4, 3, 5, 2, 6]);
        for (seed, budget) in [(1, 0.01), (2, 0.3), (3, 4.0), (4, 50.0)] {
            let records = dependent(&schema, 400, &mut rng(seed));
            let workload = attribute_sets(&schema, &[3]).unwrap();
            let [mut noise_rng, mut same] = [seed + 100, seed + 100].map(rng);
            let mut table =
                PrivateTable::of_records(&records, rho(budget), &mut noise_rng).unwrap();
            let fast = run(&schema, &workload, &mut table).unwrap();
            let looks = table.looks();
            let (accountant, noise) =
                (ZcdpAccountant::new(rho(budget)), SeededNoise::new(&mut same));
            let mut exhaustive = Exhaustive { records: &records, accountant, noise };
            let slow = run(&schema, &workload, &mut exhaustive).unwrap();
            assert_eq!(fast.rounds, slow.rounds, "rho = {budget}");
            assert!(
                looks < 25 * fast.rounds.len(),
                "{looks} looks in {} rounds",
                fast.rounds.len()
            );
        }
    }

    /// The frequencies of 20,000 first selections against the exact probabilities: with 41 candidates
    /// the χ² statistic exceeds 40 + 5 √80 (five standard deviations) with probability below 1e-4.
    #[test]
    fn selection_follows_the_exponential_mechanism() {
        const DRAWS: usize = 20_000;
        let schema = schema(&[2, 3, 2, 3, 2, 2]);
        let records = dependent(&schema, 60, &mut rng(5));
        let closure =
            Closure::of_workload(&schema, &attribute_sets(&schema, &[3]).unwrap()).unwrap();
        let candidates = closure.candidates();
        let mut estimates = ResidualEstimates::new(&schema);
        estimates.update(AttributeSet::EMPTY, &[60.0], 1.0).unwrap();
        let selection = CandidateSelection { epsilon: 0.2, penalty_per_cell: 0.9 };
        let scores = candidates.list().iter().map(|c| {
            let error = true_error(&records, c.attributes, &estimates);
            0.1 / candidates.max_weight() * c.weight * (error - 0.9 * c.cells as f64)
        });
        let weights: Vec<f64> = scores.map(f64::exp).collect();
        let total: f64 = weights.iter().sum();
        let mut seen = vec![0usize; weights.len()];
        let mut noise_rng = rng(6);
        let mut table = PrivateTable::of_records(&records, rho(1e9), &mut noise_rng).unwrap();
        for _ in 0..DRAWS {
            seen[table.select(&selection, candidates, &estimates).unwrap()] += 1;
        }
        let statistic: f64 = seen
            .iter()
            .zip(&weights)
            .map(|(&s, w)| {
                let expected = DRAWS as f64 * w / total;
                (s as f64 - expected).powi(2) / expected
            })
            .sum();
        let freedom = (weights.len() - 1) as f64;
        assert!(statistic < freedom + 5.0 * (2.0 * freedom).sqrt(), "{statistic} for {freedom}");
        assert_eq!(weights.len(), 41);
    }

    #[test]
    fn the_budget_is_spent_and_never_exceeded() {
        let mut shapes = rng(7);
        for seed in 0..10_000 {
            let sizes: Vec<usize> =
                (0..shapes.random_range(1..5)).map(|_| shapes.random_range(1..5)).collect();
            let schema = schema(&sizes);
            let records = dependent(&schema, shapes.random_range(1..30), &mut shapes);
            let ways = shapes.random_range(1..=sizes.len());
            let budget = 10f64.powf(shapes.random_range(-6.0..3.0));
            let workload = attribute_sets(&schema, &[ways]).unwrap();
            let mut noise_rng = rng(seed);
            let mut table =
                PrivateTable::of_records(&records, rho(budget), &mut noise_rng).unwrap();
            let outcome = run(&schema, &workload, &mut table).unwrap();
            let spent = table.accountant().spent();
            assert!(spent <= budget, "{spent} of {budget}");
            // Attributes with one value cost nothing to measure; only then may some budget be left.
            assert!(
                spent >= budget * (1.0 - 1e-9) || sizes.contains(&1),
                "{spent} of {budget}, {sizes:?}"
            );
            assert_eq!(outcome.rounds.iter().filter(|round| round.budget.last).count(), 1);
            assert!(outcome.rounds.last().unwrap().budget.last);
        }
    }

    /// Two neighbouring tables, where the second is forced to return the first one's answers: then no
    /// question, budget or estimate may differ.
    #[test]
    fn nothing_but_paid_answers_depends_on_the_data() {
        let schema = schema(&[3, 4, 2, 5]);
        let workload = attribute_sets(&schema, &[2]).unwrap();
        for seed in 0..20 {
            let mut data = rng(seed);
            let records = dependent(&schema, 80, &mut data);
            let columns: Vec<Column> =
                (0..4).map(|p| records.column(p).unwrap().take(79).collect()).collect();
            let neighbour = Records::new(&schema, columns).unwrap();
            let (mut first, mut second) = (rng(seed + 50), rng(seed + 90));
            let mut table = PrivateTable::of_records(&records, rho(0.5), &mut first).unwrap();
            let mut access = Forwarding::new(&mut table);
            let outcome = run(&schema, &workload, &mut access).unwrap();
            let seen = access.seen;
            let mut table = PrivateTable::of_records(&neighbour, rho(0.5), &mut second).unwrap();
            let replay = Some(seen.clone().into_iter());
            let mut access = Forwarding { replay, ..Forwarding::new(&mut table) };
            let again = run(&schema, &workload, &mut access).unwrap();
            assert_eq!(access.seen, seen);
            assert_eq!(again.rounds, outcome.rounds);
            for &gamma in &workload {
                assert_eq!(
                    again.estimates.marginal(gamma).unwrap(),
                    outcome.estimates.marginal(gamma).unwrap()
                );
            }
        }
    }

    /// The bounds for selection hold: the norms of the estimates, and their changes since the previous
    /// round, which are exact.
    #[test]
    fn bounds_on_the_estimates_hold_and_are_tight() {
        let schema = schema(&[3, 4, 2, 3, 2]);
        let records = dependent(&schema, 200, &mut rng(12));
        let workload = attribute_sets(&schema, &[3]).unwrap();
        let mut noise_rng = rng(13);
        let mut table = PrivateTable::of_records(&records, rho(0.2), &mut noise_rng).unwrap();
        let mut access = Forwarding::new(&mut table);
        run(&schema, &workload, &mut access).unwrap();
        let closure = Closure::of_workload(&schema, &workload).unwrap();
        let sizes: Vec<usize> = closure.candidates().list().iter().map(|c| c.cells).collect();
        let shown: Vec<&Vec<f64>> = access
            .seen
            .iter()
            .filter_map(|e| match e {
                Exchange::Selected(.., shown, _) => Some(shown),
                Exchange::Measured(..) | Exchange::Reserved(..) => None,
            })
            .collect();
        let (mut compared, mut exact) = (0, 0);
        for pair in shown.windows(2) {
            let mut start = 0;
            for &cells in &sizes {
                let [old, new] = [pair[0], pair[1]].map(|shown| &shown[start..start + cells + 2]);
                let norm: f64 = new[..cells].iter().map(|x| x.abs()).sum();
                let change: f64 = new[..cells].iter().zip(old).map(|(a, b)| (a - b).abs()).sum();
                assert!(
                    norm <= new[cells] * (1.0 + 1e-12)
                        && change <= new[cells + 1] * (1.0 + 1e-9) + 1e-9
                );
                compared += 1;
                exact += usize::from(change >= new[cells + 1] * (1.0 - 1e-9) - 1e-9);
                start += cells + 2;
            }
        }
        assert!(compared > 50 && exact == compared, "{exact} of {compared}");
    }

    #[test]
    fn a_large_budget_finds_the_marginals() {
        let schema = schema(&[3, 4, 2]);
        let records = dependent(&schema, 500, &mut rng(8));
        let workload = attribute_sets(&schema, &[3]).unwrap();
        let mut noise_rng = rng(9);
        let mut table = PrivateTable::of_records(&records, rho(1e8), &mut noise_rng).unwrap();
        let outcome = run(&schema, &workload, &mut table).unwrap();
        assert!(true_error(&records, set(&[0, 1, 2]), &outcome.estimates) < 0.1);
        assert!(outcome.residuals_per_round() >= 1.0);
    }

    #[test]
    fn invalid_workloads_are_refused() {
        let schema = schema(&[3, 4]);
        let records = dependent(&schema, 10, &mut rng(10));
        let mut noise_rng = rng(11);
        for (workload, part) in [
            (vec![], "no marginal"),
            (vec![set(&[])], "empty"),
            (vec![set(&[0]), set(&[0])], "twice"),
            (vec![set(&[2])], "attribute 2"),
        ] {
            let mut table = PrivateTable::of_records(&records, rho(1.0), &mut noise_rng).unwrap();
            let message = run(&schema, &workload, &mut table).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
            assert!(table.accountant().ledger().is_empty());
        }
        let large = Schema::uniform(usize::MAX / 2, 2).unwrap();
        assert!(Closure::of_workload(&large, &[set(&[0, 1])]).is_err());
    }

    #[test]
    fn candidates_are_the_closure_with_its_weights() {
        let schema = schema(&[28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2]);
        let workload = attribute_sets(&schema, &[3]).unwrap();
        let closure = Closure::of_workload(&schema, &workload).unwrap();
        assert_eq!(closure.size(), 576);
        let candidates = closure.candidates();
        let of_size =
            |size: usize| candidates.list().iter().filter(move |c| c.attributes.len() == size);
        assert_eq!(of_size(3).map(|c| c.cells).sum::<usize>(), 1_788_864);
        // Brute force over the workload, for one candidate of each size.
        for size in 1..=3 {
            let candidate = of_size(size).nth(7).unwrap();
            let expected: usize = workload
                .iter()
                .map(|marginal| candidate.attributes.intersection(*marginal).len())
                .sum();
            assert_eq!(candidate.weight, expected as f64);
        }
        assert_eq!(candidates.max_weight(), 3.0 * 91.0);
    }
}
