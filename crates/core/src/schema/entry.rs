//! The keys of an attribute in a schema file.

use serde::Deserialize;
use toml::Spanned;

use super::bins::Bins;
use super::coding::{AttributeCoding, Coded, Coder, Coding};
use super::levels::{Levels, LevelsEntry};
use super::listed::equal_values;
use super::value::{ListedValue, Value, time_of};
use crate::decimal::Decimal;
use crate::domain::{Attribute, AttributeKind};
use crate::error::{Error, Place, Result};

/// The keys of an attribute in a schema file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeEntry {
    name: Option<String>,
    /// The number of cells, without those that `below`, `above`, `other` and `missing` add; it
    /// follows from `values`, `bins` and `edges`.
    size: Option<Spanned<usize>>,
    kind: Option<Spanned<KindEntry>>,
    values: Option<Spanned<Vec<ValueEntry>>>,
    bins: Option<Spanned<BinsEntry>>,
    edges: Option<Spanned<Vec<NumberEntry>>>,
    below: Option<Spanned<bool>>,
    above: Option<Spanned<bool>>,
    other: Option<Spanned<ValueEntry>>,
    missing: Option<Spanned<ValueEntry>>,
    pub levels: Option<LevelsEntry>,
}

/// The kind of an attribute in a schema file.
#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum KindEntry {
    Numeric,
    /// Numeric, of integers only.
    Integer,
    Categorical,
}

impl KindEntry {
    fn kind(self) -> AttributeKind {
        match self {
            KindEntry::Numeric | KindEntry::Integer => AttributeKind::Numeric,
            KindEntry::Categorical => AttributeKind::Categorical,
        }
    }
}

/// The text of a schema file and its name.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

impl Origin<'_> {
    fn place(self, byte: usize) -> String {
        let Place { line, column } = Place::of_byte(self.text, byte);
        format!("line {line}, column {column}")
    }

    /// Returns the position of a table in words, with the name of the file.
    pub fn of_table<T>(self, entry: &Spanned<T>) -> String {
        format!("{}, {}", self.name, self.place(entry.span().start))
    }

    /// Returns the position of the key of a value in words, with the name of the file.
    fn of_key(self, value: usize) -> String {
        let before = self.text.get(..value).unwrap_or_default().trim_end();
        let key = before.strip_suffix('=').map(str::trim_end).unwrap_or_default();
        let is_key = |c: char| c.is_alphanumeric() || "-_\"".contains(c);
        let start = match key.trim_end_matches(is_key).len() {
            start if start < key.len() => start,
            _ => value,
        };
        format!("{}, {}", self.name, self.place(start))
    }
}

/// Checks that every attribute has a name, a kind, and a size or a coding.
///
/// # Errors
/// A missing key. The message lists the missing keys of all attributes.
pub(super) fn check_keys(entries: &[Spanned<AttributeEntry>], origin: Origin<'_>) -> Result<()> {
    let missing = |(number, spanned): (usize, &Spanned<AttributeEntry>)| {
        let entry = spanned.get_ref();
        let has_size = entry.size.is_some()
            || entry.values.is_some()
            || entry.bins.is_some()
            || entry.edges.is_some()
            || entry.levels.as_ref().is_some_and(LevelsEntry::has_values);
        let keys = [
            (entry.name.is_some(), "`name`"),
            (entry.kind.is_some(), "`kind`"),
            (has_size, "`size`, `values`, `bins` or `edges`"),
        ];
        let missing: Vec<&str> =
            keys.iter().filter(|(is_given, _)| !is_given).map(|(_, key)| *key).collect();
        let name = match &entry.name {
            Some(name) => format!("attribute `{name}`"),
            None => format!("attribute {}", number + 1),
        };
        (!missing.is_empty()).then(|| {
            let at = origin.place(spanned.span().start);
            format!("{at}: {name} without {}", missing.join(" and without "))
        })
    };
    let missing: Vec<String> = entries.iter().enumerate().filter_map(missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::bad_input(
        origin.name,
        "attributes with a name, a kind, and a number of cells: `size`, or `values`, `bins` or \
         `edges` from which it follows",
        missing.join("; "),
        "add the missing keys",
    ))
}

/// A value in a schema file.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text, a number, a boolean, a date, or a time without a time zone"
)]
pub(super) enum ValueEntry {
    Number(NumberEntry),
    Text(String),
    Truth(bool),
    Time(toml::value::Datetime),
}

