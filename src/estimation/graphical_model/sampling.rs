//! Synthetic records: draws from a calibrated tree.

use rand::seq::SliceRandom as _;
use rand::{Rng, RngExt};

use super::axis_order::permuted;
use super::calibrated::CalibratedTree;
use super::table::Table;
use crate::data::{Column, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::Schema;

/// How the cells of the records with equal values on a separator are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draws {
    /// Independently.
    Independent,
    /// By systematic sampling: of m records, a cell of probability p gets m p, rounded up or down
    /// at random.
    Systematic,
}

/// Refuses models without some attribute of the schema.
///
/// # Errors
/// Attributes that the model lacks.
pub(crate) fn check_attributes(schema: &Schema, attributes: AttributeSet) -> Result<()> {
    let missing = AttributeSet::first(schema.attributes().len()).without(attributes);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::bad_input(
        "synthetic records",
        "a workload that uses every attribute, since the model has only those attributes",
        format!("no marginal with {}", schema.names(missing)),
        "ask for marginals of every attribute, e.g. --ways 1,2",
    ))
}

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
        let columns = self.columns(schema, count, Draws::Independent, rng)?;
        Records::new(schema, columns.into_iter().map(Column::from_iter).collect())
    }

    /// Draws the columns of `count` records, one per attribute of the schema. The model may have
    /// further attributes after these, such as levels.
    ///
    /// # Errors
    /// As [`CalibratedTree::sample`].
    pub(crate) fn columns(
        &self,
        schema: &Schema,
        count: usize,
        draws: Draws,
        rng: &mut dyn Rng,
    ) -> Result<Vec<Vec<u32>>> {
        if !self.sizes.starts_with(&schema.sizes()) {
            return Err(Error::bad_input(
                "synthetic records",
                format!("attributes of sizes {:?}", self.sizes),
                format!("{:?}", schema.sizes()),
                "use the schema that the model was fitted with",
            ));
        }
        check_attributes(schema, self.attributes())?;
        let mut columns = vec![vec![0u32; count]; self.sizes.len()];
        for (clique, &set) in self.tree.cliques().iter().enumerate() {
            let given =
                self.tree.parent(clique).map_or(AttributeSet::EMPTY, |(_, separator)| separator);
            self.draw(clique, (given, set.without(given)), draws, &mut columns, rng)?;
        }
        columns.truncate(schema.attributes().len());
        Ok(columns)
    }

    /// Draws the attributes `new` of one clique given those of its separator, for every record.
    fn draw(
        &self,
        clique: usize,
        (given, new): (AttributeSet, AttributeSet),
        draws: Draws,
        columns: &mut [Vec<u32>],
        rng: &mut dyn Rng,
    ) -> Result<()> {
        let set = given.union(new);
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
        let group = |record: usize| {
            given.positions().fold(0, |cell, p| cell * self.sizes[p] + columns[p][record] as usize)
        };
        let groups: Vec<usize> = (0..count).map(group).collect();
        let mut records: Vec<u32> = (0..count as u32).collect();
        if draws == Draws::Systematic {
            // Within a group, cells are assigned to records at random.
            records.shuffle(rng);
            records.sort_by_key(|record| groups[*record as usize]);
        }
        for same in records.chunk_by(|a, b| groups[*a as usize] == groups[*b as usize]) {
            let start = groups[same[0] as usize];
            let cumulative = &sums[start * row..][..row];
            let total = cumulative[row - 1];
            if !(total > 0.0 && total.is_finite()) {
                let expected = "a positive, finite count for every drawn value";
                let found = format!("{total} on {set:?}");
                return Err(Error::bug("synthetic records", expected, found));
            }
            let step = total / same.len() as f64;
            let offset: f64 = rng.random();
            for (index, &record) in same.iter().enumerate() {
                let at = match draws {
                    Draws::Systematic => (index as f64 + offset) * step,
                    Draws::Independent => rng.random::<f64>() * total,
                };
                let mut cell = cumulative.partition_point(|&sum| sum <= at).min(row - 1);
                for (p, &n) in order(&[new]).into_iter().zip(&sizes).rev() {
                    columns[p][record as usize] = (cell % n) as u32;
                    cell /= n;
                }
            }
        }
        Ok(())
    }
}
