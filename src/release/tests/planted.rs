//! Seventeen planted mistakes of a release, each of which a check of this folder or of the code
//! must catch: eight in measuring, five in accounting, four in what is measured and paid.

use super::audit::{attack, tight_plan, worst_record};
use super::cost::{agrees, recomputed, strategies_of};
use super::statistics::over_releases;
use super::*;
use crate::access::{IntegerQuestion, ReleaseTable};
use crate::privacy::{ExactRho, Neighbours, RationalDeviation};
use crate::strategy::{IntegerFactor, IntegerStrategy};
use crate::test_support::rho;

/// A mistake in measuring, while the published statement claims correct measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mistake {
    NoiseTooSmall,
    NoiseTooLarge,
    MeasuredTwiceChargedOnce,
    NoiseReused,
    OneAnswerWithoutNoise,
    NegativeAnswersCut,
    SubspaceLost,
    NoiseRoundedDown,
}

fn with_mistake(
    plan: &IntegerPlan,
    records: &Records,
    seed: u64,
    mistake: Mistake,
) -> Measurements {
    let mut measured = released(plan, records, seed);
    let table = |seed| {
        let total = rho(1e9);
        ReleaseTable::open(records, total, plan.unit(), ReleaseNoise::of_counter(seed))
    };
    let exact = |measurement: &IntegerMeasurement| -> Vec<i128> {
        let counts: Vec<u32> =
            records.marginal(measurement.attributes).unwrap().iter().map(|x| *x as u32).collect();
        measurement.strategy.answers(&counts).unwrap()
    };
    let scaled = |measurement: &IntegerMeasurement, by: f64| {
        let deviation = RationalDeviation::rounded_up(measurement.deviation.to_f64() * by).unwrap();
        IntegerQuestion { deviation, ..measurement.question() }.deviation
    };
    let mut mistaken = table(seed);
    let first = &measured.list[0];
    let (reused, coarseness) = (first.1[0] - exact(&first.0)[0], first.0.deviation.to_f64());
    for (index, (measurement, noisy)) in measured.list.iter_mut().enumerate() {
        match mistake {
            Mistake::NoiseTooSmall | Mistake::NoiseTooLarge => {
                let deviation = scaled(
                    measurement,
                    if mistake == Mistake::NoiseTooSmall { 0.95 } else { 1.05 },
                );
                *noisy = mistaken
                    .answer(&[IntegerQuestion { deviation, ..measurement.question() }])
                    .unwrap()
                    .remove(0);
            }
            Mistake::MeasuredTwiceChargedOnce => {
                let again = table(seed + 1_000_000_000)
                    .answer(&[measurement.question()])
                    .unwrap()
                    .remove(0);
                noisy.iter_mut().zip(again).for_each(|(a, b)| *a = (*a + b) / 2);
            }
            // Every subspace has the noise of the first one, at its scale.
            Mistake::NoiseReused => {
                let scale = measurement.deviation.to_f64();
                let noise = (reused as f64 * scale / coarseness).round() as i128;
                *noisy = exact(measurement).into_iter().map(|answer| answer + noise).collect();
            }
            Mistake::OneAnswerWithoutNoise if index == 0 => noisy[0] = exact(measurement)[0],
            Mistake::NegativeAnswersCut => noisy.iter_mut().for_each(|x| *x = (*x).max(0)),
            Mistake::SubspaceLost if index == 1 => {
                let exact = exact(measurement);
                let noise: Vec<i128> = noisy.iter().zip(exact).map(|(a, b)| *a - b).collect();
                *noisy = noise;
            }
            Mistake::NoiseRoundedDown => {
                let step = (measurement.deviation.to_f64() as i128).max(1);
                noisy.iter_mut().for_each(|x| *x = x.div_euclid(step) * step);
            }
            Mistake::OneAnswerWithoutNoise | Mistake::SubspaceLost => {}
        }
    }
    measured
}

/// Returns whether the checks of `statistics` and `audit` pass, with fewer releases.
fn passes(
    plan: &IntegerPlan,
    workload: &GroupedWorkload,
    release: &(dyn Fn(&Records, u64) -> Measurements + Sync),
) -> bool {
    let records = records_of(workload.schema(), &rows(&[3, 2]));
    let found = over_releases(workload, &records, 10_000, &|seed| release(&records, seed));
    if found.bias >= 5.0 || found.spread >= 5.0 {
        return false;
    }
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    let attack = attack(plan, &rows(&[3, 2]), &worst_record(plan), 20_000, release);
    attack.covers(mu) && !attack.covers(0.95 * mu) && !attack.covers(1.05 * mu)
}

#[test]
fn mistakes_in_measuring_are_caught() {
    let plan = tight_plan();
    let (workload, _) =
        plan_of("query-smasher", &[3, 2], PREFIX_AND_IDENTITY, 2.0, PrivacyUnit::default());
    assert!(passes(&plan, &workload, &|records, seed| released(&plan, records, seed)));
    for mistake in [
        Mistake::NoiseTooSmall,
        Mistake::NoiseTooLarge,
        Mistake::MeasuredTwiceChargedOnce,
        Mistake::NoiseReused,
        Mistake::OneAnswerWithoutNoise,
        Mistake::NegativeAnswersCut,
        Mistake::SubspaceLost,
        Mistake::NoiseRoundedDown,
    ] {
        let caught =
            !passes(&plan, &workload, &|records, seed| with_mistake(&plan, records, seed, mistake));
        assert!(caught, "{mistake:?} was not caught");
    }
}

