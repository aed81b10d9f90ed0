//! The candidates of AIM: the downward closure of the workload, with weights.

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
    /// Collects all non-empty subsets of the workload's marginals, smaller sets first.
    ///
    /// O(Σ_γ 2^|γ|).
    ///
    /// # Errors
    /// No marginals; a marginal that is empty, repeated or not of the schema; or a number of cells
    /// beyond `usize`.
    pub fn of_workload(schema: &Schema, workload: &[AttributeSet]) -> Result<Self> {
        let refuse = |found: String| {
            Error::bad_input(
                "workload of marginals",
                format!(
                    "distinct non-empty sets of the schema's {} attributes",
                    schema.attributes().len()
                ),
                found,
                "list every marginal once, with attributes of the schema",
            )
        };
        if workload.is_empty() {
            return Err(refuse("no marginal".into()));
        }
        let (mut listed, mut closure) = (HashSet::new(), HashSet::new());
        // The number of marginals of the workload with each attribute; w_γ is its sum over γ.
        let mut uses = vec![0u32; schema.attributes().len()];
        let mut attributes = AttributeSet::EMPTY;
        for &marginal in workload {
            for position in marginal.positions() {
                *uses
                    .get_mut(position)
                    .ok_or_else(|| refuse(format!("attribute {position}")))? += 1;
            }
            if marginal.is_empty() {
                return Err(refuse("an empty set".into()));
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
            let shape = attributes.select(&sizes);
            let cells = shape
                .iter()
                .try_fold(1usize, |cells, &n| cells.checked_mul(n))
                .ok_or_else(|| {
                    let what = format!("marginal on {}", schema.names(attributes));
                    let found = shape.iter().map(|&n| n as f64).product();
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

    /// Returns the candidates.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// Returns the size K = |W↓| of the closure, including ∅.
    pub fn size(&self) -> usize {
        self.candidates.list().len() + 1
    }

    /// Returns the attributes of the workload.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }
}
