//! Coding of the values of records to cell numbers, independently of all other records.

use super::out_of_domain::OutOfDomain;
use super::table::{Batch, EachValue, Values};
use crate::schema::{Coded, Coder, Schema, Value};

/// The coders of all attributes of a schema.
#[derive(Debug)]
pub(super) struct RecordCoder<'a> {
    attributes: Vec<(Coder<'a>, AddedCells)>,
    rule: OutOfDomain,
}

/// How the cell of a value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The cell of the value.
    Cell,
    /// The cell nearest to an out-of-range number.
    Clamped,
    /// The cell that the schema declares for other values.
    Other,
    /// No cell: the record is outside the schema.
    Outside,
}

/// The cells of the values of one attribute.
#[derive(Debug, Default)]
pub(super) struct CodedValues {
    /// The cell of every record; 0 for values without one.
    pub cells: Vec<u32>,
    /// How it was found.
    pub outcomes: Vec<Outcome>,
}

impl<'a> RecordCoder<'a> {
    /// Returns a coder for the attributes of a schema.
    pub(super) fn new(schema: &'a Schema, rule: OutOfDomain) -> Self {
        let attribute = |position| {
            let added =
                AddedCells { other: schema.other(position), missing: schema.missing(position) };
            (schema.coder(position), added)
        };
        RecordCoder { attributes: (0..schema.attributes().len()).map(attribute).collect(), rule }
    }

    /// Codes the columns of a batch, which are in the order of the schema. Returns whether every
    /// record is inside the schema.
    pub(super) fn code(&self, batch: &Batch<'_>, coded: &mut Vec<CodedValues>) -> Vec<bool> {
        coded.resize_with(self.attributes.len(), CodedValues::default);
        let mut inside = vec![true; batch.rows];
        for (position, (values, coded)) in batch.columns.iter().zip(coded).enumerate() {
            coded.cells.resize(batch.rows, 0);
            coded.outcomes.resize(batch.rows, Outcome::Outside);
            self.code_column(position, values, coded);
            for (inside, outcome) in inside.iter_mut().zip(&coded.outcomes) {
                *inside &= *outcome != Outcome::Outside;
            }
        }
        inside
    }

    fn code_column(&self, position: usize, values: &Values<'_>, coded: &mut CodedValues) {
        let (coder, added) = &self.attributes[position];
        let rule = Rule { coder, clamps: self.rule == OutOfDomain::Clamp, added: *added };
        let next = coded.cells.iter_mut().zip(&mut coded.outcomes);
        let Some((distinct, indices)) = values.dictionary() else {
            return values.for_each(Writer { rule, next });
        };
        let mut found = CodedValues::default();
        distinct.for_each(|value: Value<'_>| {
            let (cell, outcome) = rule.code(value);
            found.cells.push(cell);
            found.outcomes.push(outcome);
        });
        let missing = rule.code(Value::Missing);
        for ((cell, outcome), index) in next.zip(indices) {
            let of = |index: usize| Some((*found.cells.get(index)?, *found.outcomes.get(index)?));
            (*cell, *outcome) = index.and_then(of).unwrap_or(missing);
        }
    }

    /// Returns whether a value of an attribute is missing.
    pub(super) fn is_missing(&self, position: usize, value: Value<'_>) -> bool {
        self.attributes[position].0.code(value) == Coded::Missing
    }

    /// Describes the valid values of an attribute.
    pub(super) fn allowed(&self, position: usize) -> String {
        self.attributes[position].0.allowed()
    }
}

/// The coding of one attribute, with the rule for values outside the schema.
#[derive(Clone, Copy)]
struct Rule<'a> {
    coder: &'a Coder<'a>,
    clamps: bool,
    added: AddedCells,
}

/// The cells that the schema declares for values without a cell.
#[derive(Debug, Clone, Copy)]
struct AddedCells {
    other: Option<u32>,
    missing: Option<u32>,
}

