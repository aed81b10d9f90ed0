//! A limit on the records of one person.

use std::collections::{HashMap, HashSet};

use super::record_coder::{CodedValues, Outcome};
use super::table::Values;
use crate::schema::Value;

/// A maximum number of records per person.
///
/// The first records with the same identifier are kept, in the order of the table, whether they are
/// inside the schema or not. So the kept records of a person depend on that person's records only,
/// and there are at most `rows` of them. Records without an identifier belong to no person and are
/// dropped.
///
/// Identifiers are texts, without surrounding spaces, and integers; an integer is the same person as
/// its decimal digits. All other values are no identifiers.
///
/// With `distinct`, the first record of every person and cell of that attribute is kept, so the
/// kept records of a person have different values of it. Records without a cell of the attribute,
/// and later records of a cell, are neither kept nor counted.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PersonLimit {
    /// The column with the identifier.
    pub column: String,
    /// Maximum records kept per person.
    pub rows: u32,
    /// The attribute whose cells differ between the kept records of a person, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<String>,
}

impl PersonLimit {
    /// Returns the limit of a number of records with any values.
    pub fn new(column: impl Into<String>, rows: u32) -> Self {
        PersonLimit { column: column.into(), rows, distinct: None }
    }
}

/// The number of records seen of every person.
#[derive(Debug)]
pub(super) struct Persons {
    rows: u32,
    seen: HashMap<Box<[u8]>, u32>,
    /// The cells of the attribute of `distinct` that every person's admitted records have.
    cells: HashSet<(Box<[u8]>, u32)>,
}

impl Persons {
    pub(super) fn new(limit: &PersonLimit) -> Self {
        Persons { rows: limit.rows, seen: HashMap::new(), cells: HashSet::new() }
    }

    /// Counts the identifiers of records, in order, and does not keep those beyond the limit.
    ///
    /// `distinct` has the cells of the attribute whose values differ, if there is one.
    pub(super) fn admit_all(
        &mut self,
        identifiers: &Values<'_>,
        distinct: Option<&CodedValues>,
        kept: &mut [bool],
    ) {
        let mut kept = kept.iter_mut().enumerate();
        identifiers.for_each(|identifier: Value<'_>| {
            let Some((record, kept)) = kept.next() else { return };
            let is_admitted = match distinct {
                None => self.admit(identifier, None),
                Some(coded) => {
                    coded.outcomes[record] != Outcome::Outside
                        && self.admit(identifier, Some(coded.cells[record]))
                }
            };
            *kept &= is_admitted;
        });
    }

    /// Returns whether a record with this identifier is among the first of its person, and is the
    /// first one with its cell.
    fn admit(&mut self, identifier: Value<'_>, cell: Option<u32>) -> bool {
        match identifier {
            Value::Text(text) => self.admit_key(text.trim().as_bytes(), cell),
            Value::Integer(number) => self.admit_key(number.to_string().as_bytes(), cell),
            Value::Number(number) if number.is_integer() => {
                self.admit_key(number.to_string().as_bytes(), cell)
            }
            Value::Bytes(bytes) => self.admit_key(bytes.trim_ascii(), cell),
            _ => false,
        }
    }

    /// Returns whether a value identifies a person.
    pub(super) fn is_identifier(value: Value<'_>) -> bool {
        match value {
            Value::Text(text) => !text.trim().is_empty(),
            Value::Bytes(bytes) => !bytes.trim_ascii().is_empty(),
            Value::Number(number) => number.is_integer(),
            value => matches!(value, Value::Integer(_)),
        }
    }

    fn admit_key(&mut self, key: &[u8], cell: Option<u32>) -> bool {
        if key.is_empty() {
            return false;
        }
        if let Some(cell) = cell {
            let is_full = self.seen.get(key).is_some_and(|seen| *seen >= self.rows);
            if is_full || !self.cells.insert((key.into(), cell)) {
                return false;
            }
        }
        match self.seen.get_mut(key) {
            Some(seen) if *seen >= self.rows => false,
            Some(seen) => {
                *seen += 1;
                true
            }
            None => {
                self.seen.insert(key.into(), 1);
                self.rows > 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Decimal;

    /// Every identifier is admitted once, so no two of them are one person.
    #[test]
    fn different_identifiers_are_different_persons() {
        let large = Decimal::parse("1180591620717411303425").unwrap();
        let mut persons = Persons::new(&PersonLimit::new("id", 1));
        for identifier in [
            Value::Integer(1 << 60),
            Value::Integer((1 << 60) + 1),
            Value::Integer(-1),
            Value::Number(&large),
            Value::Text("1"),
            Value::Text("1.0"),
            Value::Text("01"),
            Value::Text("1e0"),
            Value::Text("nan"),
            Value::Text("None"),
            Value::Text("a b"),
            Value::Text("ab"),
            Value::Bytes(b"\xff"),
            Value::Bytes(b"\xfe"),
        ] {
            assert!(Persons::is_identifier(identifier), "{identifier}");
            assert!(persons.admit(identifier, None), "{identifier}");
            assert!(!persons.admit(identifier, None), "{identifier}");
        }
        assert!(!persons.admit(Value::Integer(1), None), "the digits of an integer are its text");
        assert!(!persons.admit(Value::Text(" ab "), None));
    }

    #[test]
    fn other_values_are_no_identifiers() {
        let mut persons = Persons::new(&PersonLimit::new("id", 9));
        let half = Decimal::parse("0.5").unwrap();
        for identifier in [
            Value::Missing,
            Value::Text(" "),
            Value::Float(5.0),
            Value::Number(&half),
            Value::Boolean(true),
            Value::Time(0),
            Value::Other,
        ] {
            assert!(!Persons::is_identifier(identifier), "{identifier}");
            assert!(!persons.admit(identifier, None), "{identifier}");
        }
    }
}
