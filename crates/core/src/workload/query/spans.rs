//! The numbers that a cell contains.

use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::{One, ToPrimitive};

use crate::decimal::Decimal;
use crate::domain::AttributeKind;
use crate::schema::{Bins, Coding, ListedValue, Schema, exact_decimal, time_of};

/// An exact number.
pub(super) type Number = Ratio<BigInt>;

/// The end of an interval, and whether it is in the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub at: Number,
    pub is_included: bool,
}

/// The numbers of a cell: an interval, or the integers of an interval. An open end has no number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub low: Option<End>,
    pub high: Option<End>,
}

/// A half-line of numbers: below a limit, or at most the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Below,
    AtMost,
}

impl Span {
    fn of_one(at: Number) -> Self {
        let end = Some(End { at, is_included: true });
        Span { low: end.clone(), high: end }
    }

    /// Returns the number of a cell with one number.
    pub(super) fn single(&self) -> Option<&Number> {
        let (low, high) = (self.low.as_ref()?, self.high.as_ref()?);
        (low.at == high.at).then_some(&low.at)
    }

    /// Returns the middle, unless an end is open: the midpoint of an interval, or the mean of its
    /// integers.
    pub(super) fn middle(&self) -> Option<Number> {
        Some((&self.low.as_ref()?.at + &self.high.as_ref()?.at) / BigInt::from(2))
    }

    /// Returns whether all numbers of the cell are on a side of a limit, or none; `None` if some
    /// are.
    pub(super) fn is_on(&self, side: Side, limit: &Number) -> Option<bool> {
        let all = self.high.as_ref().is_some_and(|end| {
            end.at < *limit || end.at == *limit && (side == Side::AtMost || !end.is_included)
        });
        let none = self.low.as_ref().is_some_and(|end| {
            end.at > *limit || end.at == *limit && (side == Side::Below || !end.is_included)
        });
        match (all, none) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// The numbers of the cells of an attribute; `None` for a cell without numbers.
#[derive(Debug)]
pub(super) struct Spans {
    pub cells: Vec<Option<Span>>,
    /// Whether the numbers are times, in nanoseconds.
    pub are_times: bool,
    /// Whether cells contain integers only.
    pub are_integers: bool,
    /// Whether some cell has more than one number.
    pub are_bins: bool,
}

impl Spans {
    /// Returns the numbers of an attribute's cells, if its coding has numbers or times.
    pub(super) fn of(schema: &Schema, position: usize) -> Option<Self> {
        let attribute = schema.attributes().get(position)?;
        let mut are_times = false;
        let mut cells: Vec<Option<Span>> = match schema.coding(position)? {
            Coding::Index if attribute.kind == AttributeKind::Categorical => return None,
            Coding::Index => {
                let numbers = 0..attribute.size - schema.labels(position).len();
                numbers.map(|k| Some(Span::of_one(BigInt::from(k).into()))).collect()
            }
            Coding::Bins(bins) => (0..bins.count()).map(|cell| Some(of_bin(bins, cell))).collect(),
            Coding::Values(values) => {
                are_times = values.iter().any(|value| matches!(value, ListedValue::Time(_)));
                values
                    .iter()
                    .map(|value| match value {
                        ListedValue::Number(number) if !are_times => {
                            Some(Span::of_one(number.to_ratio()))
                        }
                        ListedValue::Time(time) => Some(Span::of_one(BigInt::from(*time).into())),
                        _ => None,
                    })
                    .collect()
            }
        };
        if cells.iter().all(Option::is_none) {
            return None;
        }
        cells.resize(attribute.size, None);
        let are_bins = cells.iter().flatten().any(|span| span.single().is_none());
        Some(Spans { cells, are_times, are_integers: schema.is_integer(position), are_bins })
    }

    /// Returns the number, or the time, that a word of a query denotes. `a/b` is a fraction.
    pub(super) fn number(&self, text: &str) -> Option<Number> {
        if self.are_times {
            return time_of(text).map(|time| BigInt::from(time).into());
        }
        let decimal = |text: &str| Decimal::parse(text).map(|number| number.to_ratio());
        match text.split_once('/') {
            Some((a, b)) => {
                let b = decimal(b).filter(|b| *b != Number::from(BigInt::from(0)))?;
                Some(decimal(a)? / b)
            }
            None => decimal(text),
        }
    }

    /// Returns a number of the attribute in words.
    pub(super) fn shown(&self, number: &Number) -> String {
        match self.are_times {
            true => match number.to_integer().to_i128() {
                Some(time) => ListedValue::Time(time).to_string(),
                None => number.to_string(),
            },
            false => shown(number),
        }
    }
}

/// Returns an exact number as a decimal, or as a fraction.
pub(super) fn shown(number: &Number) -> String {
    exact_decimal(number).map_or_else(|| number.to_string(), |decimal| decimal.to_string())
}

/// Returns a number as the nearest double, or nearly so.
pub(super) fn to_double(number: &Number) -> f64 {
    match exact_decimal(number) {
        Some(decimal) => decimal.to_f64(),
        None => {
            let double = |integer: &BigInt| integer.to_f64().unwrap_or(f64::NAN);
            double(number.numer()) / double(number.denom())
        }
    }
}

fn of_bin(bins: &Bins, cell: usize) -> Span {
    let closed = bins.between_edges();
    let end = |at: Number, is_included: bool| Some(End { at, is_included });
    let (low, high) = (bins.low().to_ratio(), bins.high().to_ratio());
    let one = Number::one();
    if cell < closed.start {
        let high = match bins.is_integer() {
            true => end(low.ceil() - one, true),
            false => end(low, false),
        };
        return Span { low: None, high };
    }
    if cell >= closed.end {
        let low = match bins.is_integer() {
            true => end(high.floor() + one, true),
            false => end(high, false),
        };
        return Span { low, high: None };
    }
    if let Some((first, last)) = bins.integers(cell) {
        let integer = |number: i128| end(BigInt::from(number).into(), true);
        return Span { low: integer(first), high: integer(last) };
    }
    let bin = cell - closed.start;
    Span { low: end(bins.edge(bin), true), high: end(bins.edge(bin + 1), cell + 1 == closed.end) }
}
