//! ResidualPlanner+: given bases per attribute, noise scaled per residual subspace.

use super::Planner;
use super::plan::Plan;
use super::residual_plan;
use super::solver::{Bases, Basis, BasisSolver};
use crate::error::Result;
use crate::workload::{Family, GroupedWorkload};

/// By whose coefficients the noise is divided among the residual subspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NoiseDivision {
    /// The workload's own.
    #[default]
    Own,
    /// Those of the workload with prefix sums in place of every ordered family, as the published code does for product
    /// workloads.
    Prefix,
}

/// Measures every residual subspace in a fixed product basis: by default the prefix basis on numeric attributes and
/// ResidualPlanner's on categorical ones.
///
/// A subspace costs `p_A = Π pc_i` and has the total variance `v_A` of its subqueries; with the noise divided optimally
/// the total is `(Σ_A √(p_A v_A))²/β`. With [`NoiseDivision::Prefix`] the noise is optimal for other coefficients and the
/// total is `Σ_A p_A v_A/s_A`, `s_A ∝ √(p_A v'_A)`.
///
/// [`as_published`](Self::as_published) takes the prefix basis where the published code's optimiser stops instead of the
/// certified optimum: for comparison with the papers' tables.
///
/// *Cost*: one 1-D optimum per attribute size; O(2^|S|) per query group; joint queries O(queries · cells · Σ sizes).
/// *Reference*: Xiao et al., ResidualPlanner+ (2025); S3, Sec. 5 and 8.
#[derive(Debug, Clone)]
pub struct ResidualPlannerPlus {
    /// The bases of the attributes.
    pub bases: Bases,
    /// How the noise is divided.
    pub division: NoiseDivision,
}

impl ResidualPlannerPlus {
    /// Prefix basis on numeric attributes, residual basis on categorical ones.
    pub fn dividing(division: NoiseDivision) -> Self {
        let bases = Bases::ByKind { numeric: Basis::Prefix, categorical: Basis::Identity };
        ResidualPlannerPlus { bases, division }
    }

    /// The same with the prefix basis of the published tables, [`Basis::PublishedPrefix`].
    pub fn as_published(division: NoiseDivision) -> Self {
        let bases = Bases::ByKind { numeric: Basis::PublishedPrefix, categorical: Basis::Identity };
        ResidualPlannerPlus { bases, division }
    }

    fn is_as_published(&self) -> bool {
        match &self.bases {
            Bases::ByKind { numeric, categorical } => [numeric, categorical].contains(&&Basis::PublishedPrefix),
            Bases::PerAttribute(list) => list.contains(&Basis::PublishedPrefix),
        }
    }
}

impl Planner for ResidualPlannerPlus {
    fn name(&self) -> &str {
        match (self.division, self.is_as_published()) {
            (NoiseDivision::Own, false) => "residual-planner-plus",
            (NoiseDivision::Prefix, false) => "residual-planner-plus-prefix",
            (NoiseDivision::Own, true) => "residual-planner-plus-published",
            (NoiseDivision::Prefix, true) => "residual-planner-plus-prefix-published",
        }
    }

    fn summary(&self) -> &str {
        match (self.division, self.is_as_published()) {
            (NoiseDivision::Own, false) => {
                "prefix bases on numeric attributes, noise divided by the workload's coefficients"
            }
            (NoiseDivision::Prefix, false) => "the same bases, noise divided as for prefix sums",
            (NoiseDivision::Own, true) => "residual-planner-plus with the unconverged bases of the published tables",
            (NoiseDivision::Prefix, true) => "residual-planner-plus-prefix with those bases",
        }
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: f64) -> Result<Plan> {
        let bases = BasisSolver { bases: self.bases.clone() };
        let prefix = match self.division {
            NoiseDivision::Own => None,
            NoiseDivision::Prefix => {
                let groups = workload.groups().iter().map(|g| g.with_ordered_as(Family::Prefix)).collect();
                Some(GroupedWorkload::new(workload.schema().clone(), groups)?)
            }
        };
        residual_plan::plan(self.name(), workload, privacy_cost, &bases, prefix.as_ref())
    }
}
