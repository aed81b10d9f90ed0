//! The keys of an attribute in a schema file.

use serde::Deserialize;

use super::bins::Bins;
use super::coding::{Coded, Coder, Coding, equal_values};
use super::levels::{Levels, LevelsEntry};
use super::value::{ListedValue, time_of};
use crate::decimal::Decimal;
use crate::domain::{AttributeKind, Hierarchy};
use crate::error::{Error, Result};

/// The keys of an attribute in a schema file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeEntry {
    pub name: String,
    /// The number of cells; it follows from `values`, `bins` and `edges`.
    size: Option<usize>,
    pub kind: AttributeKind,
    values: Option<Vec<ValueEntry>>,
    bins: Option<BinsEntry>,
    edges: Option<Vec<NumberEntry>>,
    other: Option<ValueEntry>,
    pub levels: Option<LevelsEntry>,
}

/// The coding of an attribute.
pub(super) struct AttributeCoding {
    pub size: usize,
    pub coding: Coding,
    /// The cell of values outside the attribute.
    pub other: Option<u32>,
    pub hierarchy: Option<Hierarchy>,
}

/// A value in a schema file.
#[derive(Deserialize)]
#[serde(untagged)]
enum ValueEntry {
    Number(NumberEntry),
    Text(String),
    Truth(bool),
    Time(toml::value::Datetime),
}

/// A number in a schema file; a floating-point number stands for its shortest decimal.
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum NumberEntry {
    Whole(i64),
    Real(f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BinsEntry {
    low: NumberEntry,
    high: NumberEntry,
    count: usize,
}

impl NumberEntry {
    /// Returns the number; `None` if it is not finite.
    fn decimal(self) -> Option<Decimal> {
        match self {
            NumberEntry::Whole(number) => Some(number.into()),
            NumberEntry::Real(number) => Decimal::shortest(number),
        }
    }
}

impl std::fmt::Display for NumberEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NumberEntry::Whole(number) => number.fmt(f),
            NumberEntry::Real(number) => number.fmt(f),
        }
    }
}

impl ValueEntry {
    /// Returns the value, or the text of an invalid one.
    fn value(&self) -> std::result::Result<ListedValue, String> {
        match self {
            ValueEntry::Text(text) => Ok(ListedValue::Text(text.trim().to_owned())),
            ValueEntry::Truth(truth) => Ok(ListedValue::Boolean(*truth)),
            ValueEntry::Number(number) => {
                number.decimal().map(ListedValue::Number).ok_or_else(|| number.to_string())
            }
            ValueEntry::Time(time) => {
                time_of(&time.to_string()).map(ListedValue::Time).ok_or_else(|| time.to_string())
            }
        }
    }
}

const FINITE_VALUES: &str = "texts, finite numbers, booleans, dates, or times without a time zone";

/// Returns the coding of an entry.
pub(super) fn coding(entry: &AttributeEntry, origin: &str) -> Result<AttributeCoding> {
    let refuse = |key: &str, expected: String, found: String| {
        let what = format!("{origin}, attribute `{}`, key `{key}`", entry.name);
        let remedy = "make the list or the bins agree with `size`, or drop them";
        Err(Error::bad_input(what, expected, found, remedy))
    };
    let levels = match &entry.levels {
        Some(levels) => Some(levels.read(&entry.name, origin)?),
        None => None,
    };
    let values: Option<Vec<ListedValue>> = match &entry.values {
        Some(values) => match values.iter().map(ValueEntry::value).collect() {
            Ok(values) => Some(values),
            Err(found) => return refuse("values", FINITE_VALUES.into(), format!("`{found}`")),
        },
        None => levels.as_ref().and_then(Levels::values),
    };
    let coding = match (values, &entry.bins, &entry.edges) {
        (None, None, None) => Coding::Index,
        (Some(values), None, None) => {
            let equal = equal_values(&values);
            let size = entry.size.unwrap_or(values.len());
            if values.len() != size || equal > 0 {
                let found = format!(
                    "{} values, {} of them distinct",
                    values.len(),
                    values.len().saturating_sub(equal)
                );
                return refuse("values", format!("{size} distinct values"), found);
            }
            Coding::Values(values)
        }
        (None, Some(bins), None) => {
            let size = entry.size.unwrap_or(bins.count);
            if bins.count != size {
                let expected = format!("{size}, the attribute's size");
                return refuse("bins.count", expected, bins.count.to_string());
            }
            let ends = bins.low.decimal().zip(bins.high.decimal());
            // `Schema::with_codings` refuses an empty attribute.
            let Some(valid) = ends.and_then(|(low, high)| Bins::new(low, high, bins.count.max(1)))
            else {
                let found = format!("low = {}, high = {}", bins.low, bins.high);
                return refuse("bins", "finite numbers low < high".into(), found);
            };
            Coding::Bins(valid)
        }
        (None, None, Some(edges)) => {
            let decimals: Option<Vec<Decimal>> = edges.iter().map(|edge| edge.decimal()).collect();
            let Some(valid) = decimals.and_then(Bins::of_edges) else {
                let listed: Vec<String> = edges.iter().take(12).map(ToString::to_string).collect();
                let expected = "from 2 to 1048577 finite numbers, each above the one before";
                return refuse("edges", expected.into(), format!("[{}]", listed.join(", ")));
            };
            if entry.size.is_some_and(|size| size != valid.count()) {
                let expected = format!("{} edges, one more than the size", valid.count() + 1);
                return refuse("size", expected, format!("{} edges", edges.len()));
            }
            Coding::Bins(valid)
        }
        _ => {
            let expected = "one of values, bins and edges";
            return refuse("bins", expected.into(), "several of them".into());
        }
    };
    let size = match &coding {
        Coding::Index => entry.size,
        Coding::Values(values) => Some(values.len()),
        Coding::Bins(bins) => Some(entry.size.unwrap_or(bins.count())),
    };
    let Some(size) = size else {
        let expected = "a number of cells, or values, bins or edges from which it follows";
        return refuse("size", expected.into(), "none".into());
    };
    if matches!(coding, Coding::Bins(_)) && entry.kind == AttributeKind::Categorical {
        let key = if entry.edges.is_some() { "edges" } else { "bins" };
        return refuse(key, "kind = \"numeric\"".into(), "kind = \"categorical\"".into());
    }
    let other = match &entry.other {
        None => None,
        // `Schema::with_codings` refuses an empty attribute.
        Some(_) if size == 0 => None,
        Some(other) => {
            let value = match other.value() {
                Ok(value) => value,
                Err(found) => return refuse("other", FINITE_VALUES.into(), format!("`{found}`")),
            };
            let coder = Coder::new(&coding, size, entry.kind);
            match coder.code(value.as_value()) {
                Coded::Cell(cell) => Some(cell),
                _ => return refuse("other", coder.allowed(), format!("`{value}`")),
            }
        }
    };
    let hierarchy = match levels {
        Some(levels) => Some(levels.hierarchy(&coding, size, entry.kind)?),
        None => None,
    };
    Ok(AttributeCoding { size, coding, other, hierarchy })
}

