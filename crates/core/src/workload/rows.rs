//! The rows of a workload, in a fixed order.

use super::family::Family;
use super::gram::to_unit_length;
use super::projection::projected;
use super::query_set::{Marginals, Queries, Workload};
use crate::error::Result;
use crate::residual::centre_box;

impl Workload {
    /// Iterates over the queries in a fixed order, in O(cells) memory.
    ///
    /// # Errors
    /// AllPredicate over too many cells to enumerate.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        Ok(match &self.queries {
            Queries::Product(factors) => {
                for (family, sizes) in factors {
                    drop(family.rows(sizes)?);
                }
                let weight = self.query_weight();
                Box::new(
                    product_rows(factors)
                        .map(move |row| row.into_iter().map(|x| x * weight).collect()),
                )
            }
            Queries::Explicit(rows) => Box::new(rows.rows().into_iter().map(|row| row.to_vec())),
            Queries::Sparse(rows) => Box::new(rows.rows()),
            Queries::Sample(sample) => Box::new(sample.rows()),
            Queries::Training(training) => Box::new(training.rows()),
            Queries::Marginals(parts) => parts.rows(&self.shape)?,
            Queries::Permuted(inner, order) => {
                Box::new(inner.rows()?.map(move |row| order.iter().map(|&old| row[old]).collect()))
            }
            Queries::Residual(inner) => Box::new(inner.rows()?.map(move |mut row| {
                centre_box(&self.shape, &mut row);
                row
            })),
            Queries::Normalised(inner) => Box::new(inner.rows()?.map(to_unit_length)),
            Queries::Union(parts) => {
                let rows = parts.iter().map(Self::rows).collect::<Result<Vec<_>>>()?;
                Box::new(rows.into_iter().flatten())
            }
        })
    }
}

impl Marginals {
    fn rows<'a>(&'a self, shape: &'a [usize]) -> Result<Box<dyn Iterator<Item = Vec<f64>> + 'a>> {
        let cells: usize = shape.iter().product();
        let mut all: Box<dyn Iterator<Item = Vec<f64>> + 'a> = Box::new(std::iter::empty());
        for (attributes, part) in &self.0 {
            let (kept, rows) = (attributes.axes(), part.rows()?);
            all = Box::new(all.chain(rows.map(move |row| {
                (0..cells).map(|cell| row[projected(shape, kept, cell)]).collect()
            })));
        }
        Ok(all)
    }
}

/// Iterates over the rows of a Kronecker product of families; those of the last factor vary
/// fastest.
fn product_rows(factors: &[(Family, Vec<usize>)]) -> Box<dyn Iterator<Item = Vec<f64>> + '_> {
    let Some(((family, sizes), rest)) = factors.split_first() else {
        return Box::new(std::iter::once(vec![1.0]));
    };
    // `Workload::rows` has called `family.rows` before, so this does not fail.
    let rows = family.rows(sizes).unwrap_or_else(|_| Box::new(std::iter::empty()));
    Box::new(rows.flat_map(move |outer| {
        product_rows(rest).map(move |inner| {
            outer.iter().flat_map(|&x| inner.iter().map(move |&y| x * y)).collect()
        })
    }))
}
