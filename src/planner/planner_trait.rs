//! The trait of all planners.

use super::plan::Plan;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::workload::GroupedWorkload;

/// Chooses the measurements for a workload over many attributes.
pub trait Planner: std::fmt::Debug + Send + Sync {
    /// Returns the name used on the command line and in configs.
    fn name(&self) -> &str;

    /// Returns a one-line description for listings.
    fn summary(&self) -> &str;

    /// Returns the names of the planner's options, as in `anova(measure=uniform)`.
    ///
    /// Default: none.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the same planner with the given options.
    ///
    /// # Errors
    /// Invalid values.
    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        Err(Error::bug("configuration of a planner", "a planner that takes options", call.text()))
    }

    /// Returns the files that its options name.
    ///
    /// Default: none.
    fn files(&self) -> Vec<&std::path::Path> {
        Vec::new()
    }

    /// Returns whether its plans are strategies for the residual subspaces.
    ///
    /// Then the lower bound of QuerySmasher holds for them, because it holds for all such
    /// strategies.
    fn over_residual_subspaces(&self) -> bool {
        false
    }

    /// Returns a plan that spends the privacy cost β.
    ///
    /// # Errors
    /// The planner cannot answer the workload, or the workload is too large for it.
    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan>;
}
