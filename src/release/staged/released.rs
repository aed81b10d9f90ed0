//! What a completed release publishes: its statement with costs and error bounds, and its report.

use super::marginals::StagedMarginals;
use super::statement::{CertificateStatement, Stage, StagedSections, StagedStatement};
use crate::error::Result;
use crate::mechanism::LevelQueries;
use crate::privacy::ExactRho;
use crate::release::report::{Fact, Intervals, PublishedMarginal, Report, candidates, sections};
use crate::release::statement::ReleaseStatement;
use crate::workload::{GroupedWorkload, WeightRange};

impl ReleaseStatement<StagedSections> {
    /// Returns the statement of a release with all its questions and error bounds.
    ///
    /// # Errors
    /// None for measurements of a release.
    pub fn released(marginals: &StagedMarginals) -> Result<StagedStatement> {
        let measured = marginals.measured();
        let mut statement = measured.header.statement.clone();
        let unit = statement.unit();
        let sections = &mut statement.sections;
        let mut sum = ExactRho::zero();
        sections.stages.clear();
        for list in &measured.stages {
            let (stage, cost) = Stage::of(&measured.domain, list, unit)?;
            sum = sum.plus(&cost);
            sections.stages.push(stage);
        }
        if let (Some(certificate), Some(bounds)) = (&measured.certificate, marginals.bounds()) {
            let cost = certificate.question().cost(unit)?;
            sum = sum.plus(&cost);
            sections.certificate = Some(CertificateStatement {
                rho: cost.to_f64_rounded_up(),
                marginals: certificate.marginals.len(),
                bits: certificate.noise.bits,
                deviation: certificate.noise.each.to_string(),
                deviation_of_sum: certificate.noise.sum.to_string(),
                bounds: bounds.summary(),
            });
        }
        sections.rho_of_questions = sum.to_f64_rounded_up();
        Ok(statement)
    }
}

/// Returns the report, with the marginals on one and two attributes of the workload's sets.
///
/// # Errors
/// Attributes that were not measured.
pub fn report(
    statement: &StagedStatement,
    marginals: &StagedMarginals,
    workload: &GroupedWorkload,
) -> Result<Report> {
    let domain = marginals.domain();
    let schema = domain.schema();
    let queries: Vec<LevelQueries> =
        workload.groups().iter().map(|group| LevelQueries::of(group, domain)).collect();
    let sets = candidates(schema, queries.iter().flat_map(LevelQueries::sets));
    let sections = sections(schema, &sets, &mut |attributes| {
        let marginal = marginals.marginal(attributes)?;
        let intervals = match marginal.errors {
            None => Intervals::None,
            Some(errors) => {
                let count =
                    if marginal.cells.len() == 1 { WeightRange::ONES } else { WeightRange::COUNT };
                Intervals::OfSum { sum: errors.sum, each: errors.of_weights(count) }
            }
        };
        Ok(PublishedMarginal { attributes, estimates: marginal.cells, intervals })
    })?;
    let answers = "every query with its estimate and the bound of its error";
    let records = Fact::new("records.csv", "synthetic records that follow the estimates");
    let derived = statement.synthetic().map(|_| records);
    Ok(Report::new(statement, workload.schema(), answers, derived, sections))
}
