//! Sources of private counts: records, or a data vector.

use crate::data::{MarginalCounter, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::summed;

/// Marginals of private data.
pub(super) trait Counts {
    /// Returns the sizes of the attributes.
    fn sizes(&self) -> &[usize];

    /// Returns the number of records: ‖μ_γ‖₁ of every marginal.
    fn total(&self) -> f64;

    /// Returns whether all counts are integers, whose sums are exact in any order.
    fn are_whole(&self) -> bool;

    /// Writes the marginal on some attributes, row-major, into a reused vector.
    ///
    /// # Errors
    /// Attributes that the table lacks, or a marginal of 2³² cells or more.
    fn count_into(&self, attributes: AttributeSet, counts: &mut Vec<f64>) -> Result<()>;
}

/// Records that are counted when a marginal is asked for.
pub(super) struct CountedRecords<'a> {
    records: &'a Records,
    counter: MarginalCounter<'a>,
}

impl<'a> CountedRecords<'a> {
    /// Prepares the counting of records.
    ///
    /// # Errors
    /// No records, or 2³² or more.
    pub(super) fn new(records: &'a Records) -> Result<Self> {
        if records.is_empty() || u32::try_from(records.len()).is_err() {
            return Err(Error::bad_input(
                "records",
                format!("1 to {} records", u32::MAX),
                records.len().to_string(),
                "check the file that the records were read from",
            ));
        }
        Ok(CountedRecords { records, counter: MarginalCounter::new(records)? })
    }
}

impl Counts for CountedRecords<'_> {
    fn sizes(&self) -> &[usize] {
        self.records.sizes()
    }

    fn total(&self) -> f64 {
        self.records.len() as f64
    }

    fn are_whole(&self) -> bool {
        true
    }

    fn count_into(&self, attributes: AttributeSet, counts: &mut Vec<f64>) -> Result<()> {
        self.counter.count_into(attributes, counts)
    }
}

/// The counts of all cells of a domain.
pub(super) struct DataVector<'a> {
    shape: Vec<usize>,
    cells: &'a [f64],
}

impl<'a> DataVector<'a> {
    /// Checks a data vector over the cells of a shape.
    ///
    /// # Errors
    /// A vector whose length is not the number of cells, or with entries that are not finite.
    pub(super) fn new(shape: &[usize], cells: &'a [f64]) -> Result<Self> {
        let expected = shape.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n));
        if expected != Some(cells.len())
            || cells.iter().any(|x| !x.is_finite())
            || shape.len() > AttributeSet::CAPACITY
        {
            return Err(Error::bad_input(
                "data vector",
                expected.map_or("a shape with fewer cells".into(), |cells| {
                    format!("{cells} finite numbers, one per cell")
                }),
                format!("{} numbers", cells.len()),
                "count the records of every cell in row-major order",
            ));
        }
        Ok(DataVector { shape: shape.to_vec(), cells })
    }
}

impl Counts for DataVector<'_> {
    fn sizes(&self) -> &[usize] {
        &self.shape
    }

    fn total(&self) -> f64 {
        self.cells.iter().map(|x| x.abs()).sum()
    }

    fn are_whole(&self) -> bool {
        false
    }

    fn count_into(&self, attributes: AttributeSet, counts: &mut Vec<f64>) -> Result<()> {
        counts.clear();
        counts.extend(summed(&self.shape, attributes.axes(), self.cells));
        Ok(())
    }
}

/// No records: every count is zero.
pub(super) struct Zeros(pub(super) Vec<usize>);

impl Counts for Zeros {
    fn sizes(&self) -> &[usize] {
        &self.0
    }

    fn total(&self) -> f64 {
        0.0
    }

    fn are_whole(&self) -> bool {
        true
    }

    fn count_into(&self, attributes: AttributeSet, counts: &mut Vec<f64>) -> Result<()> {
        counts.clear();
        counts.resize(attributes.select(&self.0).iter().product(), 0.0);
        Ok(())
    }
}
