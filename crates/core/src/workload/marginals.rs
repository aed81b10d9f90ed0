//! Workloads over marginals: unions of workloads on sets of attributes.

use std::sync::Arc;

use ndarray::Array2;
use rand::{Rng, RngExt};

use super::{Family, Gram, QueryCount, Workload, check_dense_size, format_shape};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};

/// The part of a workload on one marginal.
#[derive(Debug, Clone)]
pub struct MarginalGram {
    /// The attributes of the marginal.
    pub attributes: AttributeSet,
    /// The Gram matrix of the part's queries over the cells of the marginal.
    pub gram: Gram,
}

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

/// Returns the index of the marginal cell on the kept axes that contains a cell of a box.
pub fn projected(shape: &[usize], kept: AxisSet, mut cell: usize) -> usize {
    let (mut index, mut stride) = (0, 1);
    for (axis, &size) in shape.iter().enumerate().rev() {
        if kept.contains(axis) {
            index += cell % size * stride;
            stride *= size;
        }
        cell /= size;
    }
    index
}

/// A workload over marginals: sets of attributes, each with a workload over its cells.
#[derive(Debug, Clone)]
pub(super) struct Marginals(Vec<(AttributeSet, Workload)>);

impl Marginals {
    /// Returns the sets of attributes and their workloads.
    pub(super) fn parts(&self) -> &[(AttributeSet, Workload)] {
        &self.0
    }

    pub(super) fn count(&self) -> QueryCount {
        self.0.iter().map(|(_, part)| part.count()).fold(QueryCount::exact(0), QueryCount::plus)
    }

    pub(super) fn gram(&self, shape: &[usize]) -> Result<Gram> {
        let terms = self
            .0
            .iter()
            .map(|(attributes, part)| {
                Ok(MarginalGram { attributes: *attributes, gram: part.gram()? })
            })
            .collect::<Result<_>>()?;
        Gram::over_marginals(shape, terms)
    }

    pub(super) fn rows<'a>(
        &'a self,
        shape: &'a [usize],
    ) -> Result<Box<dyn Iterator<Item = Vec<f64>> + 'a>> {
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

impl Workload {
    /// Draws `count` marginals on nonempty sets of attributes, independently and uniformly.
    ///
    /// A marginal can occur several times. S2 does not specify the distribution of its random
    /// marginals; this is our reading.
    ///
    /// # Errors
    /// No marginal, or a domain too large to index.
    pub fn random_marginals<R: Rng + ?Sized>(
        shape: &[usize],
        count: usize,
        rng: &mut R,
    ) -> Result<Self> {
        if count == 0 {
            return Err(Error::bad_input(
                format!("workload `random-marginals:{}`", format_shape(shape)),
                "at least one marginal",
                "0",
                "use e.g. count=20",
            ));
        }
        crate::domain::Domain::from_shape(shape)?;
        let draw = |_| loop {
            let chosen: Vec<usize> = (0..shape.len()).filter(|_| rng.random_bool(0.5)).collect();
            if !chosen.is_empty() {
                let attributes = AttributeSet::from_positions(&chosen)?;
                break Ok((
                    attributes,
                    Workload::family(Family::IDENTITY, &attributes.select(shape))?,
                ));
            }
        };
        let parts = (0..count).map(draw).collect::<Result<_>>()?;
        Ok(Workload {
            name: format!("random-marginals(count={count}):{}", format_shape(shape)),
            shape: shape.to_vec(),
            queries: super::Queries::Marginals(Marginals(parts)),
        })
    }

    /// Creates the products of a family on all k-way marginals, for each k in `ways`.
    ///
    /// # Errors
    /// Empty `ways`, numbers that are not distinct or not between 1 and the number of attributes, a
    /// family on pairs, or sizes that do not fit the family.
    pub fn marginals(family: Family, shape: &[usize], ways: &[usize]) -> Result<Self> {
        let name = format!("{}-marginals", family.name());
        if family.arity() != 1 || family == Family::PREDICATE {
            return Err(Error::bad_input(
                format!("workload `{name}:{}`", format_shape(shape)),
                "a family on single attributes without query weights",
                format!("`{}`", family.name()),
                "use e.g. range-marginals, prefix-marginals or identity-marginals",
            ));
        }
        let written = ways.iter().map(usize::to_string).collect::<Vec<_>>().join("+");
        if !super::groups::are_distinct_ways(ways, shape.len()) {
            return Err(Error::bad_input(
                format!("workload `{name}:{}`: ways", format_shape(shape)),
                format!("1 to {} attributes, each number once", shape.len()),
                format!("`{written}`"),
                "use e.g. ways=1 or ways=1+2",
            ));
        }
        crate::domain::Domain::from_shape(shape)?;
        let parts = ways
            .iter()
            .flat_map(|&way| AttributeSet::first(shape.len()).of_size(way))
            .map(|attributes| {
                Ok((attributes, Workload::family(family, &attributes.select(shape))?))
            })
            .collect::<Result<_>>()?;
        let options = if ways == [1] { String::new() } else { format!("(ways={written})") };
        Ok(Workload {
            name: format!("{name}{options}:{}", format_shape(shape)),
            shape: shape.to_vec(),
            queries: super::Queries::Marginals(Marginals(parts)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{gram, set};

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
