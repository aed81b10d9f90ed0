//! The sets of attributes of a workload.

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::workload::GroupedWorkload;

/// Returns the set of attributes of every group of a workload.
///
/// A set occurs once per group, so a residual has the number of groups that contain it as weight.
///
/// # Errors
/// A group of a weight other than 1.
pub(crate) fn sets_of(workload: &GroupedWorkload) -> Result<Vec<AttributeSet>> {
    let set = |(k, group): (usize, &crate::workload::QueryGroup)| {
        if group.weight() == 1.0 {
            return Ok(group.attributes());
        }
        let names = workload.schema().names(group.attributes());
        Err(Error::bad_input(
            format!("mechanism `staged`, group {} ({} on {names})", k + 1, group.family()),
            "a group of weight 1",
            format!("weight {}", group.weight()),
            "omit the weight: this mechanism weights all groups equally",
        ))
    };
    workload.groups().iter().enumerate().map(set).collect()
}
