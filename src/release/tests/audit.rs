//! The likelihood-ratio attack on two neighbouring tables, which estimates the Gaussian-DP
//! parameter.
//!
//! The estimate is μ̂ = (difference of the means of T)/(pooled deviation of T), and its interval
//! treats T as normal with one variance on both tables. T is a weighted sum of discrete Gaussians,
//! so that is nearly, but not exactly, true. The interval is not a bound over all attacks; the
//! proof gives that.

use super::*;
use crate::domain::AttributeSet;
use crate::privacy::RationalDeviation;

/// μ̂ of the attack, and its standard error if the statistic is normal.
pub(in crate::release) struct Attack {
    pub mu: f64,
    pub error: f64,
}

impl Attack {
    /// Returns the attack by a statistic: `statistics` returns its values on the first or second
    /// table, for some seeds.
    pub fn by(
        count: u64,
        statistics: &(dyn Fn(bool, std::ops::Range<u64>) -> Vec<f64> + Sync),
    ) -> Self {
        let (with_sample, without_sample) = std::thread::scope(|scope| {
            let half = scope.spawn(|| statistics(false, 0..count / 2));
            (statistics(true, count / 2..count), half.join().unwrap())
        });
        let moments = |sample: &[f64]| {
            let n = sample.len() as f64;
            let mean = sample.iter().sum::<f64>() / n;
            (mean, sample.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0))
        };
        let ((low, a), (high, b)) = (moments(&without_sample), moments(&with_sample));
        let deviation = (0.5 * (a + b)).sqrt();
        let mu = (high - low) / deviation;
        let half = count as f64 / 2.0;
        Attack { mu, error: (2.0 / half + mu * mu / (4.0 * half)).sqrt() }
    }

    /// Returns whether μ is within 4.4 standard errors, which fails for the true μ with probability
    /// 1e-5 if the statistic is normal.
    pub fn covers(&self, mu: f64) -> bool {
        (self.mu - mu).abs() <= 4.4 * self.error
    }
}

/// Attacks `count` releases, half of each table, by the log-likelihood ratio of the published
/// strategies and deviations.
///
/// T = Σ_A ⟨B_A e, y_A − B_A x⟩/σ_A² for the tables x and x + e has mean 0 or μ², and variance μ².
pub(super) fn attack(
    plan: &IntegerPlan,
    rows: &[Vec<u32>],
    more: &[u32],
    count: u64,
    release: &(dyn Fn(&Records, u64) -> Measurements + Sync),
) -> Attack {
    let schema = plan.plan().schema();
    let without = records_of(schema, rows);
    let with = records_of(schema, &[rows.to_vec(), vec![more.to_vec()]].concat());
    attack_tables(plan, &without, &with, count, release)
}

/// [`attack`] for two arbitrary tables. Subspaces without noise are omitted.
pub(super) fn attack_tables(
    plan: &IntegerPlan,
    without: &Records,
    with: &Records,
    count: u64,
    release: &(dyn Fn(&Records, u64) -> Measurements + Sync),
) -> Attack {
    let counts = |records: &Records, set: AttributeSet| -> Vec<u32> {
        records.marginal(set).unwrap().iter().map(|x| *x as u32).collect()
    };
    let known: Vec<(Vec<f64>, Vec<f64>, f64)> = (plan.measurements().iter())
        .map(|measurement| {
            let IntegerMeasurement { attributes, strategy, deviation } = measurement;
            let before = strategy.answers(&counts(without, *attributes)).unwrap();
            let after = strategy.answers(&counts(with, *attributes)).unwrap();
            let change: Vec<f64> = before.iter().zip(&after).map(|(a, b)| (b - a) as f64).collect();
            assert!(*deviation != RationalDeviation::ZERO || change.iter().all(|x| *x == 0.0));
            let before = before.iter().map(|x| *x as f64).collect();
            (before, change, deviation.to_f64().powi(2))
        })
        .collect();
    let statistics = |records: &Records, seeds: std::ops::Range<u64>| -> Vec<f64> {
        let statistic = |seed| {
            let parts = release(records, seed).list.into_iter().zip(&known).map(
                |((_, noisy), (before, change, square))| {
                    let terms =
                        noisy.iter().zip(before).zip(change).map(|((y, x), e)| (*y as f64 - x) * e);
                    if *square > 0.0 { terms.sum::<f64>() / square } else { 0.0 }
                },
            );
            parts.sum::<f64>()
        };
        seeds.map(statistic).collect()
    };
    Attack::by(count, &|is_with, seeds| statistics(if is_with { with } else { without }, seeds))
}

/// Returns the record with the highest cost.
pub(super) fn worst_record(plan: &IntegerPlan) -> Vec<u32> {
    let schema = plan.plan().schema();
    let sizes = schema.sizes();
    let cost = |row: &Vec<u32>| {
        let table = records_of(schema, std::slice::from_ref(row));
        let costs = plan.measurements().iter().map(|measurement| {
            let IntegerMeasurement { attributes, strategy, deviation } = measurement;
            let counts: Vec<u32> =
                table.marginal(*attributes).unwrap().iter().map(|x| *x as u32).collect();
            let change = strategy.answers(&counts).unwrap();
            change.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / deviation.to_f64().powi(2)
        });
        costs.sum::<f64>()
    };
    let cells: usize = sizes.iter().product();
    let row = |cell| {
        crate::domain::coordinates(&sizes, cell).into_iter().map(|x| x as u32).collect::<Vec<u32>>()
    };
    (0..cells).map(row).max_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap()
}

/// Total, prefix on one attribute (rounded), identity on another: some record attains every
/// sensitivity.
pub(super) fn tight_plan() -> IntegerPlan {
    plan_of("query-smasher", &[3, 2], PREFIX_AND_IDENTITY, 2.0, PrivacyUnit::default()).1
}

/// 10⁵ releases: the interval contains √(2ρ), but neither 0.95 nor 1.05 times it, so the accounting
/// is correct and tight.
#[test]
fn the_attack_finds_the_accounted_parameter() {
    let plan = tight_plan();
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    let found = attack(&plan, &rows(&[3, 2]), &worst_record(&plan), 100_000, &|records, seed| {
        released(&plan, records, seed)
    });
    assert!(found.covers(mu), "{} ± {} against {mu}", found.mu, found.error);
    assert!(
        !found.covers(0.95 * mu) && !found.covers(1.05 * mu),
        "{} ± {} against {mu}",
        found.mu,
        found.error
    );
}
