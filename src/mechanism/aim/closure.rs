//! The candidates of AIM: every marginal that helps to answer the workload, and how much.

use std::collections::HashSet;

use crate::access::{Candidate, Candidates};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::Schema;

/// The downward closure of a workload of marginals, without ∅, with w_γ = Σ_{π∈W} |γ ∩ π|.
#[derive(Debug, Clone)]
pub struct Closure {
    candidates: Candidates,
    attributes: AttributeSet,
}

impl Closure {
    /// All non-empty subsets of the workload's marginals, smaller sets first. O(Σ_γ 2^|γ|).
    ///
    /// # Errors
    /// No marginal, one that is empty, listed twice or not of the schema, or one with more cells
    /// than memory addresses.
    pub fn of_workload(schema: &Schema, workload: &[AttributeSet]) -> Result<Self> {
        let refuse = |found: String| {
            Error::bad_input(
                "workload of marginals",
                format!(
                    "distinct non-empty sets of the schema's {} attributes",
                    schema.attributes().len()
                ),
                found,
                "list every marginal once, by attributes of the schema",
            )
        };
        if workload.is_empty() {
            return Err(refuse("no marginal".into()));
        }
        let (mut listed, mut closure) = (HashSet::new(), HashSet::new());
        // How many marginals of the workload have the attribute: w_γ is their sum over γ.
        let mut uses = vec![0u32; schema.attributes().len()];
        let mut attributes = AttributeSet::EMPTY;
        for &marginal in workload {
            for position in marginal.positions() {
                *uses
                    .get_mut(position)
                    .ok_or_else(|| refuse(format!("attribute {position}")))? += 1;
            }
            if marginal.is_empty() {
                return Err(refuse("an empty one".into()));
            }
            if !listed.insert(marginal) {
                return Err(refuse(format!("{marginal:?} twice")));
            }
            closure.extend(marginal.subsets().filter(|subset| !subset.is_empty()));
            attributes = attributes.union(marginal);
        }
        let mut sets: Vec<(usize, Vec<usize>, AttributeSet)> =
            closure.into_iter().map(|set| (set.len(), set.positions().collect(), set)).collect();
        sets.sort();
        let sizes = schema.sizes();
        let mut list = Vec::with_capacity(sets.len());
        for (_, positions, attributes) in sets {
            let own = attributes.items(&sizes);
            let cells =
                own.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).ok_or_else(|| {
                    let what = format!("marginal on {}", schema.names(attributes));
                    let found = own.iter().map(|&n| n as f64).product();
                    Error::too_large(
                        what,
                        "cells",
                        usize::MAX as f64,
                        found,
                        "ask for marginals of fewer attributes",
                    )
                })?;
            let weight = positions.iter().map(|&p| f64::from(uses[p])).sum();
            list.push(Candidate { attributes, cells, weight });
        }
        Ok(Closure { candidates: Candidates::new(list), attributes })
    }

    /// The candidates.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// K = |W↓|, ∅ included.
    pub fn size(&self) -> usize {
        self.candidates.list().len() + 1
    }

    /// The attributes that the workload uses.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }
}
