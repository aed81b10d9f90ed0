//! The likelihood-ratio attack on whole transcripts of neighbouring tables.
//!
//! The likelihood ratio of a transcript is the product over its stages, each given the earlier
//! answers. Its logarithm is, up to terms that do not depend on the noise, the sum over all noisy
//! integers of (y − E y) (E' y − E y)/σ², with the expectations on the two tables.

use super::*;
use crate::data::PersonLimit;
use crate::privacy::Neighbours;
use crate::release::tests::audit::Attack;
use crate::schema::Schema;
use crate::test_support::read_csv;

/// Returns Σ (y − E y)(E' y − E y)/σ² over a transcript.
fn statistic(measured: &StagedMeasurements, [without, with]: [&Records; 2]) -> f64 {
    let term = |y: i128, before: i128, after: i128, deviation: f64| {
        let change = (after - before) as f64;
        if change == 0.0 { 0.0 } else { (y - before) as f64 * change / deviation.powi(2) }
    };
    let mut sum = 0.0;
    for (measurement, noisy) in measured.stages.iter().flatten() {
        let exact = |records| {
            measurement.strategy.answers(&counts(records, measurement.attributes)).unwrap()
        };
        let deviation = measurement.deviation.to_f64();
        for (y, (before, after)) in noisy.iter().zip(exact(without).iter().zip(&exact(with))) {
            sum += term(*y, *before, *after, deviation);
        }
    }
    if let Some(certificate) = &measured.certificate {
        let bits = certificate.noise.bits;
        let mut sums = [0, 0];
        for ((set, t), y) in certificate.marginals.iter().zip(&certificate.distances) {
            let [before, after] = [without, with].map(|records| distance(records, *set, t, bits));
            sums = [sums[0] + before, sums[1] + after];
            sum += term(*y, before, after, certificate.noise.each.to_f64());
        }
        let y = certificate.sum_of_distances;
        sum += term(y, sums[0], sums[1], certificate.noise.sum.to_f64());
    }
    sum
}

/// Attacks `count` releases, half of each table.
pub(super) fn attack(
    tables: [&Records; 2],
    count: u64,
    release: &(dyn Fn(&Records, u64) -> StagedMeasurements + Sync),
) -> Attack {
    Attack::by(count, &|is_with, seeds| {
        let records = tables[usize::from(is_with)];
        seeds.map(|seed| statistic(&release(records, seed), tables)).collect()
    })
}

/// A plan for which some record attains every sensitivity, except for the certificate.
pub(super) fn tight_plan() -> Planned {
    planned(&[3, 2], PAIRS, "staged(switch=0)", 2.0, PrivacyUnit::default(), 0.03)
}

/// Ten records, and one more.
pub(super) fn neighbours(planned: &Planned) -> [Records; 2] {
    let (without, more) = (rows(&[3, 2]), vec![2, 1]);
    let with = [without.clone(), vec![more]].concat();
    [without, with].map(|rows| records_of(planned.plan.schema(), &rows))
}

/// 40,000 releases: the interval contains √(2ρ), but neither 0.95 nor 1.05 times it. The attack on
/// the certificate is at most as strong as its cost, which is 3 % of ρ.
#[test]
fn the_attack_finds_the_accounted_parameter() {
    let planned = tight_plan();
    let [without, with] = neighbours(&planned);
    let mu = (2.0 * planned.plan.rho().get()).sqrt();
    let found = attack([&without, &with], 40_000, &|r, seed| released(&planned, r, seed));
    assert!(found.covers(mu), "{} ± {} against {mu}", found.mu, found.error);
    assert!(
        !found.covers(0.95 * mu) && !found.covers(1.05 * mu),
        "{} ± {} against {mu}",
        found.mu,
        found.error
    );
}

/// Returns whether an attack on 4,000 releases is at most as strong as the budget.
fn is_within_budget(planned: &Planned, tables: [&Records; 2]) -> bool {
    let mu = (2.0 * planned.plan.rho().get()).sqrt();
    let found = attack(tables, 4_000, &|r, seed| released(planned, r, seed));
    found.mu <= mu + 4.4 * found.error && found.mu > 0.3 * mu
}

