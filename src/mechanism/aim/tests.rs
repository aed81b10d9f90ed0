//! AIM+PGM, the hybrid and `planned`: questions, costs, and independence of unpaid data.

use crate::access::{CandidateSelection, Candidates, PaidAccess, PrivateTable};
use crate::data::{Column, Records};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::mechanism::aim::RoundBudget;
use crate::mechanism::{AimHybrid, AimPgm, Mechanism, PlannedResiduals, by_name};
use crate::residual::privacy_coefficient;
use crate::schema::Schema;
use crate::test_support::{Exchange, Forwarding, dependent, rho, rng, schema, set};
use crate::workload::{Family, GroupFamily, GroupedWorkload, QueryGroup};

fn all_ways(schema: &Schema, ways: usize) -> GroupedWorkload {
    GroupedWorkload::all_ways(schema.clone(), &GroupFamily::Product(Family::IDENTITY), &[ways])
        .unwrap()
}

/// Returns the tested mechanisms with their ρ; at the largest ρ the hybrid switches to
/// ResidualPlanner.
fn tested() -> Vec<(Box<dyn Mechanism>, f64)> {
    let hybrid = |mb: f64| by_name(&format!("aim-hybrid(switch=0,max-mb={mb})")).unwrap();
    vec![
        (hybrid(0.0), 0.5),
        (hybrid(0.001), 0.5),
        (hybrid(2.0), 0.5),
        (Box::new(AimHybrid::default()), 0.5),
        (Box::new(AimHybrid::default()), SWITCHING_RHO),
        (by_name("aim-hybrid(switch=0,last-rounds=3,patience=2,width=1,rounds=2)").unwrap(), 0.5),
        (by_name("aim-pgm(max-mb=0.002)").unwrap(), 0.5),
        (Box::new(AimPgm::default()), 0.5),
        (Box::new(PlannedResiduals::default()), 0.5),
    ]
}

const SWITCHING_RHO: f64 = 2000.0;

/// Two neighbouring tables, where the second is forced to return the first one's answers: then no
/// question, candidate, budget or estimate may differ. The costs of the questions (1/(2σ²) for a
/// marginal, ε²/8 for a selection, p_τ/(2σ²) for a residual of a reservation) sum to the budget.
#[test]
fn nothing_but_paid_answers_depends_on_the_data() {
    let schema = schema(&[3, 4, 2, 5]);
    let workload = all_ways(&schema, 2);
    let mut reservations = 0;
    for (mechanism, budget) in tested() {
        for seed in 0..4 {
            let mut data = rng(seed);
            let records = dependent(&schema, 80, &mut data);
            let columns: Vec<Column> =
                (0..4).map(|p| records.column(p).unwrap().take(79).collect()).collect();
            let neighbour = Records::new(&schema, columns).unwrap();
            let run = |records: &Records, seed: u64, replay: Option<Vec<Exchange>>| {
                let mut noise_rng = rng(seed);
                let mut table =
                    PrivateTable::of_records(records, rho(budget), &mut noise_rng).unwrap();
                let replay = replay.map(Vec::into_iter);
                let mut access = Forwarding { replay, ..Forwarding::new(&mut table) };
                let mut answers = Vec::new();
                let report = mechanism.run(&workload, &mut access, &mut |_, cells| {
                    answers.extend_from_slice(cells);
                    Ok(())
                });
                let seen = access.seen;
                (seen, answers, report.unwrap(), table.accountant().spent())
            };
            let (seen, answers, report, spent) = run(&records, seed + 50, None);
            let (again, same, repeated, _) = run(&neighbour, seed + 90, Some(seen.clone()));
            assert!(
                again == seen && same == answers && repeated.details == report.details,
                "{mechanism:?}"
            );
            let switched = report.details.contains(&("residual_planner", 1.0));
            assert_eq!(switched, budget == SWITCHING_RHO, "{mechanism:?}: {:?}", report.details);
            assert!(
                answers.iter().all(|x| (*x >= 0.0 || switched) && x.is_finite()),
                "{mechanism:?}"
            );
            let (costs, reserved) = costs(&schema, &seen);
            approx::assert_relative_eq!(costs, budget, max_relative = 1e-9);
            approx::assert_relative_eq!(spent, budget, max_relative = 1e-9);
            assert_eq!(reserved, switched || mechanism.name() == "planned");
            reservations += usize::from(reserved);
        }
    }
    assert_eq!(reservations, 8);
}

