//! A plan for a reference measure, run on records: squared errors match the planned variances.

use matmech::access::PrivateTable;
use matmech::data::Records;
use matmech::mechanism::run_plan;
use matmech::planner::{Anova, Planner};
use matmech::privacy::Rho;
use matmech::schema::Schema;
use matmech::workload::{Family, GroupFamily, GroupedWorkload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// The mean sum of squared errors over 400 runs is within five standard errors of the plan's. Its
/// relative standard deviation per run is below √(2/5) for these workloads. The mean error is
/// within five standard errors of 0.
#[test]
fn squared_errors_match_the_plan() {
    for family in [GroupFamily::Product(Family::PREFIX), GroupFamily::Pairs(Family::AFFINE)] {
        let workload =
            GroupedWorkload::all_ways(Schema::uniform(5, 3).unwrap(), &family, &[1, 2]).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let records = Records::uniform(workload.schema(), 500, &mut rng).unwrap();
        let rho = Rho::new(0.8).unwrap();
        let plan = Anova::default().plan(&workload, rho.privacy_cost()).unwrap();
        assert!(!plan.measure().is_uniform());
        let expected: f64 = plan.groups().iter().map(|g| g.variance).sum();
        let runs = 400;
        let (mut squares, mut errors, mut queries) = (0.0, 0.0, 0usize);
        for _ in 0..runs {
            let mut table = PrivateTable::of_records(&records, rho, &mut rng).unwrap();
            run_plan(&plan, &workload, &mut table, &mut |index, answers| {
                let group = &workload.groups()[index];
                let exact = group.answers(&records.marginal(group.attributes())?)?;
                squares += answers.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                errors += answers.iter().zip(&exact).map(|(a, b)| a - b).sum::<f64>();
                queries += answers.len();
                Ok(())
            })
            .unwrap();
            assert!((table.accountant().spent() - rho.get()).abs() < 1e-9);
        }
        let mean = squares / f64::from(runs);
        assert!(
            (mean / expected - 1.0).abs() < 5.0 * (0.4 / f64::from(runs)).sqrt(),
            "{mean} {expected}"
        );
        // The sum of the errors of a run has root mean square at most √(queries · Σ variances).
        let spread = (queries as f64 / f64::from(runs) * expected / f64::from(runs)).sqrt();
        assert!((errors / f64::from(runs)).abs() < 5.0 * spread, "{errors}");
    }
}
