//! Seventeen mistakes that a release could have, each of which a check of this folder or of the
//! code catches: eight in measuring, five in accounting, four in what is measured and for how much.

use super::audit::{attack, tight_plan, worst_record};
use super::cost::{agrees, recomputed, strategies_of};
use super::statistics::over_releases;
use super::*;
use crate::access::{IntegerQuestion, ReleaseTable};
use crate::privacy::{ExactRho, Neighbours, RationalDeviation};
use crate::strategy::{IntegerFactor, IntegerStrategy};

/// A release with a mistake in how it measures; what it publishes says that all is well.
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
        let total = Rho::new(1e9).unwrap();
        ReleaseTable::open(records, total, plan.unit(), OperatingSystemNoise::of_counter(seed))
            .unwrap()
    };
    let exact = |own: &IntegerMeasurement| -> Vec<i128> {
        let counts: Vec<u32> =
            records.marginal(own.attributes).unwrap().iter().map(|x| *x as u32).collect();
        own.strategy.answers(&counts).unwrap()
    };
    let scaled = |own: &IntegerMeasurement, by: f64| {
        let deviation = RationalDeviation::rounded_up(own.deviation.to_f64() * by).unwrap();
        IntegerQuestion { deviation, ..own.question() }.deviation
    };
    let mut other = table(seed);
    let first = &measured.list[0];
    let (reused, coarseness) = (first.1[0] - exact(&first.0)[0], first.0.deviation.to_f64());
    for (place, (own, noisy)) in measured.list.iter_mut().enumerate() {
        match mistake {
            Mistake::NoiseTooSmall | Mistake::NoiseTooLarge => {
                let deviation =
                    scaled(own, if mistake == Mistake::NoiseTooSmall { 0.95 } else { 1.05 });
                *noisy = other
                    .answer(&[IntegerQuestion { deviation, ..own.question() }])
                    .unwrap()
                    .remove(0);
            }
            Mistake::MeasuredTwiceChargedOnce => {
                let again =
                    table(seed + 1_000_000_000).answer(&[own.question()]).unwrap().remove(0);
                noisy.iter_mut().zip(again).for_each(|(a, b)| *a = (*a + b) / 2);
            }
            // Every subspace has the noise of the first, at its own scale.
            Mistake::NoiseReused => {
                let noise = (reused as f64 * own.deviation.to_f64() / coarseness).round() as i128;
                *noisy = exact(own).into_iter().map(|answer| answer + noise).collect();
            }
            Mistake::OneAnswerWithoutNoise if place == 0 => noisy[0] = exact(own)[0],
            Mistake::NegativeAnswersCut => noisy.iter_mut().for_each(|x| *x = (*x).max(0)),
            Mistake::SubspaceLost if place == 1 => {
                let noise: Vec<i128> = noisy.iter().zip(exact(own)).map(|(a, b)| *a - b).collect();
                *noisy = noise;
            }
            Mistake::NoiseRoundedDown => {
                let step = (own.deviation.to_f64() as i128).max(1);
                noisy.iter_mut().for_each(|x| *x = x.div_euclid(step) * step);
            }
            Mistake::OneAnswerWithoutNoise | Mistake::SubspaceLost => {}
        }
    }
    measured
}

/// The checks of `statistics` and `audit` with fewer releases: whether they find nothing.
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
    let text = "[[queries]]\nfamily = \"prefix\"\nattributes = [\"A1\"]\n[[queries]]\nfamily = \"identity\"\nattributes = [\"A2\"]\n";
    let (workload, _) = plan_of("query-smasher", &[3, 2], text, 2.0, PrivacyUnit::default());
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

