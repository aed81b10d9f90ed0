//! The candidates of the exponential mechanism.

use crate::domain::AttributeSet;

/// A marginal that may be selected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The attributes γ.
    pub attributes: AttributeSet,
    /// The number n_γ of its cells.
    pub cells: usize,
    /// The weight w_γ of the marginal in the workload.
    pub weight: f64,
}

/// The marginals that may be selected, in a fixed order.
///
/// They are public: they depend only on the schema and the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    list: Vec<Candidate>,
    max_weight: f64,
}

impl Candidates {
    /// Collects candidates in the given order.
    pub fn new(list: Vec<Candidate>) -> Self {
        let max_weight = list.iter().map(|c| c.weight).fold(0.0, f64::max);
        Candidates { list, max_weight }
    }

    /// Returns the candidates.
    pub fn list(&self) -> &[Candidate] {
        &self.list
    }

    /// Returns the sensitivity of weighted scores, max_γ w_γ: one record changes no score by more.
    pub fn max_weight(&self) -> f64 {
        self.max_weight
    }
}
