//! Workloads of marginals, and the error metrics of S4: distances between estimated and true
//! marginals, per record.

use std::fmt;

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

/// Errors over the marginals of a workload.
///
/// They are computed from the true data and therefore **not private**.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct MarginalErrors {
    records: f64,
    marginals: usize,
    sum_l1: f64,
    sum_l2: f64,
    max_l1: f64,
    squared: f64,
}

/// Shows only the number of marginals: all other values are computed from the true data.
impl fmt::Debug for MarginalErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarginalErrors").field("marginals", &self.marginals).finish_non_exhaustive()
    }
}

impl MarginalErrors {
    /// Creates empty metrics for a table with this many records.
    pub fn of_records(records: usize) -> Self {
        Self { records: records as f64, ..Self::default() }
    }

    /// Adds a marginal by its cells' errors μ̂_γ − μ_γ and returns its ‖μ_γ − μ̂_γ‖₁/N.
    pub fn add(&mut self, differences: impl Iterator<Item = f64>) -> f64 {
        let (mut l1, mut squared) = (0.0, 0.0);
        for difference in differences {
            l1 += difference.abs();
            squared += difference * difference;
        }
        self.marginals += 1;
        self.sum_l1 += l1;
        self.sum_l2 += squared.sqrt();
        self.max_l1 = self.max_l1.max(l1);
        self.squared += squared;
        l1 / self.records
    }

    /// Returns the mean of ‖μ_γ − μ̂_γ‖₁/N over the marginals.
    pub fn mean_l1(&self) -> f64 {
        self.sum_l1 / self.marginals as f64 / self.records
    }

    /// Returns the mean of ‖μ_γ − μ̂_γ‖₂/N over the marginals.
    pub fn mean_l2(&self) -> f64 {
        self.sum_l2 / self.marginals as f64 / self.records
    }

    /// Returns the maximum of ‖μ_γ − μ̂_γ‖₁/N over the marginals.
    pub fn max_l1(&self) -> f64 {
        self.max_l1 / self.records
    }

    /// Returns the total squared error Σ_γ ‖μ_γ − μ̂_γ‖₂², in counts, as ResidualPlanner predicts
    /// it.
    pub fn squared_error(&self) -> f64 {
        self.squared
    }
}

/// Returns the marginals of a workload, for mechanisms that answer only marginals.
///
/// # Errors
/// A group that is not a marginal, a weight other than 1, or a repeated marginal.
pub fn marginals_of(mechanism: &str, workload: &GroupedWorkload) -> Result<Vec<AttributeSet>> {
    let mut seen = std::collections::HashSet::new();
    for (k, group) in workload.groups().iter().enumerate() {
        let refuse = |expected: &str, found: String, remedy: &str| {
            let names = workload.schema().names(group.attributes());
            let what =
                format!("mechanism `{mechanism}`, group {} ({} on {names})", k + 1, group.family());
            Err(Error::bad_input(what, expected, found, remedy))
        };
        if !is_marginal(group) {
            return refuse(
                "queries of the family identity: this mechanism answers marginals only",
                format!("the family {}", group.family()),
                "write family = \"identity\", or use the mechanism query-smasher, \
                 which answers every family",
            );
        }
        if group.weight() != 1.0 {
            let remedy = "omit the weight: this mechanism weights all marginals equally";
            return refuse("a marginal of weight 1", format!("weight {}", group.weight()), remedy);
        }
        if !seen.insert(group.attributes()) {
            return refuse(
                "every marginal once",
                "the same marginal a second time".into(),
                "remove one of the two groups",
            );
        }
    }
    Ok(workload.groups().iter().map(QueryGroup::attributes).collect())
}

/// Returns whether a group's queries are the cells of its marginal.
fn is_marginal(group: &QueryGroup) -> bool {
    match group.queries() {
        GroupQueries::Product(families) => families.iter().all(|f| *f == Family::IDENTITY),
        GroupQueries::Joint(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_per_record() {
        let mut errors = MarginalErrors::of_records(10);
        assert_eq!(errors.add([3.0, -4.0].into_iter()), 0.7);
        assert_eq!(errors.add([1.0, 0.0, 0.0].into_iter()), 0.1);
        assert!((errors.mean_l1() - 0.4).abs() < 1e-15);
        assert!((errors.mean_l2() - 0.3).abs() < 1e-15);
        assert!((errors.max_l1() - 0.7).abs() < 1e-15);
        assert_eq!(errors.squared_error(), 26.0);
        assert_eq!(format!("{errors:?}"), "MarginalErrors { marginals: 2, .. }");
    }
}
