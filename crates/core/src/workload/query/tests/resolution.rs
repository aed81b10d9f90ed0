//! Queries over a schema, compared with records.

use super::*;
use crate::schema::{Coded, Value};

/// A record: age, sex, employed, income, place of work, children and since.
struct Record {
    age: Option<i64>,
    sex: &'static str,
    employed: Option<bool>,
    income: f64,
    place: &'static str,
    children: i64,
    since: &'static str,
}

/// Records whose numbers are at and next to edges.
fn records() -> Vec<Record> {
    let ages =
        [None, Some(0), Some(24), Some(25), Some(49), Some(50), Some(74), Some(75), Some(99)];
    let incomes = [0.0, 9.999, 10.0, 20.499, 20.5, 49.0, 50.0, 50.001, 1e9];
    let mut records = Vec::new();
    for k in 0..360usize {
        records.push(Record {
            age: ages[k % 9],
            sex: ["F", "M"][k / 9 % 2],
            employed: [None, Some(false), Some(true)][k / 3 % 3],
            income: incomes[(k * 7 + k / 9) % 9],
            place: ["a", "b", "c", "New York"][k / 5 % 4],
            children: (k * k % 3) as i64,
            since: ["2020-01-01", "2021-01-01"][k / 7 % 2],
        });
    }
    records
}

/// Returns the cell of every attribute of a record.
fn cells(schema: &Schema, record: &Record) -> Vec<usize> {
    let values = [
        record.age.map_or(Value::Missing, |age| Value::Integer(age.into())),
        Value::Text(record.sex),
        record.employed.map_or(Value::Missing, Value::Boolean),
        Value::Float(record.income),
        Value::Text(record.place),
        Value::Integer(record.children.into()),
        Value::Text(record.since),
    ];
    let cell = |(position, value): (usize, Value<'_>)| match schema.coder(position).code(value) {
        Coded::Cell(cell) => cell as usize,
        Coded::Missing => schema.missing(position).unwrap() as usize,
        other => panic!("{other:?}"),
    };
    values.into_iter().enumerate().map(cell).collect()
}

/// Returns Σ of the weights of a query over the cells of records.
fn answer(products: &ProductRows, query: usize, all: &[Vec<usize>]) -> f64 {
    let rows = products.row_indices(query);
    let weight = |cells: &Vec<usize>| -> f64 {
        let axes = products.attributes().positions().zip(products.rows());
        axes.zip(&rows).map(|((position, of), row)| of[*row][cells[position]]).product()
    };
    all.iter().map(weight).sum()
}

/// The mean of the integers of a bin of ages.
fn middle(age: i64) -> f64 {
    [12.0, 37.0, 62.0, 87.0][(age / 25) as usize]
}

type Weight = fn(&Record) -> f64;

