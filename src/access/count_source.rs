//! Sources of the integer counts of a release.

use crate::data::{CountedMarginals, Records};
use crate::domain::AttributeSet;
use crate::error::Result;

/// Marginals of private records in integers: records in memory, or an engine that counts.
///
/// All marginals are those of one table. `Debug` shows no count.
pub trait CountSource: std::fmt::Debug {
    /// Returns the sizes of the attributes.
    fn sizes(&self) -> &[usize];

    /// Passes the marginals on some sets of attributes to `f`, in order, each row-major.
    ///
    /// # Errors
    /// Those of `f`; attributes that the table lacks; an engine that does not count. No message has
    /// a count.
    fn count_each(
        &self,
        sets: &[AttributeSet],
        f: &mut dyn FnMut(&[f64]) -> Result<()>,
    ) -> Result<()>;
}

impl CountSource for Records {
    fn sizes(&self) -> &[usize] {
        Records::sizes(self)
    }

    fn count_each(
        &self,
        sets: &[AttributeSet],
        f: &mut dyn FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        Records::count_each(self, sets, f)
    }
}

impl CountSource for CountedMarginals {
    fn sizes(&self) -> &[usize] {
        CountedMarginals::sizes(self)
    }

    fn count_each(
        &self,
        sets: &[AttributeSet],
        f: &mut dyn FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        self.require(sets)?;
        sets.iter().try_for_each(|set| f(&self.marginal(*set)?))
    }
}