/// One record with other values, three records of a person, and both, with a large certificate.
#[test]
fn attacks_on_neighbouring_tables_stay_within_the_budget() {
    let others = rows(&[3, 2]);
    let with = |more: &[[u32; 2]]| -> Vec<Vec<u32>> {
        others.iter().cloned().chain(more.iter().map(|row| row.to_vec())).collect()
    };
    let replaced = Neighbours::ReplaceOneRecord;
    for (neighbours, rows, first, second) in [
        (Neighbours::AddOrRemoveOneRecord, 1, with(&[]), with(&[[0, 0]])),
        (replaced, 1, with(&[[0, 0]]), with(&[[2, 1]])),
        (Neighbours::AddOrRemoveOneRecord, 3, with(&[]), with(&[[1, 1]; 3])),
        (replaced, 3, with(&[[0, 0]; 3]), with(&[[2, 1]; 3])),
        (Neighbours::ReplaceAddOrRemoveOneRecord, 1, with(&[[0, 0]]), with(&[[1, 1]])),
        (Neighbours::ReplaceAddOrRemoveOneRecord, 1, with(&[]), with(&[[1, 1]])),
    ] {
        let unit = PrivacyUnit { neighbours, rows, distinct: None };
        let planned = planned(&[3, 2], PAIRS, "staged", 1.0, unit, 0.4);
        let [first, second] = [first, second].map(|rows| records_of(planned.plan.schema(), &rows));
        assert!(is_within_budget(&planned, [&first, &second]), "{unit}");
    }
}

/// A record outside the schema, which is left out, against one inside; and a person with twenty
/// records, of which three are kept.
#[test]
fn attacks_on_files_stay_within_the_budget() {
    let text = schema_text(&[3, 2]);
    let schema = Schema::from_toml(&text, "S.toml").unwrap();
    let read = |text: &str, person: Option<PersonLimit>| {
        read_csv(text, &schema, OutOfDomain::Drop, person).unwrap()
    };
    let others: String = (0..12).map(|k| format!("p{k},{},{}\n", k % 3, k % 2)).collect();
    let file = |more: &str, person| read(&format!("id,A1,A2\n{others}{more}"), person);
    let unit = PrivacyUnit {
        neighbours: Neighbours::ReplaceAddOrRemoveOneRecord,
        rows: 1,
        distinct: None,
    };
    let replacing = planned(&[3, 2], PAIRS, "staged", 1.0, unit, 0.03);
    let [inside, outside] = ["x,1,1\n", "x,1,secret\n"].map(|more| file(more, None));
    assert_eq!((inside.len(), outside.len()), (13, 12));
    assert!(is_within_budget(&replacing, [&inside, &outside]));
    let unit =
        PrivacyUnit { neighbours: Neighbours::AddOrRemoveOneRecord, rows: 3, distinct: None };
    let of_persons = planned(&[3, 2], PAIRS, "staged", 1.0, unit, 0.03);
    let limit = || Some(PersonLimit::new("id", 3));
    let [without, with] = [String::new(), "x,1,1\n".repeat(20)].map(|more| file(&more, limit()));
    assert_eq!((without.len(), with.len()), (12, 15));
    assert!(is_within_budget(&of_persons, [&without, &with]));
}

/// Three records of a person with different values of the first attribute, added or replaced.
#[test]
fn attacks_by_different_values_stay_within_the_budget() {
    let others = rows(&[3, 2]);
    let with = |more: &[[u32; 2]]| -> Vec<Vec<u32>> {
        others.iter().cloned().chain(more.iter().map(|row| row.to_vec())).collect()
    };
    let records = |value: u32| [[0, value], [1, value], [2, value]];
    for (neighbours, first, second) in [
        (Neighbours::AddOrRemoveOneRecord, with(&[]), with(&records(1))),
        (Neighbours::AddOrRemoveOneRecord, with(&[]), with(&[[0, 1], [2, 0]])),
        (Neighbours::ReplaceAddOrRemoveOneRecord, with(&records(0)), with(&records(1))),
        (Neighbours::ReplaceAddOrRemoveOneRecord, with(&[[0, 1], [2, 0]]), with(&[[1, 1]])),
    ] {
        let unit = PrivacyUnit { neighbours, rows: 3, distinct: Some(0) };
        let planned = planned(&[3, 2], PAIRS, "staged", 1.0, unit, 0.03);
        let [first, second] = [first, second].map(|rows| records_of(planned.plan.schema(), &rows));
        let mu = (2.0 * planned.plan.rho().get()).sqrt();
        let found = attack([&first, &second], 4_000, &|r, seed| released(&planned, r, seed));
        assert!(found.mu <= mu + 4.4 * found.error, "{unit}: {} of {mu}", found.mu);
    }
}
