//! A limit on the records of one person.

use std::collections::HashMap;

/// A maximum number of records per person.
///
/// The first records with the same identifier are kept, in the order of the file, whether they are
/// inside the schema or not. So the kept records of a person depend on that person's records only,
/// and there are at most `rows` of them. Records without an identifier (empty or missing) belong to
/// no person and are dropped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PersonLimit {
    /// The column with the identifier.
    pub column: String,
    /// Maximum records kept per person.
    pub rows: u32,
}

/// The number of records seen of every person.
#[derive(Debug)]
pub(super) struct Persons<'a> {
    limit: &'a PersonLimit,
    column: usize,
    seen: HashMap<Box<[u8]>, u32>,
}

impl<'a> Persons<'a> {
    pub(super) fn new(limit: &'a PersonLimit, column: usize) -> Self {
        Persons { limit, column, seen: HashMap::new() }
    }

    /// Returns whether the line is among the first records of its person.
    pub(super) fn admit(&mut self, line: &csv::ByteRecord) -> bool {
        let identifier = line.get(self.column).unwrap_or_default().trim_ascii();
        if identifier.is_empty() {
            return false;
        }
        match self.seen.get_mut(identifier) {
            Some(seen) if *seen >= self.limit.rows => false,
            Some(seen) => {
                *seen += 1;
                true
            }
            None => {
                self.seen.insert(identifier.into(), 1);
                self.limit.rows > 0
            }
        }
    }
}
