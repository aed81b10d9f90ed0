//! A limit on the records of one person.

use std::collections::HashMap;

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
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PersonLimit {
    /// The column with the identifier.
    pub column: String,
    /// Maximum records kept per person.
    pub rows: u32,
}

/// The number of records seen of every person.
#[derive(Debug)]
pub(super) struct Persons {
    rows: u32,
    seen: HashMap<Box<[u8]>, u32>,
}

impl Persons {
    pub(super) fn new(limit: &PersonLimit) -> Self {
        Persons { rows: limit.rows, seen: HashMap::new() }
    }

    /// Counts the identifiers of records, in order, and does not keep those beyond the limit.
    pub(super) fn admit_all(&mut self, identifiers: &Values<'_>, kept: &mut [bool]) {
        let mut kept = kept.iter_mut();
        identifiers.for_each(|identifier: Value<'_>| {
            let is_admitted = self.admit(identifier);
            if let Some(kept) = kept.next() {
                *kept &= is_admitted;
            }
        });
    }

    /// Returns whether a record with this identifier is among the first of its person.
    fn admit(&mut self, identifier: Value<'_>) -> bool {
        match identifier {
            Value::Text(text) => self.admit_key(text.trim().as_bytes()),
            Value::Integer(number) => self.admit_key(number.to_string().as_bytes()),
            Value::Number(number) if number.is_integer() => {
                self.admit_key(number.to_string().as_bytes())
            }
            Value::Bytes(bytes) => self.admit_key(bytes.trim_ascii()),
            _ => false,
        }
    }

    fn admit_key(&mut self, key: &[u8]) -> bool {
        if key.is_empty() {
            return false;
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
        let mut persons = Persons::new(&PersonLimit { column: "id".into(), rows: 1 });
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
            assert!(persons.admit(identifier), "{identifier}");
            assert!(!persons.admit(identifier), "{identifier}");
        }
        assert!(!persons.admit(Value::Integer(1)), "the digits of an integer are its text");
        assert!(!persons.admit(Value::Text(" ab ")));
    }

    #[test]
    fn other_values_are_no_identifiers() {
        let mut persons = Persons::new(&PersonLimit { column: "id".into(), rows: 9 });
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
            assert!(!persons.admit(identifier), "{identifier}");
        }
    }
}
