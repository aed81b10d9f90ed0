//! The candidates: every marginal that helps to answer the workload, and how much.

use std::collections::HashMap;

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::Schema;

/// A marginal that a round may measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// γ.
    pub attributes: AttributeSet,
    /// The attributes' positions, ascending.
    pub positions: Vec<usize>,
    /// n_γ, the number of its cells.
    pub cells: usize,
    /// w_γ = Σ_{π∈W} |γ ∩ π|: how much of the workload it bears on.
    pub weight: f64,
}

/// The downward closure of a workload of marginals, without ∅.
#[derive(Debug, Clone)]
pub struct Candidates {
    list: Vec<Candidate>,
    attributes: AttributeSet,
    largest_weight: f64,
}

impl Candidates {
    /// All non-empty subsets of the workload's marginals, smaller sets first. O(Σ_γ 2^|γ|).
    ///
    /// # Errors
    /// No marginal, one that is empty, listed twice or not of the schema, or one with more cells than memory addresses.
    pub fn of_workload(schema: &Schema, workload: &[AttributeSet]) -> Result<Self> {
        let refuse = |found: String| {
            Error::invalid(
                "workload of marginals",
                format!("distinct non-empty sets of the schema's {} attributes", schema.attributes().len()),
                found,
                "list every marginal once, by positions of the schema",
            )
        };
        if workload.is_empty() {
            return Err(refuse("no marginal".into()));
        }
        // 1 for marginals of the workload, 0 for those only implied by it.
        let mut listed: HashMap<AttributeSet, bool> = HashMap::new();
        // How many marginals of the workload have the attribute: w_γ is their sum over γ.
        let mut uses = vec![0u32; schema.attributes().len()];
        for &marginal in workload {
            for position in marginal.positions() {
                *uses.get_mut(position).ok_or_else(|| refuse(format!("attribute {position}")))? += 1;
            }
            if marginal.is_empty() {
                return Err(refuse("an empty one".into()));
            }
            if listed.insert(marginal, true) == Some(true) {
                return Err(refuse(format!("{:?} twice", marginal.positions().collect::<Vec<_>>())));
            }
            for subset in marginal.subsets().filter(|subset| !subset.is_empty()) {
                listed.entry(subset).or_insert(false);
            }
        }
        let mut sets: Vec<(usize, Vec<usize>, AttributeSet)> =
            listed.into_keys().map(|set| (set.len(), set.positions().collect(), set)).collect();
        sets.sort();
        let mut list = Vec::with_capacity(sets.len());
        for (_, positions, attributes) in sets {
            let sizes = positions.iter().map(|&p| schema.attributes()[p].size);
            let cells = sizes.clone().try_fold(1usize, usize::checked_mul).ok_or_else(|| Error::TooLarge {
                what: format!("marginal on attributes {positions:?}"),
                limit: format!("{} cells", usize::MAX),
                found: format!("{:e} cells", sizes.map(|n| n as f64).product::<f64>()),
                remedy: "ask for marginals of fewer attributes".into(),
            })?;
            let weight = positions.iter().map(|&p| f64::from(uses[p])).sum();
            list.push(Candidate { attributes, positions, cells, weight });
        }
        let attributes = AttributeSet::from_positions(&(0..uses.len()).filter(|&p| uses[p] > 0).collect::<Vec<_>>())?;
        let largest_weight = list.iter().map(|c| c.weight).fold(0.0, f64::max);
        Ok(Candidates { list, attributes, largest_weight })
    }

    /// The candidates.
    pub fn list(&self) -> &[Candidate] {
        &self.list
    }

    /// K = |W↓|, ∅ included.
    pub fn closure_size(&self) -> usize {
        self.list.len() + 1
    }

    /// The attributes that the workload uses.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }

    /// max_γ w_γ: one record more or less changes no weighted score by more than this.
    pub fn largest_weight(&self) -> f64 {
        self.largest_weight
    }
}
