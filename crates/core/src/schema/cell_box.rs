//! Sets of cells that a schema names: combinations that cannot occur, and public counts.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::coding::{AttributeCoding, Coded, Coder};
use super::entry::ValueEntry;
use crate::domain::{Attribute, AttributeKind, AttributeSet};
use crate::error::{Error, Result};

/// The cells of some attributes that meet one condition per attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellBox {
    attributes: AttributeSet,
    /// Whether the condition holds, per value of every attribute, in the order of the schema.
    chosen: Vec<Vec<bool>>,
}

impl CellBox {
    /// Returns the attributes with a condition; none for all records.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }

    /// Returns the values that are chosen, per attribute in the order of the schema.
    pub fn chosen(&self) -> &[Vec<bool>] {
        &self.chosen
    }

    /// Returns whether a record is in the box; `value` is its cell of an attribute.
    pub fn contains(&self, value: impl Fn(usize) -> usize) -> bool {
        let parts = self.attributes.positions().zip(&self.chosen);
        parts
            .into_iter()
            .all(|(position, chosen)| chosen.get(value(position)).copied().unwrap_or_default())
    }

    /// Returns whether all records of the box are in another.
    pub(super) fn is_within(&self, other: &CellBox) -> bool {
        other.attributes.positions().zip(&other.chosen).all(|(position, allowed)| {
            let mut here = self.attributes.positions().zip(&self.chosen);
            match here.find(|(known, _)| *known == position) {
                Some((_, chosen)) => {
                    chosen.iter().zip(allowed).all(|(here, there)| !here || *there)
                }
                None => !allowed.contains(&false),
            }
        })
    }

    /// Returns which cells of a marginal are in the box.
    ///
    /// The attributes of the marginal must contain those of the box; `sizes` are those of the
    /// marginal.
    pub fn cells(&self, marginal: AttributeSet, sizes: &[usize]) -> Vec<bool> {
        let mut chosen = self.chosen.iter();
        let mut cells = vec![true];
        for (position, &size) in marginal.positions().zip(sizes) {
            let of_axis = match self.attributes.contains(position) {
                true => chosen.next().cloned().unwrap_or_default(),
                false => vec![true; size],
            };
            cells = cells
                .iter()
                .flat_map(|&outer| of_axis.iter().map(move |&inner| outer && inner))
                .collect();
        }
        cells
    }
}

/// An `[[impossible]]` or `[[public]]` table of a schema file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoxEntry {
    /// The conditions by attribute.
    #[serde(default, rename = "where")]
    conditions: BTreeMap<String, ConditionEntry>,
}

