//! What a schema needs to know of a column. **Not private.**

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::data::table::Values;
use crate::decimal::Decimal;
use crate::schema::{ListedValue, Value, boolean_of, time_of};

/// Maximum distinct values that are counted per column, by their hashes.
const MAX_COUNTED: usize = 1 << 20;

/// Maximum numbers that are kept for quantiles.
const MAX_KEPT: usize = 1 << 14;

/// Fewest records with a value of a column that can look like identifiers.
const MIN_IDENTIFIED: usize = 20;

/// What the values of a column are, from the most special to text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Time,
    Integer,
    Number,
    Text,
}

/// A value as a key of a set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    Number(Decimal),
    Boolean(bool),
    Time(i128),
}

/// The values of a column.
#[derive(Debug)]
pub(super) struct Profile {
    max_values: usize,
    pub(super) records: usize,
    /// Missing values, and texts without characters.
    pub(super) missing: usize,
    /// Values that no schema can have: infinite numbers, bytes that are not UTF-8, other types.
    pub(super) without_cell: usize,
    /// Texts that are numbers with a decimal comma.
    pub(super) decimal_commas: usize,
    pub(super) kind: Option<Kind>,
    distinct: HashSet<Key, FxBuildHasher>,
    hashes: FxHashSet<u64>,
    /// The values that were seen until [`MAX_COUNTED`] of them were distinct.
    counted: usize,
    pub(super) range: Option<(Decimal, Decimal)>,
    kept: Vec<f64>,
    /// Every `stride`-th number is kept.
    stride: usize,
    numbers: usize,
}

impl Profile {
    pub(super) fn new(max_values: usize) -> Self {
        Profile {
            max_values,
            records: 0,
            missing: 0,
            without_cell: 0,
            decimal_commas: 0,
            kind: None,
            distinct: HashSet::default(),
            hashes: FxHashSet::default(),
            counted: 0,
            range: None,
            kept: Vec::new(),
            stride: 1,
            numbers: 0,
        }
    }