impl Rule<'_> {
    #[inline(always)]
    fn code(&self, value: Value<'_>) -> (u32, Outcome) {
        match self.coder.code(value) {
            Coded::Cell(cell) => (cell, Outcome::Cell),
            Coded::Nearest(cell) if self.clamps => (cell, Outcome::Clamped),
            coded => match (coded, self.added) {
                (Coded::Missing, AddedCells { missing: Some(cell), .. }) => (cell, Outcome::Cell),
                (_, AddedCells { other: Some(cell), .. }) => (cell, Outcome::Other),
                _ => (0, Outcome::Outside),
            },
        }
    }
}

/// Writes the cell of every value.
struct Writer<'a, I> {
    rule: Rule<'a>,
    next: I,
}

impl<'a, I: Iterator<Item = (&'a mut u32, &'a mut Outcome)>> EachValue for Writer<'_, I> {
    #[inline(always)]
    fn take(&mut self, value: Value<'_>) {
        if let Some((cell, outcome)) = self.next.next() {
            (*cell, *outcome) = self.rule.code(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decimal::Decimal;

    /// The keys of an attribute that give its cells.
    const CELLS: [&str; 8] = [
        "kind = \"numeric\"\nsize = 3",
        "kind = \"integer\"\nsize = 3",
        "kind = \"categorical\"\nsize = 3",
        "kind = \"categorical\"\nvalues = [\"a\", \"\", \"3\"]",
        "kind = \"categorical\"\nvalues = [true, 2024-02-29, 0.5]",
        "kind = \"integer\"\nvalues = [1, 2]",
        "kind = \"numeric\"\nedges = [0, 10, 30]",
        "kind = \"integer\"\nbins = { low = 0, high = 30, count = 3 }",
    ];

    /// Values of every type.
    fn values(decimal: &Decimal) -> Vec<Value<'_>> {
        let mut values = vec![Value::Missing, Value::Other, Value::Bytes(&[0xff])];
        values.push(Value::Number(decimal));
        values.extend(["", " ", "a", "3", "03", "0.5", "1e400", "nan", "x"].map(Value::Text));
        values.extend([0, 2, 31, -1, i128::MAX].map(Value::Integer));
        values.extend([0.0, 0.5, -1e300, f64::INFINITY, f64::NAN].map(Value::Float));
        values.extend([true, false].map(Value::Boolean));
        values.extend([0, 1].map(Value::Time));
        values
    }

    fn key(name: &'static str, values: &[&'static str]) -> impl Strategy<Value = String> + use<> {
        let line = move |value| format!("{name} = {value}\n");
        prop::option::weighted(0.7, prop::sample::select(values.to_vec()))
            .prop_map(move |value| value.map_or_else(String::new, line))
    }

    fn attribute() -> impl Strategy<Value = String> {
        let labels = ["\"unknown\"", "\"none\"", "\"a\"", "2", "1"];
        let bins = CELLS.len() - 2;
        let truths = ["true", "false"];
        let ends = (key("below", &truths), key("above", &truths));
        (0..CELLS.len(), ends, key("missing", &labels), key("other", &labels)).prop_map(
            move |(cells, (below, above), missing, other)| {
                let ends = if cells < bins { String::new() } else { below + &above };
                format!("{}\n{ends}{missing}{other}", CELLS[cells])
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        /// The rule `other` accepts exactly the schemas under which no value is outside: open ends
        /// and a cell of missing values are not enough.
        #[test]
        fn accepted_schemas_drop_no_record(
            attributes in prop::collection::vec(attribute(), 1..4), digits in any::<i64>(),
        ) {
            let named = attributes.iter().enumerate();
            let text: String =
                named.map(|(k, keys)| format!("[[attribute]]\nname = \"a{k}\"\n{keys}")).collect();
            // Some labels are no cells of the attribute.
            let Ok(schema) = Schema::from_toml(&text, "S.toml") else { return Ok(()) };
            let decimal = Decimal::of_digits(digits.into(), -3);
            let coder = RecordCoder::new(&schema, OutOfDomain::Other);
            let is_inside = coder.attributes.iter().all(|(coder, added)| {
                let rule = Rule { coder, clamps: false, added: *added };
                values(&decimal).into_iter().all(|value| rule.code(value).1 != Outcome::Outside)
            });
            prop_assert_eq!(OutOfDomain::Other.check(&schema).is_ok(), is_inside, "{}", text);
        }
    }
}