/// The values of an attribute that meet a condition.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a value, a list of values, or a range such as { from = 0, to = 9 }"
)]
enum ConditionEntry {
    One(ValueEntry),
    Several(Vec<ValueEntry>),
    /// All cells from one value's to another's, both included.
    Range(RangeEntry),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeEntry {
    from: ValueEntry,
    to: ValueEntry,
}

/// Returns the box of an entry; `what` names its table in messages.
pub(super) fn cell_box(
    entry: &BoxEntry,
    attributes: &[Attribute],
    codings: &[AttributeCoding],
    what: &str,
) -> Result<CellBox> {
    let mut parts = Vec::with_capacity(entry.conditions.len());
    for (name, condition) in &entry.conditions {
        let Some(position) = attributes.iter().position(|attribute| attribute.name == *name) else {
            let known: Vec<&str> = attributes.iter().map(|a| a.name.as_str()).collect();
            let remedy = "check the spelling, or add the attribute to the schema";
            return Err(Error::unknown_name("attribute", name, &known, remedy).located(what));
        };
        let (attribute, coding) = (&attributes[position], &codings[position]);
        parts.push((position, chosen(condition, attribute, coding, what)?));
    }
    parts.sort_unstable_by_key(|(position, _)| *position);
    let positions: Vec<usize> = parts.iter().map(|(position, _)| *position).collect();
    let attributes = AttributeSet::from_positions(&positions)?;
    Ok(CellBox { attributes, chosen: parts.into_iter().map(|(_, chosen)| chosen).collect() })
}

/// Returns which values of an attribute meet a condition.
fn chosen(
    condition: &ConditionEntry,
    attribute: &Attribute,
    coding: &AttributeCoding,
    what: &str,
) -> Result<Vec<bool>> {
    let coder = Coder::new(coding, attribute);
    let refused = |expected: String, found: String| {
        let what = format!("{what}, condition on `{}`", attribute.name);
        Error::bad_input(what, expected, found, "name values of the attribute")
    };
    let mut chosen = vec![false; attribute.size];
    let cell_of = |entry: &ValueEntry| -> Result<usize> {
        let value = match entry.value() {
            Ok(value) => value,
            Err(found) => return Err(refused(coder.allowed(), format!("`{found}`"))),
        };
        match coder.code(value.as_value()) {
            Coded::Cell(cell) => Ok(cell as usize),
            _ => Err(refused(coder.allowed(), format!("`{value}`"))),
        }
    };
    match condition {
        ConditionEntry::One(value) => chosen[cell_of(value)?] = true,
        ConditionEntry::Several(values) => {
            for value in values {
                chosen[cell_of(value)?] = true;
            }
        }
        ConditionEntry::Range(RangeEntry { from, to }) => {
            if attribute.kind != AttributeKind::Numeric {
                return Err(refused("a value or a list of values".into(), "a range".into()));
            }
            let (first, last) = (cell_of(from)?, cell_of(to)?);
            if last >= attribute.size - attribute.extra {
                return Err(refused("numbers".into(), "a cell outside the order".into()));
            }
            if first > last {
                let found = "a range that ends before it starts";
                return Err(refused("from at most to".into(), found.into()));
            }
            chosen[first..=last].fill(true);
        }
    }
    if !chosen.contains(&true) {
        return Err(refused("at least one value".into(), "an empty list".into()));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    const SCHEMA: &str = r#"
        [[attribute]]
        name = "age"
        kind = "numeric"
        bins = { low = 0, high = 100, count = 5 }
        [[attribute]]
        name = "sex"
        kind = "categorical"
        values = ["f", "m"]
        [[attribute]]
        name = "marital"
        kind = "categorical"
        values = ["single", "married", "widowed"]
    "#;

    fn schema(more: &str) -> Result<Schema> {
        Schema::from_toml(&format!("{SCHEMA}{more}"), "S.toml")
    }

    #[test]
    fn conditions_name_cells() {
        let schema = schema(
            r#"
            [[impossible]]
            where = { marital = ["married", "widowed"], age = { from = 0, to = 25 } }
            [[impossible]]
            where = { age = 10, sex = "m" }
            [[public]]
            [[public]]
            where = { sex = "f" }
            "#,
        )
        .unwrap();
        let [first, second] = schema.impossible() else { panic!("two boxes") };
        assert_eq!(first.attributes(), AttributeSet::from_positions(&[0, 2]).unwrap());
        let pair = first.cells(first.attributes(), &[5, 3]);
        let expected = |cell: &usize| cell / 3 < 2 && !cell.is_multiple_of(3);
        assert_eq!(pair, (0..15).map(|cell| expected(&cell)).collect::<Vec<_>>());
        let all = second.cells(AttributeSet::from_positions(&[0, 1, 2]).unwrap(), &[5, 2, 3]);
        assert_eq!(all, (0..30).map(|cell| (3..6).contains(&cell)).collect::<Vec<_>>());
        assert!(schema.public_counts()[0].attributes().is_empty());
        assert_eq!(schema.public_counts()[1].chosen(), [vec![true, false]]);
    }

    #[test]
    fn conditions_without_cells_are_refused() {
        for (more, part) in [
            ("[[impossible]]", "at least one condition"),
            ("[[impossible]]\nwhere = { colour = 1 }", "colour"),
            ("[[impossible]]\nwhere = { sex = \"x\" }", "one of f, m"),
            ("[[impossible]]\nwhere = { sex = [] }", "an empty list"),
            ("[[impossible]]\nwhere = { sex = [\"f\", \"m\"] }", "every record"),
            ("[[impossible]]\nwhere = { sex = { from = \"f\", to = \"m\" } }", "a range"),
            ("[[impossible]]\nwhere = { age = { from = 90, to = 5 } }", "ends before"),
            ("[[impossible]]\nwhere = { age = { from = 90 } }", "where"),
            ("[[public]]\nwhere = { age = 101 }", "0 to 100"),
            ("[[public]]\nwher = { age = 10 }", "wher"),
            ("[[public]]\n[[public]]", "twice"),
            ("[[impossible]]\nwhere = { age = 10 }\n[[public]]\nwhere = { age = 5 }", "cannot"),
            (
                "[[public]]\nwhere = { age = 10, sex = \"f\" }\n\
                 [[impossible]]\nwhere = { age = { from = 0, to = 25 }, sex = [\"f\", \"m\"] }",
                "cannot",
            ),
        ] {
            let message = schema(more).unwrap_err().to_string();
            assert!(message.contains(part), "{more}: {message}");
        }
        for more in [
            "[[impossible]]\nwhere = { age = 10 }\n[[public]]\nwhere = { age = 50 }",
            "[[impossible]]\nwhere = { age = 10 }\n[[public]]\nwhere = { sex = \"f\" }",
            "[[impossible]]\nwhere = { age = 10, sex = \"f\" }\n[[public]]\nwhere = { age = 10 }",
        ] {
            schema(more).unwrap();
        }
    }
}
