//! Sources of the integer counts of a release, also of the levels of attributes.

use crate::data::{CountedMarginals, Records};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::schema::LevelSchema;

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

/// The counts of a source with the levels of its attributes.
///
/// The counts of a level are sums of those of its attribute, so the source counts nothing else, and
/// a record changes one cell of every marginal.
#[derive(Debug)]
pub struct LevelCounts<'a> {
    source: &'a dyn CountSource,
    domain: &'a LevelSchema,
    sizes: Vec<usize>,
}

impl<'a> LevelCounts<'a> {
    /// Creates the counts of a source over the original attributes of `domain`.
    pub fn new(source: &'a dyn CountSource, domain: &'a LevelSchema) -> Self {
        LevelCounts { source, domain, sizes: domain.schema().sizes() }
    }
}

impl CountSource for LevelCounts<'_> {
    fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    fn count_each(
        &self,
        sets: &[AttributeSet],
        f: &mut dyn FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        let counted: Vec<AttributeSet> =
            sets.iter().map(|set| self.domain.leaves_of(*set)).collect();
        let mut next = sets.iter().zip(&counted);
        self.source.count_each(&counted, &mut |counts| match next.next() {
            Some((set, leaves)) if set != leaves => f(&self.domain.summed(*leaves, counts, *set)),
            _ => f(counts),
        })
    }
}