#[cfg(test)]
mod tests {
    use crate::error::Result;
    use crate::schema::Schema;

    fn schema(keys: &str) -> Result<Schema> {
        Schema::from_toml(&format!("[[attribute]]\nname = \"a\"\n{keys}\n"), "S.toml")
    }

    #[test]
    fn duplicate_values_are_refused() {
        for values in [
            "[1, 1.0]",
            "[\"a\", \" a \"]",
            "[1, \"1.0\"]",
            "[0.0, -0.0]",
            "[true, \"True\"]",
            "[true, true]",
            "[2024-02-29, \"2024-02-29\"]",
            "[2024-02-29, 2024-02-29T00:00:00]",
            "[inf, 2]",
            "[nan, 2]",
            "[2024-02-29T00:00:00Z, 2]",
            "[10:30:00, 2]",
        ] {
            let keys = format!("size = 2\nkind = \"categorical\"\nvalues = {values}");
            let message = schema(&keys).unwrap_err().to_string();
            assert!(message.contains("key `values`"), "{values}: {message}");
        }
        for values in ["[\"1\", \"1.0\"]", "[9007199254740993, 9007199254740992]"] {
            let keys = format!("size = 2\nkind = \"categorical\"\nvalues = {values}");
            assert!(schema(&keys).is_ok(), "{values}");
        }
    }

    #[test]
    fn the_size_follows_from_the_values_or_the_bins() {
        for (keys, expected) in [
            ("kind = \"categorical\"\nvalues = [\"f\", \"m\"]", 2),
            ("kind = \"numeric\"\nbins = { low = 0, high = 80, count = 4 }", 4),
            ("kind = \"numeric\"\nedges = [0, 10, 20.5, 50, 100]", 4),
            ("size = 4\nkind = \"numeric\"\nedges = [0, 10, 20, 50, 100]", 4),
            ("size = 7\nkind = \"categorical\"", 7),
        ] {
            assert_eq!(schema(keys).unwrap().sizes(), [expected], "{keys}");
        }
        for (keys, part) in [
            ("kind = \"categorical\"", "key `size`"),
            ("size = 5\nkind = \"numeric\"\nedges = [0, 10, 20, 50, 100]", "key `size`"),
            ("kind = \"numeric\"\nedges = [0]", "key `edges`"),
            ("kind = \"numeric\"\nedges = [0, 10, 10]", "key `edges`"),
            ("kind = \"numeric\"\nedges = [0, 10, 5]", "key `edges`"),
            ("kind = \"numeric\"\nedges = [0, nan]", "key `edges`"),
            ("kind = \"categorical\"\nedges = [0, 1, 2]", "key `edges`"),
            ("kind = \"numeric\"\nedges = [0, 1]\nvalues = [1]", "one of values, bins and edges"),
        ] {
            let message = schema(keys).unwrap_err().to_string();
            assert!(message.contains(part), "{keys}: {message}");
        }
    }

    #[test]
    fn the_key_other_selects_a_cell_by_its_value() {
        for (keys, expected) in [
            ("size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \"m\"", Some(1)),
            ("size = 2\nkind = \"categorical\"\nvalues = [1.5, 2]\nother = 2.0", Some(1)),
            ("size = 2\nkind = \"categorical\"\nvalues = [true, false]\nother = false", Some(1)),
            ("size = 3\nkind = \"categorical\"\nother = 2", Some(2)),
            (
                "size = 4\nkind = \"numeric\"\n\
                 bins = { low = 0, high = 80, count = 4 }\nother = 25",
                Some(1),
            ),
            (
                "size = 4\nkind = \"numeric\"\n\
                 bins = { low = 0, high = 80, count = 4 }\nother = 80",
                Some(3),
            ),
            ("size = 3\nkind = \"categorical\"", None),
        ] {
            assert_eq!(schema(keys).unwrap().other(0), expected, "{keys}");
        }
        for keys in [
            "size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \"?\"",
            "size = 3\nkind = \"categorical\"\nother = 3",
            "size = 4\nkind = \"numeric\"\nbins = { low = 0, high = 80, count = 4 }\nother = 81",
        ] {
            assert!(schema(keys).unwrap_err().to_string().contains("key `other`"), "{keys}");
        }
    }
}
