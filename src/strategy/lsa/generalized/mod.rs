//! Workload generalization: the Level Selection Algorithm in two phases (S1, Sec. 4.3.2).
//!
//! Phase 1 merges runs of neighbouring cells along every attribute of size n into about n^⅓ groups
//! and runs LSA on the workload as it looks from there, `G̃ = D⁻¹ Eᵀ G E D⁻¹` (E: which group a
//! cell is in, D: the groups' sizes; answers spread evenly over a group). Its s₁ levels cost every
//! cell s₁ of squared sensitivity. Phase 2 refines inside the groups: group b sees its own diagonal
//! block of G and starts from `V_b = I + s₁ 11ᵀ`; all groups build one level each in lockstep, kept
//! if `(s+1)·Σ_b tr_b' ≤ s·Σ_b tr_b`, so that the strategy stays column-uniform.
//!
//! Made for one attribute, as in the paper. Several attributes work (groups are boxes), but a
//! group's view of a workload that is far from a product, e.g. a sum over marginals, guides the
//! search badly: use [`separated`](super::separated) there.
//!
//! *Requirements*: none on the shape; an attribute of n cells has 2^round(log₂(n)/3) groups.
//! *Cost*: O(k m³ + Σ_b k |b|³) for m merged cells, i.e. about O(k n^(7/3)) for one attribute, plus
//! O(n³) for the error of the result; O(n²) memory. *Reference*: S1, Sec. 4.3.2, Fig. 3(d).

use std::sync::Arc;

use ndarray::Array2;

use super::{
    Acceptance, AcceptedLevel, BoxQueries, GridBox, Grower, Inverse, LsaOptions, LsaOutcome,
    Reading, check_gram, details, run_dense,
};
use crate::error::{Error, Result};
use crate::strategy::{Selection, Strategy, StrategyFactor, StrategySelector, evaluated};
use crate::workload::Gram;

/// What the two phases found.
#[derive(Debug, Clone)]
pub struct GeneralizedOutcome {
    /// Phase 1, over the merged cells.
    pub merged: LsaOutcome,
    /// The levels of phase 2, the identity first: all boxes of all groups, and the sum over the
    /// groups of the error as the groups see it. It guides the search and is not the error of the
    /// strategy.
    pub refinements: Vec<AcceptedLevel>,
    /// Candidate splits evaluated in both phases.
    pub candidates: usize,
    /// The queries of both phases over the cells, equal ones merged.
    pub queries: BoxQueries,
}

impl GeneralizedOutcome {
    /// All levels: the squared norm of every column of the strategy.
    pub fn levels(&self) -> usize {
        self.merged.levels.len() + self.refinements.len()
    }

    /// The strategy: the root of the squared weight times the indicator of every different box.
    pub fn strategy(&self, name: &str) -> Strategy {
        let (queries, gram) = (Arc::new(self.queries.clone()), Arc::new(self.queries.gram()));
        Strategy::single(name, StrategyFactor::from_source(self.queries.shape(), queries, gram))
    }
}

/// The number of groups for an attribute of n cells: the power of two nearest to n^⅓ in the
/// exponent.
fn group_count(size: usize) -> usize {
    let exponent = ((size as f64).log2() / 3.0).round() as u32;
    2usize.pow(exponent).min(size)
}

/// Where the groups of an attribute begin, and its size at the end; lengths differ by at most one.
fn group_bounds(size: usize) -> Vec<usize> {
    let groups = group_count(size);
    (0..=groups).map(|k| k * size / groups).collect()
}

/// A group of cells in phase 2.
struct Group {
    low: Vec<usize>,
    shape: Vec<usize>,
    inverse: Inverse,
}

impl Group {
    fn place(&self, query: &GridBox) -> GridBox {
        let shifted =
            |corner: &[usize]| corner.iter().zip(&self.low).map(|(c, low)| c + low).collect();
        GridBox::between(shifted(query.low()), shifted(query.high()))
    }
}