/// Returns the cost of the questions, and whether some were paid by a reservation; checks that
/// these cost what was reserved.
fn costs(schema: &Schema, seen: &[Exchange]) -> (f64, bool) {
    let (mut costs, mut inside, mut reserved) = (0.0, 0.0, None);
    for exchange in seen {
        match exchange {
            Exchange::Reserved(_, rho) => assert_eq!(reserved.replace(rho.get()), None),
            Exchange::Measured(tau, variance, _) if reserved.is_some() => {
                let sizes = schema.shape_of(*tau).unwrap();
                inside += 0.5 * privacy_coefficient(&sizes, AxisSet::all(sizes.len())) / variance;
            }
            Exchange::Measured(_, variance, _) => costs += 0.5 / variance,
            Exchange::Selected(selection, ..) => {
                costs += selection.epsilon * selection.epsilon / 8.0
            }
        }
    }
    approx::assert_relative_eq!(inside, reserved.unwrap_or(0.0), max_relative = 1e-9);
    (costs + inside, reserved.is_some())
}

/// Selection costs ε²/8 and is the exponential mechanism, not permute-and-flip or report-noisy-max
/// with other noise: of two candidates whose scores differ by Δ the better one wins with
/// probability 1/(1 + e^(−εΔ/2w)), with w the largest weight, the sensitivity of the scores.
#[test]
fn selection_is_the_exponential_mechanism_at_its_cost() {
    const DRAWS: u32 = 40_000;
    struct Zero;
    impl MarginalEstimates for Zero {
        fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
            Ok(vec![0.0; gamma.positions().map(|p| [2, 3][p]).product()])
        }
    }
    let schema = schema(&[2, 3]);
    let records = dependent(&schema, 10, &mut rng(1));
    let selection = CandidateSelection { epsilon: 0.5, penalty_per_cell: 3.0 };
    assert_eq!(selection.cost().unwrap().get(), 0.5 * 0.5 / 8.0);
    // Both errors are the 10 records; the penalty is 3 for each of 2 and of 3 cells. For equal
    // weights permute-and-flip would give 1 − e^(−εΔ/2w)/2 = 0.76 instead of 0.68. For unequal
    // weights, each score over its own weight would give 0.68 instead of 0.72, and the smallest
    // weight as sensitivity 0.98.
    for (weights, difference) in [([4.0, 4.0], 4.0 * 3.0), ([4.0, 1.0], 4.0 * 4.0 - 1.0)] {
        let candidate =
            |(p, cells, weight)| crate::access::Candidate { attributes: set(&[p]), cells, weight };
        let candidates =
            Candidates::new([(0, 2, weights[0]), (1, 3, weights[1])].map(candidate).to_vec());
        let mut noise_rng = rng(2);
        let mut table = PrivateTable::of_records(&records, rho(1e9), &mut noise_rng).unwrap();
        let wins = (0..DRAWS)
            .filter(|_| table.select(&selection, &candidates, &Zero).unwrap() == 0)
            .count();
        let expected = 1.0 / (1.0 + f64::exp(-0.5 * difference / (2.0 * 4.0)));
        let deviation = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
        assert!(
            (wins as f64 / f64::from(DRAWS) - expected).abs() < 5.0 * deviation,
            "{weights:?}: {wins}"
        );
        approx::assert_relative_eq!(
            table.accountant().spent(),
            f64::from(DRAWS) / 32.0,
            max_relative = 1e-9
        );
    }
}

