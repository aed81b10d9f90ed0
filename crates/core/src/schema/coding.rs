//! The mapping from an attribute's values in a table to its cells.

use super::bins::{BinOf, Bins, PreparedBins};
use super::integer_table::IntegerTable;
use super::listed::{Listed, exact_integer};
use super::value::{ColumnType, ListedValue, Value};
use crate::decimal::Decimal;
use crate::domain::{Attribute, AttributeKind};

/// The mapping from an attribute's values in a table to its cells.
#[derive(Debug, Clone, PartialEq)]
pub enum Coding {
    /// The table contains the cell numbers 0 … size−1.
    Index,
    /// The k-th value of the list is cell k.
    Values(Vec<ListedValue>),
    /// Intervals of numbers.
    Bins(Bins),
}

/// The coding of an attribute, with its cells for values that the coding does not contain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AttributeCoding {
    pub coding: Coding,
    /// Whether numbers that are not integers have no cell.
    pub is_integer: bool,
    /// The texts of the cells after those of the coding.
    pub labels: Vec<ListedValue>,
    /// The cell of values outside the attribute.
    pub other: Option<u32>,
    /// The cell of missing values.
    pub missing: Option<u32>,
}

impl AttributeCoding {
    /// Returns a coding without cells for other values.
    pub(super) fn new(coding: Coding, is_integer: bool) -> Self {
        AttributeCoding { coding, is_integer, labels: Vec::new(), other: None, missing: None }
    }
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coded {
    /// The cell of the value.
    Cell(u32),
    /// The value is a number outside the range of a numeric attribute.
    ///
    /// This is the nearest cell.
    Nearest(u32),
    /// The attribute has no cell for the value.
    Outside,
    /// There is no value: it is missing, NaN, or an empty text that the attribute does not list.
    Missing,
}

/// The coding of one attribute, prepared for look-ups.
#[derive(Debug)]
pub struct Coder<'a> {
    coding: &'a AttributeCoding,
    /// The number of cells without those of labels.
    size: usize,
    is_numeric: bool,
    /// The last cell of the order.
    last: u32,
    cells: Cells<'a>,
    /// The cells of labels, if `cells` has no listed values.
    labels: Option<Listed<'a>>,
    table: IntegerTable<Coded>,
}

