//! Answers of whole workloads on a data vector, by structure instead of row by row.
//!
//! | workload | how | cost |
//! |---|---|---|
//! | Kronecker product | one attribute after the other ([`QueryFamily::answers`](super::QueryFamily::answers)) | ranges, prefixes and cells O(answers), others O(answers · size of the attribute) |
//! | sampled ranges | the 2^d corners of every box in a table of prefix sums | O(cells · d + queries · 2^d) |
//! | marginals | the data summed over the other attributes, then as above | O(cells) per marginal and the part's own |
//! | permuted, residual | the data renamed or centred, then as above | O(cells) and the inner workload's own |
//! | union | part by part | the parts' own |
//! | any other | row by row | O(queries · cells) |
//!
//! All 666 thousand ranges over 8×16×16 cells take milliseconds.

use super::{Queries, Workload, marginals};
use crate::error::{Error, Result};
use crate::residual::centre_box;

/// Values over a box, seen along one factor of it: blocks of `cells` rows of `inner` numbers each,
/// every number of a row in a lane of its own.
#[derive(Debug, Clone, Copy)]
pub struct Lanes<'a> {
    values: &'a [f64],
    cells: usize,
    inner: usize,
}

impl<'a> Lanes<'a> {
    pub(super) fn new(values: &'a [f64], cells: usize, inner: usize) -> Self {
        Lanes { values, cells, inner }
    }

    /// The blocks; in each, the number of cell c in lane i is at `c · inner + i`.
    pub fn blocks(&self) -> impl Iterator<Item = &'a [f64]> {
        self.values.chunks_exact((self.cells * self.inner).max(1))
    }

    /// The cells of a lane.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The lanes of a block.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// The values themselves: what the identity answers.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Per block the prefix sums: `cells + 1` rows, the first of zeros.
    pub fn prefix_sums(&self) -> impl Iterator<Item = Vec<f64>> {
        let inner = self.inner;
        self.blocks().map(move |block| {
            let mut sums = vec![0.0; inner];
            sums.extend_from_slice(block);
            for k in inner..sums.len() {
                sums[k] += sums[k - inner];
            }
            sums
        })
    }

    /// The answers of queries that are given one by one.
    pub fn by_rows(&self, rows: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
        // Query by query first, so that the rows are gone through once; then block by block.
        let (mut by_query, mut queries) = (Vec::new(), 0);
        for row in rows {
            for block in self.blocks() {
                let start = by_query.len();
                by_query.resize(start + self.inner, 0.0);
                for (cell, &weight) in
                    block.chunks_exact(self.inner.max(1)).zip(&row).filter(|(_, w)| **w != 0.0)
                {
                    by_query[start..].iter_mut().zip(cell).for_each(|(sum, x)| *sum += weight * x);
                }
            }
            queries += 1;
        }
        let blocks = self.blocks().count();
        if blocks <= 1 {
            return by_query;
        }
        let mut out = Vec::with_capacity(by_query.len());
        for block in 0..blocks {
            for query in 0..queries {
                out.extend_from_slice(
                    &by_query[(query * blocks + block) * self.inner..][..self.inner],
                );
            }
        }
        out
    }
}

