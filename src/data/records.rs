//! Tables of records as cell numbers, counted into marginals on demand.

use std::fmt;
use std::ops::Range;

use rand::{Rng, RngExt};

use super::column::Column;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::{LevelSchema, Schema};

/// Records per block: the cell numbers of a block stay in the first-level cache.
const BLOCK: usize = 2048;

/// Maximum cells of a marginal that is counted in [`LANES`] tables at once.
///
/// An increment has to wait for a preceding increment of the same cell, and in small tables of real
/// data that is the common case.
const MAX_SMALL_CELLS: usize = 1024;

/// Tables that share the counting of a small marginal.
const LANES: usize = 4;

/// A table of records, one column of cell numbers per attribute.
///
/// *Memory*: 1, 2 or 4 bytes per record and attribute, for attributes of at most 2⁸, 2¹⁶ or more
/// values.
#[derive(Clone)]
pub struct Records {
    sizes: Vec<usize>,
    /// `None` for an attribute that was not read.
    columns: Vec<Option<Column>>,
    count: usize,
}

/// Shows the sizes of the attributes, which are public, but neither values nor their number.
///
/// Debug output ends up in logs and in messages of failed assertions. Between tables that differ by
/// one record, the number of records is private too.
impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl Records {
    /// Returns records with the given columns of cell numbers, in the order of the schema.
    ///
    /// # Errors
    /// A wrong number of columns, columns of different lengths, a cell number outside its
    /// attribute, or an attribute of more than 2³² values.
    pub fn new(schema: &Schema, columns: Vec<Column>) -> Result<Self> {
        let count = columns.first().map_or(0, Column::len);
        Self::of_some_attributes(schema, columns.into_iter().map(Some).collect(), count)
    }

    /// Returns `count` records with the columns of some attributes.
    ///
    /// Columns that are `None` cannot be counted and take no memory.
    ///
    /// # Errors
    /// As [`Records::new`].
    pub(super) fn of_some_attributes(
        schema: &Schema,
        columns: Vec<Option<Column>>,
        count: usize,
    ) -> Result<Self> {
        let attributes = schema.attributes();
        let refuse = |what: String, expected: String, found: String| {
            Err(Error::bad_input(
                what,
                expected,
                found,
                "code every value as a cell number 0 to size − 1",
            ))
        };
        if columns.len() != attributes.len() {
            let expected = format!("{} columns, one per attribute", attributes.len());
            return refuse("records".into(), expected, columns.len().to_string());
        }
        for (attribute, column) in attributes.iter().zip(&columns) {
            let Some(column) = column else { continue };
            let what = format!("records, column `{}`", attribute.name);
            if attribute.size as u64 > 1 << 32 {
                return refuse(
                    what,
                    "an attribute of at most 2^32 values".into(),
                    attribute.size.to_string(),
                );
            }
            if column.len() != count {
                return refuse(
                    what,
                    format!("{count} values, as in the first column"),
                    column.len().to_string(),
                );
            }
            if column.max().is_some_and(|cell| cell as usize >= attribute.size)
                && let Some((row, cell)) =
                    column.iter().enumerate().find(|&(_, cell)| cell as usize >= attribute.size)
            {
                let found = format!("{cell} in record {}", row + 1);
                return refuse(what, format!("cell numbers below {}", attribute.size), found);
            }
        }
        Ok(Records { sizes: schema.sizes(), columns, count })
    }

    /// Returns `count` records of independent uniform values: synthetic data for timing and tests.
    ///
    /// # Errors
    /// An attribute of more than 2³² values.
    pub fn uniform(schema: &Schema, count: usize, rng: &mut dyn Rng) -> Result<Self> {
        let columns = schema
            .attributes()
            .iter()
            .map(|attribute| {
                (0..count).map(|_| rng.random_range(0..attribute.size) as u32).collect()
            })
            .collect();
        Self::new(schema, columns)
    }

    /// Returns the records with the levels of their attributes.
    ///
    /// # Errors
    /// Records of other attributes than the original ones of `domain`.
    pub fn with_levels(&self, domain: &LevelSchema) -> Result<Self> {
        let mut columns = self.columns.clone();
        for position in self.sizes.len()..domain.schema().attributes().len() {
            let of = domain.attribute_of(position);
            let nodes = domain.values_of(of, position);
            let node = |leaf: u32| nodes.get(leaf as usize).copied().unwrap_or(u32::MAX);
            columns.push(self.column(of).map(|leaves| Column::from_iter(leaves.map(node))));
        }
        Self::of_some_attributes(domain.schema(), columns, self.count)
    }

    /// Returns the cell numbers of one attribute, record by record.
    ///
    /// `None` for an attribute that is outside the schema or was not read.
    pub fn column(&self, position: usize) -> Option<impl ExactSizeIterator<Item = u32> + '_> {
        Some(self.column_at(position)?.iter())
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sizes of the attributes, in the order of the schema.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the marginal on some attributes, row-major in ascending order.
    ///
    /// *Time*: O(records · attributes + cells).
    ///
    /// # Errors
    /// An attribute outside the schema, or a marginal of 2³² cells or more.
    pub fn marginal(&self, attributes: AttributeSet) -> Result<Vec<f64>> {
        let mut counts = Vec::new();
        self.count_into(attributes, &mut counts)?;
        Ok(counts)
    }

    /// [`Records::marginal`] into a reused vector, without allocation once it is large enough.
    ///
    /// # Errors
    /// As [`Records::marginal`].
    pub fn count_into(&self, attributes: AttributeSet, counts: &mut Vec<f64>) -> Result<()> {
        self.count_part_into(attributes, 0..self.len(), counts)
    }

    /// [`Records::count_into`] of consecutive records.
    pub(super) fn count_part_into(
        &self,
        attributes: AttributeSet,
        part: Range<usize>,
        counts: &mut Vec<f64>,
    ) -> Result<()> {
        let cells = self.cells(attributes)?;
        counts.clear();
        counts.resize(cells, 0.0);
        if cells <= MAX_SMALL_CELLS {
            let mut lanes = [[0u32; MAX_SMALL_CELLS]; LANES];
            self.for_each_block(attributes, part, |block| {
                let mut quads = block.chunks_exact(LANES);
                for quad in &mut quads {
                    for (lane, &cell) in lanes.iter_mut().zip(quad) {
                        lane[cell as usize] += 1;
                    }
                }
                for &cell in quads.remainder() {
                    lanes[0][cell as usize] += 1;
                }
            });
            for (cell, count) in counts.iter_mut().enumerate() {
                *count = lanes.iter().map(|lane| f64::from(lane[cell])).sum();
            }
        } else {
            self.for_each_block(attributes, part, |block| {
                for &cell in block {
                    counts[cell as usize] += 1.0;
                }
            });
        }
        Ok(())
    }

    /// Returns the number of cells of a marginal.
    pub(super) fn cells(&self, attributes: AttributeSet) -> Result<usize> {
        if attributes.end() > self.sizes.len() {
            return Err(Error::bad_input(
                "marginal",
                format!("positions below {}", self.sizes.len()),
                format!("{attributes:?}"),
                "use positions of the schema the records were made for",
            ));
        }
        if let Some(lacking) = attributes.positions().find(|p| self.column_at(*p).is_none()) {
            return Err(Error::bad_input(
                "marginal",
                "attributes that were read",
                format!("attribute {lacking}, which was not"),
                "read the attributes that are counted",
            ));
        }
        let cells =
            attributes.positions().try_fold(1usize, |cells, p| cells.checked_mul(self.sizes[p]));
        cells.filter(|&cells| cells <= u32::MAX as usize).ok_or_else(|| {
            let found = attributes.positions().map(|p| self.sizes[p] as f64).product();
            Error::too_large(
                "marginal",
                "cells",
                u32::MAX.into(),
                found,
                "count marginals on fewer attributes",
            )
        })
    }

    pub(super) fn column_at(&self, position: usize) -> Option<&Column> {
        self.columns.get(position)?.as_ref()
    }

    /// Passes the records' cell numbers in a marginal to `count`, one block at a time.
    ///
    /// The marginal must have fewer than 2³² cells.
    fn for_each_block(
        &self,
        attributes: AttributeSet,
        part: Range<usize>,
        mut count: impl FnMut(&[u32]),
    ) {
        let mut cells = [0u32; BLOCK];
        let mut start = part.start;
        while start < part.end {
            let block = &mut cells[..BLOCK.min(part.end - start)];
            block.fill(0);
            for p in attributes.positions() {
                if let Some(column) = self.column_at(p) {
                    column.append_digit(self.sizes[p], start, block);
                }
            }
            count(block);
            start += block.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    use crate::test_support::{schema, set};

    proptest! {
        #[test]
        fn marginals_match_the_definition(
            rows in prop::collection::vec((0u32..3, 0u32..300, 0u32..70_000, 0u32..2), 0..4500),
        ) {
            let columns = vec![
                rows.iter().map(|r| r.0).collect::<Column>(),
                rows.iter().map(|r| r.1).collect(),
                rows.iter().map(|r| r.2).collect(),
                rows.iter().map(|r| r.3).collect(),
            ];
            let sizes = [3, 300, 70_000, 2];
            let records = Records::new(&schema(&sizes), columns.clone()).unwrap();
            for positions in [vec![], vec![0], vec![2], vec![1, 3], vec![0, 2], vec![0, 1, 3]] {
                let mut expected = vec![0.0; positions.iter().map(|&p| sizes[p]).product()];
                for row in &rows {
                    let values = [row.0, row.1, row.2, row.3];
                    let cell =
                        positions.iter().fold(0, |cell, &p| cell * sizes[p] + values[p] as usize);
                    expected[cell] += 1.0;
                }
                prop_assert_eq!(records.marginal(set(&positions)).unwrap(), expected);
            }
            prop_assert_eq!(records.column(1).unwrap().collect::<Column>(), columns[1].clone());
        }
    }

    #[test]
    fn unknown_attributes_and_large_marginals_are_refused() {
        let records = Records::new(
            &schema(&[3, 70_000, 70_000]),
            [2, 69_999, 0].map(|v| Column::from_iter([v])).to_vec(),
        )
        .unwrap();
        assert!(records.marginal(set(&[3])).unwrap_err().to_string().contains("positions below 3"));
        let message = records.marginal(set(&[1, 2])).unwrap_err().to_string();
        assert!(
            message.contains("4900000000 cells") && message.contains("fewer attributes"),
            "{message}"
        );
        assert!(records.column(3).is_none());
    }

    #[test]
    fn debug_output_shows_sizes_and_no_data() {
        let schema = schema(&[3, 70_000]);
        let of = |rows: &[[u32; 2]]| {
            let columns = [0, 1].map(|p| rows.iter().map(|row| row[p]).collect());
            Records::new(&schema, columns.to_vec()).unwrap()
        };
        let (few, many) = (of(&[[1, 5]]), of(&[[2, 69_999], [0, 300], [1, 7]]));
        assert_eq!(format!("{few:?}"), "Records { sizes: [3, 70000], .. }");
        // Tables that differ in values, in their number and in the width of columns have the same
        // output.
        assert_eq!(format!("{few:?}"), format!("{many:?}"));
        assert_eq!(
            format!("{:?}", few.column_at(1).unwrap()),
            format!("{:?}", many.column_at(1).unwrap())
        );
        let counters = [&few, &many]
            .map(|records| format!("{:?}", crate::data::MarginalCounter::new(records).unwrap()));
        assert_eq!(counters[0], "MarginalCounter { sizes: [3, 70000], .. }");
        assert_eq!(counters[0], counters[1]);
        let read =
            |records: Records, dropped| crate::data::CodedTable { records, dropped, clamped: 0 };
        assert_eq!(format!("{:?}", read(few, 0)), format!("{:?}", read(many, 9)));
    }

    #[test]
    fn a_reused_vector_holds_only_the_new_marginal() {
        let records =
            Records::new(&schema(&[3, 2]), [[2, 2, 0], [1, 0, 0]].map(Column::from_iter).to_vec())
                .unwrap();
        let mut counts = vec![7.0; 100];
        records.count_into(set(&[0, 1]), &mut counts).unwrap();
        assert_eq!(counts, [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        records.count_into(set(&[1]), &mut counts).unwrap();
        assert_eq!(counts, [2.0, 1.0]);
    }
}