/// Runs both phases. `max_levels` of the options bounds the levels of both phases together.
///
/// # Errors
/// Impossible options (two levels are the least: one of merged cells, one of cells), a workload
/// without a query, a Gram that is not positive semidefinite, or more cells than fit.
pub fn run(gram: &Gram, options: &LsaOptions) -> Result<GeneralizedOutcome> {
    options.check()?;
    if options.max_levels < 2 {
        return Err(Error::bad_input(
            "options of lsa-generalized: max_levels",
            "at least 2, one level of merged cells and one of cells",
            options.max_levels.to_string(),
            "use e.g. max_levels = 32, or `lsa`, which can do with one",
        ));
    }
    let shape = gram.shape();
    let dense = gram.to_dense()?;
    check_gram("lsa-generalized", &dense)?;
    let bounds: Vec<Vec<usize>> = shape.iter().map(|&size| group_bounds(size)).collect();
    let merged_shape: Vec<usize> = bounds.iter().map(|b| b.len() - 1).collect();
    let boxes: Vec<GridBox> = (0..merged_shape.iter().product())
        .map(|index| placed(&GridBox::cell(&merged_shape, index), &bounds))
        .collect();
    let merged_options = LsaOptions { max_levels: options.max_levels - 1, ..*options };
    let merged_gram = merged(&dense, &shape, &boxes);
    let merged = run_dense(&merged_shape, merged_gram, Reading::JointSweep, &merged_options)?;

    let mut queries = BoxQueries::new(&shape);
    queries.extend(&merged.queries, |query| placed(query, &bounds));
    queries.extend(&BoxQueries::identity(&shape), GridBox::clone);
    let mut grower =
        Grower { reading: Reading::JointSweep, tolerance: options.tolerance, candidates: 0 };
    let refinements =
        refine(&dense, &shape, &boxes, merged.levels.len(), options, &mut grower, &mut queries)?;
    let candidates = merged.candidates + grower.candidates;
    Ok(GeneralizedOutcome { merged, refinements, candidates, queries })
}

/// A box of merged cells as a box of cells.
fn placed(query: &GridBox, bounds: &[Vec<usize>]) -> GridBox {
    let corner =
        |corner: &[usize]| corner.iter().zip(bounds).map(|(&c, bounds)| bounds[c]).collect();
    GridBox::between(corner(query.low()), corner(query.high()))
}

/// The workload seen from the groups: the mean of G over every pair of groups.
fn merged(gram: &Array2<f64>, shape: &[usize], boxes: &[GridBox]) -> Array2<f64> {
    let cells: Vec<Vec<usize>> = boxes.iter().map(|b| b.cells(shape)).collect();
    Array2::from_shape_fn((boxes.len(), boxes.len()), |(a, b)| {
        let total: f64 =
            cells[a].iter().map(|&i| cells[b].iter().map(|&j| gram[[i, j]]).sum::<f64>()).sum();
        total / (cells[a].len() * cells[b].len()) as f64
    })
}

/// Phase 2: levels inside the groups, in lockstep.
fn refine(
    gram: &Array2<f64>,
    shape: &[usize],
    boxes: &[GridBox],
    merged_levels: usize,
    options: &LsaOptions,
    grower: &mut Grower,
    queries: &mut BoxQueries,
) -> Result<Vec<AcceptedLevel>> {
    let mut groups = Vec::with_capacity(boxes.len());
    for group in boxes {
        let cells = group.cells(shape);
        let order = (cells.len(), cells.len());
        let block = Array2::from_shape_fn(order, |(i, j)| gram[[cells[i], cells[j]]]);
        let v = Array2::from_elem(order, merged_levels as f64) + Array2::<f64>::eye(cells.len());
        let inverse = Inverse::new(block, v)?;
        groups.push(Group { low: group.low().to_vec(), shape: group.lengths(), inverse });
    }
    let trace: f64 = groups.iter().map(|g| g.inverse.trace()).sum();
    let first = AcceptedLevel {
        queries: shape.iter().product(),
        error: (merged_levels + 1) as f64 * trace,
    };
    let mut acceptance = Acceptance::new(first);
    while merged_levels + acceptance.count() < options.max_levels {
        let grown =
            groups.iter().map(|g| grower.grow(&g.inverse, &g.shape)).collect::<Result<Vec<_>>>()?;
        let trace: f64 = grown.iter().map(|level| level.trace()).sum();
        let error = (merged_levels + acceptance.count() + 1) as f64 * trace;
        let boxes = groups
            .iter()
            .zip(&grown)
            .flat_map(|(g, level)| level.parts().iter().map(|p| g.place(&p.query)));
        if !acceptance.accept(error, boxes.collect()) {
            break;
        }
        for (group, level) in groups.iter_mut().zip(&grown) {
            group.inverse.accept(level)?;
        }
    }
    Ok(acceptance.finish(queries))
}

/// Selects a strategy by workload generalization.
#[derive(Debug, Clone, Copy, Default)]
pub struct LsaGeneralized {
    /// Limits. Default [`LsaOptions::default`].
    pub options: LsaOptions,
}

impl StrategySelector for LsaGeneralized {
    fn name(&self) -> &str {
        "lsa-generalized"
    }

    fn summary(&self) -> &str {
        "Level Selection Algorithm on merged cells, then inside them"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let outcome = run(gram, &self.options)?;
        let mut selection = evaluated(outcome.strategy(self.name()), gram)?;
        selection.details = details(outcome.levels(), &outcome.queries, outcome.candidates);
        selection.details.push(("merged_cells", outcome.merged.v.nrows() as f64));
        Ok(selection)
    }
}

#[cfg(test)]
mod tests;
