//! Coding of the values of records to cell numbers, independently of all other records.

use super::out_of_domain::OutOfDomain;
use super::table::{Batch, Values};
use crate::schema::{Coded, Coder, Schema};

/// The coders of all attributes of a schema.
#[derive(Debug)]
pub(super) struct RecordCoder<'a> {
    attributes: Vec<(Coder<'a>, Option<u32>)>,
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

impl CodedValues {
    #[inline(always)]
    fn push(&mut self, (cell, outcome): (u32, Outcome)) {
        self.cells.push(cell);
        self.outcomes.push(outcome);
    }
}

impl<'a> RecordCoder<'a> {
    /// Returns a coder for the attributes of a schema.
    pub(super) fn new(schema: &'a Schema, rule: OutOfDomain) -> Self {
        let attribute = |position| (schema.coder(position), schema.other(position));
        RecordCoder { attributes: (0..schema.attributes().len()).map(attribute).collect(), rule }
    }

    /// Codes the columns of a batch, which are in the order of the schema. Returns whether every
    /// record is outside the schema.
    pub(super) fn code(&self, batch: &Batch<'_>, coded: &mut Vec<CodedValues>) -> Vec<bool> {
        coded.resize_with(self.attributes.len(), CodedValues::default);
        let mut outside = vec![false; batch.rows];
        for (position, (values, coded)) in batch.columns.iter().zip(coded).enumerate() {
            coded.cells.clear();
            coded.outcomes.clear();
            self.code_column(position, values, coded);
            for (outside, outcome) in outside.iter_mut().zip(&coded.outcomes) {
                *outside |= *outcome == Outcome::Outside;
            }
        }
        outside
    }

    fn code_column(&self, position: usize, values: &Values<'_>, coded: &mut CodedValues) {
        let (coder, other) = &self.attributes[position];
        let (rule, other) = (self.rule, *other);
        let resolve = |coded: Coded| match (coded, rule, other) {
            (Coded::Cell(cell), ..) => (cell, Outcome::Cell),
            (Coded::Nearest(cell), OutOfDomain::Clamp, _) => (cell, Outcome::Clamped),
            (_, _, Some(cell)) => (cell, Outcome::Other),
            (_, _, None) => (0, Outcome::Outside),
        };
        let Some((distinct, indices)) = values.dictionary() else {
            return values.for_each(|value| coded.push(resolve(coder.code(value))));
        };
        let mut cells = Vec::new();
        distinct.for_each(|value| cells.push(resolve(coder.code(value))));
        let missing = resolve(Coded::Outside);
        for index in indices {
            coded.push(index.and_then(|index| cells.get(index).copied()).unwrap_or(missing));
        }
    }

    /// Describes the valid values of an attribute.
    pub(super) fn allowed(&self, position: usize) -> String {
        self.attributes[position].0.allowed()
    }
}
