//! Mechanisms: what asks private data, and makes estimates of the answers.
//!
//! A [`Mechanism`] sees a workload and a [`PaidAccess`]; it cannot see a record ([`access`](crate::access) says why). To add
//! one, implement the trait in a file of its own and add a line to [`mechanisms`].
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
//! let workload = GroupedWorkload::all_ways(schema, &GroupFamily::Product(Family::IDENTITY), &[2])?;
//! let rho = PrivacyBudget::from(Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 }).rho()?;
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
mod measured_sequence;
mod planned;
mod planned_queries;

pub use aim_grem::{AimGrem, Reconstruction};
pub use aim_hybrid::AimHybrid;
pub use aim_pgm::AimPgm;
pub use batch_marginals::{BatchMarginals, ResidualPlannerMechanism};
pub use conditional_residual_planner::{Allocation, SMALLEST_SHARE, allocate, isotropic};
pub use marginal_errors::MarginalErrors;
pub use matrix_mechanism::{answer, estimate_cells};
pub use measured_sequence::{
    MarginalNoise, MarginalSequence, MarginalUpdates, MeasuredMarginal, SequenceOutcome, measure_sequence,
};
pub use planned::Planned;
pub(crate) use planned::fitted_to_planned_residuals;
pub use planned_queries::{PlannedQueries, run_plan};

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

    /// Whether what is asked depends on earlier answers. A mechanism that is not adaptive adds the same noise to every table.
    fn is_adaptive(&self) -> bool;

    /// Whether the answers are the true ones plus noise that no table changes: then a run on a table of zeros has the errors
    /// of a run on any. By default, that the mechanism is not adaptive.
    fn is_linear(&self) -> bool {
        !self.is_adaptive()
    }

    /// The variant of this mechanism of which every run ends with a model that synthetic records can be drawn from; by default
    /// there is none.
    fn with_model(&self) -> Option<Box<dyn Mechanism>> {
        None
    }

    /// Whether there is such a variant.
    fn has_model(&self) -> bool {
        self.with_model().is_some()
    }

    /// This mechanism with a model of at most so many MB (2²⁰ bytes).
    ///
    /// # Errors
    /// A mechanism without a model, or a size without meaning.
    fn with_max_mb(&self, _max_mb: f64) -> Result<Box<dyn Mechanism>> {
        Err(Error::bad_input(
            format!("size limit of a model, mechanism `{}`", self.name()),
            "a mechanism that fits a model",
            "one that fits none",
            "leave the limit out, or use aim-hybrid or aim-pgm",
        ))
    }

    /// This mechanism with another way to put marginals together.
    ///
    /// # Errors
    /// A mechanism that has no choice.
    fn with_reconstruction(&self, _reconstruction: Reconstruction) -> Result<Box<dyn Mechanism>> {
        Err(Error::bad_input(
            format!("reconstruction, mechanism `{}`", self.name()),
            "a mechanism that keeps residuals and has a choice",
            "one that has none",
            "leave the option out, or use aim-grem",
        ))
    }

    /// Names of numbers that may stand in parentheses after the name, for whoever compares choices; by default there are none.
    fn settings(&self) -> &'static [&'static str] {
        &[]
    }

    /// This mechanism with another value of one of its [`settings`](Mechanism::settings).
    ///
    /// # Errors
    /// A setting that it does not have, or a value without meaning.
    fn with_setting(&self, name: &str, _value: f64) -> Result<Box<dyn Mechanism>> {
        Err(no_setting(self, name))
    }

    /// Refuses a workload that the mechanism cannot answer, before any data is opened. By default none is.
    ///
    /// # Errors
    /// As said.
    fn accepts(&self, _workload: &GroupedWorkload) -> Result<()> {
        Ok(())
    }

    /// Spends the budget of `access` and gives `answers` the place of every group of the workload, in order, with the
    /// estimated answers of its queries in the order of their rows: for a marginal, its cells.
    ///
    /// # Errors
    /// A workload that the mechanism cannot answer; [`Error::BudgetExhausted`] if `access` has less left than the mechanism
    /// needs; and what `access` and `answers` return.
    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport>;

    /// The errors to expect with the budget ρ, where there is a closed form that needs no data. By default there is none.
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

