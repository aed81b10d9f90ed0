//! Planners: what to measure for a workload over many attributes (S3).
//!
//! A planner sees a [`GroupedWorkload`] and a privacy cost and returns a [`Plan`]: measurements of residual subspaces (or
//! marginals) with their shares of the cost, and the exact error of every query group. No data is involved. To add one,
//! implement [`Planner`] and add a line to [`planners`].
//!
//! *Cost*, for groups over at most k of d attributes with n values each (`cargo bench --bench planners` measures it):
//!
//! - decomposition and errors: O(groups · 2^k) time and memory, whatever n is;
//! - solves: one per distinct residual problem, so independent of d. O(n³) per iteration for families of one attribute and
//!   their products, O(rows² · cells) for few joint queries, O(cells³) for other joint queries and sums of products; HDMM and
//!   ResidualPlanner+ solve per attribute size or family, ResidualPlanner and Weighted Fourier need no iteration;
//! - a plan holds 8·n² bytes per distinct 1-D strategy, 8·rank·cells per joint one (8·cells² if it is not of low rank), and
//!   about 100 bytes per group and residual subspace;
//! - a run of a plan takes O(records + cells · Σ n) per group and holds the records and the estimates that later groups need.
//!
//! ```
//! use matmech::{planner, schema::Schema};
//! use matmech::workload::{Family, GroupFamily, GroupedWorkload};
//! let family = GroupFamily::Product(Family::Prefix);
//! let workload = GroupedWorkload::all_ways(Schema::uniform(10, 40)?, &family, &[1, 2])?;
//! let plan = planner::by_name("query-smasher")?.plan(&workload, 1.0)?;
//! assert_eq!(format!("{:.3}", plan.rmse()), "33.693");
//! # Ok::<(), matmech::Error>(())
//! ```

mod conditional_residual_planner;
mod decomposition;
mod factor_strategy;
mod hdmm;
mod kernel;
mod line_search;
mod plan;
mod published_optimum;
mod quasi_newton;
mod query_smasher;
mod residual_plan;
mod residual_planner;
mod residual_planner_plus;
mod solver;
mod subspace;
mod weighted_fourier;

pub use conditional_residual_planner::{
    Allocation, SMALLEST_SHARE, allocate, isotropic, privacy_coefficient, variance_coefficient,
};
pub use decomposition::{Decomposition, KernelId, Residual, Term};
pub use factor_strategy::FactorStrategy;
pub use hdmm::{Hdmm, HdmmForm};
pub use kernel::Kernel;
pub use plan::{GroupError, Measurement, Plan, Reconstruction};
pub use query_smasher::QuerySmasher;
pub use residual_planner::ResidualPlanner;
pub use residual_planner_plus::{NoiseDivision, ResidualPlannerPlus};
pub use solver::{Bases, Basis, BasisSolver, CertifiedSolver, FourierSolver, Solved, SubspaceProblem, SubspaceSolver};
pub use subspace::SubspaceStrategy;
pub use weighted_fourier::WeightedFourier;

use crate::error::{Error, Result};
use crate::workload::GroupedWorkload;

/// Plans the measurements for a workload over many attributes.
pub trait Planner: Send + Sync {
    /// The name used on the command line and in configs.
    fn name(&self) -> &str;

    /// One line for listings.
    fn summary(&self) -> &str;

    /// A plan that spends the privacy cost β.
    ///
    /// # Errors
    /// A workload that the planner cannot answer or that is too large for it, or a privacy cost that is not positive.
    fn plan(&self, workload: &GroupedWorkload, privacy_cost: f64) -> Result<Plan>;
}

/// The planners, in the order of listings.
pub fn planners() -> Vec<Box<dyn Planner>> {
    vec![
        Box::new(ResidualPlanner),
        Box::new(ResidualPlannerPlus::dividing(NoiseDivision::Own)),
        Box::new(ResidualPlannerPlus::dividing(NoiseDivision::Prefix)),
        Box::new(ResidualPlannerPlus::as_published(NoiseDivision::Own)),
        Box::new(ResidualPlannerPlus::as_published(NoiseDivision::Prefix)),
        Box::new(WeightedFourier),
        Box::new(Hdmm::default()),
        Box::new(Hdmm { form: HdmmForm::SingleKronecker }),
        Box::new(Hdmm { form: HdmmForm::UnionOfKroneckers }),
        Box::new(QuerySmasher::default()),
    ]
}

/// The planner with the given name.
///
/// # Errors
/// No planner has it; the message lists those that exist.
pub fn by_name(name: &str) -> Result<Box<dyn Planner>> {
    let all = planners();
    let known = all.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
    all.into_iter().find(|p| p.name() == name).ok_or_else(|| {
        Error::invalid(
            format!("planner `{name}`"),
            format!("one of {known}"),
            format!("`{name}`"),
            "check the spelling",
        )
    })
}

fn check_privacy_cost(cost: f64) -> Result<()> {
    if cost > 0.0 && cost.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(
        "privacy cost",
        "a positive finite number",
        cost.to_string(),
        "use e.g. 1, or derive it from a budget",
    ))
}

#[cfg(test)]
mod tests;
