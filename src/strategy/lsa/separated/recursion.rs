//! Which marginals are measured, what each is asked, and what is given when its turn comes.

use ndarray::Array2;

use super::super::{Given, LsaOptions, LsaOutcome, Reading, check_gram, run_dense, run_given};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::workload::{MarginalGram, projected};

/// Most levels on a marginal of the recursion. Where the given queries are not worth their
/// sensitivity, repeating the identity level dilutes them, and the error goes on falling, by less
/// and less, for ever. Where they are, a part takes far fewer levels.
pub(super) const MOST_LEVELS: usize = 512;

/// What LSA found on a marginal: its attributes, and the outcome.
pub(super) type Part = (AttributeSet, LsaOutcome);

/// Shares of a Gram below this are rounding errors.
const NEGLIGIBLE: f64 = 1e-12;

/// The marginals of a workload, each once, with the dense Gram of all its queries.
pub(super) struct Separable<'a> {
    shape: &'a [usize],
    /// In the order of the terms.
    pub(super) own: Vec<(AttributeSet, Array2<f64>)>,
}

impl<'a> Separable<'a> {
    /// Terms that fit the domain; those over equal attributes are added.
    ///
    /// # Errors
    /// A term without a query, one that is not positive semidefinite, or more cells than fit.
    pub(super) fn new(shape: &'a [usize], terms: &[MarginalGram]) -> Result<Self> {
        let mut own: Vec<(AttributeSet, Array2<f64>)> = Vec::with_capacity(terms.len());
        for term in terms {
            let gram = term.gram.to_dense()?;
            check_gram("lsa-separated", &gram)?;
            match own.iter_mut().find(|(attributes, _)| *attributes == term.attributes) {
                Some((_, sum)) => *sum += &gram,
                None => own.push((term.attributes, gram)),
            }
        }
        Ok(Separable { shape, own })
    }

    /// Whether two marginals have an attribute in common, or one contains the other: else there is
    /// nothing to separate but the total.
    pub(super) fn has_separating_marginals(&self) -> bool {
        self.closure().len() > self.own.len()
            || self.own.iter().any(|&(attributes, _)| !self.is_maximal(attributes))
    }

    /// LSA on every marginal that no other contains, without given queries. The queries of a
    /// contained marginal are shared out evenly among those that contain it.
    ///
    /// # Errors
    /// The matrices are not finite.
    pub(super) fn merged(&self, options: &LsaOptions) -> Result<Vec<Part>> {
        let (maximal, contained): (Vec<_>, Vec<_>) =
            self.own.iter().partition(|&&(attributes, _)| self.is_maximal(attributes));
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
                    run_dense(&attributes.items(self.shape), gram, Reading::JointSweep, options)?;
                Ok((attributes, outcome))
            })
            .collect()
    }

    /// LSA on every marginal of the closure, smaller ones first, each on what it and the marginals
    /// above it ask about its cells and given the queries of all the marginals it contains.
    ///
    /// # Errors
    /// The matrices are not finite.
    pub(super) fn recursive(&self, options: &LsaOptions) -> Result<Vec<Part>> {
        let options = LsaOptions { max_levels: options.max_levels.min(MOST_LEVELS), ..*options };
        let mut parts: Vec<Part> = Vec::new();
        for attributes in self.closure() {
            let Some(gram) = self.asked(attributes) else {
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
                &attributes.items(self.shape),
                gram,
                &given,
                Reading::JointSweep,
                &options,
            )?;
            parts.push((attributes, outcome));
        }
        Ok(parts)
    }

    /// The marginals and their intersections, smaller ones first, without that of no attribute,
    /// which is the total.
    fn closure(&self) -> Vec<AttributeSet> {
        let mut out: Vec<AttributeSet> =
            self.own.iter().map(|&(attributes, _)| attributes).collect();
        let mut known: std::collections::HashSet<AttributeSet> = out.iter().copied().collect();
        let mut next = 0;
        while next < out.len() {
            for (attributes, _) in &self.own {
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

    /// The Gram of what is asked about the cells of a marginal τ: `G_τ + Σ_γ EᵀG_γE/m²` over the
    /// marginals γ of the workload that contain it, where E says which of τ's cells each of γ's is
    /// in, and m of them are in each. (A query w of γ has the part `E(EᵀE)⁻¹Eᵀw` among the
    /// functions of τ.) `None` when nothing is asked.
    fn asked(&self, attributes: AttributeSet) -> Option<Array2<f64>> {
        let cells: usize = attributes.items(self.shape).iter().product();
        let mut out = Array2::zeros((cells, cells));
        let mut any = false;
        for (larger, gram) in self.own.iter().filter(|(larger, _)| attributes.is_subset(*larger)) {
            let merged = gram.nrows() as f64 / cells as f64;
            let mut seen = Array2::<f64>::zeros((cells, cells));
            let cell_of = self.cell_map(*larger, attributes);
            for (row, &i) in gram.rows().into_iter().zip(&cell_of) {
                for (x, &j) in row.iter().zip(&cell_of) {
                    seen[[i, j]] += x;
                }
            }
            any |= seen.diag().sum() > NEGLIGIBLE * merged * gram.diag().sum();
            out.scaled_add(1.0 / (merged * merged), &seen);
        }
        any.then_some(out)
    }

    /// `X ⊗ J` over the cells of a larger marginal.
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

    /// For every cell of a marginal the cell of a smaller one that it is in.
    fn cell_map(&self, larger: AttributeSet, smaller: AttributeSet) -> Vec<usize> {
        let (sizes, kept) = (larger.items(self.shape), larger.axes_in(smaller));
        (0..sizes.iter().product()).map(|cell| projected(&sizes, kept, cell)).collect()
    }

    fn is_maximal(&self, attributes: AttributeSet) -> bool {
        !self.own.iter().any(|&(larger, _)| contains(larger, attributes))
    }
}

/// Whether a set of attributes is a proper subset of another.
fn contains(larger: AttributeSet, smaller: AttributeSet) -> bool {
    smaller != larger && smaller.is_subset(larger)
}
