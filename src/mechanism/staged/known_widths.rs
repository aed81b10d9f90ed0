//! The plan with the true widths: an oracle for experiments.

use super::run::{run, sets_of};
use super::settings::Staged;
use crate::access::PaidAccess;
use crate::error::Result;
use crate::estimation::soft_ipf::SetEvidence;
use crate::mechanism::{Mechanism, RunReport};
use crate::schema::LevelSchema;
use crate::workload::GroupedWorkload;

/// Staged measurement, planned for given evidence of the widths in place of measured evidence.
///
/// After the first measurements there is one stage, with the rest of the budget. The answers are those
/// of the fit with learned widths, never the unbiased ones. **Not private** if the evidence is that of
/// the records: then the plan depends on them. It tells what a plan in one stage would gain from the
/// widths; it has no name in the registry and no release.
#[derive(Debug, Clone)]
pub struct KnownWidths {
    settings: Staged,
    evidence: Vec<SetEvidence>,
}

impl KnownWidths {
    /// Creates the mechanism for the evidence of a fit.
    ///
    /// Residuals of sets without evidence are not measured after the first measurements.
    pub fn new(settings: Staged, evidence: Vec<SetEvidence>) -> Self {
        KnownWidths { settings, evidence }
    }
}

impl Mechanism for KnownWidths {
    fn name(&self) -> &str {
        "staged with known widths"
    }

    fn summary(&self) -> &str {
        "staged measurement planned for given evidence; not private"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn ends_with_model(&self) -> bool {
        true
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        sets_of(workload, &LevelSchema::without_levels(workload.schema())).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        run(self.settings, Some(&self.evidence), workload, access, answers)
    }
}
