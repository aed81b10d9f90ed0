//! The stated costs against the written integers, and what the questions depend on.

use num_bigint::BigInt;
use rand::RngExt;

use super::*;
use crate::privacy::{ExactRho, Neighbours, RationalDeviation};
use crate::release::tests::cost::{Rational, agrees, recomputed};
use crate::test_support::rng;

/// Returns the cost of a certificate by its definition, from `distances.json` only.
fn of_distances(text: &str, unit: PrivacyUnit) -> Rational {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    let marginals = BigInt::from(document["marginals"].as_array().unwrap().len());
    let is_replaced = unit.neighbours != Neighbours::AddOrRemoveOneRecord;
    let cells = BigInt::from(unit.rows * if is_replaced { 2 } else { 1 });
    let change: BigInt = cells << document["bits"].as_u64().unwrap();
    let cost = |key: &str, square: BigInt| {
        let (p, q) = document[key].as_str().unwrap().split_once('/').unwrap();
        let (p, q): (BigInt, BigInt) = (p.parse().unwrap(), q.parse().unwrap());
        Rational::new(square * &q * &q, BigInt::from(2) * &p * &p)
    };
    let square = &change * &change;
    cost("deviation", &square * &marginals)
        + cost("deviation_of_sum", square * &marginals * &marginals)
}

/// 200 random releases on small domains. The costs of the statement match the written integers, and
/// their sum is within the budget; every question is the one that follows from the written answers;
/// the certified marginals are the estimates of the written integers; files read back.
#[test]
fn the_statement_matches_the_written_integers() {
    let mut random = rng(71);
    let (mut attained, mut spent, mut unbiased, mut certified) = (0, 0, 0, 0);
    for seed in 0..200 {
        let sizes: Vec<usize> =
            (0..random.random_range(1..=3)).map(|_| random.random_range(2..=4)).collect();
        let families = ["identity", "prefix", "range", "circular", "hybrid"];
        let groups = (0..random.random_range(1..=2)).map(|_| {
            let family = families[random.random_range(0..families.len())];
            let ways = random.random_range(1..=sizes.len());
            format!("[[queries]]\nfamily = \"{family}\"\nways = [{ways}]\n")
        });
        let workload: String = groups.collect();
        let mechanisms =
            ["staged", "staged(stages=1)", "staged(stages=2, switch=0)", "staged(switch=1000)"];
        let mechanism = mechanisms[random.random_range(0..mechanisms.len())];
        let neighbours = [
            Neighbours::AddOrRemoveOneRecord,
            Neighbours::ReplaceOneRecord,
            Neighbours::ReplaceAddOrRemoveOneRecord,
        ][random.random_range(0..3usize)];
        let unit = PrivacyUnit { neighbours, rows: random.random_range(1..4), distinct: None };
        let budget = 2f64.powf(random.random_range(-12.0..6.0));
        let share = [0.0, 0.03, 0.3][random.random_range(0..3usize)];
        let planned = planned(&sizes, &workload, mechanism, budget, unit, share);
        let records = records_of(planned.plan.schema(), &rows(&sizes));
        let measured = released(&planned, &records, seed);
        assert!(is_replayed(&planned.plan, &measured), "{mechanism} {sizes:?} {budget}");

        let folder = tempfile::tempdir().unwrap();
        files::write(&measured, folder.path());
        let read = StagedMeasurements::read(folder.path()).unwrap();
        let marginals = StagedMarginals::of(read.clone()).unwrap();
        let again = planned.plan.published(&read.estimates(&planned.plan).unwrap()).unwrap();
        assert_eq!(again, marginals.published());
        assert_eq!(measured.certificate, read.certificate);

        let statement = StagedStatement::released(&marginals).unwrap().to_json().unwrap();
        let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
        let stated = |value: &serde_json::Value| match value.as_f64().unwrap() {
            0.0 => ExactRho::zero(),
            x => ExactRho::of_rounded_down(rho(x)),
        };
        let mut sum = Rational::from(BigInt::ZERO);
        for (k, stage) in statement["stages"].as_array().unwrap().iter().enumerate() {
            let text = |name: &str| {
                std::fs::read_to_string(folder.path().join(format!("stage-{k}/{name}"))).unwrap()
            };
            let found = recomputed(&text("strategies.json"), unit);
            let is_attained = stage["rho_is_exact_sum"].as_bool().unwrap();
            assert!(agrees(&stated(&stage["rho"]), &found, is_attained), "{k}: {stage}");
            let integers = stage["questions"].as_array().unwrap().iter();
            let integers: u64 = integers.map(|q| q["answers"].as_u64().unwrap()).sum();
            assert_eq!(text("noisy.csv").lines().count() as u64, 1 + integers);
            attained += usize::from(is_attained);
            sum += found;
        }
        if share > 0.0 {
            let text = std::fs::read_to_string(folder.path().join("certificate/distances.json"));
            let found = of_distances(&text.unwrap(), unit);
            assert!(agrees(&stated(&statement["certificate"]["rho"]), &found, true));
            sum += found;
            certified += 1;
        }
        assert!(agrees(&stated(&statement["rho_of_questions"]), &sum, true), "{sum}");
        let total = ExactRho::of_rounded_down(rho(budget));
        assert!(total.minus(&stated(&statement["rho_of_questions"])).is_some());
        let is_spent = statement["rho_of_questions"].as_f64().unwrap() > budget * (1.0 - 1e-6);
        spent += usize::from(is_spent);
        unbiased += usize::from(marginals.estimates().unwrap().is_linear);
    }
    assert!(attained > 400 && spent > 150, "{attained} {spent}");
    assert!(unbiased > 20 && unbiased < 180 && certified > 100, "{unbiased} {certified}");
}

