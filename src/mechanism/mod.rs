//! Mechanisms: what asks private data, and makes estimates of the answers.
//!
//! A [`Mechanism`] sees a workload and a [`PaidAccess`]; it cannot see a record
//! ([`access`](crate::access) says why). To add one, implement the trait in a file of its own and
//! add a line to [`mechanisms`].
//!
//! ```
//! use matmech::access::PrivateTable; use matmech::data::Records; use matmech::privacy::Guarantee;
//! use matmech::workload::{Family, GroupFamily, GroupedWorkload}; use matmech::{mechanism,
//! privacy::PrivacyBudget, schema::Schema}; use rand::SeedableRng; let schema = Schema::uniform(3,
//! 4)?; let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1); let records =
//! Records::uniform(&schema, 1000, &mut rng)?; let workload = GroupedWorkload::all_ways(schema,
//! &GroupFamily::Product(Family::IDENTITY), &[2])?; let rho =
//! PrivacyBudget::from(Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 }).rho()?; //
//! Seeded noise: for experiments, not for releases. let mut table =
//! PrivateTable::of_records(&records, rho, &mut rng)?; let mut pairs = Vec::new();
//! mechanism::by_name("aim-grem")?.run(&workload, &mut table, &mut |_, answers| {
//! pairs.push(answers.to_vec()); Ok(()) })?; assert_eq!((pairs.len(), pairs[0].len()), (6, 9));
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
mod measured_sequence;
mod planned;
mod planned_queries;
mod registry;

pub use aim_grem::{AimGrem, Reconstruction};
pub use aim_hybrid::AimHybrid;
pub use aim_pgm::AimPgm;
pub use batch_marginals::{BatchMarginals, ResidualPlannerMechanism};
pub use conditional_residual_planner::{Allocation, SMALLEST_SHARE, allocate, isotropic};
pub use marginal_errors::MarginalErrors;
pub use matrix_mechanism::{answer, estimate_cells};
pub use measured_sequence::{
    MarginalNoise, MarginalSequence, MarginalUpdates, MeasuredMarginal, SequenceOutcome,
    measure_sequence,
};
pub use planned::Planned;
pub(crate) use planned::fitted_to_planned_residuals;
pub use planned_queries::{PlannedQueries, run_plan};
pub use registry::{by_name, listing, mechanisms};

use crate::access::PaidAccess;
use crate::call::Call;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::graphical_model::CalibratedTree;
use crate::privacy::Rho;
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

/// Estimates the answers of a workload over many attributes from private data.
pub trait Mechanism: std::fmt::Debug + Send + Sync {
    /// The name used on the command line and in configs.
    fn name(&self) -> &str;

    /// One line for listings.
    fn summary(&self) -> &str;

    /// Whether what is asked depends on earlier answers. A mechanism that is not adaptive adds the
    /// same noise to every table.
    fn is_adaptive(&self) -> bool;

    /// Whether the answers are the true ones plus noise that no table changes: then a run on a
    /// table of zeros has the errors of a run on any. By default, that the mechanism is not
    /// adaptive.
    fn is_linear(&self) -> bool {
        !self.is_adaptive()
    }

    /// Whether every run ends with a model that synthetic records can be drawn from; by default
    /// not.
    fn ends_with_model(&self) -> bool {
        false
    }

    /// The options that it takes, as in `aim-pgm(max-mb=5)`; by default none.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// The same mechanism with options that it takes.
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

    /// Refuses a workload that the mechanism cannot answer, before any data is opened. By default
    /// none is.
    ///
    /// # Errors
    /// As said.
    fn accepts(&self, _workload: &GroupedWorkload) -> Result<()> {
        Ok(())
    }

    /// Spends the budget of `access` and gives `answers` the place of every group of the workload,
    /// in order, with the estimated answers of its queries in the order of their rows: for a
    /// marginal, its cells.
    ///
    /// # Errors
    /// A workload that the mechanism cannot answer; [`Error::BudgetExhausted`] if `access` has less
    /// left than the mechanism needs; and what `access` and `answers` return.
    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport>;

    /// The errors to expect with the budget ρ, where there is a closed form that needs no data. By
    /// default there is none.
    ///
    /// # Errors
    /// A workload that the mechanism cannot answer.
    fn expected(&self, _workload: &GroupedWorkload, _rho: Rho) -> Result<ExpectedErrors> {
        Ok(ExpectedErrors::default())
    }
}

/// How a run went. Nothing in it costs more privacy than the run did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunReport {
    /// What only this mechanism has to tell, by name.
    pub details: Vec<(&'static str, f64)>,
    /// The model that the run ended with, if it fitted one: what synthetic records are drawn from.
    pub model: Option<CalibratedTree>,
}

/// Errors in closed form, in counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExpectedErrors {
    /// The expected squared error of all answers together.
    pub squared_error: Option<f64>,
    /// The expected L1 distance of a group's answers from the true ones, averaged over the groups.
    pub mean_l1: Option<f64>,
}

/// The marginals that a workload consists of, for mechanisms that answer nothing else.
///
/// # Errors
/// A group of other queries, one with a weight, or one that comes twice.
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
                "write family = \"identity\", or use the mechanism query-smasher, which answers every family",
            );
        }
        if group.weight() != 1.0 {
            let remedy = "leave the weight out: this mechanism treats all marginals alike";
            return refuse("a marginal of weight 1", format!("weight {}", group.weight()), remedy);
        }
        if !seen.insert(group.attributes()) {
            return refuse(
                "every marginal once",
                "it a second time".into(),
                "remove one of the two",
            );
        }
    }
    Ok(workload.groups().iter().map(QueryGroup::attributes).collect())
}

/// Whether a group's queries are the cells of its marginal.
pub(crate) fn is_marginal(group: &QueryGroup) -> bool {
    matches!(group.queries(), GroupQueries::Product(families) if families.iter().all(|f| *f == Family::IDENTITY))
}

#[cfg(test)]
mod tests;