/// The final model has the reported size and is within the limit, for every budget. The hybrid's
/// model of independent attributes is always allowed.
#[test]
fn models_are_within_their_limit() {
    let schema = schema(&[6, 5, 4, 7, 3, 5]);
    let records = dependent(&schema, 2000, &mut rng(3));
    let workload = all_ways(&schema, 3);
    let singles = 30.0 * 8.0 / 1_048_576.0;
    for max_mb in [0.0, 0.0005, 0.002, 0.01] {
        let mut mechanisms: Vec<Box<dyn Mechanism>> =
            vec![by_name(&format!("aim-hybrid(switch=0,max-mb={max_mb})")).unwrap()];
        if max_mb > 0.0 {
            mechanisms.push(by_name(&format!("aim-pgm(max-mb={max_mb})")).unwrap());
        }
        for mechanism in mechanisms {
            for budget in [0.01, 1.0, 30.0] {
                let mut noise_rng = rng(4);
                let mut table =
                    PrivateTable::of_records(&records, rho(budget), &mut noise_rng).unwrap();
                let report = mechanism.run(&workload, &mut table, &mut |_, _| Ok(())).unwrap();
                let model = report.model.unwrap();
                let model = model.tree();
                let cells: usize =
                    (0..model.tree().cliques().len()).map(|k| model.table(k).len()).sum();
                let megabytes = (cells * size_of::<f64>()) as f64 / 1_048_576.0;
                assert!(
                    megabytes <= f64::max(max_mb, singles),
                    "{mechanism:?} at {budget}: {megabytes}"
                );
                assert!(report.details.contains(&("model_mb", megabytes)), "{:?}", report.details);
            }
        }
    }
}

/// With small noise and few cells ResidualPlanner answers; without the switch, or with large noise,
/// a model does.
#[test]
fn the_hybrid_switches_to_residual_planner_for_small_noise() {
    let schema = schema(&[2, 2, 3]);
    let records = dependent(&schema, 5000, &mut rng(5));
    let workload = all_ways(&schema, 2);
    for (mechanism, budget, switched) in
        [("aim-hybrid", 1.0, 1.0), ("aim-hybrid", 1e-4, 0.0), ("aim-hybrid(switch=0)", 1.0, 0.0)]
    {
        let mut noise_rng = rng(6);
        let mut table = PrivateTable::of_records(&records, rho(budget), &mut noise_rng).unwrap();
        let report =
            by_name(mechanism).unwrap().run(&workload, &mut table, &mut |_, _| Ok(())).unwrap();
        assert!(
            report.details.contains(&("residual_planner", switched)),
            "{mechanism:?}: {:?}",
            report.details
        );
        assert_eq!(report.model.is_some(), switched == 0.0);
    }
}

/// The last rounds have equal budgets, which together spend the remaining budget.
#[test]
fn the_last_rounds_have_equal_shares() {
    for rounds in [1, 2, 7] {
        let (mut left, mut costs) = (0.5, Vec::new());
        for k in (1..=rounds).rev() {
            let budget = RoundBudget::share_of(rho(left), k);
            assert_eq!(budget.last, k == 1);
            costs.push(budget.cost());
            left -= budget.cost();
        }
        assert!((0.0..1e-11).contains(&left), "{left}");
        assert!(costs.iter().all(|cost| (cost / costs[0] - 1.0).abs() < 1e-10), "{costs:?}");
    }
}

