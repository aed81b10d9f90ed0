//! Persons whose records have different values: attacks by neighbouring files, and the panel of the
//! documentation.

use std::path::Path;

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::access::IntegerQuestion;
use crate::data::PersonLimit;
use crate::privacy::Neighbours;
use crate::test_support::{read_csv, rng};

const SCHEMA: &str = "[[attribute]]\nname = \"year\"\nkind = \"integer\"\nbins = { low = 2021, \
                      high = 2023, count = 3 }\n\
                      [[attribute]]\nname = \"job\"\nkind = \"categorical\"\nvalues = \
                      [\"a\", \"b\"]\n";

const WORKLOADS: [&str; 4] = [
    "[[queries]]\nfamily = \"identity\"\nattributes = [\"year\", \"job\"]\n",
    "[[queries]]\nfamily = \"prefix\"\nattributes = [\"year\"]\n\
     [[queries]]\nfamily = \"identity\"\nattributes = [\"job\"]\n",
    "[[queries]]\nfamily = \"hybrid\"\nattributes = [\"year\", \"job\"]\n\
     [[queries]]\nfamily = \"identity\"\nattributes = [\"job\"]\nweight = 9\n",
    "[[queries]]\nfamily = \"identity\"\nattributes = [\"job\"]\n",
];

fn plan(schema: &Schema, workload: &str, unit: PrivacyUnit) -> IntegerPlan {
    let workload = GroupedWorkload::from_toml(schema, workload, "W.toml", Path::new("")).unwrap();
    let rho = rho(0.5);
    let planner = crate::planner::by_name("query-smasher").unwrap();
    let plan = planner.plan(&workload, rho.privacy_cost()).unwrap();
    IntegerPlan::of(&plan, &workload, rho, unit).unwrap()
}

/// Returns Σ |B(x − x')|²/(2σ²) of two tables.
fn change(plan: &IntegerPlan, before: &Records, after: &Records) -> f64 {
    let costs = plan.measurements().iter().map(|measurement| {
        let IntegerMeasurement { attributes, strategy, deviation } = measurement;
        let answers = |records: &Records| {
            let counts: Vec<u32> =
                records.marginal(*attributes).unwrap().iter().map(|x| *x as u32).collect();
            strategy.answers(&counts).unwrap()
        };
        let square: f64 = (answers(before).iter().zip(answers(after)))
            .map(|(x, y)| ((x - y) as f64).powi(2))
            .sum();
        if square > 0.0 { square / (2.0 * deviation.variance()) } else { 0.0 }
    });
    costs.sum()
}

/// Returns the lines of a person: years twice, missing or outside the schema, and more than K.
fn lines(random: &mut ChaCha20Rng) -> String {
    let years = ["2021", "2022", "2023", "2023", "", "1999", " 2021 "];
    let line = |random: &mut ChaCha20Rng| {
        let year = years[random.random_range(0..years.len())];
        format!("x,{year},{}\n", ["a", "b", "?"][random.random_range(0..3)])
    };
    (0..random.random_range(0..9)).map(|_| line(random)).collect()
}

