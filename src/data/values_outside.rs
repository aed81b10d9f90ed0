//! What a release does with missing values and values outside the schema, per attribute.

use serde::{Deserialize, Serialize};

use super::out_of_domain::OutOfDomain;
use crate::domain::AttributeKind;
use crate::schema::{Coding, Schema};

/// What a release does with missing values and values outside one attribute.
///
/// It follows from the schema and the rule, and depends on no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValuesOutside {
    /// The attribute's name.
    pub attribute: String,
    /// What happens, such as "missing and outside values: the record is dropped".
    pub handling: String,
}

impl ValuesOutside {
    /// Returns what happens in every attribute of a schema.
    pub fn of(schema: &Schema, rule: OutOfDomain) -> Vec<Self> {
        let of = |position: usize| {
            let has_range = match schema.coding(position) {
                Some(Coding::Bins(_)) => true,
                Some(Coding::Index) => schema.attributes()[position].kind == AttributeKind::Numeric,
                _ => false,
            };
            let place = |cell: Option<u32>| match cell {
                Some(cell) => counted_as(schema, position, cell),
                None => "the record is dropped".to_owned(),
            };
            let (missing, other) = (schema.missing(position), schema.other(position));
            let (missing, other) = (place(missing.or(other)), place(other));
            let is_clamped = rule == OutOfDomain::Clamp && has_range;
            let of_numbers =
                if is_clamped { "numbers out of range: in the nearest cell; " } else { "" };
            let outside = if is_clamped { "other" } else { "outside" };
            let handling = match missing == other {
                true => format!("{of_numbers}missing and {outside} values: {other}"),
                false => {
                    format!("{of_numbers}missing values: {missing}; {outside} values: {other}")
                }
            };
            ValuesOutside { attribute: schema.attributes()[position].name.clone(), handling }
        };
        (0..schema.attributes().len()).map(of).collect()
    }
}

fn counted_as(schema: &Schema, position: usize, cell: u32) -> String {
    let index = cell as usize;
    match (schema.label(position, index), schema.coding(position)) {
        (Some(label), _) => format!("counted as `{label}`"),
        (None, Some(Coding::Values(values))) if index < values.len() => {
            format!("counted as `{}`", values[index])
        }
        (None, Some(Coding::Bins(bins))) => {
            format!("counted in the bin {}", bins.in_words(index, index))
        }
        _ => format!("counted in cell {cell}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"
        [[attribute]]
        name = "age"
        kind = "numeric"
        bins = { low = 0, high = 40, count = 4 }
        [[attribute]]
        name = "income"
        kind = "numeric"
        edges = [0, 10, 50]
        other = 20
        [[attribute]]
        name = "job"
        kind = "categorical"
        values = ["clerk", "baker"]
        other = "baker"
        [[attribute]]
        name = "code"
        kind = "categorical"
        size = 3
        other = 2
        [[attribute]]
        name = "rent"
        kind = "integer"
        edges = [0, 10, 50]
        missing = "unknown"
        other = "invalid"
    "#;

    #[test]
    fn every_attribute_has_words() {
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        let words = |rule| {
            let all = ValuesOutside::of(&schema, rule).into_iter();
            all.map(|of| format!("{}: {}", of.attribute, of.handling)).collect::<Vec<_>>()
        };
        assert_eq!(
            words(OutOfDomain::Drop),
            [
                "age: missing and outside values: the record is dropped",
                "income: missing and outside values: counted in the bin from 10 to 50",
                "job: missing and outside values: counted as `baker`",
                "code: missing and outside values: counted in cell 2",
                "rent: missing values: counted as `unknown`; outside values: counted as `invalid`",
            ]
        );
        assert_eq!(
            words(OutOfDomain::Clamp)[..2],
            [
                "age: numbers out of range: in the nearest cell; missing and other values: the \
                 record is dropped",
                "income: numbers out of range: in the nearest cell; missing and other values: \
                 counted in the bin from 10 to 50",
            ]
        );
        assert_eq!(words(OutOfDomain::Clamp)[2..4], words(OutOfDomain::Other)[2..4]);
        assert_eq!(
            words(OutOfDomain::Clamp)[4],
            "rent: numbers out of range: in the nearest cell; missing values: counted as \
             `unknown`; other values: counted as `invalid`"
        );
    }

    /// The check takes no records, so it cannot depend on them.
    #[test]
    fn only_explicit_rules_accept_schemas_that_drop_records() {
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        let message = OutOfDomain::Other.check(&schema).unwrap_err().to_string();
        assert!(message.contains("`age`") && !message.contains("`job`"), "{message}");
        assert!(message.contains("--out-of-domain drop"), "{message}");
        for rule in [OutOfDomain::Drop, OutOfDomain::Clamp] {
            assert!(rule.check(&schema).is_ok());
        }
        let complete = SCHEMA.replacen("count = 4 }", "count = 4 }\nother = 5", 1);
        let complete = Schema::from_toml(&complete, "S.toml").unwrap();
        assert!(OutOfDomain::Other.check(&complete).is_ok());
    }
}
