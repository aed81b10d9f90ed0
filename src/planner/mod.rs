//! Planners: what to measure for a workload over many attributes (S3).
//!
//! A planner sees a [`GroupedWorkload`] and a privacy cost and returns a [`Plan`]: measurements of
//! residual subspaces (or marginals) with their shares of the cost, and the exact error of every
//! query group. No data is involved. To add one, implement [`Planner`] and add a line to
//! [`planners`].
//!
//! *Cost*, for groups over at most k of d attributes with n values each
//! (`cargo bench --bench planners` measures it):
//!
//! - decomposition and errors: O(groups · 2^k) time and memory, whatever n is;
//! - solves: one per distinct residual problem, so independent of d. O(n³) per iteration for
//!   families of one attribute and their products, O(rows² · cells) for few joint queries,
//!   O(cells³) for other joint queries and sums of products; HDMM and ResidualPlanner+ solve per
//!   attribute size or family, ResidualPlanner and Weighted Fourier need no iteration;
//! - a plan holds 8·n² bytes per distinct 1-D strategy, 8·rank·cells per joint one (8·cells² if it
//!   is not of low rank), and about 100 bytes per group and residual subspace;
//! - a run of a plan takes O(records + cells · Σ n) per group and holds the records and the
//!   estimates that later groups need.
//!
//! ```
//! use matmech::{planner, privacy::PrivacyCost, schema::Schema};
//! use matmech::workload::{Family, GroupFamily, GroupedWorkload};
//! let family = GroupFamily::Product(Family::PREFIX);
//! let workload = GroupedWorkload::all_ways(Schema::uniform(10, 40)?, &family, &[1, 2])?;
//! let plan = planner::by_name("query-smasher")?.plan(&workload, PrivacyCost::UNIT)?;
//! assert_eq!(format!("{:.3}", plan.rmse()), "33.693");
//! # Ok::<(), matmech::Error>(())
//! ```

mod anova;
mod decomposition;
mod global_bound;
mod hdmm;
mod kernel;
mod minimise;
mod of_measurements;
mod plan;
mod query_smasher;
mod registry;
mod residual_plan;
mod residual_planner;
mod residual_planner_plus;
mod solver;
mod subspace;
mod weighted_fourier;

pub use anova::{Anova, MeasureChoice, SearchOptions};
pub use decomposition::{Decomposition, KernelId, ResidualProblem, Term};
pub use global_bound::{BoundMethod, BoundWeights, GlobalBound, MOST_EXPLICIT_CELLS};
pub use hdmm::{Hdmm, HdmmForm};
pub use kernel::Kernel;
pub use plan::{GroupError, MeasureSearch, MeasureStart, Plan, PlannedMeasurement, Reconstruction};
pub use query_smasher::QuerySmasher;
pub use registry::{by_name, listing, planners};
pub use residual_planner::ResidualPlanner;
pub use residual_planner_plus::{NoiseDivision, ResidualPlannerPlus};
pub use solver::{
    AttributeBasis, Bases, BasisSolver, CertifiedSolver, FourierSolver, PrefixBasis, ResidualBasis,
    Solved, SubspaceProblem, SubspaceSolver,
};
pub use subspace::SubspaceStrategy;
pub use weighted_fourier::WeightedFourier;

use crate::call::Call;
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::workload::GroupedWorkload;

/// Plans the measurements for a workload over many attributes.
pub trait Planner: std::fmt::Debug + Send + Sync {
    /// The name used on the command line and in configs.
    fn name(&self) -> &str;

    /// One line for listings.
    fn summary(&self) -> &str;

    /// The options that it takes, as in `anova(measure=uniform)`; by default none.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// The same planner with options that it takes.
    ///
    /// # Errors
    /// Invalid values.
    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        Err(Error::bug("configuration of a planner", "a planner that takes options", call.text()))
    }

    /// Whether its plans are strategies for the residual subspaces: then the lower bound of
    /// QuerySmasher, which holds for any choice of such strategies, holds for them too.
    fn over_residual_subspaces(&self) -> bool {
        false
    }

    /// A plan that spends the privacy cost β.
    ///
    /// # Errors
    /// A workload that the planner cannot answer or that is too large for it.
    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan>;
}

#[cfg(test)]
mod tests;