/// Whatever lines a person has, neighbouring counts differ by at most what is charged, and some
/// person attains it. Without the rule, the same lines exceed it.
#[test]
fn neighbouring_files_stay_within_the_cost() {
    let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
    let mut random = rng(7);
    let others = "p,2021,a\nq,2021,b\nq,2022,b\n,2021,a\np,2023,a\n";
    for (workload, rows) in
        WORKLOADS.iter().flat_map(|workload| [2u32, 3].map(|rows| (workload, rows)))
    {
        let of = |neighbours| {
            plan(&schema, workload, PrivacyUnit { neighbours, rows, distinct: Some(0) })
        };
        let added = of(Neighbours::AddOrRemoveOneRecord);
        let replaced = of(Neighbours::ReplaceAddOrRemoveOneRecord);
        let read = |person: &str, distinct: Option<&str>| {
            let distinct = distinct.map(str::to_owned);
            let limit = PersonLimit { distinct, ..PersonLimit::new("id", rows) };
            let text = format!("id,year,job\n{person}{others}");
            read_csv(text, &schema, OutOfDomain::Drop, Some(limit)).unwrap()
        };
        let year = Some("year");
        let without = read("", year);
        let (mut largest, mut largest_without_rule, mut largest_replaced) = (0f64, 0f64, 0f64);
        for _ in 0..400 {
            let (person, other) = (lines(&mut random), lines(&mut random));
            let (first, second) = (read(&person, year), read(&other, year));
            largest = largest.max(change(&added, &without, &first));
            largest_replaced = largest_replaced.max(change(&replaced, &first, &second));
            let any = read(&person, None);
            largest_without_rule = largest_without_rule.max(change(&added, &read("", None), &any));
        }
        let [cost, cost_replaced] = [&added, &replaced].map(|plan| plan.cost().to_f64_rounded_up());
        // Without the year, the records of a person can be equal but for it.
        let has_year = workload.contains("year");
        assert!(added.is_attained() && replaced.is_attained() != has_year, "{workload}");
        assert!(
            largest <= 1.000_001 * cost && largest > 0.999 * cost,
            "{workload}: {largest} of {cost}"
        );
        assert!(largest_replaced <= 1.000_001 * cost_replaced, "{workload}: {largest_replaced}");
        // Tables without the year cost the square, whatever the years are.
        assert_eq!(largest_without_rule > 1.001 * cost, has_year, "{workload} {rows}");
    }
}

/// A panel: five years, eight regions, four kinds of work, K = 5. The cost of
/// measurements, in multiples of their cost for persons with one record.
#[test]
fn tables_by_year_of_a_panel_cost_five_instead_of_twenty_five() {
    let attribute = |name: &str, size: usize| {
        format!("[[attribute]]\nname = \"{name}\"\nkind = \"categorical\"\nsize = {size}\n")
    };
    let text = attribute("year", 5) + &attribute("region", 8) + &attribute("work", 4);
    let schema = Schema::from_toml(&text, "S.toml").unwrap();
    let identity = |attributes: &str| {
        format!("[[queries]]\nfamily = \"identity\"\nattributes = [{attributes}]\n")
    };
    let by_year = identity("\"year\", \"region\"") + &identity("\"year\", \"work\"");
    let of_all = identity("\"region\", \"work\"");
    let mut found = Vec::new();
    for workload in [
        identity("\"year\", \"region\", \"work\""),
        by_year.clone(),
        by_year.clone() + &of_all,
        of_all.clone(),
    ] {
        let unit = |neighbours, rows, distinct| PrivacyUnit { neighbours, rows, distinct };
        let added = Neighbours::AddOrRemoveOneRecord;
        let plan = plan(&schema, &workload, unit(added, 1, None));
        let questions: Vec<IntegerQuestion<'_>> =
            plan.measurements().iter().map(IntegerMeasurement::question).collect();
        let cost = |unit| IntegerQuestion::joint_cost(&questions, unit).unwrap();
        let one = cost(unit(added, 1, None)).rho.to_f64_rounded_up();
        let times = |neighbours, distinct| {
            let cost = cost(unit(neighbours, 5, distinct)).rho.to_f64_rounded_up() / one;
            (cost * 100.0).round() / 100.0
        };
        let replaced = Neighbours::ReplaceAddOrRemoveOneRecord;
        found.push([
            times(added, None),
            times(added, Some(0)),
            times(replaced, None),
            times(replaced, Some(0)),
        ]);
    }
    let expected = [
        [25.0, 5.0, 50.0, 10.0],
        [25.0, 5.0, 52.63, 10.53],
        [25.0, 11.1, 52.35, 24.55],
        [25.0, 25.0, 50.0, 50.0],
    ];
    assert_eq!(found, expected);
}
