//! How the values of an attribute in a file map to its cells.

use std::fmt;

use serde::Deserialize;

use crate::domain::AttributeKind;
use crate::error::{Error, Result};

/// Whole numbers up to this size are doubles.
const MAX_WHOLE: u64 = 1 << 53;

/// A value that a schema lists.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Compared as text, without the spaces around it.
    Text(String),
    /// Compared as a number: `1`, `1.0` and `1e0` are equal. Finite.
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

/// How an attribute's values in a file map to its cells.
#[derive(Debug, Clone, PartialEq)]
pub enum Coding {
    /// The file holds the cell numbers 0 … size−1 themselves.
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
    /// The value; a message for a number that doubles do not hold.
    fn value(&self) -> std::result::Result<Value, String> {
        match self {
            ValueEntry::Text(text) => Ok(Value::Text(text.trim().to_owned())),
            ValueEntry::Truth(truth) => Ok(Value::Text(truth.to_string())),
            ValueEntry::Whole(whole) if whole.unsigned_abs() <= MAX_WHOLE => {
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

/// The result of looking a value up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coded {
    /// The cell of the value.
    Cell(u32),
    /// The value is a number outside the range of a numeric attribute, next to this cell.
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
    /// Of [`Coding::Values`]: the texts with their cells, sorted.
    texts: Vec<(&'a str, u32)>,
    /// The numbers with their cells, sorted.
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
                // Minus zero is zero.
                Value::Number(number) => numbers.push((number + 0.0, cell)),
            }
        }
        texts.sort_unstable();
        numbers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Coder { coding, size, is_numeric: kind == AttributeKind::Numeric, texts, numbers }
    }

    /// The cell of a value of a file, without the spaces around it.
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
                    // Rounding may give `count` just below `high`.
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
        if let Ok(at) = self.texts.binary_search_by_key(&value, |&(known, _)| known) {
            return Some(self.texts[at].1);
        }
        if self.numbers.is_empty() {
            return None;
        }
        let number = value.parse::<f64>().ok()? + 0.0;
        let at = self.numbers.binary_search_by(|(known, _)| known.total_cmp(&number)).ok()?;
        Some(self.numbers[at].1)
    }

    /// The values that have a cell, in words.
    pub(crate) fn allowed(&self) -> String {
        const SHOWN: usize = 12;
        let listed =
            |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        match self.coding {
            Coding::Index => format!("a cell number from 0 to {}", self.size - 1),
            Coding::Bins { low, high, .. } => format!("a number from {low} to below {high}"),
            Coding::Values(values) if values.len() > SHOWN => {
                format!("one of {} values: {}, …", values.len(), listed(&values[..SHOWN]))
            }
            Coding::Values(values) => format!("one of {}", listed(values)),
        }
    }
}

/// The coding of an entry, and the cell that `other` names.
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
                        "numbers of at most {MAX_WHOLE}, and others as text in quotation marks"
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
        // An empty attribute is refused later, with a message of its own.
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

/// How many values equal an earlier one, as a value of a file would find them: a number and a text
/// that reads as this number are equal.
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
    fn values_that_a_file_could_not_tell_apart_are_refused() {
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
    fn other_names_a_cell_by_a_value_of_the_attribute() {
        for (keys, expected) in [
            ("size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \"m\"", Some(1)),
            ("size = 2\nkind = \"categorical\"\nvalues = [1.5, 2]\nother = 2.0", Some(1)),
            ("size = 3\nkind = \"categorical\"\nother = 2", Some(2)),
            (
                "size = 4\nkind = \"numeric\"\nbins = { low = 0, high = 80, count = 4 }\nother = 25",
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
