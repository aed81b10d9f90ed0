//! A mechanism: measures the marginal of every query group with an equal share of the budget.

use matmech::access::{PaidAccess, PrivateTable, Question};
use matmech::data::Records;
use matmech::mechanism::{ExpectedErrors, Mechanism, RunReport};
use matmech::privacy::{NoiseStream, Rho};
use matmech::workload::{Family, GroupFamily, GroupQueries, GroupedWorkload};
use matmech::{Error, Result, Schema};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

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

/// Returns queries of a family on one and on two of three attributes of five values.
pub fn one_and_two_way(family: Family) -> GroupedWorkload {
    let schema = Schema::uniform(5, 3).unwrap();
    GroupedWorkload::all_ways(schema, &GroupFamily::Product(family), &[1, 2]).unwrap()
}

/// The mean sum of squared errors over 400 runs is within five standard errors of the closed form;
/// its relative standard deviation per run is at most √(2/5). Every run spends exactly the budget.
#[test]
fn the_errors_of_an_external_mechanism_match_its_closed_form() {
    let workload = one_and_two_way(Family::PREFIX);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let records = Records::uniform(workload.schema(), 500, &mut rng).unwrap();
    let rho = Rho::new(0.8).unwrap();
    let expected = EqualMarginals.expected(&workload, rho).unwrap().squared_error.unwrap();
    let runs = 400;
    let mut sum = 0.0;
    for _ in 0..runs {
        let mut table = PrivateTable::of_records(&records, rho, &mut rng).unwrap();
        EqualMarginals
            .run(&workload, &mut table, &mut |index, answers| {
                let group = &workload.groups()[index];
                let exact = group.answers(&records.marginal(group.attributes())?)?;
                sum += answers.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                Ok(())
            })
            .unwrap();
        assert!((table.accountant().spent() - rho.get()).abs() < 1e-9);
    }
    let mean = sum / f64::from(runs);
    assert!(
        (mean / expected - 1.0).abs() < 5.0 * (0.4 / f64::from(runs)).sqrt(),
        "{mean} {expected}"
    );
}

#[test]
fn an_external_mechanism_cannot_exceed_the_budget() {
    let workload = one_and_two_way(Family::IDENTITY);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let records = Records::uniform(workload.schema(), 50, &mut rng).unwrap();
    let mut table = PrivateTable::of_records(&records, Rho::new(0.5).unwrap(), &mut rng).unwrap();
    EqualMarginals.run(&workload, &mut table, &mut |_, _| Ok(())).unwrap();
    let mut answered = 0;
    let again = EqualMarginals.run(&workload, &mut table, &mut |_, _| {
        answered += 1;
        Ok(())
    });
    assert!(matches!(again, Err(Error::BudgetExhausted { left: 0.0, .. })) && answered == 0);
}
