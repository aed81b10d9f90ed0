//! The trait of all mechanisms, reports of their runs, and expected errors.

use super::staged::Staged;
use crate::access::PaidAccess;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::estimation::FittedModel;
use crate::privacy::Rho;
use crate::workload::GroupedWorkload;

/// The report of a run; it costs no privacy beyond the run itself.
#[derive(Debug, Default)]
pub struct RunReport {
    /// Details specific to the mechanism, by name.
    pub details: Vec<(&'static str, f64)>,
    /// The last fitted model, if any, from which synthetic records can be drawn.
    pub model: Option<FittedModel>,
}

/// Expected errors in closed form, in counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExpectedErrors {
    /// The total expected squared error of all answers.
    pub squared_error: Option<f64>,
    /// The expected L1 error of a group's answers, averaged over the groups.
    pub mean_l1: Option<f64>,
}

/// Estimates the answers of a workload over many attributes from private data.
pub trait Mechanism: std::fmt::Debug + Send + Sync {
    /// Returns the name used on the command line and in configs.
    fn name(&self) -> &str;

    /// Returns a one-line summary for listings.
    fn summary(&self) -> &str;

    /// Returns whether questions depend on earlier answers.
    ///
    /// A mechanism that is not adaptive adds the same noise to every table.
    fn is_adaptive(&self) -> bool;

    /// Returns whether the answers are the true ones plus noise that does not depend on the table.
    ///
    /// A run on a table of zeros then has the errors of a run on any table. The default is that
    /// mechanisms are linear unless they are adaptive.
    fn is_linear(&self) -> bool {
        !self.is_adaptive()
    }

    /// Returns whether every run ends with a model from which synthetic records can be drawn.
    ///
    /// False by default.
    fn ends_with_model(&self) -> bool {
        false
    }

    /// Returns the settings of staged measurement, the only mechanism with a release in integers.
    ///
    /// None by default.
    fn as_staged(&self) -> Option<Staged> {
        None
    }

    /// Returns the keys of its options, as in `aim-pgm(max-mb=5)`; none by default.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the mechanism with the options of a call.
    ///
    /// # Errors
    /// Invalid values.
    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        Err(Error::bug(
            "configuration of a mechanism",
            "a mechanism that takes options",
            call.text(),
        ))
    }

    /// Checks that the mechanism can answer a workload, before any data is read.
    ///
    /// Every workload is accepted by default.
    ///
    /// # Errors
    /// A workload that the mechanism cannot answer.
    fn accepts(&self, _workload: &GroupedWorkload) -> Result<()> {
        Ok(())
    }

    /// Spends the budget of `access` and passes the estimated answers to `answers`.
    ///
    /// `answers` is called once per group of the workload, in order, with the group's index and the
    /// answers of its queries in row order (for a marginal, its cells).
    ///
    /// # Errors
    /// A workload that the mechanism cannot answer; [`Error::BudgetExhausted`] if the remaining
    /// budget is too small; errors of `access` and `answers`.
    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport>;

    /// Returns the expected errors for the budget ρ, if they have a closed form without data.
    ///
    /// None by default.
    ///
    /// # Errors
    /// A workload that the mechanism cannot answer.
    fn expected(&self, _workload: &GroupedWorkload, _rho: Rho) -> Result<ExpectedErrors> {
        Ok(ExpectedErrors::default())
    }
}
