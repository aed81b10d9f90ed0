//! Counts of the levels of attributes.

use super::count_source::CountSource;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::schema::LevelSchema;

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
