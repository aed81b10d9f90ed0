//! The cells of an attribute as an ordered list of tests.

use num_bigint::BigInt;
use num_rational::Ratio;

use super::sql_type::number_of;
use crate::data::OutOfDomain;
use crate::decimal::Decimal;
use crate::schema::{Coded, Coder, Coding, ListedValue, Schema, Value};

/// The cell of a value; `None` drops the record.
pub(super) type Cell = Option<u32>;

/// Numbers up to a bound, which they include or not.
#[derive(Debug, Clone)]
pub(super) struct UpTo {
    pub(super) bound: Ratio<BigInt>,
    pub(super) is_included: bool,
    pub(super) cell: Cell,
}

/// The cells of an attribute, all computed by its [`Coder`], so that they are those of a table that
/// is read.
#[derive(Debug)]
pub(super) struct Cases {
    pub(super) missing: Cell,
    /// Infinite numbers, and values of other types.
    pub(super) outside: Cell,
    pub(super) texts: Vec<(String, Cell)>,
    pub(super) booleans: [Cell; 2],
    /// Nanoseconds after 1970-01-01.
    pub(super) times: Vec<(i128, Cell)>,
    /// Single numbers, which come before intervals.
    pub(super) numbers: Vec<(Decimal, Cell)>,
    /// Intervals, in ascending order.
    pub(super) intervals: Vec<UpTo>,
    /// Numbers beyond all intervals.
    pub(super) beyond: Cell,
    /// Whether fractions that are no single number are outside.
    pub(super) is_integer: bool,
}

/// The texts of booleans.
const BOOLEANS: [&str; 6] = ["true", "True", "TRUE", "false", "False", "FALSE"];

impl Cases {
    pub(super) fn of(schema: &Schema, position: usize, rule: OutOfDomain) -> Self {
        let coder = schema.coder(position);
        let other = schema.other(position);
        let missing = schema.missing(position).or(other);
        let clamps = rule == OutOfDomain::Clamp;
        let cell = |value: Value<'_>| match coder.code(value) {
            Coded::Cell(cell) => Some(cell),
            Coded::Nearest(cell) if clamps => Some(cell),
            Coded::Missing => missing,
            _ => other,
        };
        let mut cases = Cases {
            missing: cell(Value::Missing),
            outside: cell(Value::Other),
            // An empty text is missing, unless it is listed.
            texts: vec![(String::new(), cell(Value::Text("")))],
            booleans: [false, true].map(|boolean| cell(Value::Boolean(boolean))),
            times: Vec::new(),
            numbers: Vec::new(),
            intervals: Vec::new(),
            beyond: cell(Value::Other),
            is_integer: false,
        };
        let labels: Vec<ListedValue> = (0..schema.attributes()[position].size)
            .filter_map(|cell| schema.label(position, cell).cloned())
            .collect();
        let number = |number: &Decimal| cell(Value::Number(number));
        // Integers beyond an edge that are no label: there are at most two labels.
        let beyond = |integers: [Decimal; 3]| {
            let is_label =
                |integer: &Decimal| labels.iter().any(|l| number_of(l).as_ref() == Some(integer));
            integers.into_iter().find(|integer| !is_label(integer)).map_or(other, |n| number(&n))
        };
        let below = |bound: &Decimal| UpTo {
            bound: bound.to_ratio(),
            is_included: false,
            cell: beyond([2i64, 3, 4].map(|k| bound.minus(&k.into()).ceiling(0))),
        };
        let above =
            |bound: &Decimal| beyond([1i64, 2, 3].map(|k| bound.plus(&k.into()).ceiling(0)));
        match schema.coding(position) {
            Some(Coding::Values(values)) => {
                let listed: Vec<ListedValue> = values.iter().chain(&labels).cloned().collect();
                cases.list(&listed, &coder, &cell);
            }
            Some(Coding::Bins(bins)) => {
                cases.intervals.push(below(bins.low()));
                let closed = bins.between_edges();
                cases.intervals.extend(closed.clone().map(|bin| UpTo {
                    bound: bins.edge(bin - closed.start + 1),
                    is_included: bin + 1 == closed.end,
                    cell: number(&bins.midpoint(bin)),
                }));
                cases.is_integer = bins.is_integer();
                cases.beyond = above(bins.high());
            }
            _ => {
                let size = (schema.attributes()[position].size - labels.len()) as i128;
                let last = Decimal::from(size - 1);
                let cells = (0..size).map(Decimal::from);
                cases.numbers.extend(cells.map(|value| {
                    let cell = number(&value);
                    (value, cell)
                }));
                cases.intervals.push(below(&0i64.into()));
                let (bound, cell) = (last.to_ratio(), cases.outside);
                cases.intervals.push(UpTo { bound, is_included: true, cell });
                cases.beyond = above(&last);
            }
        }
        if !matches!(schema.coding(position), Some(Coding::Values(_))) && !labels.is_empty() {
            cases.list(&labels, &coder, &cell);
        }
        cases
    }

    /// Returns whether a number can have a cell, or decides one.
    pub(super) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty() || !self.intervals.is_empty()
    }

    fn list(
        &mut self,
        values: &[ListedValue],
        coder: &Coder<'_>,
        cell: &dyn Fn(Value<'_>) -> Cell,
    ) {
        let texts = values.iter().filter_map(|value| match value {
            ListedValue::Text(text) => Some(text.as_str()),
            _ => None,
        });
        // Other spellings of a boolean are outside, unless it is listed.
        let texts = texts.chain(BOOLEANS);
        self.texts.extend(texts.map(|text| (text.to_owned(), cell(Value::Text(text)))));
        let mut numbers: Vec<Decimal> = values.iter().filter_map(number_of).collect();
        numbers.sort();
        numbers.dedup();
        self.numbers.extend(numbers.into_iter().map(|number| {
            let cell = cell(Value::Number(&number));
            (number, cell)
        }));
        let mut times: Vec<i128> = coder.times().collect();
        times.sort_unstable();
        for time in &times {
            // The forms of a time without a fraction of a second that the coder reads.
            let listed = cell(Value::Time(*time));
            let forms = forms_of(*time)
                .into_iter()
                .filter(|form| matches!(coder.code(Value::Text(form)), Coded::Cell(_)));
            self.texts.extend(forms.map(|form| (form, listed)));
        }
        self.times = times.into_iter().map(|time| (time, cell(Value::Time(time)))).collect();
    }
}

/// Returns texts that may denote a time.
fn forms_of(time: i128) -> Vec<String> {
    let written = ListedValue::Time(time).to_string();
    let (date, clock) = written.split_once('T').unwrap_or((&written, "00:00:00"));
    let mut forms = vec![date.to_owned()];
    for separator in ["T", " "] {
        for length in [2, 5, 8] {
            let Some(clock) = clock.get(..length) else { continue };
            forms.push(format!("{date}{separator}{clock}"));
            forms.push(format!("{date}{separator}{}", clock.replace(':', "")));
        }
    }
    forms
}
