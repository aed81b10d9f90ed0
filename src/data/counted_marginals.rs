//! Marginals that an engine counted, which have to be those of one table.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::summed;

/// The cells of a marginal that are not empty: a cell number per attribute, then the count.
pub type CountedRows = Vec<Vec<i128>>;

/// An engine that counts one marginal of a table.
pub trait MarginalEngine: Send + Sync {
    /// Returns the cells of the marginal on some attributes that are not empty.
    ///
    /// # Errors
    /// The engine cannot count. No message has a value of the table.
    fn count(&self, attributes: AttributeSet) -> Result<CountedRows>;
}

/// Marginals that an engine counted: all before a release, or also while it runs.
///
/// A marginal is accepted if its cells are in range, none is negative or repeated, and it agrees
/// with all earlier ones on the attributes that they share, so also on the number of records. The
/// marginals of one table do. A refusal names attributes, and no count.
pub struct CountedMarginals {
    names: Vec<String>,
    sizes: Vec<usize>,
    known: Mutex<Known>,
    /// Counts marginals that are not known.
    engine: Option<Arc<dyn MarginalEngine>>,
}

#[derive(Default)]
struct Known {
    marginals: Vec<(AttributeSet, Vec<f64>)>,
    /// The marginals on attributes that two of them share.
    shared: HashMap<AttributeSet, Vec<f64>>,
}