/// Mistakes in the accounting, against the routine that knows the written integers only.
#[test]
fn mistakes_in_accounting_are_caught() {
    let workload = "[[queries]]\nfamily = \"prefix\"\nways = [1, 2]\n";
    let unit = PrivacyUnit { neighbours: Neighbours::AddOrRemoveOneRecord, rows: 2 };
    let (workload, plan) = plan_of("query-smasher", &[3, 2], workload, 0.5, unit);
    let records = records_of(workload.schema(), &rows(&[3, 2]));
    let text = strategies_of(&released(&plan, &records, 1));
    let replaced = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, ..unit };
    assert!(agrees(plan.cost(), &recomputed(&text, unit), true));
    let sum = |cost: &dyn Fn(usize, &IntegerMeasurement) -> ExactRho| {
        let all = plan.measurements().iter().enumerate();
        all.fold(ExactRho::zero(), |sum, (k, own)| sum.plus(&cost(k, own)))
    };
    let of = |own: &IntegerMeasurement, less: u32, unit: PrivacyUnit| {
        let square = own.strategy.squared_sensitivity(unit.neighbours).value;
        ExactRho::of_discrete_gaussian(&(square - less), own.deviation, unit.rows).unwrap()
    };
    assert_eq!(&sum(&|_, own| of(own, 0, unit)), plan.cost());
    let one_row = PrivacyUnit { rows: 1, ..unit };
    // A sensitivity off by one is a share of 10⁻¹² where numbers are large: it counts where they
    // are small, at the total.
    let off_by_one = sum(&|k, own| of(own, u32::from(k == 0), unit));
    let one_left_out = sum(&|k, own| if k == 1 { ExactRho::zero() } else { of(own, 0, unit) });
    let unit_forgotten = sum(&|_, own| of(own, 0, one_row));
    let charged_twice = sum(&|k, own| {
        if k == 1 { of(own, 0, unit).plus(&of(own, 0, unit)) } else { of(own, 0, unit) }
    });
    for (what, stated) in [
        ("off by one", off_by_one),
        ("one subspace left out", one_left_out),
        ("unit forgotten", unit_forgotten),
        ("charged twice", charged_twice),
    ] {
        assert!(!agrees(&stated, &recomputed(&text, unit), true), "{what}");
    }
    // Records replaced, accounted for as if one came or went.
    assert!(!agrees(&sum(&|_, own| of(own, 0, unit)), &recomputed(&text, replaced), false));
}

/// Rows that do not annihilate the reference measure, a plan that costs more than was paid, one for
/// people with more records, and a strategy larger than it is said to be.
#[test]
fn mistakes_in_what_is_measured_are_caught() {
    let plan = tight_plan();
    let rounded = plan.measurements().iter().find(|own| own.attributes.len() == 1).unwrap();
    let factor = rounded.strategy.factors().iter().find(|factor| !factor.is_scalar()).unwrap();
    let mut rows_off = factor.rows().clone();
    rows_off[[0, 0]] += 1;
    assert!(IntegerFactor::new(factor.shape(), factor.weights().to_vec(), rows_off).is_err());
    let records = records_of(plan.plan().schema(), &rows(&[3, 2]));
    let unpaid = |rho: f64, unit| {
        let reservation = Reservation::unwritten(Rho::new(rho).unwrap(), unit);
        run::measure(
            &plan,
            statement_of(&plan),
            "",
            &records,
            &reservation,
            OperatingSystemNoise::of_counter(1),
        )
        .is_err()
    };
    assert!(unpaid(plan.cost().to_f64_rounded_up() * 0.999, plan.unit()));
    assert!(unpaid(10.0, PrivacyUnit { rows: 2, ..plan.unit() }));
    assert!(!unpaid(10.0, plan.unit()));
    // The table itself charges what the strategy is, and not what it is said to be.
    let factors = [IntegerFactor::scalar(1 << 16), IntegerFactor::centred_identity(3)];
    let larger =
        IntegerStrategy::new(factors.map(|own| std::sync::Arc::new(own.unwrap())).to_vec())
            .unwrap();
    let reservation = Rho::new(0.1).unwrap();
    let mut table =
        ReleaseTable::open(&records, reservation, plan.unit(), OperatingSystemNoise::of_counter(1))
            .unwrap();
    let deviation = RationalDeviation::new(1 << 16, 1).unwrap();
    let question = IntegerQuestion {
        attributes: crate::domain::AttributeSet::single(0),
        strategy: &larger,
        deviation,
    };
    assert!(table.answer(&[question]).is_err());
}
