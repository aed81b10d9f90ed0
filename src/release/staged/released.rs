//! The statement of a completed release: its questions, their costs, and its error bounds.

use super::certificate::ErrorBounds;
use super::marginals::StagedMarginals;
use super::statement::{CertificateStatement, Stage, StagedStatement};
use crate::error::Result;
use crate::privacy::ExactRho;

impl StagedStatement {
    /// Returns the statement of a release with all its questions and error bounds.
    ///
    /// # Errors
    /// None for measurements of a release.
    pub fn released(marginals: &StagedMarginals) -> Result<Self> {
        let measured = marginals.measured();
        let mut statement = measured.statement.clone();
        let unit = statement.protection.unit;
        let mut sum = ExactRho::zero();
        statement.stages.clear();
        for list in &measured.stages {
            let (stage, cost) = Stage::of(&measured.schema, list, unit)?;
            sum = sum.plus(&cost);
            statement.stages.push(stage);
        }
        if let (Some(certificate), Some(bounds)) = (&measured.certificate, marginals.bounds()) {
            let cost = certificate.question().cost(unit)?;
            sum = sum.plus(&cost);
            let ErrorBounds { together, mean, mean_per_record, .. } = bounds;
            statement.certificate = Some(CertificateStatement {
                rho: cost.to_f64_rounded_up(),
                marginals: certificate.marginals.len(),
                bits: certificate.bits,
                deviation: certificate.each.to_string(),
                deviation_of_sum: certificate.sum.to_string(),
                mean_error_bound_95: *mean,
                mean_error_bound_95_per_record: *mean_per_record,
                largest_error_bound_95_of_all: together.iter().copied().fold(0.0, f64::max),
            });
        }
        statement.rho_of_questions = sum.to_f64_rounded_up();
        Ok(statement)
    }
}
