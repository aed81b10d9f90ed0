//! Coding of the values of records to cell numbers, independently of all other records.

use super::out_of_domain::OutOfDomain;
use super::table::Batch;
use crate::schema::{Coded, Coder, Schema};

/// The coders of all attributes of a schema.
#[derive(Debug)]
pub(super) struct RecordCoder<'a> {
    attributes: Vec<(Coder<'a>, Option<u32>)>,
    rule: OutOfDomain,
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
    /// Returns a coder for the attributes of a schema.
    pub(super) fn new(schema: &'a Schema, rule: OutOfDomain) -> Self {
        let attribute = |position| (schema.coder(position), schema.other(position));
        RecordCoder { attributes: (0..schema.attributes().len()).map(attribute).collect(), rule }
    }

    /// Codes the columns of a batch, which are in the order of the schema: one list per attribute.
    pub(super) fn code(&self, batch: &Batch<'_>, outcomes: &mut Vec<Vec<Outcome>>) {
        outcomes.resize_with(self.attributes.len(), Vec::new);
        let columns = self.attributes.iter().zip(&batch.columns).zip(outcomes);
        for (((coder, other), values), outcomes) in columns {
            outcomes.clear();
            outcomes.extend((0..batch.rows).map(|row| {
                match (coder.code(values.get(row)), self.rule, other) {
                    (Coded::Cell(cell), ..) => Outcome::Cell(cell),
                    (Coded::Nearest(cell), OutOfDomain::Clamp, _) => Outcome::Clamped(cell),
                    (_, _, Some(cell)) => Outcome::Other(*cell),
                    (_, _, None) => Outcome::Outside,
                }
            }));
        }
    }

    /// Describes the valid values of an attribute.
    pub(super) fn allowed(&self, position: usize) -> String {
        self.attributes[position].0.allowed()
    }
}
