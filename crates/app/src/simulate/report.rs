//! The report of a simulation.

use serde::{Serialize, Serializer};

use super::trial::{Setting, Trial};
use matmech::data::CodedTable;
use matmech::mechanism::ExpectedErrors;
use matmech::privacy::{Neighbours, Rho};

/// The output of `simulate --json`. Errors are per record; L1 and L2 are means over the marginals.
#[derive(Debug, Serialize)]
pub struct SimulateReport {
    /// Always false.
    pub private: bool,
    /// The name of the mechanism.
    pub mechanism: String,
    /// The neighbouring tables of the budget.
    pub neighbours: Neighbours,
    /// The numbers of records and of clamped values.
    pub records: RecordCounts,
    /// Number of groups of the workload.
    pub marginals: usize,
    /// Number of answers of all groups; for marginals, their cells.
    pub cells: f64,
    /// The budget in zCDP.
    pub rho: Rho,
    /// Maximum ρ that a run spent.
    pub spent: f64,
    /// The seed of the noise.
    pub seed: u64,
    /// The number of runs.
    pub trials: usize,
    /// Whether no answer of any trial is negative.
    pub nonnegative: bool,
    /// Means over the trials.
    #[serde(flatten)]
    pub means: Figures,
    /// Standard errors of the means; null for a single trial.
    pub standard_errors: Option<Figures>,
    /// Exact expected value of `squared_error`; null if unknown.
    pub expected_squared_error: Option<f64>,
    /// Exact expected value of `mean_l1`; null if unknown.
    pub expected_mean_l1: Option<f64>,
    /// Peak memory of the process in MB (10⁶ bytes); absent if the system does not report it.
    pub peak_mb: Option<f64>,
    /// Marginals by decreasing error.
    pub by_marginal: Vec<MarginalReport>,
}

/// How the records of the table were handled.
#[derive(Debug, Serialize)]
pub struct RecordCounts {
    /// The number of records that were kept.
    pub kept: usize,
    /// The number of records that were dropped.
    pub dropped: usize,
    /// Values moved to the nearest cell, in records that were kept.
    pub clamped: usize,
}

/// Statistics over the trials.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Mean L1 error per record over the marginals.
    pub mean_l1: f64,
    /// Maximum L1 error per record over the marginals.
    pub max_l1: f64,
    /// Mean L2 error per record over the marginals.
    pub mean_l2: f64,
    /// Sum over all cells of all marginals, in counts.
    pub squared_error: f64,
    /// Details that the mechanism reports, such as `rounds` of adaptive mechanisms (without the
    /// initial measurements of 1-way marginals).
    #[serde(flatten, serialize_with = "as_fields")]
    pub details: Vec<(&'static str, f64)>,
    /// Seconds per trial: the mechanism, all marginals, and the comparison with the true ones.
    pub seconds: f64,
}

/// The error of a marginal, or of another query group.
#[derive(Debug, Serialize)]
pub struct MarginalReport {
    /// The names of the attributes.
    pub attributes: Vec<String>,
    /// The family of the queries.
    pub family: &'static str,
    /// Number of answers of the group.
    pub cells: f64,
    /// Mean over the trials.
    pub l1: f64,
}

fn as_fields<S: Serializer>(
    details: &[(&'static str, f64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(details.iter().copied())
}

impl Figures {
    fn new(trials: &[Trial], statistic: impl Fn(&[f64]) -> f64) -> Self {
        let of = |figure: &dyn Fn(&Trial) -> f64| {
            statistic(&trials.iter().map(figure).collect::<Vec<_>>())
        };
        let names = trials.first().map(|trial| trial.report.details.as_slice()).unwrap_or_default();
        let detail = |(index, &(name, _)): (usize, &(&'static str, f64))| {
            let value = |trial: &Trial| {
                trial.report.details.get(index).map_or(f64::NAN, |(_, value)| *value)
            };
            (name, of(&value))
        };
        Figures {
            mean_l1: of(&|trial| trial.errors.mean_l1()),
            max_l1: of(&|trial| trial.errors.max_l1()),
            mean_l2: of(&|trial| trial.errors.mean_l2()),
            squared_error: of(&|trial| trial.errors.squared_error()),
            details: names.iter().enumerate().map(detail).collect(),
            seconds: of(&|trial| trial.seconds),
        }
    }
}

impl SimulateReport {
    pub(super) fn new(
        mechanism: &str,
        neighbours: Neighbours,
        table: &CodedTable,
        setting: &Setting<'_>,
        expected: &ExpectedErrors,
        trials: &[Trial],
        seed: u64,
    ) -> Self {
        let attributes = setting.workload.schema().attributes();
        let groups = setting.workload.groups().iter().enumerate();
        let mut by_marginal: Vec<MarginalReport> = groups
            .map(|(index, group)| MarginalReport {
                attributes: group
                    .attributes()
                    .positions()
                    .map(|p| attributes[p].name.clone())
                    .collect(),
                family: group.family(),
                cells: group.count().as_f64(),
                l1: mean(&trials.iter().map(|trial| trial.l1[index]).collect::<Vec<_>>()),
            })
            .collect();
        by_marginal.sort_by(|a, b| b.l1.total_cmp(&a.l1));
        let records = table.records.len();
        SimulateReport {
            private: false,
            mechanism: mechanism.to_owned(),
            neighbours,
            records: RecordCounts { kept: records, dropped: table.dropped, clamped: table.clamped },
            marginals: by_marginal.len(),
            cells: by_marginal.iter().map(|marginal| marginal.cells).sum(),
            rho: setting.rho,
            spent: trials.iter().map(|trial| trial.spent).fold(0.0, f64::max),
            seed,
            trials: trials.len(),
            nonnegative: trials.iter().all(|trial| trial.nonnegative),
            means: Figures::new(trials, mean),
            standard_errors: (trials.len() > 1).then(|| Figures::new(trials, standard_error)),
            expected_squared_error: expected.squared_error,
            expected_mean_l1: expected.mean_l1.map(|l1| l1 / records as f64),
            peak_mb: crate::process::peak_mb(),
            by_marginal,
        }
    }
}

/// Returns the mean; NaN for an empty slice.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the standard error of the mean of independent values, √(Σ (x − mean)²/(k − 1)/k).
///
/// NaN for fewer than two values.
fn standard_error(values: &[f64]) -> f64 {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_error_matches_manual_values() {
        let values = [1.0, 2.0, 4.0, 5.0];
        assert_eq!(mean(&values), 3.0);
        // The variance of one value is 10/3, that of the mean a quarter of it.
        assert!((standard_error(&values) - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert!(standard_error(&[1.0]).is_nan() && standard_error(&[]).is_nan());
    }
}
