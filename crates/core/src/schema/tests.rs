//! Cells of generated values under generated schemas, against a direct definition.

use proptest::prelude::*;

use super::*;
use crate::decimal::Decimal;

/// A value of a table; numbers are in hundredths.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Given {
    Number(i64),
    Text(&'static str),
    Missing,
}

impl Given {
    /// Returns the value of a text in a schema.
    fn of_label(text: &'static str) -> Self {
        text.parse::<i64>().map_or(Given::Text(text), |number| Given::Number(100 * number))
    }
}

/// The cells of an attribute before `other` and `missing` add some; numbers are in hundredths.
#[derive(Debug, Clone)]
enum Cells {
    Between { edges: Vec<i64>, equal: bool, below: bool, above: bool },
    Listed(Vec<Given>),
    Numbered(usize),
}

#[derive(Debug, Clone)]
struct Keys {
    kind: &'static str,
    cells: Cells,
    other: Option<&'static str>,
    missing: Option<&'static str>,
}

/// Returns a number of hundredths as a decimal number.
fn number(hundredths: i64) -> String {
    Decimal::parse(&format!("{hundredths}e-2")).unwrap().to_string()
}

impl Keys {
    fn toml(&self) -> String {
        let cells = match &self.cells {
            Cells::Between { edges, equal, below, above } => {
                let listed: Vec<String> = edges.iter().map(|edge| number(*edge)).collect();
                let (low, high, count) = (&listed[0], &listed[listed.len() - 1], edges.len() - 1);
                let bins = match equal {
                    true => format!("bins = {{ low = {low}, high = {high}, count = {count} }}"),
                    false => format!("edges = [{}]", listed.join(", ")),
                };
                format!("{bins}\nbelow = {below}\nabove = {above}")
            }
            Cells::Listed(values) => {
                let listed = values.iter().map(|value| match value {
                    Given::Number(hundredths) => number(*hundredths),
                    Given::Text(text) => format!("{text:?}"),
                    Given::Missing => String::new(),
                });
                format!("values = [{}]", listed.collect::<Vec<_>>().join(", "))
            }
            Cells::Numbered(size) => format!("size = {size}"),
        };
        let mut toml = format!("[[attribute]]\nname = \"a\"\nkind = {:?}\n{cells}\n", self.kind);
        for (key, label) in [("other", self.other), ("missing", self.missing)] {
            if let Some(label) = label {
                toml += &format!("{key} = {label:?}\n");
            }
        }
        toml
    }

    /// Returns the number of cells without those of labels.
    fn count(&self) -> usize {
        match &self.cells {
            Cells::Between { edges, below, above, .. } => {
                edges.len() - 1 + usize::from(*below) + usize::from(*above)
            }
            Cells::Listed(values) => values.len(),
            Cells::Numbered(size) => *size,
        }
    }

    fn cell_without_labels(&self, given: Given) -> Option<usize> {
        match (&self.cells, given) {
            (Cells::Listed(values), given) => values.iter().position(|value| *value == given),
            (_, Given::Text(_) | Given::Missing) => None,
            (Cells::Numbered(size), Given::Number(v)) => {
                (0..*size).find(|cell| *cell as i64 * 100 == v)
            }
            (_, Given::Number(v)) if self.kind == "integer" && v % 100 != 0 => None,
            (Cells::Between { edges, below, above, .. }, Given::Number(v)) => {
                let last = edges.len() - 1;
                let is_in = |bin: usize| {
                    edges[bin] <= v && (v < edges[bin + 1] || (bin + 1 == last && v == edges[last]))
                };
                let bin = (0..last).find(|bin| is_in(*bin)).map(|bin| bin + usize::from(*below));
                bin.or((*below && v < edges[0]).then_some(0))
                    .or((*above && v > edges[last]).then(|| self.count() - 1))
            }
        }
    }

