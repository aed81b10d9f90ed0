//! Answers of a workload on a data vector, without enumerating the rows where possible.
//!
//! | workload | algorithm | cost |
//! |---|---|---|
//! | Kronecker product | attribute by attribute, [`QueryFamily::answers`] | see below |
//! | sampled ranges | 2^d corners in a table of prefix sums | O(cells · d + queries · 2^d) |
//! | marginals | each part on its marginal | O(cells) per marginal, plus the part |
//! | permuted, residual | permuted or centred data | O(cells), plus the inner workload |
//! | union | part by part | the sum of the parts |
//! | explicit, normalised | row by row | O(queries · cells) |
//!
//! A Kronecker product costs O(answers) for ranges, prefixes and identity, and O(answers · size of
//! the attribute) for other families. All 666 thousand ranges over 8 × 16 × 16 cells take
//! milliseconds.
//!
//! [`QueryFamily::answers`]: super::QueryFamily::answers

use super::lanes::Lanes;
use super::projection::projected;
use super::query_set::{Marginals, Queries, Workload};
use crate::error::{Error, Result};
use crate::residual::centre_box;

impl Workload {
    /// Answers all queries on a data vector, in the order of [`Workload::rows`]. O(answers) memory.
    ///
    /// Ranges over d attributes take O(answers) time; explicit matrices O(queries · cells).
    ///
    /// # Errors
    /// A vector whose length is not the number of cells, or AllPredicate over too many cells to
    /// enumerate.
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
            Queries::Sparse(rows) => Ok(rows.answers(data)),
            Queries::Sample(sample) => Ok(sample.answers(data)),
            Queries::Training(training) => Ok(training.answers(data)),
            Queries::Marginals(parts) => parts.answers(&self.shape, data),
            Queries::Permuted(inner, order) => {
                // New cell k is old cell order[k].
                let mut original = vec![0.0; data.len()];
                order.iter().zip(data).for_each(|(&old, &x)| original[old] = x);
                inner.answers(&original)
            }
            Queries::Residual(inner) => {
                // Centring is symmetric: q C x = q (C x).
                let mut centred = data.to_vec();
                centre_box(&self.shape, &mut centred);
                inner.answers(&centred)
            }
            Queries::Union(parts) => {
                let mut answers = Vec::new();
                for part in parts {
                    answers.extend(part.answers(data)?);
                }
                Ok(answers)
            }
            Queries::Explicit(_) | Queries::Normalised(_) => {
                Ok(self.rows()?.map(|row| row.iter().zip(data).map(|(q, x)| q * x).sum()).collect())
            }
        }
    }
}

impl Marginals {
    fn answers(&self, shape: &[usize], data: &[f64]) -> Result<Vec<f64>> {
        let mut answers = Vec::new();
        for (attributes, part) in self.parts() {
            let mut marginal = vec![0.0; part.cells()];
            for (cell, x) in data.iter().enumerate() {
                marginal[projected(shape, attributes.axes(), cell)] += x;
            }
            answers.extend(part.answers(&marginal)?);
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;

    /// Answers of every kind of workload against its rows.
    #[test]
    fn answers_match_the_rows() {
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

    /// Answers against values computed manually, which also fixes the order of the queries.
    #[test]
    fn ranges_in_two_dimensions_are_sums_of_boxes() {
        let workload = Workload::parse("range:2x2").unwrap();
        let answers = workload.answers(&[1.0, 10.0, 100.0, 1000.0]).unwrap();
        assert_eq!(answers, [1.0, 11.0, 10.0, 101.0, 1111.0, 1010.0, 100.0, 1100.0, 1000.0]);
        let message = workload.answers(&[1.0; 3]).unwrap_err().to_string();
        assert!(message.contains("range:2x2") && message.contains("4 numbers"), "{message}");
    }
}