#[derive(Debug)]
enum Cells<'a> {
    Index,
    Bins(PreparedBins<'a>),
    Listed(Listed<'a>),
}

impl<'a> Coder<'a> {
    pub(super) fn new(coding: &'a AttributeCoding, attribute: &Attribute) -> Self {
        let size = attribute.size - coding.labels.len();
        let cells = match &coding.coding {
            Coding::Index => Cells::Index,
            Coding::Values(values) => {
                Cells::Listed(Listed::of(values.iter().chain(&coding.labels), 0).0)
            }
            Coding::Bins(bins) => Cells::Bins(bins.prepared()),
        };
        let has_labels = !matches!(cells, Cells::Listed(_)) && !coding.labels.is_empty();
        let mut coder = Coder {
            coding,
            size,
            is_numeric: attribute.kind == AttributeKind::Numeric,
            last: (attribute.size - attribute.extra).saturating_sub(1) as u32,
            cells,
            labels: has_labels.then(|| Listed::of(coding.labels.iter(), size as u32).0),
            table: IntegerTable::empty(),
        };
        coder.table = coder.tabulated();
        coder
    }

    /// Returns the cells of the integers inside the range of the attribute.
    fn tabulated(&self) -> IntegerTable<Coded> {
        let range = match &self.cells {
            Cells::Index => i64::try_from(self.size).ok().map(|size| (0, size - 1)),
            Cells::Bins(bins) => bins.integers_inside(),
            Cells::Listed(listed) => {
                listed.integers.keys().copied().min().zip(listed.integers.keys().copied().max())
            }
        };
        range.map_or_else(IntegerTable::empty, |(first, last)| {
            IntegerTable::new(first, last, |number| self.code_integer(number.into()))
        })
    }

    /// Returns the cell of a value.
    #[inline(always)]
    pub fn code(&self, value: Value<'_>) -> Coded {
        match value {
            Value::Integer(number) => match i64::try_from(number) {
                Ok(small) => self.code_small(small),
                Err(_) => self.code_integer(number),
            },
            Value::Float(number) => match exact_integer(number) {
                Some(integer) => self.code_small(integer),
                None => self.code_fraction(number),
            },
            Value::Text(text) => self.code_text(trimmed(text)),
            other => self.code_other(other),
        }
    }

    #[inline(always)]
    fn code_small(&self, number: i64) -> Coded {
        self.table.get(number).unwrap_or_else(|| self.code_integer(number.into()))
    }

    /// Returns the cell of a label, if the value has no other cell.
    #[inline]
    fn or_label(&self, coded: Coded, value: Value<'_>) -> Coded {
        match (&self.labels, coded) {
            (Some(labels), Coded::Nearest(_) | Coded::Outside) => {
                labels.value(value).map_or(coded, Coded::Cell)
            }
            _ => coded,
        }
    }

    /// Codes an integer without the table.
    fn code_integer(&self, number: i128) -> Coded {
        let value = Value::Integer(number);
        let coded = match (&self.cells, i64::try_from(number)) {
            (Cells::Listed(listed), _) => found(listed.value(value)),
            (Cells::Bins(bins), Ok(small)) => self.of_bin(bins.bin_of_integer(small)),
            (Cells::Bins(bins), Err(_)) => self.of_bin(bins.bin_of_decimal(&number.into())),
            (Cells::Index, _) => self.cell_number(number),
        };
        self.or_label(coded, value)
    }

    /// Codes a double that is not an integer below 2⁵³.
    fn code_fraction(&self, number: f64) -> Coded {
        let value = Value::Float(number);
        let coded = match &self.cells {
            _ if number.is_nan() => Coded::Missing,
            Cells::Listed(listed) => found(listed.value(value)),
            _ if !number.is_finite() => Coded::Outside,
            _ if self.coding.is_integer && number.fract() != 0.0 => Coded::Outside,
            Cells::Bins(bins) => self.of_bin(bins.bin_of_float(number)),
            Cells::Index => self.other_number(number < 0.0, number > f64::from(self.last)),
        };
        self.or_label(coded, value)
    }

    /// Codes a text without surrounding spaces.
    #[inline]
    fn code_text(&self, text: &str) -> Coded {
        let coded = match (&self.cells, text) {
            (Cells::Listed(listed), text) => found(listed.text(text)),
            (_, text) => match number_of(text) {
                Some(TextNumber::Integer(number)) => return self.code_small(number),
                Some(TextNumber::Other(number)) => return self.code_number(&number),
                None => self.or_label(Coded::Outside, Value::Text(text)),
            },
        };
        match coded {
            Coded::Outside if text.is_empty() => Coded::Missing,
            coded => coded,
        }
    }

    fn code_number(&self, number: &Decimal) -> Coded {
        let coded = match &self.cells {
            Cells::Listed(listed) => found(listed.value(Value::Number(number))),
            _ if self.coding.is_integer && !number.is_integer() => Coded::Outside,
            Cells::Bins(bins) => self.of_bin(bins.bin_of_decimal(number)),
            Cells::Index => match number.to_i64() {
                Some(number) => self.cell_number(number.into()),
                None => {
                    self.other_number(*number < 0i64.into(), *number > i64::from(self.last).into())
                }
            },
        };
        self.or_label(coded, Value::Number(number))
    }

    fn code_other(&self, value: Value<'_>) -> Coded {
        match (value, &self.cells) {
            (Value::Missing, _) => Coded::Missing,
            (Value::Number(number), _) => self.code_number(number),
            (value, Cells::Listed(listed)) => found(listed.value(value)),
            (value, _) => self.or_label(Coded::Outside, value),
        }
    }

    fn of_bin(&self, bin: BinOf) -> Coded {
        match bin {
            BinOf::Bin(cell) => Coded::Cell(cell),
            BinOf::Below => Coded::Nearest(0),
            BinOf::Above => Coded::Nearest(self.last),
        }
    }

    fn cell_number(&self, number: i128) -> Coded {
        match number {
            0.. if number < self.size as i128 => Coded::Cell(number as u32),
            _ if self.is_numeric => Coded::Nearest(if number < 0 { 0 } else { self.last }),
            _ => Coded::Outside,
        }
    }

    /// Codes a number that is no cell number.
    fn other_number(&self, is_below: bool, is_above: bool) -> Coded {
        match self.is_numeric {
            true if is_below => Coded::Nearest(0),
            true if is_above => Coded::Nearest(self.last),
            _ => Coded::Outside,
        }
    }

    /// Returns the listed times and those of labels, in nanoseconds after 1970-01-01.
    pub fn times(&self) -> impl Iterator<Item = i128> + '_ {
        let listed = match &self.cells {
            Cells::Listed(listed) => Some(listed),
            Cells::Index | Cells::Bins(_) => self.labels.as_ref(),
        };
        listed.into_iter().flat_map(Listed::times)
    }

    /// Returns whether a value of a column of this type can have a cell.
    pub fn accepts(&self, column: ColumnType) -> bool {
        match &self.cells {
            Cells::Listed(listed) => listed.accepts(column),
            Cells::Index | Cells::Bins(_) => !matches!(
                column,
                ColumnType::Boolean | ColumnType::Time | ColumnType::Unsupported(_)
            ),
        }
    }

    /// Describes the values that have a cell, for messages.
    pub fn allowed(&self) -> String {
        const MAX_LISTED: usize = 12;
        let listed = |values: &[ListedValue]| {
            values.iter().map(ListedValue::to_string).collect::<Vec<_>>().join(", ")
        };
        let number = if self.coding.is_integer { "an integer" } else { "a number" };
        let allowed = match &self.coding.coding {
            Coding::Index => format!("a cell number from 0 to {}", self.size - 1),
            Coding::Bins(bins) => format!("{number} {}", bins.range_in_words()).trim().to_owned(),
            Coding::Values(values) if values.len() > MAX_LISTED => {
                format!("one of {} values: {}, …", values.len(), listed(&values[..MAX_LISTED]))
            }
            Coding::Values(values) => format!("one of {}", listed(values)),
        };
        match self.coding.labels.as_slice() {
            [] => allowed,
            labels => format!("{allowed}, or {}", listed(labels)),
        }
    }
}

