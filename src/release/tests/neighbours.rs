//! Attacks on releases of neighbouring tables, one for every way in which a record can count.

use std::path::Path;

use super::audit::attack_tables;
use super::*;
use crate::data::PersonLimit;
use crate::privacy::{Neighbours, RationalDeviation};
use crate::test_support::read_csv;
use crate::test_support::rho;

const SCHEMA: &str =
    "[[attribute]]\nname = \"job\"\nsize = 2\nkind = \"categorical\"\nvalues = [\"a\", \"b\"]\n";

/// The total has 10¹¹ times the weight of the other queries, so a plan spends almost all on it.
const WORKLOAD: &str = "[[queries]]\nfamily = \"total\"\nattributes = [\"job\"]\nweight = 1e11\n\
                        [[queries]]\nfamily = \"identity\"\nattributes = [\"job\"]\n";

fn schema(other: &str) -> Schema {
    Schema::from_toml(&format!("{SCHEMA}{other}"), "S.toml").unwrap()
}

fn plan(schema: &Schema, unit: PrivacyUnit, budget: f64) -> IntegerPlan {
    let workload = GroupedWorkload::from_toml(schema, WORKLOAD, "W.toml", Path::new("")).unwrap();
    let rho = rho(budget);
    let plan = crate::planner::by_name("query-smasher")
        .unwrap()
        .plan(&workload, rho.privacy_cost())
        .unwrap();
    IntegerPlan::of(&plan, &workload, rho, unit).unwrap()
}

fn read(text: &str, schema: &Schema, person: Option<PersonLimit>) -> Records {
    read_csv(text, schema, OutOfDomain::Drop, person).unwrap()
}

fn measured(plan: &IntegerPlan, records: &Records, seed: u64) -> Measurements {
    let reservation = Reservation::unwritten(plan.cost().rounded_up().unwrap(), plan.unit());
    let noise = ReleaseNoise::of_counter(seed);
    run::measure(plan, statement_of(plan), sources(SCHEMA), records, &reservation, noise).unwrap()
}

/// Returns the released number of records.
fn total(measured: &Measurements) -> i128 {
    let total = measured.list.iter().find(|(measurement, _)| measurement.attributes.is_empty());
    total.unwrap().1[0]
}

/// 100 records `a` against 99 and one outside the schema: replacing a value removes the record. If
/// the number of records were measured without cost, every release would distinguish the tables.
#[test]
fn replacing_a_value_by_one_outside_the_schema_is_paid_for() {
    let text = |last: &str| format!("job\n{}{last}\n", "a\n".repeat(99));
    let schema = schema("");
    let unit = PrivacyUnit {
        neighbours: Neighbours::ReplaceAddOrRemoveOneRecord,
        rows: 1,
        distinct: None,
    };
    let plan = plan(&schema, unit, 1.0);
    let [with, without] = ["a", "?"].map(|last| read(&text(last), &schema, None));
    assert_eq!((with.len(), without.len()), (100, 99));
    let found = attack_tables(&plan, &without, &with, 20_000, &|records, seed| {
        measured(&plan, records, seed)
    });
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    assert!(found.mu <= mu + 4.4 * found.error, "{} ± {} above {mu}", found.mu, found.error);
    // Under the relation that fixes the number of records, the same plan distinguishes them every
    // time.
    let exact = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows: 1, distinct: None };
    let free = super::neighbours::plan(&schema, exact, 1.0);
    let totals = [&with, &without].map(|records| {
        (0..50).map(|seed| total(&measured(&free, records, seed))).collect::<Vec<_>>()
    });
    assert_eq!(totals, [vec![100; 50], vec![99; 50]]);
}

/// With a cell for other values no record is dropped. The number of records is equal on both tables
/// and published without noise, and the other measurements are within their cost.
#[test]
fn a_cell_for_other_values_keeps_the_number_of_records() {
    let schema = schema("other = \"b\"\n");
    let unit = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows: 1, distinct: None };
    let plan = plan(&schema, unit, 1.0);
    let total = plan.measurements().iter().find(|m| m.attributes.is_empty()).unwrap();
    assert_eq!(total.deviation, RationalDeviation::ZERO);
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    let with = read(&format!("job\n{}", "a\n".repeat(100)), &schema, None);
    for last in ["?", "", "b", "\u{fffd}"] {
        let without = read(&format!("job\n{}{last}\n", "a\n".repeat(99)), &schema, None);
        assert_eq!(without.len(), 100, "{last:?}");
        let found = attack_tables(&plan, &without, &with, 10_000, &|records, seed| {
            measured(&plan, records, seed)
        });
        assert!(found.covers(mu), "{last:?}: {} ± {} against {mu}", found.mu, found.error);
    }
}

/// A person with twenty records against a person with none: the limit keeps three, which is what
/// the unit accounts for.
#[test]
fn records_above_the_limit_of_a_person_do_not_count() {
    let schema = schema("");
    let unit =
        PrivacyUnit { neighbours: Neighbours::AddOrRemoveOneRecord, rows: 3, distinct: None };
    let plan = plan(&schema, unit, 1.0);
    let limit = || Some(PersonLimit::new("id", 3));
    let others: String = (0..40).map(|k| format!("p{k},{}\n", ["a", "b"][k % 2])).collect();
    let person = "x,a\n".repeat(20);
    let [without, with] = [String::new(), person]
        .map(|person| read(&format!("id,job\n{others}{person}"), &schema, limit()));
    assert_eq!((without.len(), with.len()), (40, 43));
    let found = attack_tables(&plan, &without, &with, 20_000, &|records, seed| {
        measured(&plan, records, seed)
    });
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    assert!(found.covers(mu), "{} ± {} against {mu}", found.mu, found.error);
    assert!(!found.covers(mu / 3.0) && !found.covers(20.0 / 3.0 * mu));
}

/// Records without an identifier belong to no person: with one person's record among them, and
/// without it, the tables are equal. Otherwise removing it would admit another person's record.
#[test]
fn records_without_an_identifier_are_never_kept() {
    let schema = schema("");
    let limit = || Some(PersonLimit::new("id", 1));
    let cells = |text: &str| {
        let records = read(text, &schema, limit());
        records.column(0).unwrap().collect::<Vec<_>>()
    };
    assert_eq!(cells("id,job\n,a\n,b\np,a\n"), cells("id,job\n,b\np,a\n"));
    assert_eq!(cells("id,job\n,a\n,b\np,a\n"), [0]);
}

/// A person whose first record is removed: the second is kept instead. The change is a replaced
/// record, which `replace` charges and `add-remove` does not.
#[test]
fn a_change_of_some_records_of_a_person_is_a_replacement() {
    let schema = schema("");
    let unit = PrivacyUnit {
        neighbours: Neighbours::ReplaceAddOrRemoveOneRecord,
        rows: 1,
        distinct: None,
    };
    let plan = plan(&schema, unit, 1.0);
    let limit = || Some(PersonLimit::new("id", 1));
    let others: String = (0..40).map(|k| format!("p{k},{}\n", ["a", "b"][k % 2])).collect();
    let [both, second] = ["x,a\nx,b\n", "x,b\n"]
        .map(|person| read(&format!("id,job\n{others}{person}"), &schema, limit()));
    assert_eq!((both.len(), second.len()), (41, 41));
    let found = attack_tables(&plan, &both, &second, 20_000, &|records, seed| {
        measured(&plan, records, seed)
    });
    let mu = (2.0 * plan.cost().to_f64_rounded_up()).sqrt();
    assert!(found.mu - found.error <= mu, "{} ± {} against {mu}", found.mu, found.error);
}
