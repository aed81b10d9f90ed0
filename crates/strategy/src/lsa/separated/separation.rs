//! The separation of a workload over marginals, and its selector.

use std::sync::Arc;

use ndarray::Array2;

use super::active_basis::ActiveBasis;
use super::recursion::{Part, Separable};
use crate::counted::counted;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::lsa::boxes::{BoxQueries, GridBox};
use crate::lsa::options::LsaOptions;
use crate::lsa::search::{LsaOutcome, details};
use crate::workload::{Gram, MarginalGram, check_terms};
use crate::{Selection, Strategy, StrategyFactor, StrategySelector, answered};
use matmech_linalg as linalg;

/// The separation of marginals of several attributes. For disjoint marginals all are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Separation {
    /// The one of the other two with the smaller error.
    #[default]
    Best,
    /// Every maximal marginal separately, with the marginals that it contains merged into it.
    Merged,
    /// Lower marginals first; their queries are given to all marginals that contain them.
    Recursive,
}

/// The options of workload separation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SeparatedOptions {
    /// The options of the run on every marginal. Default [`LsaOptions::default`].
    pub lsa: LsaOptions,
    /// The squared weight w₀ of the total query. Default 0.
    pub total_weight: f64,
    /// The separation of marginals of several attributes. Default [`Separation::Best`].
    pub separation: Separation,
}

/// The result of LSA for every marginal, and the error of the whole strategy.
#[derive(Debug, Clone)]
pub struct SeparatedOutcome {
    shape: Vec<usize>,
    total_weight: f64,
    /// The measured marginals with the results of LSA. The errors of a part's levels are on the
    /// part's workload, with the queries given to it.
    pub parts: Vec<(AttributeSet, LsaOutcome)>,
    /// The separation that was used, never [`Separation::Best`]; [`Separation::Merged`] if all
    /// are the same.
    pub separation: Separation,
    /// `‖A‖₂²`, the squared norm of every column of the strategy.
    pub sensitivity_squared: f64,
    /// The error on the workload at unit privacy cost.
    pub error: f64,
    /// The rank of the strategy.
    pub rank: usize,
}

impl SeparatedOutcome {
    /// Returns the number of levels over all marginals.
    pub fn levels(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.levels.len()).sum()
    }

    /// Returns the number of candidate splits evaluated.
    pub fn candidates(&self) -> usize {
        self.parts.iter().map(|(_, part)| part.candidates).sum()
    }

    /// Returns `AᵀA` over the whole domain. O(parts · cells²).
    ///
    /// # Errors
    /// There are too many cells for a dense matrix.
    pub fn gram(&self) -> Result<Array2<f64>> {
        let part = |(attributes, part): &Part| {
            let gram = Gram::dense(&attributes.select(&self.shape), part.v.clone())?;
            Ok(MarginalGram { attributes: *attributes, gram })
        };
        let parts = self.parts.iter().map(part).collect::<Result<_>>()?;
        Ok(Gram::over_marginals(&self.shape, parts)?.to_dense()? + self.total_weight)
    }

    /// Returns the queries over the whole domain, with equal queries merged.
    pub fn queries(&self) -> BoxQueries {
        let mut out = BoxQueries::new(&self.shape);
        for (attributes, part) in &self.parts {
            out.extend(&part.queries, |query| {
                let (mut low, mut high) = (vec![0; self.shape.len()], self.shape.clone());
                for (k, attribute) in attributes.positions().enumerate() {
                    (low[attribute], high[attribute]) = (query.low()[k], query.high()[k]);
                }
                GridBox::between(low, high)
            });
        }
        if self.total_weight > 0.0 {
            out.add(GridBox::whole(&self.shape), self.total_weight);
        }
        out
    }
}

