//! Weighted Fourier Factorization: independent noise on the Fourier coefficients of marginals.

use std::sync::Arc;

use super::Planner;
use super::objective_planner::{OPTIONS, ObjectivePlanner};
use super::plan::Plan;
use super::solver::FourierSolver;
use crate::call::Call;
use crate::error::Result;
use crate::privacy::PrivacyCost;
use crate::workload::GroupedWorkload;

/// Weighted Fourier Factorization: measures the Fourier coefficients that the workload uses.
///
/// The variances minimise the total error.
///
/// A coefficient belongs to the residual subspace of the attributes on which its frequency is not
/// zero. So the plan is by residual subspaces, with
/// `L_A = (Σ_{j: all j_i≠0} √(Σ_q w|FFT(q)_j|²))² / N²`, where N is the number of cells of the
/// marginal on A. The total variance is `(Σ_A √L_A)²/β`. Optimal for workloads that are closed
/// under circular shifts.
///
/// *Cost*: O(queries · cells log cells) time and O(cells) memory for joint families; the cost of
/// the factors for products. *Reference*: Lebeda, Nikolov, Tang, Weighted Fourier factorizations
/// (2025); S3, Sec. 7 and App. C.
#[derive(Debug, Clone, Copy, Default)]
pub struct WeightedFourier;

impl Planner for WeightedFourier {
    fn name(&self) -> &str {
        "weighted-fourier"
    }

    fn summary(&self) -> &str {
        "independent noise on Fourier coefficients, optimal for shift-invariant workloads"
    }

    fn options(&self) -> &'static [&'static str] {
        OPTIONS
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Planner>> {
        ObjectivePlanner::configured(self, Arc::new(FourierSolver), call)
    }

    fn over_residual_subspaces(&self) -> bool {
        true
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        Plan::by_residual_subspaces(self.name(), workload, privacy_cost, &FourierSolver)
    }
}