/// Mistakes in the accounting, against the cost recomputed from the written integers.
#[test]
fn mistakes_in_accounting_are_caught() {
    let workload = "[[queries]]\nfamily = \"prefix\"\nways = [1, 2]\n";
    let unit =
        PrivacyUnit { neighbours: Neighbours::AddOrRemoveOneRecord, rows: 2, distinct: None };
    let (workload, plan) = plan_of("query-smasher", &[3, 2], workload, 0.5, unit);
    let records = records_of(workload.schema(), &rows(&[3, 2]));
    let text = strategies_of(&released(&plan, &records, 1));
    let replaced = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, ..unit };
    assert!(agrees(plan.cost(), &recomputed(&text, unit), true));
    let sum = |cost: &dyn Fn(usize, &IntegerMeasurement) -> ExactRho| {
        let all = plan.measurements().iter().enumerate();
        all.fold(ExactRho::zero(), |sum, (k, measurement)| sum.plus(&cost(k, measurement)))
    };
    let of = |measurement: &IntegerMeasurement, less: u32, unit: PrivacyUnit| {
        let IntegerMeasurement { strategy, deviation, .. } = measurement;
        let square = strategy.squared_sensitivity(unit.neighbours).value;
        ExactRho::of_discrete_gaussian(&(square - less), *deviation, unit.rows).unwrap()
    };
    assert_eq!(&sum(&|_, m| of(m, 0, unit)), plan.cost());
    let one_row = PrivacyUnit { rows: 1, ..unit };
    // A sensitivity that is off by one is a share of 10⁻¹² of large numbers; it matters for the
    // small number of the total.
    let off_by_one = sum(&|k, m| of(m, u32::from(k == 0), unit));
    let one_left_out = sum(&|k, m| if k == 1 { ExactRho::zero() } else { of(m, 0, unit) });
    let unit_forgotten = sum(&|_, m| of(m, 0, one_row));
    let charged_twice = sum(&|k, m| {
        if k == 1 { of(m, 0, unit).plus(&of(m, 0, unit)) } else { of(m, 0, unit) }
    });
    for (what, stated) in [
        ("off by one", off_by_one),
        ("one subspace left out", one_left_out),
        ("unit forgotten", unit_forgotten),
        ("charged twice", charged_twice),
    ] {
        assert!(!agrees(&stated, &recomputed(&text, unit), true), "{what}");
    }
    // Replaced records, accounted for as added or removed ones.
    assert!(!agrees(&sum(&|_, m| of(m, 0, unit)), &recomputed(&text, replaced), false));
}

/// Rows that do not annihilate the reference measure, a plan that costs more than was reserved, a
/// plan for a larger privacy unit, and a strategy that is larger than declared.
#[test]
fn mistakes_in_what_is_measured_are_caught() {
    let plan = tight_plan();
    let mut measurements = plan.measurements().iter();
    let rounded = measurements.find(|m| m.attributes.len() == 1).unwrap();
    let factor = rounded.strategy.factors().iter().find(|factor| !factor.is_scalar()).unwrap();
    let mut rows_off = factor.rows().into_owned();
    rows_off[[0, 0]] += 1;
    assert!(IntegerFactor::new(factor.shape(), factor.weights().to_vec(), rows_off).is_err());
    let records = records_of(plan.plan().schema(), &rows(&[3, 2]));
    let unpaid = |paid: f64, unit| {
        let reservation = Reservation::unwritten(rho(paid), unit);
        run::measure(
            &plan,
            statement_of(&plan),
            sources(""),
            &records,
            &reservation,
            ReleaseNoise::of_counter(1),
        )
        .is_err()
    };
    assert!(unpaid(plan.cost().to_f64_rounded_up() * 0.999, plan.unit()));
    assert!(unpaid(10.0, PrivacyUnit { rows: 2, ..plan.unit() }));
    assert!(!unpaid(10.0, plan.unit()));
    // The table charges for the actual strategy.
    let factors = [IntegerFactor::scalar(1 << 16), IntegerFactor::centred_identity(3)];
    let larger =
        IntegerStrategy::new(factors.map(|factor| std::sync::Arc::new(factor.unwrap())).to_vec())
            .unwrap();
    let reservation = rho(0.1);
    let mut table =
        ReleaseTable::open(&records, reservation, plan.unit(), ReleaseNoise::of_counter(1));
    let deviation = RationalDeviation::new(1 << 16, 1).unwrap();
    let question = IntegerQuestion {
        attributes: crate::domain::AttributeSet::single(0),
        strategy: &larger,
        deviation,
    };
    assert!(table.answer(&[question]).is_err());
}