    pub(super) fn extend(&mut self, values: &Values<'_>) {
        values.for_each(|value: Value<'_>| self.take(value));
    }

    fn take(&mut self, value: Value<'_>) {
        self.records += 1;
        let number = |number: Decimal| {
            let kind = if number.is_integer() { Kind::Integer } else { Kind::Number };
            Some((kind, Key::Number(number.clone()), Some(number)))
        };
        let found = match value {
            Value::Missing => return self.missing += 1,
            Value::Text(text) => match text.trim() {
                "" => return self.missing += 1,
                text => {
                    self.decimal_commas += usize::from(has_decimal_comma(text));
                    let (kind, number) = denoted(text);
                    Some((kind, Key::Text(text.to_owned()), number))
                }
            },
            Value::Integer(integer) => number(integer.into()),
            Value::Float(float) => Decimal::shortest(float).and_then(number),
            Value::Number(decimal) => number(decimal.clone()),
            Value::Boolean(boolean) => Some((Kind::Boolean, Key::Boolean(boolean), None)),
            // A time that is not written as one cannot be listed.
            Value::Time(time) if time_of(&ListedValue::Time(time).to_string()) == Some(time) => {
                Some((Kind::Time, Key::Time(time), None))
            }
            Value::Time(_) | Value::Bytes(_) | Value::Other => None,
        };
        let Some((kind, key, number)) = found else { return self.without_cell += 1 };
        self.kind = Some(match self.kind {
            Some(known) if known != kind => match (known, kind) {
                (Kind::Integer, Kind::Number) | (Kind::Number, Kind::Integer) => Kind::Number,
                _ => Kind::Text,
            },
            _ => kind,
        });
        if self.hashes.len() < MAX_COUNTED {
            self.hashes.insert(FxBuildHasher.hash_one(&key));
            self.counted += 1;
        }
        if self.distinct.len() <= self.max_values {
            self.distinct.insert(key);
        }
        if let Some(number) = number {
            self.take_number(number);
        }
    }

    fn take_number(&mut self, number: Decimal) {
        if self.numbers.is_multiple_of(self.stride) {
            self.kept.push(number.to_f64());
        }
        self.numbers += 1;
        if self.kept.len() > MAX_KEPT {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
        self.range = Some(match self.range.take() {
            None => (number.clone(), number),
            Some((low, high)) if number < low => (number, high),
            Some((low, high)) if number > high => (low, number),
            Some(range) => range,
        });
    }

    /// Returns the number of distinct values, and whether there may be more.
    pub(super) fn distinct(&self) -> (usize, bool) {
        (self.hashes.len(), self.hashes.len() >= MAX_COUNTED)
    }

    /// Returns the number of values.
    pub(super) fn counted(&self) -> usize {
        self.records - self.missing - self.without_cell
    }

    pub(super) fn is_numeric(&self) -> bool {
        matches!(self.kind, Some(Kind::Integer | Kind::Number))
    }

    /// Returns whether almost every record has a different integer or text.
    pub(super) fn looks_like_identifiers(&self) -> bool {
        matches!(self.kind, Some(Kind::Integer | Kind::Text))
            && self.counted >= MIN_IDENTIFIED
            && self.hashes.len() as f64 >= 0.9 * self.counted as f64
    }

    /// Returns whether the column is known to have a text.
    pub(super) fn has_text(&self, text: &str) -> bool {
        self.distinct.contains(&Key::Text(text.to_owned()))
    }

    /// Returns the distinct values, sorted; `None` if there are more than the maximum.
    pub(super) fn values(&self) -> Option<Vec<ListedValue>> {
        if self.distinct.is_empty() || self.distinct.len() > self.max_values {
            return None;
        }
        let has = |key: Key| self.distinct.contains(&key);
        // A text next to the number, boolean or time that it denotes is equal to it.
        let is_other = |key: &&Key| match key {
            Key::Text(text) => {
                !Decimal::parse(text).is_some_and(|number| has(Key::Number(number)))
                    && !boolean_of(text).is_some_and(|boolean| has(Key::Boolean(boolean)))
                    && !time_of(text).is_some_and(|time| has(Key::Time(time)))
            }
            _ => true,
        };
        let listed = |key: &Key| match key {
            Key::Text(text) => ListedValue::Text(text.clone()),
            Key::Number(number) => ListedValue::Number(number.clone()),
            Key::Boolean(boolean) => ListedValue::Boolean(*boolean),
            Key::Time(time) => ListedValue::Time(*time),
        };
        let mut values: Vec<ListedValue> =
            self.distinct.iter().filter(is_other).map(listed).collect();
        values.sort_by(|a, b| order(a, b, self.is_numeric()));
        Some(values)
    }

    /// Returns quantiles of the numbers that were kept.
    pub(super) fn quantiles(&self, shares: &[f64]) -> Vec<f64> {
        let mut kept = self.kept.clone();
        kept.sort_by(f64::total_cmp);
        let last = kept.len().saturating_sub(1) as f64;
        shares
            .iter()
            .filter_map(|share| kept.get((share * last).round() as usize))
            .copied()
            .collect()
    }
}

/// Returns whether a text is a number with a decimal comma, such as `1,5` or `1.234,50`.
fn has_decimal_comma(text: &str) -> bool {
    let Some((whole, fraction)) = text.rsplit_once(',') else { return false };
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut groups = whole.split('.');
    is_digits(fraction)
        && groups.next().is_some_and(is_digits)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

/// Returns what a text denotes.
fn denoted(text: &str) -> (Kind, Option<Decimal>) {
    if let Some(number) = Decimal::parse(text) {
        return (if number.is_integer() { Kind::Integer } else { Kind::Number }, Some(number));
    }
    let kind = match (boolean_of(text), time_of(text)) {
        (Some(_), _) => Kind::Boolean,
        (None, Some(_)) => Kind::Time,
        (None, None) => Kind::Text,
    };
    (kind, None)
}

fn order(a: &ListedValue, b: &ListedValue, by_number: bool) -> Ordering {
    let number = |value: &ListedValue| match value {
        ListedValue::Number(number) => Some(number.clone()),
        ListedValue::Text(text) if by_number => Decimal::parse(text),
        _ => None,
    };
    match (a, b) {
        (ListedValue::Boolean(a), ListedValue::Boolean(b)) => a.cmp(b),
        (ListedValue::Time(a), ListedValue::Time(b)) => a.cmp(b),
        _ => number(a).cmp(&number(b)).then_with(|| a.to_string().cmp(&b.to_string())),
    }
}