/// The refusal of a setting that a mechanism lacks.
fn no_setting(mechanism: &(impl Mechanism + ?Sized), name: &str) -> Error {
    let all = mechanism.settings();
    let expected =
        if all.is_empty() { "none: it has no settings".into() } else { format!("one of {}", all.join(", ")) };
    let what = format!("setting of the mechanism `{}`", mechanism.name());
    Error::bad_input(what, expected, format!("`{name}`"), "leave it out, or check the spelling")
}

/// The refusal of a setting's value.
fn bad_setting(mechanism: &(impl Mechanism + ?Sized), name: &str, expected: &str, value: f64) -> Error {
    let what = format!("setting `{name}` of the mechanism `{}`", mechanism.name());
    Error::bad_input(what, expected, value.to_string(), "leave it out for the default")
}

/// A size limit in MB, checked.
///
/// # Errors
/// One that is negative or not finite.
fn checked_mb(max_mb: f64) -> Result<f64> {
    if max_mb >= 0.0 && max_mb.is_finite() {
        return Ok(max_mb);
    }
    let remedy = "give a size in MB, such as 2";
    Err(Error::bad_input("size limit of a model", "a finite number of MB, at least 0", max_mb.to_string(), remedy))
}

/// Errors in closed form, in counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExpectedErrors {
    /// The expected squared error of all answers together.
    pub squared_error: Option<f64>,
    /// The expected L1 distance of a group's answers from the true ones, averaged over the groups.
    pub mean_l1: Option<f64>,
}

/// The mechanisms, in the order of listings.
pub fn mechanisms() -> Vec<Box<dyn Mechanism>> {
    vec![
        Box::new(ResidualPlannerMechanism),
        Box::new(PlannedQueries::default()),
        Box::new(Planned::default()),
        Box::new(AimGrem::default()),
        Box::new(AimPgm::default()),
        Box::new(AimHybrid::default()),
    ]
}

/// The mechanism with the given name, such as `aim-hybrid`; one with a model also as `aim-pgm(max-mb=5)`, see
/// [`Mechanism::with_max_mb`], `aim-grem(reconstruction=independence)`, see [`Reconstruction`], and with
/// [settings](Mechanism::settings).
///
/// # Errors
/// No mechanism has the name, and the message lists those that exist; options that it does not have.
pub fn by_name(text: &str) -> Result<Box<dyn Mechanism>> {
    let call = Call::parse("mechanism", text, "write it as `aim-grem` or `aim-pgm(max-mb=5)`")?;
    call.no_operand()?;
    let mut all = mechanisms();
    let Some(place) = all.iter().position(|mechanism| mechanism.name() == call.name()) else {
        let known: Vec<&str> = all.iter().map(|mechanism| mechanism.name()).collect();
        return Err(Error::unknown_name("mechanism", call.name(), &known, "check the spelling"));
    };
    let mut mechanism = all.swap_remove(place);
    let settings = mechanism.settings();
    call.allow(&[&["max-mb", "reconstruction"], settings].concat())?;
    for name in settings {
        if let Some(value) = call.option(name)? {
            mechanism = mechanism.with_setting(name, value)?;
        }
    }
    if let Some(max_mb) = call.option("max-mb")? {
        mechanism = mechanism.with_max_mb(max_mb)?;
    }
    if let Some(name) = call.written("reconstruction") {
        mechanism = mechanism.with_reconstruction(name.parse()?)?;
    }
    Ok(mechanism)
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
            let what = format!("mechanism `{mechanism}`, group {} ({} on {names})", k + 1, group.family());
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
            return refuse("every marginal once", "it a second time".into(), "remove one of the two");
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
