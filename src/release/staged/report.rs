//! The report of a staged release.

use super::marginals::StagedMarginals;
use super::statement::StagedStatement;
use crate::error::Result;
use crate::release::at_most;
use crate::release::report::{Fact, PublishedMarginal, Report, candidates, sections};
use crate::workload::GroupedWorkload;

/// Returns the report, with the marginals on one and two attributes of the workload's sets.
///
/// # Errors
/// Attributes that were not measured.
pub fn report(
    statement: &StagedStatement,
    marginals: &StagedMarginals,
    workload: &GroupedWorkload,
) -> Result<Report> {
    let schema = workload.schema();
    let sets = candidates(schema, workload.groups().iter().map(|group| group.attributes()));
    let sections = sections(schema, &sets, &mut |attributes| {
        let marginal = marginals.marginal(attributes)?;
        let bound =
            |bound| format!("The absolute errors add up to at most {} (95 %).", at_most(bound, 1));
        Ok(PublishedMarginal {
            attributes,
            estimates: marginal.cells,
            half_widths: Vec::new(),
            bound: marginal.error_bound.map(bound),
        })
    })?;
    let answers = "every query with its estimate and the bound of its marginal";
    let records = Fact::new("records.csv", "synthetic records that follow the estimates");
    Ok(Report::new(statement, answers, statement.synthetic().map(|_| records), sections))
}
