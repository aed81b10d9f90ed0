//! Drafted schemas code the tables that they are made from.

use proptest::prelude::*;

use super::draft_schema;
use crate::Schema;
use crate::data::table::{
    CsvTable, FieldCounts, MemoryColumn, MemoryTable, OwnedValue, TypedTable,
};
use crate::data::{OpenTable, OutOfDomain, check};
use crate::schema::ColumnType;

fn csv(text: &str) -> Box<dyn TypedTable> {
    let source = std::io::Cursor::new(text.to_owned().into_bytes());
    Box::new(CsvTable::from_source(Box::new(source), "X.csv", FieldCounts::Any).unwrap())
}

/// Checks that a table has no value outside the schema that is drafted from it, and that no record
/// of another table is dropped. Every value has a cell, and missing values have one of their own.
fn codes_itself(table: &dyn Fn() -> Box<dyn TypedTable>) -> Schema {
    let text = draft_schema(table(), 100).unwrap();
    let schema = Schema::from_toml(&text, "S.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let open = OpenTable::new(table(), &schema, None).unwrap();
    OutOfDomain::Other.check(&schema).unwrap();
    let found = check(open, &schema, OutOfDomain::Other).unwrap();
    assert_eq!((found.dropped, found.kept), (0, found.records), "{text}\n{:?}", found.offences);
    for (position, attribute) in found.attributes.iter().enumerate() {
        assert_eq!((attribute.other, attribute.outside), (0, 0), "{text}");
        let cells =
            [schema.missing(position), schema.other(position)].map(|cell| cell.map(|c| c as usize));
        for cell in cells.into_iter().flatten() {
            assert!(schema.label(position, cell).is_some(), "{text}");
        }
        assert_ne!(cells[0], cells[1], "{text}");
    }
    schema
}

fn value(kind: usize) -> BoxedStrategy<OwnedValue> {
    let text = prop::sample::select(vec![
        "a",
        " b ",
        "02139",
        "é\"\\",
        "x\ny",
        "#",
        "true",
        "True",
        "7",
        "7.0",
        "\u{7f}\u{2028}",
        "2024-02-29",
        "",
        "unknown",
        "other",
    ]);
    let fraction = (any::<i32>(), -12i64..12)
        .prop_map(|(digits, exponent)| crate::Decimal::of_digits(digits.into(), exponent));
    match kind {
        0 => (-300i128..300).prop_map(OwnedValue::Integer).boxed(),
        1 => any::<i64>().prop_map(|n| OwnedValue::Integer(i128::from(n) * 3)).boxed(),
        2 => prop::num::f64::NORMAL.prop_map(OwnedValue::Float).boxed(),
        3 => (-500i32..500).prop_map(|n| OwnedValue::Float(f64::from(n) / 100.0)).boxed(),
        4 => fraction.prop_map(OwnedValue::Number).boxed(),
        5 => any::<bool>().prop_map(OwnedValue::Boolean).boxed(),
        6 => (-40i128..40).prop_map(|d| OwnedValue::Time(d * 43_200_000_000_000)).boxed(),
        7 => text.prop_map(|text| OwnedValue::Text(text.into())).boxed(),
        _ => (0usize..8).prop_flat_map(value).boxed(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_type_is_coded(
        values in (0usize..9).prop_flat_map(|kind| {
            let value = prop_oneof![8 => value(kind), 1 => Just(OwnedValue::Missing)];
            (Just(kind), prop::collection::vec(value, 1..60))
        }),
    ) {
        let (kind, values) = values;
        let kind = match kind {
            0 | 1 => ColumnType::Integer,
            2 | 3 => ColumnType::Float,
            5 => ColumnType::Boolean,
            6 => ColumnType::Time,
            7 => ColumnType::Text,
            _ => ColumnType::Any,
        };
        let constant = vec![OwnedValue::Boolean(true); values.len()];
        let table = MemoryTable::new(vec![
            ("x".to_owned(), MemoryColumn::Values(kind, values)),
            ("always".to_owned(), MemoryColumn::Values(ColumnType::Boolean, constant)),
        ]).unwrap();
        codes_itself(&|| Box::new(table.reader()));
    }

    #[test]
    fn csv_is_coded(
        rows in prop::collection::vec((-90i32..4000, any::<f64>(), 0u8..6), 1..80),
    ) {
        let line = |(age, x, job): &(i32, f64, u8)| {
            let finite = if x.is_finite() { *x } else { 0.5 };
            let age = if age % 7 == 0 { String::new() } else { age.to_string() };
            let jobs = ["clerk", "\"a, b\"", "\"c\"\"d\"", "7", "é", ""];
            format!("{age},{finite:?},{}\n", jobs[usize::from(*job)])
        };
        let text = format!("age,x,job\n{}", rows.iter().map(line).collect::<String>());
        codes_itself(&|| csv(&text));
    }
}

#[test]
fn the_draft_says_what_it_is_made_from() {
    let mut text = "id,age,job,income,empty\n".to_owned();
    for k in 0..200 {
        let income = if k == 7 { 5_000_000 } else { 1000 + 13 * (k % 50) };
        let job = ["unknown", "baker", ""][k % 3];
        text += &format!("p{k},{},{job},{income},\n", 17 + k % 74);
    }
    let draft = draft_schema(csv(&text), 100).unwrap();
    assert!(draft.starts_with("# NOT PRIVATE: made from the records of \"X.csv\"."), "{draft}");
    for part in [
        "# integers, 74 distinct, from 17 to 90, 0.0 % missing or empty\n",
        "kind = \"integer\"\n# Rounding: the bins are 5 wide.",
        "bins = { low = 15, high = 90, count = 15 }\nother = \"other\"\n",
        "values = [\"baker\", \"unknown\"]\nmissing = \"missing\"\nother = \"other\"\n",
        "# text, 2 distinct, 33.0 % missing or empty\n",
        "for --person.\n# \"id\": text, 200 distinct",
        "edges = [1000, 1050, 1100, 1150, 1200, 1250, 1300, 1350, 1400, 1450, 1500, 1550, 1600, ",
        "\nabove = true\n",
        "# Top-coding: 96 % of the numbers are from ",
        "# \"empty\": no values, 0 distinct, 100.0 % missing or empty; no value can have a cell\n",
    ] {
        assert!(draft.contains(part), "{part}\n{draft}");
    }
    // A long tail does not move the other end, which is not far from the middle.
    let mut text = "income\n".to_owned();
    for k in 0..400 {
        text += &format!("{}\n", if k == 7 { 40_717_640 } else { 97 * (k / 2) - 5_000 });
    }
    let draft = draft_schema(csv(&text), 100).unwrap();
    assert!(draft.contains("edges = [-5000, ") && draft.contains("above = true"), "{draft}");
    codes_itself(&|| csv(&text));
    let refused = draft_schema(csv("id\n"), 100).unwrap_err().to_string();
    assert!(refused.contains("X.csv") && refused.contains("remedy"), "{refused}");
}

/// Files of spreadsheets in other languages: semicolons and tabs are refused, decimal commas named.
#[test]
fn other_separators_are_refused_and_decimal_commas_are_named() {
    for (text, separator) in [
        ("age;income\n35;1000,50\n36;2000,75\n", "semicolons"),
        ("age\tincome\n35\t1000\n", "tabs"),
        ("age|income\n", "vertical bars"),
    ] {
        let refused = draft_schema(csv(text), 100).unwrap_err().to_string();
        let expected = format!("one name with {separator}");
        assert!(refused.contains(&expected) && refused.contains("with commas"), "{refused}");
    }
    let quoted = "x,name\n\"1,5\",a\n\"-1.234,50\",\"b, c\"\n\"7\",\"1,2,3\"\n";
    let draft = draft_schema(csv(quoted), 100).unwrap();
    assert_eq!(draft.matches("decimal commas").count(), 1, "{draft}");
    assert!(
        draft.contains("# text, 3 distinct, 0.0 % missing or empty; numbers with decimal commas")
    );
}
