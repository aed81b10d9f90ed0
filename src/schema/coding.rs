//! The mapping from an attribute's values in a file to its cells.

use std::fmt;

use serde::Deserialize;

use crate::domain::AttributeKind;
use crate::error::{Error, Result};

/// The largest integer up to which `f64` represents every integer.
const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// A value listed in a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Compared as text, without surrounding spaces.
    Text(String),
    /// Compared as a number: `1`, `1.0` and `1e0` are equal.
    ///
    /// Finite.
    Number(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Number(number) => number.fmt(f),
        }
    }
}

/// The mapping from an attribute's values in a file to its cells.
#[derive(Debug, Clone, PartialEq)]
pub enum Coding {
    /// The file contains the cell numbers 0 … size−1.
    Index,
    /// The k-th value of the list is cell k.
    Values(Vec<Value>),
    /// `count` bins of equal width over [low, high).
    Bins {
        /// The lower end of the first bin.
        low: f64,
        /// The upper end of the last bin.
        high: f64,
        /// The number of bins.
        count: usize,
    },
}

/// A value in a schema file: text, or a number.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(super) enum ValueEntry {
    Text(String),
    Whole(i64),
    Real(f64),
    Truth(bool),
}

impl ValueEntry {
    /// Converts the entry to a value.
    ///
    /// Returns a message for a number that `f64` does not represent.
    fn value(&self) -> std::result::Result<Value, String> {
        match self {
            ValueEntry::Text(text) => Ok(Value::Text(text.trim().to_owned())),
            ValueEntry::Truth(truth) => Ok(Value::Text(truth.to_string())),
            ValueEntry::Whole(whole) if whole.unsigned_abs() <= MAX_EXACT_INTEGER => {
                Ok(Value::Number(*whole as f64))
            }
            ValueEntry::Real(real) if real.is_finite() => Ok(Value::Number(*real)),
            ValueEntry::Whole(number) => Err(format!("the number {number}")),
            ValueEntry::Real(number) => Err(format!("the number {number}")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BinsEntry {
    pub low: f64,
    pub high: f64,
    pub count: usize,
}

/// The keys of an attribute in a schema file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeEntry {
    pub name: String,
    pub size: usize,
    pub kind: AttributeKind,
    pub values: Option<Vec<ValueEntry>>,
    pub bins: Option<BinsEntry>,
    pub other: Option<ValueEntry>,
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coded {
    /// The cell of the value.
    Cell(u32),
    /// The value is a number outside the range of a numeric attribute.
    ///
    /// This is the nearest cell.
    Nearest(u32),
    /// The attribute has no cell for the value.
    Outside,
}

/// The coding of one attribute, prepared for look-ups.
#[derive(Debug)]
pub(crate) struct Coder<'a> {
    coding: &'a Coding,
    size: usize,
    is_numeric: bool,
    /// For [`Coding::Values`]: the texts with their cells, sorted.
    texts: Vec<(&'a str, u32)>,
    /// For [`Coding::Values`]: the numbers with their cells, sorted.
    numbers: Vec<(f64, u32)>,
}

impl<'a> Coder<'a> {
    pub(crate) fn new(coding: &'a Coding, size: usize, kind: AttributeKind) -> Self {
        let values = match coding {
            Coding::Values(values) => values.as_slice(),
            Coding::Index | Coding::Bins { .. } => &[],
        };
        let (mut texts, mut numbers) = (Vec::new(), Vec::new());
        for (value, cell) in values.iter().zip(0..) {
            match value {
                Value::Text(text) => texts.push((text.as_str(), cell)),
                // Maps −0 to 0.
                Value::Number(number) => numbers.push((number + 0.0, cell)),
            }
        }
        texts.sort_unstable();
        numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Coder { coding, size, is_numeric: kind == AttributeKind::Numeric, texts, numbers }
    }

    /// Looks up a value of a file, given without surrounding spaces.
    pub(crate) fn code(&self, value: &str) -> Coded {
        let last = (self.size - 1) as u32;
        match self.coding {
            Coding::Values(_) => self.listed(value).map_or(Coded::Outside, Coded::Cell),
            Coding::Index => match value.parse::<i64>() {
                Ok(number) if number >= 0 && number as u64 <= (self.size - 1) as u64 => {
                    Coded::Cell(number as u32)
                }
                Ok(number) if self.is_numeric => Coded::Nearest(if number < 0 { 0 } else { last }),
                _ => Coded::Outside,
            },
            Coding::Bins { low, high, count } => match value.parse::<f64>() {
                Ok(number) if *low <= number && number < *high => {
                    // Just below `high` rounding may give `count`.
                    let bin = (number - low) / (high - low) * *count as f64;
                    Coded::Cell((bin as u32).min(last))
                }
                Ok(number) if number < *low => Coded::Nearest(0),
                Ok(number) if number >= *high => Coded::Nearest(last),
                _ => Coded::Outside,
            },
        }
    }

    fn listed(&self, value: &str) -> Option<u32> {
        if let Ok(index) = self.texts.binary_search_by_key(&value, |&(known, _)| known) {
            return Some(self.texts[index].1);
        }
        if self.numbers.is_empty() {
            return None;
        }
        let number = value.parse::<f64>().ok()? + 0.0;
        let index = self.numbers.binary_search_by(|(known, _)| known.total_cmp(&number)).ok()?;
        Some(self.numbers[index].1)
    }

    /// Describes the values that have a cell, for messages.
    pub(crate) fn allowed(&self) -> String {
        const MAX_LISTED: usize = 12;
        let listed =
            |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        match self.coding {
            Coding::Index => format!("a cell number from 0 to {}", self.size - 1),
            Coding::Bins { low, high, .. } => format!("a number from {low} to below {high}"),
            Coding::Values(values) if values.len() > MAX_LISTED => {
                format!("one of {} values: {}, …", values.len(), listed(&values[..MAX_LISTED]))
            }
            Coding::Values(values) => format!("one of {}", listed(values)),
        }
    }
}

/// Returns the coding of an entry, and the cell of its key `other`.
pub(super) fn coding(entry: &AttributeEntry, origin: &str) -> Result<(Coding, Option<u32>)> {
    let refuse = |key: &str, expected: String, found: String| {
        let what = format!("{origin}, attribute `{}`, key `{key}`", entry.name);
        let remedy = "make the list or the bins agree with `size`, or drop them";
        Err(Error::bad_input(what, expected, found, remedy))
    };
    let coding = match (&entry.values, &entry.bins) {
        (None, None) => Coding::Index,
        (Some(_), Some(_)) => return refuse("bins", "either values or bins".into(), "both".into()),
        (Some(values), None) => {
            let values: Vec<Value> = match values.iter().map(ValueEntry::value).collect() {
                Ok(values) => values,
                Err(found) => {
                    let expected = format!(
                        "numbers of absolute value at most {MAX_EXACT_INTEGER}; \
                         quote larger ones as text"
                    );
                    return refuse("values", expected, found);
                }
            };
            let equal = equal_values(&values);
            if values.len() != entry.size || equal > 0 {
                let found =
                    format!("{} values, {} of them distinct", values.len(), values.len() - equal);
                return refuse("values", format!("{} distinct values", entry.size), found);
            }
            Coding::Values(values)
        }
        (None, Some(bins)) => {
            if bins.count != entry.size {
                let expected = format!("{}, the attribute's size", entry.size);
                return refuse("bins.count", expected, bins.count.to_string());
            }
            if !(bins.low < bins.high && bins.low.is_finite() && bins.high.is_finite()) {
                let found = format!("low = {}, high = {}", bins.low, bins.high);
                return refuse("bins", "finite numbers low < high".into(), found);
            }
            if entry.kind == AttributeKind::Categorical {
                return refuse(
                    "bins",
                    "kind = \"numeric\"".into(),
                    "kind = \"categorical\"".into(),
                );
            }
            Coding::Bins { low: bins.low, high: bins.high, count: bins.count }
        }
    };
    let other = match &entry.other {
        None => None,
        // `Schema::with_codings` refuses an empty attribute.
        Some(_) if entry.size == 0 => None,
        Some(other) => {
            let coder = Coder::new(&coding, entry.size, entry.kind);
            let found = match other {
                ValueEntry::Text(text) => text.clone(),
                ValueEntry::Whole(number) => number.to_string(),
                ValueEntry::Real(number) => number.to_string(),
                ValueEntry::Truth(truth) => truth.to_string(),
            };
            match coder.code(found.trim()) {
                Coded::Cell(cell) => Some(cell),
                _ => return refuse("other", coder.allowed(), format!("`{found}`")),
            }
        }
    };
    Ok((coding, other))
}

/// Counts the values that equal an earlier one in a look-up.
///
/// A number equals a text that parses as this number.
fn equal_values(values: &[Value]) -> usize {
    let mut texts: Vec<&str> = Vec::new();
    let mut numbers: Vec<f64> = Vec::new();
    for value in values {
        match value {
            Value::Text(text) => texts.push(text),
            Value::Number(number) => numbers.push(number + 0.0),
        }
    }
    numbers.sort_unstable_by(f64::total_cmp);
    let number_of = |text: &&str| text.parse::<f64>().ok();
    let is_listed =
        |number: f64| numbers.binary_search_by(|known| known.total_cmp(&(number + 0.0))).is_ok();
    let across = texts.iter().filter_map(number_of).filter(|number| is_listed(*number)).count();
    let repeated_numbers = numbers.windows(2).filter(|pair| pair[0] == pair[1]).count();
    texts.sort_unstable();
    across + repeated_numbers + texts.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    fn schema(keys: &str) -> Result<Schema> {
        Schema::from_toml(&format!("[[attribute]]\nname = \"a\"\n{keys}\n"), "S.toml")
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_texts_as_texts() {
        let schema =
            schema("size = 4\nkind = \"categorical\"\nvalues = [1.0, 20, \"x 1\", \"03\"]")
                .unwrap();
        let coder = Coder::new(schema.coding(0).unwrap(), 4, AttributeKind::Categorical);
        for (value, expected) in [
            ("1.0", Coded::Cell(0)),
            ("1", Coded::Cell(0)),
            ("1e0", Coded::Cell(0)),
            ("020", Coded::Cell(1)),
            ("x 1", Coded::Cell(2)),
            ("03", Coded::Cell(3)),
            ("3", Coded::Outside),
            ("x1", Coded::Outside),
            ("inf", Coded::Outside),
            ("", Coded::Outside),
        ] {
            assert_eq!(coder.code(value), expected, "{value}");
        }
    }

    #[test]
    fn duplicate_values_are_refused() {
        for values in [
            "[1, 1.0]",
            "[\"a\", \" a \"]",
            "[1, \"1.0\"]",
            "[0.0, -0.0]",
            "[9007199254740993, 2]",
            "[inf, 2]",
        ] {
            let keys = format!("size = 2\nkind = \"categorical\"\nvalues = {values}");
            let message = schema(&keys).unwrap_err().to_string();
            assert!(message.contains("key `values`"), "{values}: {message}");
        }
        assert!(schema("size = 2\nkind = \"categorical\"\nvalues = [\"1\", \"1.0\"]").is_ok());
    }

    #[test]
    fn the_key_other_selects_a_cell_by_its_value() {
        for (keys, expected) in [
            ("size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \"m\"", Some(1)),
            ("size = 2\nkind = \"categorical\"\nvalues = [1.5, 2]\nother = 2.0", Some(1)),
            ("size = 3\nkind = \"categorical\"\nother = 2", Some(2)),
            (
                "size = 4\nkind = \"numeric\"\n\
                 bins = { low = 0, high = 80, count = 4 }\nother = 25",
                Some(1),
            ),
            ("size = 3\nkind = \"categorical\"", None),
        ] {
            assert_eq!(schema(keys).unwrap().other(0), expected, "{keys}");
        }
        for keys in [
            "size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \"?\"",
            "size = 3\nkind = \"categorical\"\nother = 3",
            "size = 4\nkind = \"numeric\"\nbins = { low = 0, high = 80, count = 4 }\nother = 80",
        ] {
            assert!(schema(keys).unwrap_err().to_string().contains("key `other`"), "{keys}");
        }
    }
}
