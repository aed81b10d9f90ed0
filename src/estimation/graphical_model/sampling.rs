//! Synthetic records: draws from a calibrated tree.

use rand::{Rng, RngExt};

use super::axis_order::permuted;
use super::calibrated::CalibratedTree;
use super::table::Table;
use crate::data::{Column, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::Schema;

impl CalibratedTree {
    /// Draws `count` independent records from the model.
    ///
    /// Cliques are drawn parents first, with the new attributes conditional on the separator.
    /// *Time*: O(cells of the model + count · cliques · log cells). *Memory*: 8 bytes per cell of
    /// the largest clique, and the records.
    ///
    /// # Errors
    /// A schema of other sizes, an attribute that the model lacks, or a model without records.
    pub fn sample(&self, schema: &Schema, count: usize, rng: &mut dyn Rng) -> Result<Records> {
        if schema.sizes() != self.sizes {
            return Err(Error::bad_input(
                "synthetic records",
                format!("attributes of sizes {:?}", self.sizes),
                format!("{:?}", schema.sizes()),
                "use the schema that the model was fitted with",
            ));
        }
        let all = AttributeSet::first(self.sizes.len());
        if self.attributes() != all {
            return Err(Error::bad_input(
                "synthetic records",
                "a workload that uses every attribute, since the model has only those attributes",
                format!("no marginal with {}", schema.names(all.without(self.attributes()))),
                "ask for marginals of every attribute, e.g. --ways 1,2",
            ));
        }
        let mut columns = vec![vec![0u32; count]; self.sizes.len()];
        for (clique, &set) in self.tree.cliques().iter().enumerate() {
            let given =
                self.tree.parent(clique).map_or(AttributeSet::EMPTY, |(_, separator)| separator);
            self.draw(clique, set, given, &mut columns, rng)?;
        }
        Records::new(schema, columns.into_iter().map(Column::from_iter).collect())
    }

    /// Draws the attributes of one clique outside its separator, for every record.
    fn draw(
        &self,
        clique: usize,
        set: AttributeSet,
        given: AttributeSet,
        columns: &mut [Vec<u32>],
        rng: &mut dyn Rng,
    ) -> Result<()> {
        let new = set.without(given);
        let order =
            |sets: &[AttributeSet]| sets.iter().flat_map(|s| s.positions()).collect::<Vec<usize>>();
        let table = Table { set, values: self.tables[clique].clone() };
        let mut sums = permuted(&self.sizes, &order(&[set]), &order(&[given, new]), &table.values);
        let sizes = new.select(&self.sizes);
        let row: usize = sizes.iter().product();
        for cumulative in sums.chunks_exact_mut(row) {
            let mut sum = 0.0;
            for value in cumulative {
                sum += value.max(0.0);
                *value = sum;
            }
        }
        let count = columns.first().map_or(0, Vec::len);
        (0..count).try_for_each(|record| {
            let start = given
                .positions()
                .fold(0, |cell, p| cell * self.sizes[p] + columns[p][record] as usize);
            let cumulative = &sums[start * row..][..row];
            let total = cumulative[row - 1];
            if !(total > 0.0 && total.is_finite()) {
                let expected = "a positive, finite count for every drawn value";
                let found = format!("{total} on {set:?}");
                return Err(Error::bug("synthetic records", expected, found));
            }
            let at = rng.random::<f64>() * total;
            let mut cell = cumulative.partition_point(|&sum| sum <= at).min(row - 1);
            for (p, &n) in order(&[new]).into_iter().zip(&sizes).rev() {
                columns[p][record] = (cell % n) as u32;
                cell /= n;
            }
            Ok(())
        })
    }
}
