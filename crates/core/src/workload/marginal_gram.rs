//! The Gram matrix of a union of workloads over marginals.

use std::sync::Arc;

use ndarray::Array2;

use super::gram::{Gram, MarginalGram, check_dense_size};
use super::projection::projected;
use super::shape::format_shape;
use crate::error::{Error, Result};

impl Gram {
    /// Computes the Gram matrix of a union of workloads over marginals, `G = Σ_γ G_γ ⊗ J`.
    ///
    /// J is the all-ones matrix over the attributes outside γ. G is dense over the domain,
    /// O(terms · cells²). The terms are kept in [`Gram::marginals`].
    ///
    /// # Errors
    /// No term, a term with attributes outside the domain or a Gram matrix of the wrong shape, or
    /// too many cells for a dense matrix.
    pub fn over_marginals(shape: &[usize], terms: Vec<MarginalGram>) -> Result<Self> {
        check_terms(shape, &terms)?;
        let cells: usize = shape.iter().product();
        check_dense_size("Gram matrix of a workload over marginals", cells)?;
        let mut matrix = Array2::zeros((cells, cells));
        for term in &terms {
            let marginal = term.gram.to_dense()?;
            let marginal_cells: Vec<usize> =
                (0..cells).map(|cell| projected(shape, term.attributes.axes(), cell)).collect();
            for (mut row, &i) in matrix.rows_mut().into_iter().zip(&marginal_cells) {
                let marginal_row = marginal.row(i);
                for (x, &j) in row.iter_mut().zip(&marginal_cells) {
                    *x += marginal_row[j];
                }
            }
        }
        let mut gram = Gram::dense(shape, matrix)?;
        gram.marginals = Some(Arc::new(terms));
        Ok(gram)
    }

    /// Returns the parts of a workload created over marginals, else `None`. They are not determined
    /// by the dense matrix: multiples of J can be moved between them.
    pub fn marginals(&self) -> Option<&[MarginalGram]> {
        self.marginals.as_ref().map(|terms| terms.as_slice())
    }
}

/// Checks that the terms fit the domain.
///
/// # Errors
/// No term, or a term with attributes outside the domain or a Gram matrix of the wrong shape.
pub fn check_terms(shape: &[usize], terms: &[MarginalGram]) -> Result<()> {
    let refuse = |expected: String, found: String| {
        Err(Error::bad_input(
            format!("workload over marginals of {}", format_shape(shape)),
            expected,
            found,
            "give each part attributes of the domain and a Gram matrix over their cells",
        ))
    };
    if terms.is_empty() {
        return refuse("at least one marginal".into(), "none".into());
    }
    for MarginalGram { attributes, gram } in terms {
        if attributes.is_empty() || attributes.end() > shape.len() {
            return refuse(format!("attributes below {}", shape.len()), format!("{attributes:?}"));
        }
        let sizes = attributes.select(shape);
        if gram.shape() != sizes {
            return refuse(
                format!("a Gram matrix over {sizes:?} for attributes {attributes:?}"),
                format!("{:?}", gram.shape()),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{gram, set};
    use crate::workload::Family;

    #[test]
    fn grams_of_one_way_marginals_are_sums_of_kronecker_products() {
        let gram = gram("range-marginals:2x3");
        let (g1, g2) = (Family::RANGE.gram(&[2]).unwrap(), Family::RANGE.gram(&[3]).unwrap());
        let (j1, j2) = (Array2::<f64>::ones((2, 2)), Array2::<f64>::ones((3, 3)));
        let expected =
            matmech_linalg::kron(g1.view(), j2.view()) + matmech_linalg::kron(j1.view(), g2.view());
        assert_eq!(gram.to_dense().unwrap(), expected);
        assert_eq!(gram.marginals().unwrap().len(), 2);
    }

    #[test]
    fn terms_that_do_not_fit_are_refused() {
        let range = || gram("range:3");
        for (attributes, part) in [(&[][..], "[]"), (&[2], "below 2"), (&[0], "[2]")] {
            let attributes = set(attributes);
            let message =
                Gram::over_marginals(&[2, 3], vec![MarginalGram { attributes, gram: range() }])
                    .unwrap_err();
            assert!(message.to_string().contains(part), "{message}");
        }
        assert!(Gram::over_marginals(&[2, 3], vec![]).is_err());
    }
}