/// Shows the sizes of the attributes, which are public.
impl fmt::Debug for CountedMarginals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountedMarginals").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl CountedMarginals {
    /// Returns no marginals of a table with these attributes.
    pub fn new(schema: &crate::schema::Schema, engine: Option<Arc<dyn MarginalEngine>>) -> Self {
        let names = schema.attributes().iter().map(|attribute| attribute.name.clone()).collect();
        CountedMarginals { names, sizes: schema.sizes(), known: Mutex::default(), engine }
    }

    /// Returns the sizes of the attributes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Checks a marginal and adds it.
    ///
    /// # Errors
    /// A cell that is out of range, negative or repeated; more than 2³² − 1 records; another number
    /// of records than an earlier marginal, or other counts of the attributes that they share.
    pub fn add(&self, set: AttributeSet, rows: &CountedRows) -> Result<()> {
        let counts = self.dense(set, rows)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier: Vec<AttributeSet> = known.marginals.iter().map(|(other, _)| *other).collect();
        for other in earlier {
            let common = set.intersection(other);
            if !known.shared.contains_key(&common) {
                let margin = known.marginals.iter().find(|(set, _)| *set == other);
                let margin = margin.map(|(_, counts)| self.margin(other, counts, common));
                known.shared.insert(common, margin.unwrap_or_default());
            }
            if known.shared.get(&common) != Some(&self.margin(set, &counts, common)) {
                return Err(self.disagreement(set, other));
            }
        }
        known.marginals.push((set, counts));
        Ok(())
    }

    /// Returns a marginal as the sums of a known one, or asks the engine for it.
    ///
    /// # Errors
    /// A marginal that no known one contains, without an engine; those of the engine and of
    /// [`CountedMarginals::add`].
    pub fn marginal(&self, set: AttributeSet) -> Result<Vec<f64>> {
        if let Some(counts) = self.known(set) {
            return Ok(counts);
        }
        let Some(engine) = &self.engine else { return Err(self.missing(set)) };
        self.add(set, &engine.count(set)?)?;
        self.known(set).ok_or_else(|| self.missing(set))
    }

    /// Makes sure that marginals on some sets are known; those on larger sets are asked for first.
    ///
    /// # Errors
    /// As [`CountedMarginals::marginal`].
    pub fn require(&self, sets: &[AttributeSet]) -> Result<()> {
        let mut sets = sets.to_vec();
        sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
        sets.into_iter().try_for_each(|set| self.marginal(set).map(drop))
    }

    fn known(&self, set: AttributeSet) -> Option<Vec<f64>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let containing = known.marginals.iter().filter(|(other, _)| set.is_subset(*other));
        let (other, counts) = containing.min_by_key(|(_, counts)| counts.len())?;
        Some(self.margin(*other, counts, set))
    }

    /// Sums a marginal to that on fewer attributes.
    fn margin(&self, set: AttributeSet, counts: &[f64], to: AttributeSet) -> Vec<f64> {
        summed(&set.select(&self.sizes), set.axes_in(to), counts)
    }

    /// Returns all cells of a marginal. Counts below 2³² are exact as doubles, as are their sums.
    fn dense(&self, set: AttributeSet, rows: &CountedRows) -> Result<Vec<f64>> {
        let refuse = |found: &str| {
            let expected = "a cell in range and a count of at least 0 per row, each cell once, and \
                            1 to 4294967295 records at most";
            let remedy = "run the statements of `matmech sql` for this schema and this table again";
            Err(Error::bad_input(self.what(set), expected, found, remedy))
        };
        if set.end() > self.sizes.len() {
            return refuse("an attribute that the schema lacks");
        }
        let shape = set.select(&self.sizes);
        let cells = shape.iter().try_fold(1usize, |cells, size| cells.checked_mul(*size));
        let Some(cells) = cells.filter(|cells| *cells <= u32::MAX as usize) else {
            return refuse("a marginal of 2^32 cells or more");
        };
        let (mut counts, mut seen) = (vec![0.0; cells], vec![false; cells]);
        let mut total = 0i128;
        for row in rows {
            let Some((count, cell)) = row.split_last().filter(|(_, at)| at.len() == shape.len())
            else {
                return refuse("a row with another number of values");
            };
            let mut index = 0;
            for (at, size) in cell.iter().zip(&shape) {
                match usize::try_from(*at) {
                    Ok(at) if at < *size => index = index * size + at,
                    _ => return refuse("a cell out of range"),
                }
            }
            total = total.saturating_add(*count);
            if *count < 0 || *count > u32::MAX.into() || total > u32::MAX.into() {
                return refuse("a count out of range");
            }
            if std::mem::replace(&mut seen[index], true) {
                return refuse("a repeated cell");
            }
            counts[index] = *count as f64;
        }
        if set.is_empty() && rows.len() != 1 {
            return refuse("another number of rows");
        }
        Ok(counts)
    }

    fn what(&self, set: AttributeSet) -> String {
        let name = |p: usize| self.names.get(p).map_or_else(|| format!("#{p}"), Clone::clone);
        let names: Vec<String> = set.positions().map(name).collect();
        format!("counts of the marginal on ({})", names.join(", "))
    }

    fn missing(&self, set: AttributeSet) -> Error {
        Error::bad_input(
            self.what(set),
            "counts of this marginal, or of one with more attributes",
            "none",
            "run all statements of `matmech sql` for the queries of the release",
        )
    }

    fn disagreement(&self, set: AttributeSet, other: AttributeSet) -> Error {
        Error::bad_input(
            self.what(set),
            "the counts of one table",
            format!("other sums than the {}", self.what(other)),
            "run all statements again on a table that does not change meanwhile, for example in one \
             transaction or on a copy",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Records};
    use crate::test_support::{schema, set};

    fn rows(records: &Records, of: AttributeSet) -> CountedRows {
        let shape = of.select(records.sizes());
        let counts = records.marginal(of).unwrap();
        let cell = |index: usize| {
            let mut rest = index;
            let mut cell: Vec<i128> = shape
                .iter()
                .rev()
                .map(|size| {
                    let at = rest % size;
                    rest /= size;
                    at as i128
                })
                .collect();
            cell.reverse();
            cell
        };
        let counted = counts.iter().enumerate().filter(|(_, count)| **count > 0.0);
        counted.map(|(i, n)| [cell(i), vec![*n as i128]].concat()).collect()
    }

    fn records(columns: [Vec<u32>; 3]) -> Records {
        let columns = columns.map(Column::from_iter).to_vec();
        Records::new(&schema(&[3, 2, 2]), columns).unwrap()
    }

    /// The marginals of neighbouring tables are both accepted, and differ in one cell each; those
    /// of one table and its neighbour together are refused, in words without a count.
    #[test]
    fn marginals_of_one_table_are_accepted_and_of_two_refused() {
        let with = records([vec![0, 2, 2, 1], vec![1, 0, 0, 1], vec![1, 1, 0, 0]]);
        let without = records([vec![0, 2, 2], vec![1, 0, 0], vec![1, 1, 0]]);
        let sets = [set(&[0, 1]), set(&[1, 2]), set(&[0])];
        let counted = |tables: [&Records; 3]| {
            let counted = CountedMarginals::new(&schema(&[3, 2, 2]), None);
            let added = sets
                .iter()
                .zip(tables)
                .try_for_each(|(set, table)| counted.add(*set, &rows(table, *set)));
            added.map(|()| counted)
        };
        let (a, b) = (counted([&with; 3]).unwrap(), counted([&without; 3]).unwrap());
        for of in [set(&[0, 1]), set(&[1, 2]), set(&[1]), set(&[2]), set(&[])] {
            assert_eq!(a.marginal(of).unwrap(), with.marginal(of).unwrap());
            let pairs = a.marginal(of).unwrap().into_iter().zip(b.marginal(of).unwrap());
            assert_eq!(pairs.map(|(a, b)| (a - b).abs()).sum::<f64>(), 1.0);
        }
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        let mut messages: Vec<String> = Vec::new();
        for tables in [[&with, &without, &with], [&without, &with, &without]] {
            messages.push(counted(tables).unwrap_err().to_string());
        }
        assert_eq!(messages[0], messages[1]);
        assert!(messages[0].contains("(A2, A3)") && messages[0].contains("(A1, A2)"));
        let words = messages[0].replace("A1", "").replace("A2", "").replace("A3", "");
        assert!(!words.contains(|c: char| c.is_ascii_digit()), "{words}");
        // Equal totals do not make tables equal.
        let other = records([vec![0, 2, 2, 1], vec![1, 0, 1, 1], vec![1, 1, 0, 0]]);
        assert!(counted([&with, &other, &with]).is_err());
        assert!(a.marginal(set(&[0, 2])).unwrap_err().to_string().contains("(A1, A3)"));
    }

    #[test]
    fn invalid_rows_are_refused_without_a_count() {
        for (rows, part) in [
            (vec![vec![3, 0, 5]], "out of range"),
            (vec![vec![-1, 0, 5]], "out of range"),
            (vec![vec![0, 0, -5]], "out of range"),
            (vec![vec![0, 0, 1 << 32]], "out of range"),
            (vec![vec![0, 0, i128::MAX], vec![0, 1, i128::MAX]], "out of range"),
            (vec![vec![0, 0, 4_294_967_295], vec![0, 1, 1]], "out of range"),
            (vec![vec![0, 0, 5], vec![0, 0, 5]], "repeated"),
            (vec![vec![0, 5]], "number of values"),
            (vec![vec![]], "number of values"),
        ] {
            let counted = CountedMarginals::new(&schema(&[3, 2]), None);
            let message = counted.add(set(&[0, 1]), &rows).unwrap_err().to_string();
            assert!(
                message.contains(part) && !message.contains('5'.to_string().repeat(2).as_str())
            );
            assert!(counted.marginal(set(&[0])).is_err());
        }
    }
}
