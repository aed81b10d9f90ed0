//! The likelihood-ratio attack on two neighbouring tables: what Gaussian-DP parameter does the
//! mechanism really have?
//!
//! The estimate is one of moments, μ̂ = (difference of the means of T)/(pooled deviation of T), and
//! its interval takes T for normal with one variance on both tables. T is a weighted sum of
//! discrete Gaussians, so that holds nearly, not exactly; and the interval is no bound over all
//! attacks, which the proof gives.

use super::*;
use crate::domain::AttributeSet;
use crate::privacy::RationalDeviation;

/// μ̂ of the attack, and its standard error if the statistic is normal.
pub(super) struct Attack {
    pub mu: f64,
    pub error: f64,
}

impl Attack {
    /// Whether μ is in the interval of 4.4 standard errors, which misses the truth with probability
    /// 1e-5 if the statistic is normal.
    pub fn covers(&self, mu: f64) -> bool {
        (self.mu - mu).abs() <= 4.4 * self.error
    }
}

/// Attacks `count` releases, half of them of each table, with the log-likelihood ratio that the
/// published strategies and deviations give: T = Σ_A ⟨B_A e, y_A − B_A x⟩/σ_A² for tables x and x +
/// e. It is 0 or μ² in the mean, with variance μ².
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

/// The same for any two tables. Subspaces without noise are left out.
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
        .map(|own| {
            let before = own.strategy.answers(&counts(without, own.attributes)).unwrap();
            let after = own.strategy.answers(&counts(with, own.attributes)).unwrap();
            let change: Vec<f64> = before.iter().zip(&after).map(|(a, b)| (b - a) as f64).collect();
            assert!(own.deviation != RationalDeviation::ZERO || change.iter().all(|x| *x == 0.0));
            let before = before.iter().map(|x| *x as f64).collect();
            (before, change, own.deviation.to_f64().powi(2))
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
    let (one, zero) = std::thread::scope(|scope| {
        let other = scope.spawn(|| statistics(without, 0..count / 2));
        (statistics(with, count / 2..count), other.join().unwrap())
    });
    let moments = |sample: &[f64]| {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        (mean, sample.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0))
    };
    let ((low, a), (high, b)) = (moments(&zero), moments(&one));
    let deviation = (0.5 * (a + b)).sqrt();
    let mu = (high - low) / deviation;
    let half = count as f64 / 2.0;
    Attack { mu, error: (2.0 / half + mu * mu / (4.0 * half)).sqrt() }
}

/// The cell whose record costs most.
pub(super) fn worst_record(plan: &IntegerPlan) -> Vec<u32> {
    let schema = plan.plan().schema();
    let sizes = schema.sizes();
    let cost = |row: &Vec<u32>| {
        let one = records_of(schema, std::slice::from_ref(row));
        let own = plan.measurements().iter().map(|own| {
            let counts: Vec<u32> =
                one.marginal(own.attributes).unwrap().iter().map(|x| *x as u32).collect();
            let change = own.strategy.answers(&counts).unwrap();
            change.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / own.deviation.to_f64().powi(2)
        });
        own.sum::<f64>()
    };
    let cells: usize = sizes.iter().product();
    let row = |cell| {
        crate::domain::coordinates(&sizes, cell).into_iter().map(|x| x as u32).collect::<Vec<u32>>()
    };
    (0..cells).map(row).max_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap()
}

/// Total, prefix on one attribute (rounded), cells of another: for some record every sensitivity is
/// attained.
pub(super) fn tight_plan() -> IntegerPlan {
    let workload = "[[queries]]\nfamily = \"prefix\"\nattributes = [\"A1\"]\n[[queries]]\nfamily = \"identity\"\nattributes = [\"A2\"]\n";
    plan_of("query-smasher", &[3, 2], workload, 2.0, PrivacyUnit::default()).1
}

/// 10⁵ releases: the interval covers √(2ρ) and excludes 0.95 and 1.05 times it, so the accounting
/// is neither wrong nor loose.
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