/// A number in a schema file; a floating-point number stands for its shortest decimal.
#[derive(Deserialize, Clone, Copy)]
#[serde(
    untagged,
    expecting = "expected a number without quotes; dates have no bins: list them as `values`, or \
                 derive a column of years or months"
)]
pub(super) enum NumberEntry {
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
    pub(super) fn value(&self) -> std::result::Result<ListedValue, String> {
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

/// Refuses a key of an attribute.
struct Refusal<'a> {
    origin: Origin<'a>,
    attribute: &'a str,
}

impl Refusal<'_> {
    /// Returns the error of the key with the value at a position.
    fn of<T>(&self, key: &str, value: &Spanned<T>, expected: String, found: String) -> Error {
        let place = self.origin.of_key(value.span().start);
        let what = format!("{place}, attribute `{}`, key `{key}`", self.attribute);
        let remedy = "correct the value, or drop the key";
        Error::bad_input(what, expected, found, remedy)
    }

    fn not_finite<T>(&self, key: &str, value: &Spanned<T>, found: &str) -> Error {
        self.of(key, value, FINITE_VALUES.into(), format!("`{found}`"))
    }
}

/// Returns the attribute of an entry that [`check_keys`] has checked, and its coding.
///
/// # Errors
/// Keys that contradict each other, or invalid values.
pub(super) fn attribute(
    entry: &AttributeEntry,
    origin: Origin<'_>,
) -> Result<(Attribute, AttributeCoding)> {
    let name = entry.name.as_deref().unwrap_or_default();
    let kind = entry.kind.as_ref().map_or(KindEntry::Categorical, |kind| *kind.get_ref());
    let refusal = Refusal { origin, attribute: name };
    let levels = match &entry.levels {
        Some(levels) => Some(levels.read(name, origin.name)?),
        None => None,
    };
    let of_levels = levels.as_ref().and_then(Levels::values);
    let (coding, size) = coding(entry, of_levels, kind, &refusal)?;
    if let Some((size, given)) = entry.size.as_ref().map(|given| (size, given))
        && size != *given.get_ref()
    {
        let expected = format!("{size}, the number of values or bins, or no `size`");
        return Err(refusal.of("size", given, expected, given.get_ref().to_string()));
    }
    let cells = match &coding {
        Coding::Bins(bins) => bins.count(),
        Coding::Index | Coding::Values(_) => size,
    };
    let mut coding = AttributeCoding::new(coding, kind == KindEntry::Integer);
    let mut attribute = Attribute::new(name, cells, kind.kind());
    // An empty attribute is refused by the caller.
    if size > 0 {
        if let Some(levels) = levels {
            attribute.hierarchy = Some(levels.hierarchy(&coding, &attribute)?);
        }
        coding.other = cell(&entry.other, "other", &mut attribute, &mut coding, &refusal)?;
        coding.missing = cell(&entry.missing, "missing", &mut attribute, &mut coding, &refusal)?;
        if let Some(hierarchy) = attribute.hierarchy.take() {
            let hierarchy = coding.labels.iter().try_fold(hierarchy, |hierarchy, label| {
                hierarchy.with_leaf(&label.to_string()).map_err(|e| e.located(origin.name))
            })?;
            attribute.hierarchy = Some(hierarchy);
        }
    }
    Ok((attribute, coding))
}

/// Returns the coding of an entry, and its number of values, bins between edges, or cell numbers.
///
/// `of_levels` are the values of the file of levels.
fn coding(
    entry: &AttributeEntry,
    of_levels: Option<Vec<ListedValue>>,
    kind: KindEntry,
    refusal: &Refusal<'_>,
) -> Result<(Coding, usize)> {
    let coding = match (&entry.values, &entry.bins, &entry.edges) {
        (None, None, None) => match of_levels {
            Some(values) => {
                let size = values.len();
                (Coding::Values(values), size)
            }
            None => (Coding::Index, entry.size.as_ref().map_or(0, |s| *s.get_ref())),
        },
        (Some(key), None, None) => {
            let values: std::result::Result<Vec<ListedValue>, String> =
                key.get_ref().iter().map(ValueEntry::value).collect();
            let values = values.map_err(|found| refusal.not_finite("values", key, &found))?;
            let equal = equal_values(&values);
            if equal > 0 {
                let (all, distinct) = (values.len(), values.len().saturating_sub(equal));
                let found = format!("{all} values, {distinct} of them distinct");
                return Err(refusal.of("values", key, format!("{all} distinct values"), found));
            }
            let is_integer =
                |value: &&ListedValue| matches!(value, ListedValue::Number(n) if n.is_integer());
            if kind == KindEntry::Integer
                && let Some(value) = values.iter().find(|value| !is_integer(value))
            {
                let expected = "integers, as the kind of the attribute".to_owned();
                return Err(refusal.of("values", key, expected, format!("`{value}`")));
            }
            let size = values.len();
            (Coding::Values(values), size)
        }
        (None, Some(key), None) => {
            let entry = key.get_ref();
            let ends = entry.low.decimal().zip(entry.high.decimal());
            // An empty attribute is refused by the caller.
            let bins = ends.and_then(|(low, high)| Bins::new(low, high, entry.count.max(1)));
            let bins = bins.ok_or_else(|| {
                let found =
                    format!("low = {}, high = {}, count = {}", entry.low, entry.high, entry.count);
                let expected = "finite numbers low < high, and at most 2^32 bins";
                refusal.of("bins", key, expected.into(), found)
            })?;
            (Coding::Bins(bins), entry.count)
        }
        (None, None, Some(key)) => {
            let decimals: Option<Vec<Decimal>> =
                key.get_ref().iter().map(|edge| edge.decimal()).collect();
            let bins = decimals.and_then(Bins::of_edges).ok_or_else(|| {
                let listed = key.get_ref().iter().take(12).map(ToString::to_string);
                let found = format!("[{}]", listed.collect::<Vec<_>>().join(", "));
                let expected = "from 2 to 1048577 finite numbers, each above the one before";
                refusal.of("edges", key, expected.into(), found)
            })?;
            let size = bins.count();
            (Coding::Bins(bins), size)
        }
        (_, Some(bins), _) => return Err(several("bins", bins, refusal)),
        (_, None, Some(edges)) => return Err(several("edges", edges, refusal)),
    };
    Ok((with_ends(coding.0, entry, kind, refusal)?, coding.1))
}

