//! Counts of the values of a private column whose values are not public.

use std::collections::BTreeMap;

use super::open_table::OpenTable;
use super::person_limit::Persons;
use super::table::Values;
use crate::error::Result;
use crate::schema::Value;

/// The number of kept records with every text of a column, in the order of the bytes of the texts.
///
/// Surrounding spaces do not count, as in every table; case does. A text without characters is
/// missing. Reserved texts are not counted: they are the labels of other cells.
pub struct ValueCounts {
    counts: BTreeMap<String, u64>,
}

/// Shows no value and no count.
impl std::fmt::Debug for ValueCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueCounts").finish_non_exhaustive()
    }
}

impl ValueCounts {
    /// Returns texts and counts. Whether a text is among them is private too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(text, count)| (text.as_str(), *count))
    }

    /// Counts the values of kept records.
    fn extend(&mut self, values: &Values<'_>, kept: &[bool], reserved: &[&str]) {
        let mut kept = kept.iter();
        values.for_each(|value: Value<'_>| {
            let (Some(true), Value::Text(text)) = (kept.next(), value) else { return };
            let text = text.trim();
            if text.is_empty() || reserved.contains(&text) {
                return;
            }
            match self.counts.get_mut(text) {
                Some(count) => *count += 1,
                None => {
                    self.counts.insert(text.to_owned(), 1);
                }
            }
        });
    }
}

impl OpenTable {
    /// Counts the texts of the first attribute's column, except `reserved` ones.
    ///
    /// The first records of every person are kept, whatever their values. No message depends on the
    /// records, except that the table cannot be read to its end.
    ///
    /// *Memory*: O(distinct values).
    ///
    /// # Errors
    /// The table cannot be read to its end.
    pub fn count_private_values(mut self, reserved: &[&str]) -> Result<ValueCounts> {
        let origin = self.origin().to_owned();
        let mut persons = self.person().map(Persons::new);
        let mut counts = ValueCounts { counts: BTreeMap::new() };
        while let Some(batch) = self.next_batch().map_err(|error| error.unquoted(&origin))? {
            let mut kept = vec![true; batch.rows];
            if let (Some(persons), Some(identifiers)) = (&mut persons, batch.columns.get(1)) {
                persons.admit_all(identifiers, None, &mut kept);
            }
            if let Some(values) = batch.columns.first() {
                counts.extend(values, &kept, reserved);
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use crate::data::PersonLimit;
    use crate::schema::Schema;
    use crate::test_support::open_csv;

    const SCHEMA: &str = "[[attribute]]\nname = \"job\"\nkind = \"categorical\"\nvalues = \
                          [\"x\"]\nother = \"other\"\n";

    fn counts(text: &str, person: Option<u32>) -> Vec<(String, u64)> {
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        let person = person.map(|rows| PersonLimit::new("id", rows));
        let table = open_csv(text.as_bytes(), &schema, person).unwrap();
        let counted = table.count_private_values(&["other", "unknown"]).unwrap();
        assert_eq!(format!("{counted:?}"), "ValueCounts { .. }");
        counted.iter().map(|(text, count)| (text.to_owned(), count)).collect()
    }

    /// Adding one record changes one count by one, or none.
    #[test]
    fn values_are_counted_as_schemas_compare_them() {
        let lines = "id,job\n1,baker\n2,Baker\n3, baker \n4,\n5,other\n6,unknown\n7,\"a\rb\"\n\
                     8,\"a\nb\"\n9,7\n10,7.0\n11,baker\r\n12,\" \"\n";
        let named = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
            pairs.iter().map(|(text, count)| ((*text).to_owned(), *count)).collect()
        };
        let all = [("7", 1), ("7.0", 1), ("Baker", 1), ("a\nb", 1), ("a\rb", 1), ("baker", 3)];
        assert_eq!(counts(lines, None), named(&all));
        for (value, change) in
            [("", 0), ("other", 0), (" unknown ", 0), ("\"baker\r\"", 1), ("\u{feff}", 1)]
        {
            let more = counts(&format!("{lines}13,{value}\n"), None);
            let sum = |counts: &[(String, u64)]| counts.iter().map(|(_, n)| n).sum::<u64>();
            assert_eq!(sum(&more) - sum(&counts(lines, None)), change, "{value:?}");
        }
    }

    #[test]
    fn only_the_first_records_of_a_person_are_counted() {
        let lines = "job,id\na,p\nother,q\nb,p\nc,q\nd,q\ne,\n";
        let texts =
            |rows| counts(lines, rows).into_iter().map(|(text, _)| text).collect::<String>();
        assert_eq!([texts(Some(1)), texts(Some(2)), texts(None)], ["a", "abc", "abcde"]);
    }
}
