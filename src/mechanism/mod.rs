//! Mechanisms: estimate the answers of a workload from private data.
//!
//! A [`Mechanism`] gets a workload and a [`PaidAccess`]; it cannot read a record
//! ([`access`](crate::access) explains why). To add a mechanism, implement the trait in a separate
//! file and add a line to [`mechanisms`].
//!
//! ```
//! use matmech::access::PrivateTable;
//! use matmech::data::Records;
//! use matmech::privacy::Guarantee;
//! use matmech::workload::{Family, GroupFamily, GroupedWorkload};
//! use matmech::{mechanism, privacy::PrivacyBudget, schema::Schema};
//! use rand::SeedableRng;
//! let schema = Schema::uniform(3, 4)?;
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let records = Records::uniform(&schema, 1000, &mut rng)?;
//! let identity = GroupFamily::Product(Family::IDENTITY);
//! let workload = GroupedWorkload::all_ways(schema, &identity, &[2])?;
//! let guarantee = Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 };
//! let rho = PrivacyBudget::from(guarantee).rho()?;
//! // Seeded noise: for experiments, not for releases.
//! let mut table = PrivateTable::of_records(&records, rho, &mut rng)?;
//! let mut pairs = Vec::new();
//! mechanism::by_name("aim-grem")?.run(&workload, &mut table, &mut |_, answers| {
//!     pairs.push(answers.to_vec());
//!     Ok(())
//! })?;
//! assert_eq!((pairs.len(), pairs[0].len()), (6, 9));
//! assert!(table.accountant().spent() <= rho.get());
//! # Ok::<(), matmech::Error>(())
//! ```

pub mod aim;
pub mod aim_grem;
mod aim_hybrid;
mod aim_pgm;
mod batch_marginals;
mod conditional_residual_planner;
mod marginal_errors;
mod matrix_mechanism;
mod planned;
mod planned_queries;
mod registry;
mod staged;

pub use aim_grem::{AimGrem, UnmeasuredResiduals};
pub use aim_hybrid::AimHybrid;
pub use aim_pgm::AimPgm;
pub use batch_marginals::{BatchMarginals, ResidualPlannerMechanism};
pub use conditional_residual_planner::{Allocation, MIN_SHARE, allocate};
pub use marginal_errors::MarginalErrors;
pub use matrix_mechanism::{answer, estimate_cells};
pub use planned::PlannedResiduals;
pub use planned_queries::{QuerySmasherMechanism, run_plan};
pub use registry::{by_name, listing, mechanisms, with_flags};
pub use staged::Staged;
pub(crate) use staged::{Answers, StageAnswers, StagedEstimates, Stages, sets_of};

use crate::access::PaidAccess;
use crate::call::Call;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::FittedModel;
use crate::privacy::Rho;
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

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
pub(crate) fn is_marginal(group: &QueryGroup) -> bool {
    match group.queries() {
        GroupQueries::Product(families) => families.iter().all(|f| *f == Family::IDENTITY),
        GroupQueries::Joint(_) => false,
    }
}

#[cfg(test)]
mod tests;
