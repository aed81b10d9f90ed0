//! The marginals to measure, the workload on each, and the queries given to each.

use ndarray::Array2;

use crate::domain::AttributeSet;
use crate::error::Result;
use crate::lsa::inverse::check_gram;
use crate::lsa::options::{LsaOptions, Reading};
use crate::lsa::search::{Given, LsaOutcome, run_dense, run_given};
use crate::workload::{MarginalGram, projected};

/// Maximum number of levels on a marginal of the recursion.
///
/// If the given queries are not worth their sensitivity, repeating the identity level dilutes them,
/// and the error decreases forever by ever smaller amounts. Otherwise far fewer levels are used.
pub(super) const MAX_LEVELS: usize = 512;

/// The attributes of a marginal, and the result of LSA on it.
pub(super) type Part = (AttributeSet, LsaOutcome);

/// Smaller shares of a Gram matrix are rounding errors.
const NEGLIGIBLE: f64 = 1e-12;

/// The distinct marginals of a workload, with the dense Gram matrix of all queries on each.
pub(super) struct Separable<'a> {
    shape: &'a [usize],
    /// In the order of the terms.
    pub(super) grams: Vec<(AttributeSet, Array2<f64>)>,
}

impl<'a> Separable<'a> {
    /// Creates the marginals from terms that fit the domain; terms over equal attributes are added.
    ///
    /// # Errors
    /// A term has no query, is not positive semidefinite, or has too many cells.
    pub(super) fn new(shape: &'a [usize], terms: &[MarginalGram]) -> Result<Self> {
        let mut grams: Vec<(AttributeSet, Array2<f64>)> = Vec::with_capacity(terms.len());
        for term in terms {
            let gram = term.gram.to_dense()?;
            check_gram("lsa-separated", &gram)?;
            match grams.iter_mut().find(|(attributes, _)| *attributes == term.attributes) {
                Some((_, sum)) => *sum += &gram,
                None => grams.push((term.attributes, gram)),
            }
        }
        Ok(Separable { shape, grams })
    }

    /// Returns whether two marginals have a common attribute, or one contains the other.
    ///
    /// Otherwise only the total separates them.
    pub(super) fn has_separating_marginals(&self) -> bool {
        self.closure().len() > self.grams.len()
            || self.grams.iter().any(|&(attributes, _)| !self.is_maximal(attributes))
    }

    /// Runs LSA on every maximal marginal, without given queries.
    ///
    /// The queries of a contained marginal are divided evenly among those that contain it.
    ///
    /// # Errors
    /// The matrices are not finite.
    pub(super) fn merged(&self, options: &LsaOptions) -> Result<Vec<Part>> {
        let (maximal, contained): (Vec<_>, Vec<_>) =
            self.grams.iter().partition(|&&(attributes, _)| self.is_maximal(attributes));
        let mut grams: Vec<(AttributeSet, Array2<f64>)> = maximal.into_iter().cloned().collect();
        for (attributes, gram) in contained {
            let containing =
                grams.iter().filter(|(larger, _)| contains(*larger, *attributes)).count();
            for (larger, sum) in
                grams.iter_mut().filter(|(larger, _)| contains(*larger, *attributes))
            {
                sum.scaled_add(1.0 / containing as f64, &self.lifted(*attributes, gram, *larger));
            }
        }
        grams
            .into_iter()
            .map(|(attributes, gram)| {
                let outcome =
                    run_dense(&attributes.select(self.shape), gram, Reading::JointSweep, options)?;
                Ok((attributes, outcome))
            })
            .collect()
    }

