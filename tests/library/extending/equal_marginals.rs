//! A mechanism: measures the marginal of every query group with an equal share of the budget.

use matmech::access::{PaidAccess, Question};
use matmech::mechanism::{ExpectedErrors, Mechanism, RunReport};
use matmech::privacy::{NoiseStream, Rho};
use matmech::workload::{GroupQueries, GroupedWorkload};
use matmech::{Error, Result};

/// Measures the marginal of each of k groups with σ² = k/(2ρ) and answers its queries from it.
#[derive(Debug)]
pub struct EqualMarginals;

impl EqualMarginals {
    fn variance(workload: &GroupedWorkload, rho: Rho) -> f64 {
        workload.groups().len() as f64 / (2.0 * rho.get())
    }
}

impl Mechanism for EqualMarginals {
    fn name(&self) -> &str {
        "equal-marginals"
    }

    fn summary(&self) -> &str {
        "every group's marginal with an equal share of the budget"
    }

    fn is_adaptive(&self) -> bool {
        false
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        match workload
            .groups()
            .iter()
            .find(|group| matches!(group.queries(), GroupQueries::Joint(_)))
        {
            None => Ok(()),
            Some(group) => Err(Error::bad_input(
                "mechanism `equal-marginals`",
                "products of families",
                format!("joint queries of the family {}", group.family()),
                "use the mechanism query-smasher",
            )),
        }
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        self.accepts(workload)?;
        let rho = access.total();
        let variance = Self::variance(workload, rho);
        // Reserves the whole budget first, so that either all groups are measured or none.
        access.reserved(self.name(), rho, &mut |access| {
            for (index, group) in workload.groups().iter().enumerate() {
                let question = Question::Marginal { attributes: group.attributes(), variance };
                let marginal = access.measure(&question, NoiseStream::Shared)?;
                answers(index, &group.answers(&marginal)?)?;
            }
            Ok(())
        })?;
        Ok(RunReport::default())
    }

    /// The expected squared error is `Σ_groups tr(⊗ Gᵢ) · σ²`, because the noise is independent.
    fn expected(&self, workload: &GroupedWorkload, rho: Rho) -> Result<ExpectedErrors> {
        self.accepts(workload)?;
        let mut energy = 0.0;
        for group in workload.groups() {
            if let GroupQueries::Product(families) = group.queries() {
                let mut product = 1.0;
                for (family, &size) in families.iter().zip(group.sizes()) {
                    product *= family.gram(&[size])?.diag().sum();
                }
                energy += product;
            }
        }
        Ok(ExpectedErrors {
            squared_error: Some(energy * Self::variance(workload, rho)),
            mean_l1: None,
        })
    }
}