impl Workload {
    /// The answers of all queries on a data vector, in the order of [`Workload::rows`]. The module
    /// states the cost; O(answers) memory.
    ///
    /// # Errors
    /// A vector of another length than the cells, or AllPredicate over too many cells to enumerate.
    pub fn answers(&self, data: &[f64]) -> Result<Vec<f64>> {
        if data.len() != self.cells() {
            return Err(Error::bad_input(
                format!("data vector for `{}`", self.name()),
                format!("{} numbers, one per cell", self.cells()),
                data.len().to_string(),
                "count the records of every cell in row-major order",
            ));
        }
        match &self.queries {
            Queries::Product(factors) => {
                let mut values = data.to_vec();
                let mut inner = data.len();
                for (family, sizes) in factors {
                    let cells: usize = sizes.iter().product();
                    inner /= cells.max(1);
                    values = family.answers(sizes, Lanes::new(&values, cells, inner))?;
                }
                let weight = self.query_weight();
                if weight != 1.0 {
                    values.iter_mut().for_each(|x| *x *= weight);
                }
                Ok(values)
            }
            Queries::Sample(sample) => Ok(sample.answers(data)),
            Queries::Marginals(parts) => parts.answers(&self.shape, data),
            Queries::Permuted(inner, order) => {
                // New cell k is the old cell order[k].
                let mut renamed = vec![0.0; data.len()];
                order.iter().zip(data).for_each(|(&old, &x)| renamed[old] = x);
                inner.answers(&renamed)
            }
            Queries::Residual(inner) => {
                // Centring is symmetric: q C x = q (C x).
                let mut centred = data.to_vec();
                centre_box(&self.shape, &mut centred);
                inner.answers(&centred)
            }
            Queries::Union(parts) => {
                let mut out = Vec::new();
                for part in parts {
                    out.extend(part.answers(data)?);
                }
                Ok(out)
            }
            Queries::Explicit(_) | Queries::Normalised(_) => {
                Ok(self.rows()?.map(|row| row.iter().zip(data).map(|(q, x)| q * x).sum()).collect())
            }
        }
    }
}

impl marginals::Marginals {
    fn answers(&self, shape: &[usize], data: &[f64]) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        for (attributes, part) in self.parts() {
            let mut own = vec![0.0; part.cells()];
            for (cell, x) in data.iter().enumerate() {
                own[marginals::projected(shape, attributes.axes(), cell)] += x;
            }
            out.extend(part.answers(&own)?);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    /// Every kind of workload, against its rows.
    #[test]
    fn answers_are_those_of_the_rows() {
        for text in [
            "identity:7",
            "total:5",
            "prefix:9",
            "cdf:4",
            "range:8",
            "range:1",
            "circular:7",
            "affine:4x6",
            "abs:3x6",
            "predicate:5",
            "range:3x4",
            "range:2x3x4x1",
            "prefix:2x3x4",
            "predicate:2x3",
            "circular:2x3x2",
            "permuted-range:9",
            "permuted-prefix(seed=7):3x4",
            "residual(range:6)",
            "residual(affine:4x5)",
            "residual(permuted-range:6)",
            "predicate-sample(queries=9,p=0.3):6",
            "range-sample(queries=20,seed=2):4x5",
            "range-sample(queries=20,seed=2):3x2x3",
            "residual(range-sample(queries=10,bias=5):3x3)",
            "range-marginals(ways=1+2):3x4x2",
            "identity-marginals(ways=2):3x4x2",
            "random-marginals(count=5):3x4x2",
            "two-step-range-sample(queries=30):3x4x2",
            "permuted(range-marginals(ways=2):3x4x2; seed=3)",
            "union(range:3x4; permuted(prefix:3x4); affine:3x4)",
            "normalised(range:3x4)",
        ] {
            let workload = Workload::parse(text).unwrap();
            let data: Vec<f64> =
                (0..workload.cells()).map(|i| ((i * i + 3) as f64).sin()).collect();
            let by_rows = Lanes::new(&data, data.len(), 1).by_rows(workload.rows().unwrap());
            let answers = workload.answers(&data).unwrap();
            assert_eq!(workload.count().as_f64(), answers.len() as f64, "{text}");
            assert_abs_diff_eq!(answers.as_slice(), by_rows.as_slice(), epsilon = 1e-12);
        }
    }

    /// By hand, so that the order of the queries is held by something else than `rows`.
    #[test]
    fn ranges_in_two_dimensions_are_sums_of_boxes() {
        let workload = Workload::parse("range:2x2").unwrap();
        let answers = workload.answers(&[1.0, 10.0, 100.0, 1000.0]).unwrap();
        assert_eq!(answers, [1.0, 11.0, 10.0, 101.0, 1111.0, 1010.0, 100.0, 1100.0, 1000.0]);
        let message = workload.answers(&[1.0; 3]).unwrap_err().to_string();
        assert!(message.contains("range:2x2") && message.contains("4 numbers"), "{message}");
    }
}
