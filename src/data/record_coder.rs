//! Coding of the fields of a line to cell numbers, independently of all other lines.

use super::out_of_domain::OutOfDomain;
use crate::schema::{Coded, Coder, Schema};

/// The coders and columns of all attributes of a schema.
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

/// The coding of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The cell of the value.
    Cell(u32),
    /// The cell nearest to an out-of-range number.
    Clamped(u32),
    /// The cell that the schema declares for other values.
    Other(u32),
    /// No cell: the record is outside the schema.
    Outside,
}

impl Outcome {
    /// Returns the cell, if there is one.
    pub(super) fn cell(self) -> Option<u32> {
        match self {
            Outcome::Cell(cell) | Outcome::Clamped(cell) | Outcome::Other(cell) => Some(cell),
            Outcome::Outside => None,
        }
    }
}

impl<'a> RecordCoder<'a> {
    /// Returns a coder; `columns` has the column of every attribute of the schema.
    pub(super) fn new(schema: &'a Schema, columns: &[usize], rule: OutOfDomain) -> Self {
        let attribute = |(position, &column): (usize, &usize)| AttributeCoder {
            coder: schema.coder(position),
            other: schema.other(position),
            column,
        };
        RecordCoder { attributes: columns.iter().enumerate().map(attribute).collect(), rule }
    }

    /// Returns the outcomes of a line's values, by attribute.
    ///
    /// A missing value, or one that is not UTF-8, is outside the attribute.
    pub(super) fn outcomes<'b>(
        &'b self,
        line: &'b csv::ByteRecord,
    ) -> impl Iterator<Item = Outcome> + 'b {
        self.attributes.iter().map(|attribute| {
            let value = line.get(attribute.column);
            let value = value.and_then(|bytes| std::str::from_utf8(bytes).ok());
            let coded = value.map_or(Coded::Outside, |value| attribute.coder.code(value.trim()));
            match (coded, self.rule, attribute.other) {
                (Coded::Cell(cell), ..) => Outcome::Cell(cell),
                (Coded::Nearest(cell), OutOfDomain::Clamp, _) => Outcome::Clamped(cell),
                (_, _, Some(cell)) => Outcome::Other(cell),
                (_, _, None) => Outcome::Outside,
            }
        })
    }

    /// Returns the column of an attribute and a description of its valid values.
    pub(super) fn described(&self, position: usize) -> (usize, String) {
        let attribute = &self.attributes[position];
        (attribute.column, attribute.coder.allowed())
    }
}

/// Returns the columns with a name.
pub(super) fn columns_named(header: &csv::ByteRecord, name: &str) -> Vec<usize> {
    let columns = header.iter().enumerate().filter(|(_, column)| *column == name.trim().as_bytes());
    columns.map(|(index, _)| index).collect()
}
