//! A strategy: a Kronecker product of factors.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::factor::StrategyFactor;
use crate::workload::{Gram, GramFactor, check_dense_size};
use matmech_linalg::{self as linalg, Quotient};

/// A strategy `A = A₁ ⊗ … ⊗ A_k`.
#[derive(Debug, Clone)]
pub struct Strategy {
    name: String,
    factors: Vec<StrategyFactor>,
}

impl Strategy {
    /// Creates the Kronecker product of factors.
    ///
    /// # Errors
    /// There is no factor.
    pub fn kronecker(name: &str, factors: Vec<StrategyFactor>) -> Result<Self> {
        if factors.is_empty() {
            return Err(Error::bad_input(
                format!("strategy `{name}`"),
                "at least one factor",
                "none",
                "give the strategy at least one attribute",
            ));
        }
        Ok(Strategy { name: name.to_string(), factors })
    }

    /// Creates a strategy of one factor.
    pub fn single(name: &str, factor: StrategyFactor) -> Self {
        Strategy { name: name.to_string(), factors: vec![factor] }
    }

    /// Returns the name of the selector, or of the file with the strategy.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the Kronecker factors, in the order of the attributes.
    pub fn factors(&self) -> &[StrategyFactor] {
        &self.factors
    }

    /// Returns the sizes of all attributes.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|f| f.shape().iter().copied()).collect()
    }

    /// Returns `‖A‖₂²`, the largest squared column norm.
    pub fn sensitivity_squared(&self) -> f64 {
        self.factors.iter().map(StrategyFactor::sensitivity_squared).product()
    }

    /// Returns the total expected squared error on a workload at unit privacy cost,
    /// `‖A‖₂² tr(G (AᵀA)⁺)`.
    ///
    /// O(cells³) for the largest factor. Factors are multiplied out only where those of the
    /// strategy and the workload do not align.
    ///
    /// # Errors
    /// The shapes differ, the strategy cannot answer the workload, or a factor is too large to be
    /// dense.
    pub fn error(&self, gram: &Gram) -> Result<f64> {
        let factor =
            |f: &StrategyFactor| Ok(GramFactor { shape: f.shape().to_vec(), matrix: f.gram()? });
        let v = Gram::from_factors(self.factors.iter().map(factor).collect::<Result<_>>()?)?;
        if v.shape() != gram.shape() {
            return Err(Error::bad_input(
                format!("strategy `{}`", self.name),
                format!("a strategy over {:?}, the workload's attributes", gram.shape()),
                format!("one over {:?}", v.shape()),
                "select the strategy for this workload",
            ));
        }
        let (v, gram) = aligned(&v, gram)?;
        let mut error = self.sensitivity_squared();
        let mut known: Vec<(&GramFactor, &GramFactor, f64)> = Vec::new();
        for (v, g) in v.factors().iter().zip(gram.factors()) {
            let same =
                known.iter().find(|(kv, kg, _)| kv.matrix == v.matrix && kg.matrix == g.matrix);
            let trace = match same {
                Some(&(_, _, trace)) => trace,
                None => answered(
                    &self.name,
                    linalg::trace_of_quotient(g.matrix.view(), v.matrix.view())?,
                )?,
            };
            known.push((v, g, trace));
            error *= trace;
        }
        Ok(error)
    }
}

/// Returns the trace of a quotient, if the strategy answers the whole workload.
pub(crate) fn answered(strategy: &str, quotient: Quotient) -> Result<f64> {
    match quotient {
        Quotient::Trace(trace) => Ok(trace),
        Quotient::Outside { share } => {
            Err(Error::Unanswered { strategy: strategy.to_owned(), share })
        }
    }
}

/// Returns the number of attributes up to the end of every factor, from the numbers of attributes.
pub(crate) fn factor_ends(attributes: impl Iterator<Item = usize>) -> Vec<usize> {
    attributes
        .scan(0, |end, count| {
            *end += count;
            Some(*end)
        })
        .collect()
}

/// Returns both Gram matrices in the finest common grouping of their factors.
fn aligned(a: &Gram, b: &Gram) -> Result<(Gram, Gram)> {
    let ends = |gram: &Gram| factor_ends(gram.factors().iter().map(|f| f.shape.len()));
    let (ends_a, ends_b) = (ends(a), ends(b));
    let groups = |ends: &[usize], other_ends: &[usize]| -> Vec<usize> {
        let mut sizes = vec![0];
        for (k, end) in ends.iter().enumerate() {
            if let Some(size) = sizes.last_mut() {
                *size += 1;
            }
            if other_ends.contains(end) && k + 1 < ends.len() {
                sizes.push(0);
            }
        }
        sizes
    };
    Ok((a.grouped(&groups(&ends_a, &ends_b))?, b.grouped(&groups(&ends_b, &ends_a))?))
}

/// Returns one factor per attribute, with queries computed by `rows` from its size.
///
/// Attributes of equal size share one matrix.
///
/// # Errors
/// An attribute is too large for a dense matrix, or the rows have another length than its size.
pub fn per_attribute(
    name: &str,
    gram: &Gram,
    rows: impl Fn(usize) -> Array2<f64>,
) -> Result<Strategy> {
    let mut made: Vec<StrategyFactor> = Vec::new();
    let mut factors = Vec::new();
    for size in gram.shape() {
        let factor = match made.iter().find(|f| f.shape() == [size]) {
            Some(factor) => factor.clone(),
            None => {
                check_dense_size(&format!("strategy `{name}`"), size)?;
                let factor = StrategyFactor::from_queries(&[size], rows(size))?;
                made.push(factor.clone());
                factor
            }
        };
        factors.push(factor);
    }
    Strategy::kronecker(name, factors)
}
