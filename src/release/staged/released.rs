//! The statement of a completed release: its questions, their costs, and its error bounds.

use super::marginals::StagedMarginals;
use super::statement::{CertificateStatement, Stage, StagedSections, StagedStatement};
use crate::error::Result;
use crate::privacy::ExactRho;
use crate::release::statement::ReleaseStatement;

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
            let (stage, cost) = Stage::of(&measured.header.schema, list, unit)?;
            sum = sum.plus(&cost);
            sections.stages.push(stage);
        }
        if let (Some(certificate), Some(bounds)) = (&measured.certificate, marginals.bounds()) {
            let cost = certificate.question().cost(unit)?;
            sum = sum.plus(&cost);
            sections.certificate = Some(CertificateStatement {
                rho: cost.to_f64_rounded_up(),
                marginals: certificate.marginals.len(),
                bits: certificate.bits,
                deviation: certificate.each.to_string(),
                deviation_of_sum: certificate.sum.to_string(),
                bounds: bounds.summary(),
            });
        }
        sections.rho_of_questions = sum.to_f64_rounded_up();
        Ok(statement)
    }
}