    /// Runs LSA on every marginal of the closure, smaller ones first.
    ///
    /// The workload on a marginal is its own and that of the marginals that contain it, restricted
    /// to its cells. The queries of the marginals that it contains are given.
    ///
    /// # Errors
    /// The matrices are not finite.
    pub(super) fn recursive(&self, options: &LsaOptions) -> Result<Vec<Part>> {
        let options = LsaOptions { max_levels: options.max_levels.min(MAX_LEVELS), ..*options };
        let mut parts: Vec<Part> = Vec::new();
        for attributes in self.closure() {
            let Some(gram) = self.restricted(attributes) else {
                continue;
            };
            let mut given = Given { v: Array2::zeros(gram.dim()), levels: 0 };
            for (smaller, part) in
                parts.iter().filter(|(smaller, _)| contains(attributes, *smaller))
            {
                given.v += &self.lifted(*smaller, &part.v, attributes);
                given.levels += part.levels.len();
            }
            let outcome = run_given(
                &attributes.select(self.shape),
                gram,
                &given,
                Reading::JointSweep,
                &options,
            )?;
            parts.push((attributes, outcome));
        }
        Ok(parts)
    }

    /// Returns the marginals and their non-empty intersections, smaller ones first.
    fn closure(&self) -> Vec<AttributeSet> {
        let mut out: Vec<AttributeSet> =
            self.grams.iter().map(|&(attributes, _)| attributes).collect();
        let mut known: std::collections::HashSet<AttributeSet> = out.iter().copied().collect();
        let mut next = 0;
        while next < out.len() {
            for (attributes, _) in &self.grams {
                let both = out[next].intersection(*attributes);
                if !both.is_empty() && known.insert(both) {
                    out.push(both);
                }
            }
            next += 1;
        }
        out.sort_by_key(|set| set.len());
        out
    }

    /// Returns the Gram matrix of the workload restricted to the cells of a marginal τ.
    ///
    /// It is `G_τ + Σ_γ EᵀG_γE/m²` over the marginals γ of the workload that contain τ, where E
    /// maps cells of γ to cells of τ, and m cells of γ are in each. (The part of a query w of γ
    /// among the functions of τ is `E(EᵀE)⁻¹Eᵀw`.) `None` if it is zero.
    fn restricted(&self, attributes: AttributeSet) -> Option<Array2<f64>> {
        let cells: usize = attributes.select(self.shape).iter().product();
        let mut out = Array2::zeros((cells, cells));
        let mut non_zero = false;
        for (larger, gram) in self.grams.iter().filter(|(larger, _)| attributes.is_subset(*larger))
        {
            let merged = gram.nrows() as f64 / cells as f64;
            let mut sums = Array2::<f64>::zeros((cells, cells));
            let cell_of = self.cell_map(*larger, attributes);
            for (row, &i) in gram.rows().into_iter().zip(&cell_of) {
                for (x, &j) in row.iter().zip(&cell_of) {
                    sums[[i, j]] += x;
                }
            }
            non_zero |= sums.diag().sum() > NEGLIGIBLE * merged * gram.diag().sum();
            out.scaled_add(1.0 / (merged * merged), &sums);
        }
        non_zero.then_some(out)
    }

    /// Returns `X ⊗ J` over the cells of a larger marginal.
    fn lifted(
        &self,
        attributes: AttributeSet,
        matrix: &Array2<f64>,
        larger: AttributeSet,
    ) -> Array2<f64> {
        let cell_of = self.cell_map(larger, attributes);
        Array2::from_shape_fn((cell_of.len(), cell_of.len()), |(i, j)| {
            matrix[[cell_of[i], cell_of[j]]]
        })
    }

    /// Returns, for every cell of a marginal, its cell of a smaller marginal.
    fn cell_map(&self, larger: AttributeSet, smaller: AttributeSet) -> Vec<usize> {
        let (sizes, kept) = (larger.select(self.shape), larger.axes_in(smaller));
        (0..sizes.iter().product()).map(|cell| projected(&sizes, kept, cell)).collect()
    }

    /// Returns whether no other marginal contains this one.
    fn is_maximal(&self, attributes: AttributeSet) -> bool {
        !self.grams.iter().any(|&(larger, _)| contains(larger, attributes))
    }
}

/// Returns whether `smaller` is a proper subset of `larger`.
fn contains(larger: AttributeSet, smaller: AttributeSet) -> bool {
    smaller != larger && smaller.is_subset(larger)
}