#[test]
fn options_are_checked_and_change_the_answers() {
    for (text, part) in [
        ("aim-hybrid(rounds=0)", "at least 1"),
        ("aim-hybrid(patience=0)", "positive"),
        ("aim-hybrid(last-rounds=1.5)", "integer"),
        ("aim-hybrid(width=nan)", "positive"),
        ("aim-hybrid(switch=inf)", "at least 0"),
        ("aim-hybrid(breadth=1)", "width"),
        ("aim-pgm(width=1)", "max-mb"),
        ("planned(larger=0.9)", "leave some for pairs"),
        ("planned(singles=0)", "positive share"),
        ("planned(exponent=3)", "0 to 2"),
        ("planned(width=1)", "exponent"),
    ] {
        let message = by_name(text).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("remedy"), "{text}: {message}");
    }
    let schema = schema(&[3, 4, 2]);
    let records = dependent(&schema, 500, &mut rng(1));
    let workload = all_ways(&schema, 2);
    let answers = |text: &str| {
        let mut noise_rng = rng(7);
        let mut table = PrivateTable::of_records(&records, rho(0.1), &mut noise_rng).unwrap();
        let mut all = Vec::new();
        let each = &mut |_: usize, cells: &[f64]| {
            all.extend_from_slice(cells);
            Ok(())
        };
        by_name(text).unwrap().run(&workload, &mut table, each).unwrap();
        all
    };
    let default = answers("aim-hybrid(switch=0)");
    assert_eq!(
        default,
        answers("aim-hybrid(switch=0,rounds=16,patience=0.7,last-rounds=1,width=2)")
    );
    for other in ["rounds=3", "last-rounds=5", "width=0.5"] {
        assert_ne!(default, answers(&format!("aim-hybrid(switch=0,{other})")), "{other}");
    }
    let default = answers("planned");
    assert_eq!(default, answers("planned(singles=0.1,larger=0.3,exponent=0.5)"));
    for other in ["singles=0.2", "larger=0.2", "exponent=1"] {
        assert_ne!(default, answers(&format!("planned({other})")), "{other}");
    }
}

/// A workload of two marginals without shared attributes: every mechanism answers both with about
/// the true number of records.
#[test]
fn workloads_may_be_disconnected() {
    let schema = schema(&[3, 4, 2, 5]);
    let records = dependent(&schema, 2000, &mut rng(3));
    let group = |positions: &[usize]| {
        QueryGroup::product(&schema, set(positions), &[Family::IDENTITY; 2], 1.0).unwrap()
    };
    let workload =
        GroupedWorkload::new(schema.clone(), vec![group(&[0, 1]), group(&[2, 3])]).unwrap();
    for (mechanism, _) in tested() {
        let mut noise_rng = rng(4);
        let mut table = PrivateTable::of_records(&records, rho(0.5), &mut noise_rng).unwrap();
        let mut totals = Vec::new();
        let each = &mut |_: usize, cells: &[f64]| {
            totals.push(cells.iter().sum::<f64>());
            Ok(())
        };
        mechanism.run(&workload, &mut table, each).unwrap();
        assert_eq!(totals.len(), 2);
        assert!(
            totals.iter().all(|total| (total / 2000.0 - 1.0).abs() < 0.05),
            "{mechanism:?}: {totals:?}"
        );
    }
}

#[test]
fn invalid_size_limits_are_refused() {
    for max_mb in [-1.0, f64::NAN, f64::INFINITY] {
        for name in ["aim-hybrid", "aim-pgm"] {
            let error = by_name(&format!("{name}(max-mb={max_mb})")).err().unwrap();
            assert!(error.to_string().contains("MB"), "{error}");
        }
    }
    let workload = all_ways(&schema(&[30, 40]), 2);
    let message =
        by_name("aim-pgm(max-mb=0.0005)").unwrap().accepts(&workload).unwrap_err().to_string();
    assert!(message.contains("1-way marginals") && message.contains("--max-mb"), "{message}");
    by_name("aim-pgm(max-mb=0.0006)").unwrap().accepts(&workload).unwrap();
    let message = by_name("aim-grem(max-mb=1)").err().unwrap().to_string();
    assert!(
        message.contains("aim-grem") && message.contains("options among reconstruction"),
        "{message}"
    );
}
