//! The size of the model after every round, and the distance of the last fit from the optimum.

use super::*;
use crate::access::PrivateTable;
use crate::estimation::graphical_model::FitStatus;
use crate::test_support::{dependent, rho, rng, schema};
use crate::workload::attribute_sets;
use rand::RngExt;

/// Estimates that check the size of their model after every fit.
struct Watched {
    inner: ModelEstimates,
    /// The cells of the model after every fit.
    sizes: Vec<usize>,
    /// The fraction of ρ that is spent after the current round.
    used: std::cell::Cell<f64>,
}

impl Watched {
    /// Checks that the allocated cells equal those that the filter expected and are within the
    /// limit.
    fn check(&mut self) {
        let tree = self.inner.tree();
        let allocated =
            (0..tree.tree().cliques().len()).map(|k| tree.table(k).len()).sum::<usize>();
        let sets: Vec<AttributeSet> = self.inner.model.sets().collect();
        let estimated = JunctionTree::cells_for(&self.inner.sizes, self.inner.attributes, &sets);
        assert_eq!(allocated as f64, estimated, "{sets:?}");
        let grown = self.sizes.last().is_none_or(|previous| allocated > *previous);
        let limit = if grown && !self.sizes.is_empty() {
            self.used.get() * self.inner.max_cells
        } else {
            self.inner.max_cells
        };
        assert!(allocated as f64 <= limit, "{allocated} of {limit}");
        self.sizes.push(allocated);
    }
}

impl AdaptiveEstimates for Watched {
    fn keeps(&self, candidate: &Candidate, budget: &RoundBudget, used: f64) -> bool {
        self.used.set(used);
        self.inner.keeps(candidate, budget, used)
    }

    fn begin(&mut self, measured: Vec<(AttributeSet, Vec<f64>)>, variance: f64) -> Result<()> {
        self.inner.begin(measured, variance)?;
        self.check();
        Ok(())
    }

    fn measured(
        &mut self,
        gamma: AttributeSet,
        values: Vec<f64>,
        budget: &RoundBudget,
    ) -> Result<()> {
        self.inner.measured(gamma, values, budget)?;
        self.check();
        Ok(())
    }
}

impl MarginalEstimates for Watched {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.inner.marginal(gamma)
    }
}

/// After every round the allocated cells equal those that the filter expected, and are within the
/// fraction of the limit for that round.
#[test]
fn the_model_is_within_its_limit_after_every_round() {
    let schema = schema(&[6, 5, 4, 7, 3, 5]);
    let records = dependent(&schema, 2000, &mut rng(3));
    let closure = Closure::of_workload(&schema, &attribute_sets(&schema, &[3]).unwrap()).unwrap();
    for max_mb in [0.0005, 0.002, 0.01] {
        for budget in [0.01, 1.0, 30.0] {
            let mut noise_rng = rng(4);
            let mut table =
                PrivateTable::of_records(&records, rho(budget), &mut noise_rng).unwrap();
            let first = RoundBudget::of_rounds(rho(budget), (ROUNDS * 6) as f64);
            let inner = ModelEstimates::new(schema.sizes(), closure.attributes(), max_mb).unwrap();
            let mut watched = Watched { inner, sizes: Vec::new(), used: 0.0.into() };
            measure_attributes(&closure, &first, &mut table, &mut watched).unwrap();
            let rounds =
                run_rounds(&closure, first, Schedule::AIM, &mut table, &mut watched).unwrap();
            assert_eq!(watched.sizes.len(), 1 + rounds.len());
            assert!(rounds.len() > 2);
        }
    }
}

/// Fits after every measurement as in a run, the last one longer. Its loss exceeds a lower bound on
/// the optimum, certified by a precise fit to 1e-4, by at most 1 % of the optimum, or of the loss
/// from the noise alone if that is larger.
#[test]
fn the_last_fit_ends_near_the_optimum_of_small_problems() {
    const PRECISE: FitSettings = FitSettings { iterations: 50_000, tolerance: 1e-6, stall: 0.0 };
    let sizes = [3, 4, 2, 5];
    let schema = schema(&sizes);
    let (mut worst, mut stalled) = (0.0, 0);
    for seed in 0..12 {
        let mut rng = rng(seed);
        let records = dependent(&schema, 400, &mut rng);
        let sigma = [1.0, 5.0, 20.0][seed as usize % 3];
        let mut model = GraphicalModel::new(&sizes, AttributeSet::first(4)).unwrap();
        let pairs = attribute_sets(&schema, &[1, 2]).unwrap();
        let mut last = None;
        for (index, &gamma) in pairs.iter().enumerate() {
            let truth = records.marginal(gamma).unwrap();
            let mut noise = || sigma * ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0);
            let values = truth.iter().map(|x| x + noise()).collect();
            model.measure(gamma, values, sigma * sigma).unwrap();
            last = Some(
                model.fit(if index + 1 == pairs.len() { LAST_FIT } else { ROUND_FIT }).unwrap(),
            );
        }
        let last = last.unwrap();
        let best = model.clone().fit(PRECISE).unwrap();
        let noise: f64 = pairs
            .iter()
            .map(|gamma| 0.5 * gamma.select(&sizes).iter().product::<usize>() as f64)
            .sum();
        assert!(best.gap <= 1e-4 * (best.loss + 1.0), "{best:?}");
        let excess = (last.loss - (best.loss - best.gap)) / best.loss.max(noise);
        worst = f64::max(worst, excess);
        stalled += usize::from(last.status == FitStatus::Stalled);
    }
    assert!(worst <= 0.01, "{worst}");
    assert_eq!(stalled, 12, "docs/simulating.md says that fits end so");
}