/// The simulation measures residuals with variance 1/λ in the same stages; the release has the same
/// precisions, up to the rounding of deviations.
#[test]
fn precisions_are_those_of_the_simulation() {
    let planned = planned(&[4, 3, 2], PAIRS, "staged", 0.5, PrivacyUnit::default(), 0.0);
    let records = records_of(planned.plan.schema(), &rows(&[4, 3, 2]));
    let measured = released(&planned, &records, 3);
    let (mut checked, mut stages) = (0, measured.stages.iter());
    let run = planned.plan.stages().run(&mut |_, list| {
        let stage = stages.next().unwrap();
        assert_eq!(list.len(), stage.len());
        let answers = measurements::answers_of(stage);
        for ((set, precision), ((m, _), (centred, variance))) in
            list.iter().zip(stage.iter().zip(&answers))
        {
            assert_eq!((*set, centred.len()), (m.attributes, counts(&records, *set).len()));
            approx::assert_relative_eq!(precision * variance, 1.0, max_relative = 3e-7);
            checked += 1;
        }
        Ok(answers)
    });
    assert!(run.is_ok() && checked > 7, "{checked}");
}

/// Without noise, centred answers are the centred marginals.
#[test]
fn centred_answers_are_centred_marginals() {
    let planned = planned(&[4, 3, 2], PAIRS, "staged", 0.5, PrivacyUnit::default(), 0.0);
    let records = records_of(planned.plan.schema(), &rows(&[4, 3, 2]));
    for measurement in planned.plan.first_stage().unwrap() {
        let set = measurement.attributes;
        let exact = measurement.strategy.answers(&counts(&records, set)).unwrap();
        let (found, _) = residuals::centred(&measurement, &exact);
        let mut expected = records.marginal(set).unwrap();
        crate::residual::centre_box(&measurement.strategy.shape(), &mut expected);
        for (a, b) in found.iter().zip(&expected) {
            approx::assert_relative_eq!(a, b, epsilon = 1e-9);
        }
        assert_ne!(measurement.deviation, RationalDeviation::ZERO);
    }
}
