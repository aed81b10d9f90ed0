//! The planner of both forms.

use super::single::single;
use super::union::union;
use crate::error::Result;
use crate::planner::Planner;
use crate::planner::plan::Plan;
use crate::privacy::PrivacyCost;
use crate::strategy::Proof;
use crate::workload::{GroupQueries, GroupedWorkload};

/// The form of HDMM's strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HdmmForm {
    /// The form with the smaller total variance.
    #[default]
    Best,
    /// One strategy `V = ⊗ V_i` over the full domain.
    SingleKronecker,
    /// One strategy per attribute set of the workload, on its marginal.
    UnionOfKroneckers,
}

/// HDMM under L2 sensitivity.
///
/// *Single Kronecker*: `V = ⊗ V_i` minimises `Σ_groups w Π_{i∈S} tr(Γ_i V_i⁻¹) Π_{i∉S} tr(J V_i⁻¹)`
/// by at most ten coordinate sweeps that start from V = I. Each step is the certified 1-D optimum
/// for `aJ + Σ bΓ`, with a and b from the other attributes. *Union*: the certified optimum for the
/// queries of every attribute set. The privacy cost is divided in the ratio `p_S ∝ √L_S`, so the
/// total variance is `(Σ_S √L_S)²/β`. A query is answered only from the measurement of its
/// attribute set.
///
/// *Requirements*: the single strategy needs product families; with joint queries
/// [`HdmmForm::Best`] is the union. *Cost*: single: sweeps × attributes 1-D solves and O(sweeps ·
/// attributes · groups) time; union: one solve per distinct family and size, one per distinct joint
/// query set, and one per attribute set with several groups. *Reference*: McKenna, Miklau, Hay,
/// Machanavajjhala, Optimizing error of high-dimensional statistical queries under differential
/// privacy (2018); S3, Sec. 8.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hdmm {
    /// The form of the strategy.
    ///
    /// Default [`HdmmForm::Best`].
    pub form: HdmmForm,
}

impl Hdmm {
    /// Returns the union of strategies of proofs, without a search.
    ///
    /// # Errors
    /// The proofs do not fit the workload.
    pub fn proved(
        &self,
        workload: &GroupedWorkload,
        privacy_cost: PrivacyCost,
        proofs: Vec<Proof>,
    ) -> Result<Plan> {
        union(self.name(), workload, privacy_cost, Some(proofs))?.checked()
    }
}

impl Planner for Hdmm {
    fn name(&self) -> &str {
        match self.form {
            HdmmForm::Best => "hdmm",
            HdmmForm::SingleKronecker => "hdmm-kronecker",
            HdmmForm::UnionOfKroneckers => "hdmm-union",
        }
    }

    fn summary(&self) -> &str {
        match self.form {
            HdmmForm::Best => "the better of one Kronecker strategy and one per marginal",
            HdmmForm::SingleKronecker => "one Kronecker strategy over the full domain",
            HdmmForm::UnionOfKroneckers => "one strategy per marginal, no inference across them",
        }
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let products_only =
            workload.groups().iter().all(|g| matches!(g.queries(), GroupQueries::Product(_)));
        let plan = match self.form {
            HdmmForm::SingleKronecker => single(self.name(), workload, privacy_cost)?,
            HdmmForm::UnionOfKroneckers => union(self.name(), workload, privacy_cost, None)?,
            HdmmForm::Best if !products_only => union(self.name(), workload, privacy_cost, None)?,
            HdmmForm::Best => {
                let kronecker = single(self.name(), workload, privacy_cost)?;
                let union = union(self.name(), workload, privacy_cost, None)?;
                if kronecker.total_variance() < union.total_variance() { kronecker } else { union }
            }
        };
        plan.checked()
    }
}