fn several<T>(key: &str, value: &Spanned<T>, refusal: &Refusal<'_>) -> Error {
    refusal.of(key, value, "one of values, bins and edges".into(), "several of them".into())
}

/// Applies the kind and the keys `below` and `above` to bins.
fn with_ends(
    coding: Coding,
    entry: &AttributeEntry,
    kind: KindEntry,
    refusal: &Refusal<'_>,
) -> Result<Coding> {
    let is_open = |key: &Option<Spanned<bool>>| key.as_ref().is_some_and(|key| *key.get_ref());
    let Coding::Bins(bins) = coding else {
        for (key, value) in [("below", &entry.below), ("above", &entry.above)] {
            if let Some(value) = value {
                let expected = "the key only with bins or edges".to_owned();
                return Err(refusal.of(key, value, expected, "neither".into()));
            }
        }
        return Ok(coding);
    };
    let refuse = |expected: &str, found: String| match (&entry.edges, &entry.bins) {
        (Some(edges), _) => refusal.of("edges", edges, expected.into(), found),
        (_, Some(bins)) => refusal.of("bins", bins, expected.into(), found),
        (None, None) => Error::bug("schema", "bins or edges", "neither"),
    };
    let bins = match kind {
        KindEntry::Categorical => {
            let expected = "kind = \"numeric\" or \"integer\"";
            return Err(refuse(expected, "kind = \"categorical\"".into()));
        }
        KindEntry::Numeric => bins,
        KindEntry::Integer => bins
            .of_integers()
            .map_err(|interval| refuse("bins that contain integers", format!("none {interval}")))?,
    };
    let bins = bins.with_open_ends(is_open(&entry.below), is_open(&entry.above));
    if u32::try_from(bins.count() - 1).is_err() {
        return Err(refuse("at most 2^32 bins", bins.count().to_string()));
    }
    Ok(Coding::Bins(bins))
}

