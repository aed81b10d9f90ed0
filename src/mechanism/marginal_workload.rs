//! Workloads of marginals.

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

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
