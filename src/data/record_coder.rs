//! From the fields of a line to cell numbers, by a rule that looks at nothing but the line.

use super::out_of_domain::OutOfDomain;
use crate::schema::{Coded, Coder, Schema};

/// The coding of all attributes of a schema, with the columns that hold them.
#[derive(Debug)]
pub(super) struct RecordCoder<'a> {
    attributes: Vec<AttributeCoder<'a>>,
    rule: OutOfDomain,
}

#[derive(Debug)]
struct AttributeCoder<'a> {
    coder: Coder<'a>,
    other: Option<u32>,
    column: usize,
}

/// What becomes a value's cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The cell of the value.
    Cell(u32),
    /// The nearest cell of a number out of range.
    Clamped(u32),
    /// The cell that the schema declares for other values.
    Other(u32),
    /// None: the record is outside the schema.
    Outside,
}

impl Outcome {
    /// The cell, if there is one.
    pub(super) fn cell(self) -> Option<u32> {
        match self {
            Outcome::Cell(cell) | Outcome::Clamped(cell) | Outcome::Other(cell) => Some(cell),
            Outcome::Outside => None,
        }
    }
}

impl<'a> RecordCoder<'a> {
    /// `columns` holds the column of every attribute of the schema.
    pub(super) fn new(schema: &'a Schema, columns: &[usize], rule: OutOfDomain) -> Self {
        let attribute = |(position, &column): (usize, &usize)| AttributeCoder {
            coder: schema.coder(position),
            other: schema.other(position),
            column,
        };
        RecordCoder { attributes: columns.iter().enumerate().map(attribute).collect(), rule }
    }

    /// The outcomes of a line's values, attribute by attribute. A value that is missing or no UTF-8
    /// is a value outside the attribute.
    pub(super) fn outcomes<'b>(
        &'b self,
        line: &'b csv::ByteRecord,
    ) -> impl Iterator<Item = Outcome> + 'b {
        self.attributes.iter().map(|own| {
            let value = line.get(own.column).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let coded = value.map_or(Coded::Outside, |value| own.coder.code(value.trim()));
            match (coded, self.rule, own.other) {
                (Coded::Cell(cell), ..) => Outcome::Cell(cell),
                (Coded::Nearest(cell), OutOfDomain::Clamp, _) => Outcome::Clamped(cell),
                (_, _, Some(cell)) => Outcome::Other(cell),
                (_, _, None) => Outcome::Outside,
            }
        })
    }

    /// The column of an attribute, and the values that have a cell, in words.
    pub(super) fn described(&self, position: usize) -> (usize, String) {
        let own = &self.attributes[position];
        (own.column, own.coder.allowed())
    }
}
