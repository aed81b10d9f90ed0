//! What the exponential mechanism chooses from.

use crate::domain::AttributeSet;

/// A marginal that may be selected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// γ.
    pub attributes: AttributeSet,
    /// n_γ, the number of its cells.
    pub cells: usize,
    /// w_γ: how much of the workload it bears on.
    pub weight: f64,
}

/// The marginals that may be selected, in a fixed order. Public: they follow from the schema and
/// the workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    list: Vec<Candidate>,
    largest_weight: f64,
}

impl Candidates {
    /// Candidates in the given order.
    pub fn new(list: Vec<Candidate>) -> Self {
        let largest_weight = list.iter().map(|c| c.weight).fold(0.0, f64::max);
        Candidates { list, largest_weight }
    }

    /// The candidates.
    pub fn list(&self) -> &[Candidate] {
        &self.list
    }

    /// max_γ w_γ: one record more or less changes no weighted score by more than this.
    pub fn largest_weight(&self) -> f64 {
        self.largest_weight
    }
}
