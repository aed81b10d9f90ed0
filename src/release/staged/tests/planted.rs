//! Planted mistakes of a staged release, each of which a check of this folder must catch.

use super::audit::{attack, neighbours, tight_plan};
use super::*;
use crate::access::IntegerQuestion;
use crate::privacy::{ExactRho, RationalDeviation};
use crate::release::tests::cost::agrees;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// The published answer is the mean of two, of which one is charged.
    MeasuredTwiceChargedOnce,
    /// The distances are those of the estimates before rounding.
    CertificateBeforeRounding,
    /// The true number of records is passed to the plan of the next stage.
    PlanReadsTrueCount,
}

/// Returns a release by the steps of `run::measure`, with a mistake.
fn with_mistake(
    planned: &Planned,
    records: &Records,
    seed: u64,
    mistake: Mistake,
) -> StagedMeasurements {
    let Planned { plan, statement, schema_text } = planned;
    let table = |seed| {
        let noise = ReleaseNoise::of_counter(seed);
        ReleaseTable::open(records, rho(1e9), plan.unit(), noise)
    };
    let (mut first, mut second) = (table(seed), table(seed + 1_000_000_000));
    let mut measured = empty(plan, statement.clone(), sources(schema_text));
    let mut left = plan.budget_of_stages().unwrap();
    let mut residuals = plan.residuals();
    let estimates = plan.stages().run(&mut |_, list| {
        let measurements = residuals.measurements(list, &plan.share_of(list, &left)?)?;
        let questions: Vec<_> = measurements.iter().map(IntegerMeasurement::question).collect();
        let cost = IntegerQuestion::joint_cost(&questions, plan.unit())?.rho;
        left = left.minus(&cost).unwrap();
        let mut answers = first.answer(&questions)?;
        if mistake == Mistake::MeasuredTwiceChargedOnce {
            let again = second.answer(&questions)?;
            for (a, b) in answers.iter_mut().flatten().zip(again.into_iter().flatten()) {
                *a = (*a + b) / 2;
            }
        }
        measured.stages.push(measurements.into_iter().zip(answers).collect());
        let mut centred = measurements::answers_of(measured.stages.last().unwrap());
        if mistake == Mistake::PlanReadsTrueCount && list[0].0.is_empty() {
            centred[0].0[0] = records.len() as f64;
        }
        Ok(centred)
    });
    let estimates = estimates.unwrap();
    let noise = *plan.certificate().unwrap();
    let mut marginals = plan.published(&estimates).unwrap();
    let published = marginals.clone();
    if mistake == Mistake::CertificateBeforeRounding {
        // Rounded to whole records instead, as a table of counts would be.
        marginals.iter_mut().flat_map(|(_, t)| t).for_each(|t| *t = *t / 1024 * 1024);
    }
    let (distances, sum_of_distances) = first.distances(&noise.question(&published)).unwrap();
    let certificate = DistanceCertificate { noise, marginals, distances, sum_of_distances };
    measured.certificate = Some(certificate);
    measured
}

/// Returns whether the checks of this folder pass.
fn passes(mistake: Mistake) -> bool {
    let planned = tight_plan();
    let [without, with] = neighbours(&planned);
    let release = |records: &Records, seed| with_mistake(&planned, records, seed, mistake);
    let is_sound = |seed| {
        let measured = release(&with, seed);
        is_replayed(&planned.plan, &measured) && is_exact(&with, &measured, seed)
    };
    if mistake != Mistake::MeasuredTwiceChargedOnce && !(0..20).all(is_sound) {
        return false;
    }
    let mu = (2.0 * planned.plan.rho().get()).sqrt();
    attack([&without, &with], 10_000, &release).covers(mu)
}

#[test]
fn mistakes_are_caught() {
    assert!(passes(Mistake::None));
    for mistake in [
        Mistake::MeasuredTwiceChargedOnce,
        Mistake::CertificateBeforeRounding,
        Mistake::PlanReadsTrueCount,
    ] {
        assert!(!passes(mistake), "{mistake:?} was not caught");
    }
    // The steps of this file are those of `run`.
    let planned = tight_plan();
    let [_, with] = neighbours(&planned);
    let same = with_mistake(&planned, &with, 7, Mistake::None);
    let expected = released(&planned, &with, 7);
    assert_eq!(same.certificate, expected.certificate);
}

/// A stage charged before its deviations are rounded up, and deviations that are rounded down.
#[test]
fn charges_before_rounding_are_caught() {
    let planned = tight_plan();
    let stages = planned.plan.stages();
    let measurements = planned.plan.first_stage().unwrap();
    let questions: Vec<_> = measurements.iter().map(IntegerMeasurement::question).collect();
    let cost = IntegerQuestion::joint_cost(&questions, planned.plan.unit()).unwrap().rho;
    let folder = tempfile::tempdir().unwrap();
    let [_, with] = neighbours(&planned);
    files::write(&released(&planned, &with, 1), folder.path());
    let strategies = std::fs::read_to_string(folder.path().join("stage-0/strategies.json"));
    let written =
        crate::release::tests::cost::recomputed(&strategies.unwrap(), planned.plan.unit());
    assert!(agrees(&cost, &written, true));
    let before = ExactRho::of_rounded_down(rho(stages.cost(stages.first())));
    assert!(!agrees(&before, &written, true));
    // The table charges for the deviations that it uses.
    let down = |deviation: RationalDeviation| {
        let numerator = deviation.numerator() - deviation.numerator() / (1 << 23);
        RationalDeviation::new(numerator, deviation.denominator()).unwrap()
    };
    let rounded_down: Vec<_> =
        questions.iter().map(|q| IntegerQuestion { deviation: down(q.deviation), ..*q }).collect();
    let open = || {
        let noise = ReleaseNoise::of_counter(1);
        ReleaseTable::open(&with, cost.rounded_up().unwrap(), planned.plan.unit(), noise)
    };
    assert!(open().answer(&rounded_down).is_err());
    assert!(open().answer(&questions).is_ok());
    // Two stages of the whole budget, and a certificate after it.
    let mut table = open();
    assert!(table.answer(&questions).is_ok() && table.answer(&questions).is_err());
    let marginals: Vec<_> = (planned.plan.marginals().iter())
        .map(|set| (*set, vec![0; counts(&with, *set).len()]))
        .collect();
    let certificate = planned.plan.certificate().unwrap();
    assert!(table.distances(&certificate.question(&marginals)).is_err());
}
