//! Planners: they choose the measurements for a workload over many attributes (S3).
//!
//! A planner takes a [`GroupedWorkload`](crate::workload::GroupedWorkload) and a privacy cost, and
//! returns a [`Plan`]: measurements of residual subspaces (or marginals) with their shares of the
//! cost, and the exact error of every query group. Planners do not read data. To add a planner,
//! implement [`Planner`] and add a line to [`planners`].
//!
//! *Cost* for groups over at most k of d attributes with n values each (measured by
//! `cargo bench --bench planners`):
//!
//! - decomposition and errors: O(groups · 2^k) time and memory, independent of n;
//! - solves: one per distinct residual problem, so independent of d. O(n³) per iteration for
//!   one-attribute families and their products, O(rows² · cells) for few joint queries, O(cells³)
//!   for other joint queries and for sums of products. HDMM and ResidualPlanner+ solve once per
//!   attribute size or family. ResidualPlanner and Weighted Fourier do not iterate;
//! - memory of a plan: 8·n² bytes per distinct 1-D strategy, 8·rank·cells bytes per joint strategy
//!   (8·cells² bytes if it is not of low rank), and about 100 bytes per group and residual
//!   subspace;
//! - running a plan: O(records + cells · Σ n) time per group, and memory for the records and the
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
mod group_weights;
mod hdmm;
mod kernel;
mod minimise;
mod objective_planner;
mod objective_value;
mod of_measurements;
mod plan;
mod planner_trait;
mod query_smasher;
mod registry;
mod residual_plan;
mod residual_planner;
mod residual_planner_plus;
mod residual_solutions;
mod solver;
mod subspace;
mod weighted_fourier;

pub use anova::{Anova, MeasureChoice, SearchOptions};
pub use decomposition::{Decomposition, KernelId, ResidualProblem, Term};
pub use global_bound::{BoundMethod, BoundWeights, GlobalBound, MAX_EXPLICIT_CELLS};
pub use hdmm::{Hdmm, HdmmForm};
pub use kernel::Kernel;
pub use objective_planner::{ObjectivePlanner, ObjectiveSummary};
pub use plan::{
    GroupError, MeasureSearch, MeasureStart, Plan, PlannedMeasurement, Reconstruction,
    SubspaceProof,
};
pub use planner_trait::Planner;
pub use query_smasher::QuerySmasher;
pub use registry::{by_name, listing, planners, with_flags};
pub use residual_planner::ResidualPlanner;
pub use residual_planner_plus::{NoiseDivision, ResidualPlannerPlus};
pub use solver::{
    AttributeBasis, Bases, BasisSolver, CertifiedSolver, FourierSolver, PrefixBasis, ProvedSolver,
    ResidualBasis, Solved, SubspaceProblem, SubspaceSolver,
};
pub use subspace::SubspaceStrategy;
pub use weighted_fourier::WeightedFourier;

#[cfg(test)]
mod tests;