/// Returns the cell of `other` or `missing`. A text without a cell adds one, with this label.
fn cell(
    entry: &Option<Spanned<ValueEntry>>,
    key: &str,
    attribute: &mut Attribute,
    coding: &mut AttributeCoding,
    refusal: &Refusal<'_>,
) -> Result<Option<u32>> {
    let Some(entry) = entry else { return Ok(None) };
    let value = entry.get_ref().value();
    let value = value.map_err(|found| refusal.not_finite(key, entry, &found))?;
    let coder = Coder::new(coding, attribute);
    if let Coded::Cell(cell) = coder.code(value.as_value()) {
        return Ok(Some(cell));
    }
    let cell = u32::try_from(attribute.size).ok().filter(|_| value.as_value() != Value::Text(""));
    let (Some(cell), ListedValue::Text(text)) = (cell, &value) else {
        let expected = format!("{}, or the text of another cell", coder.allowed());
        return Err(refusal.of(key, entry, expected, format!("`{value}`")));
    };
    coding.labels.push(ListedValue::Text(text.clone()));
    attribute.size += 1;
    attribute.extra += usize::from(attribute.kind == AttributeKind::Numeric);
    Ok(Some(cell))
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
            ("kind = \"categorical\"", "without `size`"),
            ("size = 3\nkind = \"categorical\"\nvalues = [1, 2]", "line 3, column 1, attribute"),
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
            ("size = 3\nkind = \"categorical\"\nother = \"2\"", Some(2)),
            ("size = 3\nkind = \"categorical\"\nother = \"02\"", Some(3)),
            ("kind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \" ? \"", Some(2)),
        ] {
            assert_eq!(schema(keys).unwrap().other(0), expected, "{keys}");
        }
        for keys in [
            "size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = \" \"",
            "size = 2\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\nother = 3",
            "size = 3\nkind = \"categorical\"\nother = 3",
            "size = 4\nkind = \"numeric\"\nbins = { low = 0, high = 80, count = 4 }\nother = 81",
        ] {
            assert!(schema(keys).unwrap_err().to_string().contains("key `other`"), "{keys}");
        }
    }

    #[test]
    fn all_missing_keys_are_listed_with_their_positions() {
        let text = "[[attribute]]\nname = \"a\"\nkind = \"numeric\"\n\n[[attribute]]\nsize = 3\n\
                    [[attribute]]\nname = \"c\"\nsize = 2\nkind = \"integer\"\n [[attribute]]\n";
        let message = Schema::from_toml(text, "S.toml").unwrap_err().to_string();
        for part in [
            "line 1, column 1: attribute `a` without `size`, `values`, `bins` or `edges`; ",
            "line 5, column 1: attribute 2 without `name` and without `kind`; ",
            "line 11, column 2: attribute 4 without `name` and without `kind` and without `size`",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains("`c`"), "{message}");
    }

    #[test]
    fn errors_give_the_position_of_the_key() {
        let of = |keys: &str| schema(keys).unwrap_err().to_string();
        let lines = "kind = \"numeric\"\n  edges = [\n  0,\n  0]\n";
        assert!(of(lines).starts_with("S.toml, line 4, column 3, attribute `a`, key `edges`"));
        let inline = "attribute = [{ name = \"b\", kind = \"categorical\", values = [1, 1] }]";
        let message = Schema::from_toml(inline, "S.toml").unwrap_err().to_string();
        assert!(message.starts_with("S.toml, line 1, column 50, attribute `b`"), "{message}");
    }

    #[test]
    fn open_ends_and_integers_need_suitable_bins() {
        let bins = "bins = { low = 0, high = 2, count = 4 }\nkind";
        for (keys, part) in [
            (format!("{bins} = \"integer\""), "none from 0.5 to below 1"),
            ("kind = \"integer\"\nedges = [0.1, 0.9, 3]".into(), "none from 0.1 to below 0.9"),
            ("kind = \"integer\"\nvalues = [1, 2.5]".into(), "`2.5`"),
            ("kind = \"integer\"\nvalues = [1, \"2\"]".into(), "key `values`"),
            ("kind = \"integer\"\nvalues = [1, 2]\nbelow = true".into(), "key `below`"),
            ("kind = \"numeric\"\nsize = 3\nabove = false".into(), "key `above`"),
            (format!("{bins} = \"numeric\"\nbelow = 3"), "boolean"),
        ] {
            let message = schema(&keys).unwrap_err().to_string();
            assert!(message.contains(part), "{keys}: {message}");
        }
        assert!(schema("bins = { low = 0, high = 1, count = 2 }\nkind = \"integer\"").is_ok());
        let open = schema(&format!("{bins} = \"numeric\"\nbelow = true\nabove = true\nsize = 4"));
        assert_eq!(open.unwrap().sizes(), [6]);
    }

    #[test]
    fn texts_add_cells_outside_the_order() {
        let one = "kind = \"numeric\"\nsize = 3\nother = \"unknown\"\nmissing = \"unknown\"";
        let two = "kind = \"numeric\"\nsize = 3\nother = \"else\"\nmissing = \"unknown\"";
        let own = "kind = \"numeric\"\nsize = 3\nother = \"else\"\nmissing = 0";
        for (keys, size, extra, cells) in
            [(one, 4, 1, [3, 3]), (two, 5, 2, [3, 4]), (own, 4, 1, [3, 0])]
        {
            let schema = schema(keys).unwrap();
            let attribute = &schema.attributes()[0];
            assert_eq!((attribute.size, attribute.extra), (size, extra), "{keys}");
            assert_eq!([schema.other(0), schema.missing(0)], cells.map(Some), "{keys}");
        }
        let listed =
            schema("kind = \"categorical\"\nvalues = [1, \"x\"]\nmissing = \"x\"").unwrap();
        assert_eq!((listed.sizes(), listed.missing(0)), (vec![2], Some(1)));
    }
}