/// Separates a workload over marginals of a domain of the given shape.
///
/// # Errors
/// Invalid options, no marginal, too many cells in a marginal, or a marginal that does not fit the
/// domain, has no query or is not positive semidefinite.
pub fn run(
    shape: &[usize],
    terms: &[MarginalGram],
    options: &SeparatedOptions,
) -> Result<SeparatedOutcome> {
    options.lsa.check()?;
    if !(options.total_weight >= 0.0 && options.total_weight.is_finite()) {
        return Err(Error::bad_input(
            "options of lsa-separated: total_weight",
            "a finite number of at least 0",
            options.total_weight.to_string(),
            "use 0, or 1 to measure the total in addition",
        ));
    }
    check_terms(shape, terms)?;
    let workload = Separable::new(shape, terms)?;
    let recursion = options.separation != Separation::Merged && workload.has_separating_marginals();
    let evaluated =
        |separation, parts| evaluate(shape, &workload, separation, parts, options.total_weight);
    if !recursion {
        return evaluated(Separation::Merged, workload.merged(&options.lsa)?);
    }
    let recursive = evaluated(Separation::Recursive, workload.recursive(&options.lsa)?)?;
    if options.separation == Separation::Recursive {
        return Ok(recursive);
    }
    let merged = evaluated(Separation::Merged, workload.merged(&options.lsa)?)?;
    Ok(if recursive.error < merged.error { recursive } else { merged })
}

/// Computes the error of the parts together.
fn evaluate(
    shape: &[usize],
    workload: &Separable<'_>,
    separation: Separation,
    parts: Vec<Part>,
    total_weight: f64,
) -> Result<SeparatedOutcome> {
    let mut basis = ActiveBasis::new(shape);
    let gram = basis.sum(workload.grams.iter().map(|(attributes, gram)| (*attributes, gram)));
    let mut strategy = basis.sum(parts.iter().map(|(attributes, part)| (*attributes, &part.v)));
    // The total is √cells times the first basis vector, the constant one.
    strategy[[0, 0]] += total_weight * shape.iter().map(|&size| size as f64).product::<f64>();
    let trace =
        answered("lsa-separated", linalg::trace_of_quotient(gram.view(), strategy.view())?)?;
    let levels: usize = parts.iter().map(|(_, part)| part.levels.len()).sum();
    let sensitivity_squared = total_weight + levels as f64;
    Ok(SeparatedOutcome {
        shape: shape.to_vec(),
        total_weight,
        parts,
        separation,
        sensitivity_squared,
        error: sensitivity_squared * trace,
        rank: strategy.nrows(),
    })
}

/// Selects a strategy by workload separation.
#[derive(Debug, Clone, Copy, Default)]
pub struct LsaSeparated {
    /// The limits, the weight of the total, and the separation of marginals of several attributes.
    /// Default [`SeparatedOptions::default`].
    pub options: SeparatedOptions,
}

impl StrategySelector for LsaSeparated {
    fn name(&self) -> &str {
        "lsa-separated"
    }

    fn summary(&self) -> &str {
        "Level Selection Algorithm on one marginal at a time (…-marginals workloads)"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let shape = gram.shape();
        let outcome = match (gram.marginals(), shape.as_slice()) {
            (Some(terms), _) => run(&shape, terms, &self.options)?,
            (None, [_]) => run(
                &shape,
                &[MarginalGram { attributes: AttributeSet::first(1), gram: gram.clone() }],
                &self.options,
            )?,
            (None, _) => {
                return Err(Error::bad_input(
                    "strategy `lsa-separated`",
                    "a workload over marginals",
                    format!(
                        "one over {} jointly",
                        counted(shape.len(), ["attribute", "attributes"])
                    ),
                    "give it as e.g. range-marginals:32x32, or use `lsa`",
                ));
            }
        };
        let queries = outcome.queries();
        let mut details = details(outcome.levels(), &queries, outcome.candidates());
        details.extend([
            ("parts", outcome.parts.len() as f64),
            ("total_weight", self.options.total_weight),
        ]);
        details
            .push(("recursive", f64::from(u8::from(outcome.separation == Separation::Recursive))));
        let factor =
            StrategyFactor::from_source(&shape, Arc::new(queries), Arc::new(outcome.gram()?));
        let strategy = Strategy::single(self.name(), factor);
        Ok(Selection { strategy, error: outcome.error, certificate: None, proof: None, details })
    }
}