fn is(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// The first term of every query, as a weight of the numerator and one of the denominator.
#[test]
fn weights_are_those_of_the_records() {
    let schema = schema();
    let records = records();
    let all: Vec<Vec<usize>> = records.iter().map(|record| cells(&schema, record)).collect();
    let one: Weight = |_| 1.0;
    let none: Weight = |_| 0.0;
    let cases: &[(&str, Weight, Weight)] = &[
        ("total", one, none),
        ("count", one, none),
        ("count where age >= 50", |r| is(r.age.is_some_and(|age| age >= 50)), none),
        ("count where age > 49", |r| is(r.age.is_some_and(|age| age >= 50)), none),
        ("count where age < 50", |r| is(r.age.is_some_and(|age| age < 50)), none),
        ("count where age <= 49", |r| is(r.age.is_some_and(|age| age < 50)), none),
        ("count where age < 49.5", |r| is(r.age.is_some_and(|age| age < 50)), none),
        (
            "count where age between 25 and 74",
            { |r| is(r.age.is_some_and(|age| (25..=74).contains(&age))) },
            none,
        ),
        ("count where age = unknown", |r| is(r.age.is_none()), none),
        ("count where age != unknown", |r| is(r.age.is_some()), none),
        ("count where employed", |r| is(r.employed == Some(true)), none),
        ("count where employed = False", |r| is(r.employed == Some(false)), none),
        ("count where employed != true", |r| is(r.employed == Some(false)), none),
        ("count where employed in (true, \"?\")", |r| is(r.employed != Some(false)), none),
        ("count where income < 10", |r| is(r.income < 10.0), none),
        ("count where income >= 41/2", |r| is(r.income >= 20.5), none),
        ("count where income <= 50", |r| is(r.income <= 50.0), none),
        ("count where income > 50", |r| is(r.income > 50.0), none),
        (
            "count where region = N and sex != M",
            { |r| is((r.place == "a" || r.place == "b") && r.sex == "F") },
            none,
        ),
        (
            "count where region of \"place of work\" in (S)",
            { |r| is(r.place == "c" || r.place == "New York") },
            none,
        ),
        ("count where \"place of work\" = \"New York\"", |r| is(r.place == "New York"), none),
        ("count where children >= 1", |r| is(r.children >= 1), none),
        ("count where children = 2.0", |r| is(r.children == 2), none),
        ("count where since > 2020-06-30", |r| is(r.since > "2020-06-30"), none),
        ("sum(children) where sex = F", |r| is(r.sex == "F") * r.children as f64, none),
        (
            "sum(age) where age >= 25",
            { |r| r.age.filter(|age| *age >= 25).map_or(0.0, middle) },
            none,
        ),
        (
            "mean(age) where employed",
            { |r| is(r.employed == Some(true)) * r.age.map_or(0.0, middle) },
            |r| is(r.employed == Some(true) && r.age.is_some()),
        ),
        (
            "mean(income) where income <= 50",
            {
                |r| match r.income {
                    x if x < 10.0 => 5.0,
                    x if x < 20.5 => 15.25,
                    x if x <= 50.0 => 35.25,
                    _ => 0.0,
                }
            },
            |r| is(r.income <= 50.0),
        ),
        (
            "share of employed and sex = F where age >= 25",
            { |r| is(r.employed == Some(true) && r.sex == "F" && r.age.is_some_and(|a| a >= 25)) },
            |r| is(r.age.is_some_and(|age| age >= 25)),
        ),
        ("share of age < 50 where age < 75", |r| is(r.age.is_some_and(|age| age < 50)), {
            |r| is(r.age.is_some_and(|age| age < 75))
        }),
    ];
    for (text, numerator, denominator) in cases {
        let query = ResolvedQuery::parse(text, &schema).unwrap();
        let sum = |weight: &Weight| records.iter().map(weight).sum::<f64>();
        match &query.terms[0].1 {
            Quantity::Linear(products) => {
                assert_eq!(answer(products, 0, &all), sum(numerator), "{text}");
                assert_eq!(sum(denominator), 0.0, "{text}");
            }
            Quantity::Ratio { numerator: n, denominator: d, .. } => {
                assert_eq!(answer(n, 0, &all), sum(numerator), "{text}");
                assert_eq!(answer(d, 0, &all), sum(denominator), "{text}");
            }
            Quantity::Quantile(_) => panic!("{text}"),
        }
    }
}

#[test]
fn answers_are_per_combination_of_values() {
    let schema = schema();
    let records = records();
    let all: Vec<Vec<usize>> = records.iter().map(|record| cells(&schema, record)).collect();
    let text =
        "count where age >= 50 by region, age - count where sex = M and age >= 50 by region, age";
    let query = ResolvedQuery::parse(text, &schema).unwrap();
    let combinations: Vec<Vec<&str>> = (0..query.count()).map(|k| query.combination(k)).collect();
    let expected = [["N", "50 to 74"], ["N", "75 to 99"], ["S", "50 to 74"], ["S", "75 to 99"]];
    assert_eq!(combinations, expected);
    assert_eq!(query.terms.iter().map(|(sign, _)| *sign).collect::<Vec<_>>(), [1.0, -1.0]);
    for (k, [region, age]) in expected.into_iter().enumerate() {
        for (term, sex) in [(0, None), (1, Some("M"))] {
            let Quantity::Linear(products) = &query.terms[term].1 else { panic!("{text}") };
            let index = products.index(|p| query.value_of(k, p).unwrap_or_default());
            let is_in = |r: &&Record| {
                let of_region = if r.place == "a" || r.place == "b" { "N" } else { "S" };
                let of_age = match r.age {
                    Some(50..=74) => "50 to 74",
                    Some(75..) => "75 to 99",
                    _ => "",
                };
                of_region == region && of_age == age && sex.is_none_or(|sex| r.sex == sex)
            };
            let count = records.iter().filter(is_in).count();
            assert_eq!(answer(products, index, &all), count as f64);
        }
    }
}

/// The excess of every cell against sorted ages.
#[test]
fn quantiles_have_the_excess_of_every_cell() {
    let schema = schema();
    let records = records();
    let all: Vec<Vec<usize>> = records.iter().map(|record| cells(&schema, record)).collect();
    let query = ResolvedQuery::parse("quantile(age, 0.3) where age >= 25 by sex", &schema).unwrap();
    let Quantity::Quantile(quantile) = &query.terms[0].1 else { panic!() };
    let ends: Vec<_> = quantile.cells.iter().map(|c| (c.low, c.high, c.integers)).collect();
    let cell = |low: f64, high: f64| (Some(low), Some(high), Some(25.0));
    assert_eq!(ends, [cell(25.0, 49.0), cell(50.0, 74.0), cell(75.0, 99.0)]);
    for (k, last) in [49, 74, 99].into_iter().enumerate() {
        for (by, sex) in ["F", "M"].into_iter().enumerate() {
            let row = |p| if p == quantile.position { Some(k) } else { query.value_of(by, p) };
            let index = quantile.excess.index(|p| row(p).unwrap_or_default());
            let ages = || records.iter().filter(|r| r.sex == sex).filter_map(|r| r.age);
            let count = ages().filter(|age| *age >= 25).count() as f64;
            let below = ages().filter(|age| (25..=last).contains(age)).count() as f64;
            let found = answer(&quantile.excess, index, &all);
            approx::assert_abs_diff_eq!(found, below - 0.3 * count, epsilon = 1e-9);
        }
    }
    assert!(query.notes[0].contains("up to its bin"), "{:?}", query.notes);
}

/// The column of every mistake and a part of the message.
#[test]
fn names_and_values_that_do_not_fit_are_refused() {
    for (text, column, part) in [
        ("count where agee >= 50", 13, "did you mean `age`"),
        ("count where age >= 51", 20, "`age >= 50` or `age >= 75`"),
        ("count where age > 50", 19, "`age > 49` or `age > 74`"),
        ("count where age <= 50", 20, "`age <= 49` or `age <= 74`"),
        ("count where income <= 10", 23, "`income < 10` or `income < 20.5`"),
        ("count where income > 12", 22, "`income >= 10` or `income >= 20.5`"),
        ("count where income < 50", 22, "`income < 20.5` or `income <= 50`"),
        ("count where income >= 60", 23, "`income > 50`"),
        ("count where age >= old", 20, "a number"),
        ("count where age = 30", 19, "alone in its bin"),
        ("count where age = 300", 19, "an integer from 0 to 99"),
        ("count where sex = f", 19, "one of F, M"),
        ("count where sex > F", 13, "no order"),
        ("count where sex", 13, "the value true"),
        ("count where region = W", 22, "a node of the level: N, S"),
        ("count where region >= N", 13, "no order"),
        ("count where regio of \"place of work\" = N", 13, "did you mean `region`"),
        ("count where region of sex = N", 13, "without levels"),
        ("count where region of job = N", 23, "an attribute: age"),
        ("count where age < 0", 13, "which none meets"),
        ("count where age < 50 and age >= 75", 26, "exclude each other"),
        ("count by region, \"place of work\"", 18, "each attribute once"),
        ("sum(sex)", 5, "a numeric attribute for sum"),
        ("sum(since)", 5, "a numeric attribute"),
        ("mean(income)", 6, "where income <= 50"),
        ("mean(region)", 6, "a numeric attribute for mean"),
        ("mean(age) where age = unknown", 6, "cells with numbers"),
        ("median(age) by age", 8, "`age` in both"),
        ("quantile(age, 1)", 15, "between 0 and 1"),
        ("quantile(age, x)", 15, "between 0 and 1"),
        ("count by sex - count", 21, "`by sex` in every term"),
        ("count - count by sex", 18, "no `by` in every term"),
        ("count where age < 50 by age - count by age", 40, "the same values"),
    ] {
        let message = ResolvedQuery::parse(text, &schema()).unwrap_err().to_string();
        let position = format!("query, line 1, column {column}: ");
        assert!(message.starts_with(&position) && message.contains(part), "{text}: {message}");
    }
}

#[test]
fn notes_say_what_is_left_out() {
    let notes = |text: &str| ResolvedQuery::parse(text, &schema()).unwrap().notes;
    let mean = notes("mean(age)");
    assert!(mean[0].contains("the mean of the integers of its bin of `age`"), "{mean:?}");
    assert!(mean[1].contains("`age` = unknown"), "{mean:?}");
    assert!(notes("mean(income) where income <= 50")[0].contains("the midpoint of its bin"));
    assert!(notes("mean(children)").is_empty());
    assert!(notes("share of employed")[0].contains("missing `employed`"));
    assert!(notes("share of employed where employed != \"?\"").is_empty());
}

#[test]
fn levels_of_several_attributes_need_the_attribute() {
    let attribute = |name: &str| {
        format!(
            "[[attribute]]\nname = \"{name}\"\nkind = \"categorical\"\nsize = 2\n\
             levels = {{ region = [\"N\", \"N\"] }}\n"
        )
    };
    let text = attribute("home") + &attribute("work");
    let schema = Schema::from_toml(&text, "S.toml").unwrap();
    let message = ResolvedQuery::parse("count by region", &schema).unwrap_err().to_string();
    assert!(message.contains("`region of home` or `region of work`"), "{message}");
    let query = ResolvedQuery::parse("count by region of work", &schema).unwrap();
    assert_eq!(query.by[0].position, 1);
}
