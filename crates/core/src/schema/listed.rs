//! Cells of listed values.

use rustc_hash::FxHashMap as HashMap;

use super::value::{ColumnType, ListedValue, Value, boolean_of, time_of};
use crate::decimal::Decimal;

/// The cells of listed values.
///
/// A listed text also stands for the number, boolean or time that it denotes, unless that is listed
/// itself: a column of integers matches `values = ["1", "2"]`. If several texts denote the same
/// number, it is the number of the text in which it is usually written, or of the first one.
#[derive(Debug, Default)]
pub(super) struct Listed<'a> {
    texts: HashMap<&'a str, u32>,
    pub integers: HashMap<i64, u32>,
    /// Numbers that are not integers of 64 bits.
    numbers: HashMap<Decimal, u32>,
    booleans: [Option<u32>; 2],
    times: HashMap<i128, u32>,
    /// Whether a listed number is not an integer.
    has_fraction: bool,
}

impl<'a> Listed<'a> {
    /// Prepares look-ups of values whose cells are numbered from `first`. Returns the number of
    /// values that equal an earlier one as well.
    pub fn of(values: impl Iterator<Item = &'a ListedValue> + Clone, first: u32) -> (Self, usize) {
        let mut listed = Listed::default();
        let mut equal = 0;
        for (value, cell) in values.clone().zip(first..) {
            let previous = match value {
                ListedValue::Text(text) => listed.texts.insert(text, cell),
                ListedValue::Number(number) => listed.insert_number(number, cell),
                ListedValue::Boolean(boolean) => {
                    listed.booleans[usize::from(*boolean)].replace(cell)
                }
                ListedValue::Time(time) => listed.times.insert(*time, cell),
            };
            equal += usize::from(previous.is_some());
        }
        let texts = values.zip(first..).filter_map(|(value, cell)| match value {
            ListedValue::Text(text) => Some((text.as_str(), cell)),
            _ => None,
        });
        let mut denoted = Listed::default();
        for (text, cell) in texts {
            if let Some(number) = Decimal::parse(text) {
                equal += usize::from(listed.number(&number).is_some());
                if denoted.number(&number).is_none() || number.to_string() == text {
                    denoted.insert_number(&number, cell);
                }
            } else if let Some(boolean) = boolean_of(text) {
                let index = usize::from(boolean);
                equal += usize::from(listed.booleans[index].is_some());
                denoted.booleans[index].get_or_insert(cell);
            } else if let Some(time) = time_of(text) {
                equal += usize::from(listed.times.contains_key(&time));
                denoted.times.entry(time).or_insert(cell);
            }
        }
        listed.integers.extend(denoted.integers);
        listed.numbers.extend(denoted.numbers);
        listed.times.extend(denoted.times);
        for (known, denoted) in listed.booleans.iter_mut().zip(denoted.booleans) {
            *known = known.or(denoted);
        }
        listed.has_fraction |= denoted.has_fraction;
        (listed, equal)
    }

    fn insert_number(&mut self, number: &Decimal, cell: u32) -> Option<u32> {
        self.has_fraction |= !number.is_integer();
        match number.to_i64() {
            Some(integer) => self.integers.insert(integer, cell),
            None => self.numbers.insert(number.clone(), cell),
        }
    }

    /// Returns the cell of a value.
    pub fn value(&self, value: Value<'_>) -> Option<u32> {
        match value {
            Value::Integer(number) => match i64::try_from(number) {
                Ok(small) => self.integers.get(&small).copied(),
                Err(_) => self.number(&number.into()),
            },
            Value::Float(number) => self.float(number),
            Value::Number(number) => self.number(number),
            Value::Text(text) => self.text(text),
            Value::Boolean(boolean) => self.booleans[usize::from(boolean)],
            Value::Time(time) => self.times.get(&time).copied(),
            Value::Missing | Value::Bytes(_) | Value::Other => None,
        }
    }

    fn number(&self, number: &Decimal) -> Option<u32> {
        match number.to_i64() {
            Some(integer) => self.integers.get(&integer).copied(),
            None => self.numbers.get(number).copied(),
        }
    }

    fn float(&self, number: f64) -> Option<u32> {
        if let Some(integer) = exact_integer(number) {
            return self.integers.get(&integer).copied();
        }
        if self.numbers.is_empty() {
            return None;
        }
        self.number(&Decimal::shortest(number)?)
    }

    /// Returns the cell of a text: as it is, or as the number, boolean or time that it denotes.
    pub fn text(&self, text: &str) -> Option<u32> {
        if let Some(cell) = self.texts.get(text) {
            return Some(*cell);
        }
        if let Some(boolean) = boolean_of(text) {
            return self.booleans[usize::from(boolean)];
        }
        if !(self.integers.is_empty() && self.numbers.is_empty())
            && let Some(number) = Decimal::parse(text)
        {
            return self.number(&number);
        }
        if self.times.is_empty() {
            return None;
        }
        self.times.get(&time_of(text)?).copied()
    }

    /// Returns the listed times, in nanoseconds after 1970-01-01.
    pub fn times(&self) -> impl Iterator<Item = i128> + '_ {
        self.times.keys().copied()
    }

    /// Returns whether a value of a column of this type can have a cell.
    pub fn accepts(&self, column: ColumnType) -> bool {
        let has_integers =
            !self.integers.is_empty() || self.numbers.keys().any(Decimal::is_integer);
        match column {
            ColumnType::Text | ColumnType::Any => true,
            ColumnType::Integer => has_integers,
            ColumnType::Float => has_integers || self.has_fraction,
            ColumnType::Boolean => self.booleans.iter().any(Option::is_some),
            ColumnType::Time => !self.times.is_empty(),
            ColumnType::Unsupported(_) => false,
        }
    }
}

/// Returns the integer of a double below 2⁵³, whose shortest decimal it is.
pub(super) fn exact_integer(number: f64) -> Option<i64> {
    let is_exact = number.fract() == 0.0 && number.abs() < (1u64 << 53) as f64;
    is_exact.then_some(number as i64)
}

/// Counts the values that equal an earlier one in a look-up, or denote the same number, boolean or
/// time as one that is listed.
pub(super) fn equal_values(values: &[ListedValue]) -> usize {
    Listed::of(values.iter(), 0).1
}