    /// Returns the labels of the cells that `other` and `missing` add.
    fn labels(&self) -> Vec<Given> {
        let mut labels = Vec::new();
        for label in self.other.into_iter().chain(self.missing).map(Given::of_label) {
            if self.cell_without_labels(label).is_none() && !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    fn cell_of_value(&self, given: Given) -> Option<usize> {
        let label = || self.labels().iter().position(|label| *label == given);
        self.cell_without_labels(given).or_else(|| label().map(|label| self.count() + label))
    }

    fn cell(&self, given: Given) -> Option<usize> {
        let cell_of = |label: Option<&'static str>| self.cell_of_value(Given::of_label(label?));
        let missing = || cell_of(self.missing.filter(|_| given == Given::Missing));
        self.cell_of_value(given).or_else(missing).or_else(|| cell_of(self.other))
    }
}

/// Returns the cell of a value, as reading decides it for values without a cell.
fn coded(schema: &Schema, value: Value<'_>) -> Option<usize> {
    let cell = match schema.coder(0).code(value) {
        Coded::Cell(cell) => Some(cell),
        Coded::Missing => schema.missing(0).or(schema.other(0)),
        Coded::Nearest(_) | Coded::Outside => schema.other(0),
    };
    cell.map(|cell| cell as usize)
}

fn keys() -> impl Strategy<Value = Keys> {
    let label = || prop::sample::select(vec!["unknown", "else", "999", "-999", "x"]);
    let ends = (any::<bool>(), any::<bool>());
    let equal = (-300i64..300, 1i64..200, 1usize..6).prop_map(|(low, width, count)| {
        (0..=count as i64).map(|k| low + k * width).collect::<Vec<_>>()
    });
    let unequal = (-300i64..300, prop::collection::vec(1i64..400, 1..5));
    let unequal = unequal.prop_map(|(low, widths)| {
        let ends = widths.into_iter().scan(low, |edge, width| {
            *edge += width;
            Some(*edge)
        });
        [low].into_iter().chain(ends).collect::<Vec<_>>()
    });
    let edges = prop_oneof![(equal, Just(true)), (unequal, Just(false))];
    let between = (edges, ends).prop_map(|((edges, equal), (below, above))| {
        // Integers are in bins of at least one unit only.
        let is_integer = edges.windows(2).all(|pair| pair[1] - pair[0] >= 100);
        let kind = if is_integer { "integer" } else { "numeric" };
        (kind, Cells::Between { edges, equal, below, above })
    });
    let listed = prop::sample::select(vec![
        ("categorical", vec![Given::Number(0), Given::Text("x"), Given::Number(150)]),
        ("numeric", vec![Given::Number(0), Given::Number(150), Given::Number(300)]),
        ("integer", vec![Given::Number(0), Given::Number(100), Given::Number(99_900)]),
        ("categorical", vec![Given::Text("else"), Given::Text("x")]),
    ]);
    let listed = listed.prop_map(|(kind, values)| (kind, Cells::Listed(values)));
    let kind = prop::sample::select(vec!["categorical", "numeric", "integer"]);
    let numbered = (kind, 1usize..6).prop_map(|(kind, size)| (kind, Cells::Numbered(size)));
    let cells = prop_oneof![3 => between, 1 => listed, 1 => numbered];
    (cells, prop::option::of(label()), prop::option::of(label()))
        .prop_map(|((kind, cells), other, missing)| Keys { kind, cells, other, missing })
}

fn given() -> impl Strategy<Value = Given> {
    let text = prop::sample::select(vec!["unknown", "else", "x", "y", "nan", "03"]);
    prop_oneof![
        4 => (-500i64..1200).prop_map(Given::Number),
        2 => (-5i64..12).prop_map(|whole| Given::Number(100 * whole)),
        1 => prop::sample::select(vec![99_900i64, -99_900, 99_950]).prop_map(Given::Number),
        2 => text.prop_map(Given::Text),
        1 => Just(Given::Missing),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn cells_are_those_of_the_definition(
        keys in keys(), values in prop::collection::vec(given(), 1..8), step in -1i64..2,
    ) {
        let schema = Schema::from_toml(&keys.toml(), "S.toml").unwrap();
        let labels = keys.labels().len();
        let attribute = &schema.attributes()[0];
        prop_assert_eq!(attribute.size, keys.count() + labels, "{}", keys.toml());
        prop_assert_eq!(attribute.extra, if keys.kind == "categorical" { 0 } else { labels });
        for cell in 0..attribute.size {
            let is_label = schema.label(0, cell).is_some();
            prop_assert_eq!(is_label, cell >= keys.count());
        }
        let mut values = values;
        if let Cells::Between { edges, .. } = &keys.cells {
            values.extend(edges.iter().map(|edge| Given::Number(edge + step)));
        }
        for given in values {
            let expected = keys.cell(given);
            let found = |value: Value<'_>| coded(&schema, value);
            let what = format!("{given:?} with\n{}", keys.toml());
            match given {
                Given::Number(hundredths) => {
                    let text = number(hundredths);
                    let decimal = Decimal::parse(&text).unwrap();
                    prop_assert_eq!(found(Value::Number(&decimal)), expected, "{}", what);
                    prop_assert_eq!(found(Value::Text(&format!(" {text}"))), expected, "{}", what);
                    let double: f64 = text.parse().unwrap();
                    prop_assert_eq!(found(Value::Float(double)), expected, "{}", what);
                    if hundredths % 100 == 0 {
                        let integer = Value::Integer((hundredths / 100).into());
                        prop_assert_eq!(found(integer), expected, "{}", what);
                        let long = format!("{text}.0");
                        prop_assert_eq!(found(Value::Text(&long)), expected, "{}", what);
                    }
                }
                Given::Text(text) => {
                    prop_assert_eq!(found(Value::Text(text)), expected, "{}", what);
                    prop_assert_eq!(found(Value::Text(&format!("{text} "))), expected, "{}", what);
                }
                Given::Missing => {
                    for value in [Value::Missing, Value::Float(f64::NAN), Value::Text("  ")] {
                        prop_assert_eq!(found(value), expected, "{}", what);
                    }
                }
            }
        }
        // The midpoint of every bin is in it.
        if let Some(Coding::Bins(bins)) = schema.coding(0) {
            for cell in 0..bins.count() {
                let middle = bins.midpoint(cell);
                prop_assert_eq!(coded(&schema, Value::Number(&middle)), Some(cell), "{}", middle);
                let ends = bins.integers(cell).map(|(first, last)| [first, last]);
                for integer in ends.into_iter().flatten() {
                    prop_assert_eq!(coded(&schema, Value::Integer(integer)), Some(cell));
                }
            }
        }
    }
}

/// Values of a wrong type: the message says what is expected at which line, not how it is parsed.
#[test]
fn values_of_a_wrong_type_are_described() {
    let dates = "dates have no bins: list them as `values`, or derive a column of years or months";
    for (keys, part) in [
        ("edges = [2020-01-01, 2021-01-01]", dates),
        ("bins = { low = 2020-01-01, high = 9, count = 2 }", dates),
        ("edges = [0, \"10\"]", "expected a number without quotes"),
        ("values = [[1]]", "expected a text, a number, a boolean, a date"),
        ("size = 2\nother = { a = 1 }", "expected a text, a number, a boolean, a date"),
        ("size = 2\nlevels = { region = [1.5, 2] }", "expected the name of a node"),
        ("size = 2\n[[impossible]]\nwhere = { a = { first = 1 } }", "{ from = 0, to = 9 }"),
    ] {
        let text = format!("[[attribute]]\nname = \"a\"\nkind = \"numeric\"\n{keys}\n");
        let message = Schema::from_toml(&text, "S.toml").unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("S.toml, line "), "{keys}: {message}");
        assert!(!message.contains("untagged"), "{keys}: {message}");
    }
}