/// Returns the cell of a listed value.
fn found(cell: Option<u32>) -> Coded {
    cell.map_or(Coded::Outside, Coded::Cell)
}

/// Returns a text without surrounding spaces.
#[inline(always)]
fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        // ASCII characters above the space are no spaces.
        [b'!'..=0x7f] | [b'!'..=0x7f, .., b'!'..=0x7f] => text,
        _ => text.trim(),
    }
}

/// A number in a text.
enum TextNumber {
    Integer(i64),
    Other(Decimal),
}

/// Digits of an integer that fits 64 bits whatever they are.
const MAX_DIGITS: usize = 18;

/// Reads a number; most are integers.
fn number_of(text: &str) -> Option<TextNumber> {
    match integer_of(text.as_bytes()) {
        Some(integer) => Some(TextNumber::Integer(integer)),
        None => Decimal::parse(text).map(TextNumber::Other),
    }
}

/// Reads an integer of at most 18 digits without leading zeros.
#[inline(always)]
fn integer_of(text: &[u8]) -> Option<i64> {
    let (digits, is_negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if !matches!(digits, [b'0'..=b'9'] | [b'1'..=b'9', ..]) || digits.len() > MAX_DIGITS {
        return None;
    }
    let mut number = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Result;
    use crate::schema::Schema;

    fn schema(keys: &str) -> Result<Schema> {
        Schema::from_toml(&format!("[[attribute]]\nname = \"a\"\n{keys}\n"), "S.toml")
    }

    fn coded(keys: &str, value: Value<'_>) -> Coded {
        schema(keys).unwrap().coder(0).code(value)
    }

    const OUTSIDE: Coded = Coded::Outside;

    fn cell(cell: u32) -> Coded {
        Coded::Cell(cell)
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_texts_as_texts() {
        let keys = "size = 4\nkind = \"categorical\"\nvalues = [1.0, 20, \"x 1\", \"03\"]";
        for (value, expected) in [
            ("1.0", cell(0)),
            ("1", cell(0)),
            ("1e0", cell(0)),
            ("20.00", cell(1)),
            ("020", OUTSIDE),
            ("+20", OUTSIDE),
            (" x 1 ", cell(2)),
            ("03", cell(3)),
            ("3", OUTSIDE),
            ("x1", OUTSIDE),
            ("inf", OUTSIDE),
            ("", Coded::Missing),
            (" ", Coded::Missing),
        ] {
            assert_eq!(coded(keys, Value::Text(value)), expected, "{value}");
        }
        for (value, expected) in [
            (Value::Integer(20), cell(1)),
            (Value::Float(1.0), cell(0)),
            (Value::Float(20.5), OUTSIDE),
            (Value::Float(f64::INFINITY), OUTSIDE),
            (Value::Integer(3), OUTSIDE),
            (Value::Missing, Coded::Missing),
            (Value::Float(f64::NAN), Coded::Missing),
            (Value::Boolean(true), OUTSIDE),
            (Value::Bytes(b"\xff"), OUTSIDE),
            (Value::Other, OUTSIDE),
        ] {
            assert_eq!(coded(keys, value), expected, "{value}");
        }
    }

    #[test]
    fn zip_codes_and_ranges_stay_texts() {
        let keys = "size = 3\nkind = \"categorical\"\nvalues = [\"02139\", \"2139\", \"18_24\"]";
        assert_eq!(coded(keys, Value::Text("02139")), cell(0));
        assert_eq!(coded(keys, Value::Text("2139")), cell(1));
        assert_eq!(coded(keys, Value::Integer(2139)), cell(1));
        assert_eq!(coded(keys, Value::Text("1824")), OUTSIDE);
        assert_eq!(coded(keys, Value::Text("18_24")), cell(2));
    }

    #[test]
    fn booleans_have_three_spellings() {
        for keys in [
            "size = 2\nkind = \"categorical\"\nvalues = [false, true]",
            "size = 2\nkind = \"categorical\"\nvalues = [\"False\", \"True\"]",
            "size = 2\nkind = \"categorical\"\nvalues = [\"FALSE\", \"true\"]",
        ] {
            for text in ["true", "True", "TRUE", " True "] {
                assert_eq!(coded(keys, Value::Text(text)), cell(1), "{keys}");
            }
            assert_eq!(coded(keys, Value::Boolean(true)), cell(1));
            assert_eq!(coded(keys, Value::Boolean(false)), cell(0));
            for value in [Value::Text("1"), Value::Text("tRUE"), Value::Integer(1)] {
                assert_eq!(coded(keys, value), OUTSIDE);
            }
        }
        let both = "size = 2\nkind = \"categorical\"\nvalues = [\"True\", \"true\"]";
        assert_eq!(coded(both, Value::Text("true")), cell(1));
        assert_eq!(coded(both, Value::Boolean(true)), cell(0));
    }

    #[test]
    fn times_at_midnight_are_dates() {
        for values in ["[2024-02-28, 2024-02-29]", "[\"2024-02-28\", \"2024-02-29\"]"] {
            let keys = format!("size = 2\nkind = \"categorical\"\nvalues = {values}");
            for text in ["2024-02-29", "2024-02-29 00:00:00", "2024-02-29T00:00:00.000"] {
                assert_eq!(coded(&keys, Value::Text(text)), cell(1), "{values} {text}");
            }
            let midnight = 19_782 * 86_400_000_000_000;
            assert_eq!(coded(&keys, Value::Time(midnight)), cell(1));
            assert_eq!(coded(&keys, Value::Time(midnight + 1)), OUTSIDE);
            assert_eq!(coded(&keys, Value::Text("2024-02-29 00:00:01")), OUTSIDE);
        }
    }

    #[test]
    fn cell_numbers_may_be_written_as_decimals() {
        let numeric = "size = 4\nkind = \"numeric\"";
        let categorical = "size = 4\nkind = \"categorical\"";
        for (text, in_numeric) in [
            ("3", cell(3)),
            ("3.0", cell(3)),
            ("3e0", cell(3)),
            ("-0.0", cell(0)),
            ("2.5", OUTSIDE),
            ("3.5", Coded::Nearest(3)),
            ("4.0", Coded::Nearest(3)),
            ("-0.5", Coded::Nearest(0)),
            ("-1", Coded::Nearest(0)),
            ("1e30", Coded::Nearest(3)),
            ("99999999999999999999", Coded::Nearest(3)),
            ("03", OUTSIDE),
            ("x", OUTSIDE),
        ] {
            assert_eq!(coded(numeric, Value::Text(text)), in_numeric, "{text}");
            let in_categorical = match in_numeric {
                Coded::Nearest(_) => OUTSIDE,
                other => other,
            };
            assert_eq!(coded(categorical, Value::Text(text)), in_categorical, "{text}");
            if let Ok(number) = text.parse::<f64>()
                && text != "03"
            {
                assert_eq!(coded(numeric, Value::Float(number)), in_numeric, "{text}");
            }
        }
    }

    proptest! {
        /// The cell of a number does not depend on the type or the text that holds it.
        #[test]
        fn equal_numbers_have_equal_cells(tenths in -30i64..130, form in 0usize..3) {
            let keys = [
                "size = 10\nkind = \"numeric\"\nbins = { low = 0, high = 10, count = 10 }",
                "size = 10\nkind = \"numeric\"",
                "size = 3\nkind = \"categorical\"\nvalues = [0.1, \"0.3\", 7]",
            ][form];
            let decimal = Decimal::parse(&format!("{tenths}e-1")).unwrap();
            let text = decimal.to_string();
            let expected = coded(keys, Value::Number(&decimal));
            prop_assert_eq!(coded(keys, Value::Text(&text)), expected);
            prop_assert_eq!(coded(keys, Value::Text(&format!("{tenths}e-01"))), expected);
            prop_assert_eq!(coded(keys, Value::Float(text.parse().unwrap())), expected);
            let single: f32 = text.parse().unwrap();
            let widened: f64 = single.to_string().parse().unwrap();
            prop_assert_eq!(coded(keys, Value::Float(widened)), expected);
            if tenths % 10 == 0 {
                prop_assert_eq!(coded(keys, Value::Integer((tenths / 10).into())), expected);
                let long = format!("{}.0", tenths / 10);
                prop_assert_eq!(coded(keys, Value::Text(&long)), expected);
            }
        }
    }

    #[test]
    fn columns_are_accepted_by_type() {
        use ColumnType::{Any, Boolean, Float, Integer, Text, Time};
        let categorical = |values: &str, size: usize| {
            format!("size = {size}\nkind = \"categorical\"\nvalues = {values}")
        };
        for (keys, accepted) in [
            ("size = 4\nkind = \"numeric\"".to_owned(), vec![Text, Integer, Float, Any]),
            (categorical("[\"a\", \"b\"]", 2), vec![Text, Any]),
            (categorical("[\"1\", \"b\"]", 2), vec![Text, Integer, Float, Any]),
            (categorical("[0.5, 1.5]", 2), vec![Text, Float, Any]),
            (categorical("[true, false]", 2), vec![Text, Boolean, Any]),
            (categorical("[\"2024-02-29\", \"x\"]", 2), vec![Text, Time, Any]),
        ] {
            let schema = schema(&keys).unwrap();
            for column in [Text, Integer, Float, Boolean, Time, Any] {
                let found = schema.coder(0).accepts(column);
                assert_eq!(found, accepted.contains(&column), "{keys}: {column}");
            }
        }
    }
}
