//! The mechanism, and what its estimates assume of residuals that were not measured.

use std::str::FromStr;

use super::rounds::run;
use crate::access::PaidAccess;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::estimation::{IndependentMarginals, MarginalEstimates};
use crate::mechanism::{Mechanism, RunReport, marginals_of};
use crate::workload::GroupedWorkload;

/// The mechanism AIM+GReM, `aim-grem`.
#[derive(Debug, Clone, Copy, Default)]
pub struct AimGrem {
    reconstruction: UnmeasuredResiduals,
}

impl Mechanism for AimGrem {
    fn name(&self) -> &str {
        "aim-grem"
    }

    fn summary(&self) -> &str {
        "adaptive: measures, round by round, where the estimates are worst"
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn options(&self) -> &'static [&'static str] {
        &["reconstruction"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn Mechanism>> {
        let name = call.written("reconstruction").unwrap_or("additive");
        Ok(Box::new(AimGrem { reconstruction: name.parse()? }))
    }

    fn accepts(&self, workload: &GroupedWorkload) -> Result<()> {
        marginals_of(self.name(), workload).map(drop)
    }

    fn run(
        &self,
        workload: &GroupedWorkload,
        access: &mut dyn PaidAccess,
        answers: &mut dyn FnMut(usize, &[f64]) -> Result<()>,
    ) -> Result<RunReport> {
        let marginals = marginals_of(self.name(), workload)?;
        let outcome = run(workload.schema(), &marginals, access)?;
        let independent = match self.reconstruction {
            UnmeasuredResiduals::Additive => None,
            UnmeasuredResiduals::Independence => {
                Some(IndependentMarginals::of_estimates(&outcome.estimates)?)
            }
        };
        let estimates: &dyn MarginalEstimates = match &independent {
            Some(independent) => independent,
            None => &outcome.estimates,
        };
        for (index, &gamma) in marginals.iter().enumerate() {
            answers(index, &estimates.marginal(gamma)?)?;
        }
        let details = vec![
            ("rounds", outcome.rounds.len() as f64),
            ("residuals_per_round", outcome.residuals_per_round()),
        ];
        Ok(RunReport { details, ..RunReport::default() })
    }
}

/// The treatment of unmeasured residuals in the final reconstruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnmeasuredResiduals {
    /// Unmeasured residuals are 0: GReM-MLE, linear in the measurements (S4).
    #[default]
    Additive,
    /// Unmeasured residuals mean independent attributes:
    /// [`IndependentMarginals`](crate::estimation::IndependentMarginals).
    ///
    /// Better if most residuals are unmeasured; slightly worse if nearly all are measured (NLTCS at
    /// ε ≥ 1).
    Independence,
}

impl FromStr for UnmeasuredResiduals {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "additive" => Ok(UnmeasuredResiduals::Additive),
            "independence" => Ok(UnmeasuredResiduals::Independence),
            _ => Err(Error::unknown_name(
                "reconstruction",
                name,
                &["additive", "independence"],
                "check the spelling",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::access::PrivateTable;
    use crate::data::{Column, Records};
    use crate::test_support::{rho, rng, schema};
    use crate::workload::{Family, GroupFamily};

    /// Both reconstructions have the same measurements and costs; they differ if residuals were not
    /// measured.
    #[test]
    fn independence_changes_the_reconstruction_only() {
        let schema = schema(&[6, 5, 7, 4, 6, 5]);
        let mut source = rng(8);
        let mut columns = vec![Column::default(); 6];
        for _ in 0..3000 {
            let first = source.random::<f64>();
            for (column, attribute) in columns.iter_mut().zip(schema.attributes()) {
                let value =
                    if source.random::<f64>() < 0.1 { first } else { source.random::<f64>() };
                column.push((value.powi(6) * attribute.size as f64) as u32);
            }
        }
        let records = Records::new(&schema, columns).unwrap();
        let workload = GroupedWorkload::all_ways(
            schema.clone(),
            &GroupFamily::Product(Family::IDENTITY),
            &[3],
        )
        .unwrap();
        let answers = |reconstruction| {
            let (mut noise_rng, mut all) = (rng(9), Vec::new());
            let mut table = PrivateTable::of_records(&records, rho(1e-4), &mut noise_rng).unwrap();
            let mechanism = AimGrem { reconstruction };
            let report = mechanism
                .run(&workload, &mut table, &mut |_, cells| {
                    all.push(cells.to_vec());
                    Ok(())
                })
                .unwrap();
            let ledger: Vec<f64> =
                table.accountant().ledger().iter().map(|entry| entry.rho.get()).collect();
            (report, ledger, all)
        };
        let (additive, independent) =
            (answers(UnmeasuredResiduals::Additive), answers(UnmeasuredResiduals::Independence));
        assert_eq!((additive.0.details, additive.1), (independent.0.details, independent.1));
        let totals = |marginals: &[Vec<f64>]| {
            marginals.iter().map(|cells| cells.iter().sum()).collect::<Vec<f64>>()
        };
        approx::assert_relative_eq!(
            totals(&additive.2)[..],
            totals(&independent.2)[..],
            max_relative = 1e-9
        );
        let pairs = additive.2.iter().zip(&independent.2);
        let differing =
            pairs.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| (a - b).abs() > 1.0)).count();
        assert!(
            differing > additive.2.len() / 2,
            "{differing} of {} marginals differ",
            additive.2.len()
        );
    }
}
