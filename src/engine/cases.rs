//! The cells of an attribute as an ordered list of tests.

use num_bigint::BigInt;
use num_rational::Ratio;

use super::sql_type::number_of;
use crate::data::OutOfDomain;
use crate::decimal::Decimal;
use crate::domain::AttributeKind;
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

/// The cells of an attribute: those of a table that is read.
///
/// Single values are looked up with the attribute's [`Coder`].
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
    /// Whether intervals have numbers that are not integers; otherwise these are outside.
    pub(super) has_fractions: bool,
    /// Intervals, in ascending order.
    pub(super) intervals: Vec<UpTo>,
    /// Numbers beyond all intervals.
    pub(super) beyond: Cell,
}

/// The texts of booleans.
const BOOLEANS: [&str; 6] = ["true", "True", "TRUE", "false", "False", "FALSE"];

impl Cases {
    pub(super) fn of(schema: &Schema, position: usize, rule: OutOfDomain) -> Self {
        let (coder, attribute) = (schema.coder(position), &schema.attributes()[position]);
        let (other, missing) = (schema.other(position), schema.missing(position));
        let clamps = rule == OutOfDomain::Clamp;
        let cell = |value: Value<'_>| match coder.code(value) {
            Coded::Cell(cell) => Some(cell),
            Coded::Nearest(cell) if clamps => Some(cell),
            Coded::Missing => missing.or(other),
            Coded::Nearest(_) | Coded::Outside => other,
        };
        let labels = schema.labels(position);
        let mut cases = Cases {
            missing: cell(Value::Missing),
            outside: cell(Value::Other),
            texts: vec![(String::new(), cell(Value::Text("")))],
            booleans: [false, true].map(|boolean| cell(Value::Boolean(boolean))),
            times: Vec::new(),
            numbers: Vec::new(),
            has_fractions: true,
            intervals: Vec::new(),
            beyond: other,
        };
        let cells = attribute.size - labels.len();
        let out_of_range = |cell: usize, has_cell: bool| match has_cell {
            true => Some(cell as u32),
            false => other,
        };
        match schema.coding(position) {
            Some(Coding::Values(values)) => {
                cases.list(&mut values.iter().chain(labels), &coder, &cell);
            }
            Some(Coding::Bins(bins)) => {
                cases.list(&mut labels.iter(), &coder, &cell);
                cases.has_fractions = !bins.is_integer();
                let between = bins.between_edges();
                cases.intervals.push(UpTo {
                    bound: bins.low().to_ratio(),
                    is_included: false,
                    cell: out_of_range(0, clamps || between.start > 0),
                });
                cases.intervals.extend(between.clone().zip(1..).map(|(bin, edge)| UpTo {
                    bound: bins.edge(edge),
                    is_included: bin + 1 == between.end,
                    cell: Some(bin as u32),
                }));
                cases.beyond = out_of_range(cells - 1, clamps || between.end < cells);
            }
            _ => {
                cases.list(&mut labels.iter(), &coder, &cell);
                cases.has_fractions = !schema.is_integer(position);
                let numbers = (0..cells as u32).map(|cell| (i64::from(cell).into(), Some(cell)));
                cases.numbers.extend(numbers);
                let is_clamped = clamps && attribute.kind == AttributeKind::Numeric;
                let end = |bound: usize, is_included, cell| UpTo {
                    bound: BigInt::from(bound).into(),
                    is_included,
                    cell,
                };
                cases.intervals.push(end(0, false, out_of_range(0, is_clamped)));
                cases.intervals.push(end(cells - 1, true, other));
                cases.beyond = out_of_range(cells - 1, is_clamped);
            }
        }
        cases
    }

    /// Returns whether a number can have a cell, or decides one.
    pub(super) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty() || !self.intervals.is_empty()
    }

    /// Adds listed values and labels.
    fn list<'a>(
        &mut self,
        values: &mut dyn Iterator<Item = &'a ListedValue>,
        coder: &Coder<'_>,
        cell: &dyn Fn(Value<'_>) -> Cell,
    ) {
        let values: Vec<&ListedValue> = values.collect();
        if values.is_empty() {
            return;
        }
        let texts = values.iter().filter_map(|value| match value {
            ListedValue::Text(text) => Some(text.as_str()),
            _ => None,
        });
        // Other spellings of a boolean are outside, unless it is listed.
        self.texts.extend(texts.chain(BOOLEANS).map(|t| (t.to_owned(), cell(Value::Text(t)))));
        let mut numbers: Vec<Decimal> = values.into_iter().filter_map(number_of).collect();
        numbers.sort();
        numbers.dedup();
        self.numbers = numbers
            .into_iter()
            .map(|number| {
                let cell = cell(Value::Number(&number));
                (number, cell)
            })
            .collect();
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::schema::time_of;

    /// The cell of a value by the tests, as a statement evaluates them.
    fn tested(cases: &Cases, value: Value<'_>) -> Cell {
        match value {
            Value::Missing => cases.missing,
            Value::Integer(number) => of_number(cases, &number.into()),
            Value::Float(number) if number.is_nan() => cases.missing,
            Value::Float(number) => match Decimal::shortest(number) {
                Some(number) => of_number(cases, &number),
                None => cases.outside,
            },
            Value::Number(number) => of_number(cases, number),
            Value::Text(text) => of_text(cases, text.trim()),
            Value::Boolean(boolean) => cases.booleans[usize::from(boolean)],
            Value::Time(time) => {
                let found = cases.times.iter().find(|(listed, _)| *listed == time);
                found.map_or(cases.outside, |(_, cell)| *cell)
            }
            Value::Bytes(_) | Value::Other => cases.outside,
        }
    }

    fn of_text(cases: &Cases, text: &str) -> Cell {
        if let Some((_, cell)) = cases.texts.iter().find(|(listed, _)| listed == text) {
            return *cell;
        }
        // The forms of other times are listed texts.
        if let Some(time) = time_of(text).filter(|_| text.contains('.')) {
            return tested(cases, Value::Time(time));
        }
        match Decimal::parse(text) {
            Some(number) if cases.has_numbers() => of_number(cases, &number),
            _ => cases.outside,
        }
    }

    fn of_number(cases: &Cases, number: &Decimal) -> Cell {
        if let Some((_, cell)) = cases.numbers.iter().find(|(listed, _)| listed == number) {
            return *cell;
        }
        if !cases.has_fractions && !number.is_integer() {
            return cases.outside;
        }
        let number = number.to_ratio();
        let found = cases.intervals.iter().find(|interval| {
            number < interval.bound || interval.is_included && number == interval.bound
        });
        found.map_or(cases.beyond, |interval| interval.cell)
    }

    /// The cell of a value in a table that is read.
    fn read(schema: &Schema, value: Value<'_>, rule: OutOfDomain) -> Cell {
        let coded = schema.coder(0).code(value);
        match coded {
            Coded::Cell(cell) => Some(cell),
            Coded::Nearest(cell) if rule == OutOfDomain::Clamp => Some(cell),
            Coded::Missing if schema.missing(0).is_some() => schema.missing(0),
            _ => schema.other(0),
        }
    }

    const LABELS: [&str; 20] = [
        "",
        "unknown",
        "a",
        "99",
        "-1",
        "-1.0",
        "0",
        "0.5",
        "2.5",
        "-0",
        "1e400",
        "-0.5",
        "020",
        "True",
        "false",
        "nan",
        "inf",
        "2024-02-29",
        "2024-02-29 12:00:00.5",
        "x;y",
    ];

    const TEXTS: [&str; 26] = [
        "",
        " ",
        "\t\n",
        "\u{2003}",
        "unknown",
        " unknown ",
        "Unknown",
        "a",
        "b",
        "true",
        "TRUE",
        "False",
        "tRUE",
        "nan",
        "NaN",
        "inf",
        "-",
        "020",
        "+1",
        "2024-02-29",
        "2024-02-29T00:00",
        "2024-02-29 00:00:00.0",
        "2024-02-29T12:00:00.50",
        "1e400",
        "x;y",
        "-0",
    ];

    fn codings() -> impl Strategy<Value = String> {
        let numeric = select(vec!["numeric", "integer"]);
        let ends = (any::<bool>(), any::<bool>())
            .prop_map(|(below, above)| format!("below = {below}\nabove = {above}\n"));
        let bins = (numeric.clone(), ends.clone(), -4i32..4, 1i32..6, 1usize..4, any::<bool>());
        let bins = bins.prop_map(|(kind, ends, low, width, count, is_half)| {
            let (half, high) = (if is_half { ".5" } else { "" }, low + width);
            let bins =
                format!("bins = {{ low = {low}{half}, high = {high}{half}, count = {count} }}");
            format!("kind = \"{kind}\"\n{ends}{bins}")
        });
        let edges = select(vec!["[-1, 0, 3]", "[0.3, 1, 2.5, 9]", "[-2.5, -0.5, 4]", "[0, 1]"]);
        let edges = (numeric.clone(), ends, edges)
            .prop_map(|(kind, ends, edges)| format!("kind = \"{kind}\"\n{ends}edges = {edges}"));
        let index = (select(vec!["numeric", "integer", "categorical"]), 1usize..5)
            .prop_map(|(kind, size)| format!("kind = \"{kind}\"\nsize = {size}"));
        let values = select(vec![
            "kind = \"integer\"\nvalues = [-1, 0, 2, 7]",
            "kind = \"numeric\"\nvalues = [0.5, 2, 1e3]",
            "kind = \"categorical\"\nvalues = [\"a\", \"1\", \"01\", \"\", \"True\", \"2.50\"]",
            "kind = \"categorical\"\nvalues = [true, 3, 2024-02-29, \"b\"]",
            "kind = \"categorical\"\nvalues = [\"b\", \"x\"]\n\
             levels = { top = [\"B\", \"X\"] }",
        ]);
        prop_oneof![bins, edges, index, values.prop_map(str::to_owned)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        /// Every value of a list, and numbers near the edges in all types and spellings.
        #[test]
        fn cells_are_those_of_a_table_that_is_read(
            coding in codings(),
            missing in prop::option::of(select(LABELS.to_vec())),
            other in prop::option::of(select(LABELS.to_vec())),
            halves in -12i64..24,
            thousandths in prop_oneof![Just(0i64), -1i64..2],
            rule in select(vec![OutOfDomain::Other, OutOfDomain::Drop, OutOfDomain::Clamp]),
        ) {
            let key = |key: &str, label: Option<&str>| {
                label.map_or_else(String::new, |label| format!("{key} = \"{label}\"\n"))
            };
            let (missing, other) = (key("missing", missing), key("other", other));
            // Each key is left out if the schema is refused with it.
            let schema = [[&missing, &other], [&missing, &String::new()], [&other, &String::new()]]
                .into_iter()
                .map(|[a, b]| format!("[[attribute]]\nname = \"a\"\n{a}{b}{coding}\n"))
                .find_map(|text| Schema::from_toml(&text, "S.toml").ok());
            let plain = format!("[[attribute]]\nname = \"a\"\n{coding}\n");
            let Some(schema) = schema.or_else(|| Schema::from_toml(&plain, "S.toml").ok()) else {
                // Bins of integers without an integer.
                return Ok(());
            };
            let cases = Cases::of(&schema, 0, rule);
            let number = Decimal::of_digits((halves * 500 + thousandths).into(), -3);
            let [text, padded, power] = [
                number.to_string(),
                format!(" {number} "),
                format!("{}e-3", halves * 500 + thousandths),
            ];
            let fixed = LABELS.into_iter().chain(TEXTS).map(Value::Text);
            let mut values = vec![
                Value::Missing, Value::Other, Value::Bytes(b"\xff"), Value::Boolean(true),
                Value::Boolean(false), Value::Time(0), Value::Float(f64::NAN), Value::Float(-0.0),
                Value::Float(f64::INFINITY), Value::Float(f64::NEG_INFINITY), Value::Float(1e300),
                Value::Float(99.0), Value::Float(-1.0), Value::Integer(99), Value::Integer(-1),
                Value::Integer(i128::MAX), Value::Integer(i128::MIN), Value::Integer(halves.into()),
                Value::Float(number.to_f64()), Value::Float(number.to_f64().next_up()),
                Value::Number(&number), Value::Text(&text), Value::Text(&padded),
                Value::Text(&power), Value::Time(time_of("2024-02-29").unwrap()),
                Value::Time(time_of("2024-02-29 12:00:00.5").unwrap()),
            ];
            values.extend(fixed);
            for value in values {
                let found = tested(&cases, value);
                prop_assert_eq!(found, read(&schema, value, rule), "{:?} in {}{}{}", value, missing,
                    other, coding);
                prop_assert!(found.is_none_or(|cell| (cell as usize) < schema.sizes()[0]));
            }
        }
    }
}
