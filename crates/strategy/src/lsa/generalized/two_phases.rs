//! Both phases of the generalization, and its selector.

use std::sync::Arc;

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::lsa::acceptance::{Acceptance, AcceptedLevel};
use crate::lsa::boxes::{BoxQueries, GridBox};
use crate::lsa::inverse::{Inverse, check_gram};
use crate::lsa::options::{LsaOptions, Reading};
use crate::lsa::search::{LsaOutcome, details, run_dense};
use crate::lsa::sweep::Grower;
use crate::workload::Gram;
use crate::{Selection, Strategy, StrategyFactor, StrategySelector, evaluated};

/// The result of both phases.
#[derive(Debug, Clone)]
pub struct GeneralizedOutcome {
    /// Phase 1, over the merged cells.
    pub merged: LsaOutcome,
    /// The levels of phase 2, the identity first.
    ///
    /// `queries` counts the boxes of all groups. `error` is the sum of the groups' errors on their
    /// blocks. It guides the search and is not the error of the strategy.
    pub refinements: Vec<AcceptedLevel>,
    /// The number of candidate splits evaluated in both phases.
    pub candidates: usize,
    /// The queries of both phases over the cells, with equal queries merged.
    pub queries: BoxQueries,
}

impl GeneralizedOutcome {
    /// Returns the number of levels, the squared norm of every column of the strategy.
    pub fn levels(&self) -> usize {
        self.merged.levels.len() + self.refinements.len()
    }

    /// Returns the strategy: one weighted indicator row per distinct box.
    pub fn strategy(&self, name: &str) -> Strategy {
        let (queries, gram) = (Arc::new(self.queries.clone()), Arc::new(self.queries.gram()));
        Strategy::single(name, StrategyFactor::from_source(self.queries.shape(), queries, gram))
    }
}

/// Returns the number of groups for an attribute of n cells: the power of two nearest to n^⅓ on a
/// logarithmic scale.
pub(super) fn group_count(size: usize) -> usize {
    let exponent = ((size as f64).log2() / 3.0).round() as u32;
    2usize.pow(exponent).min(size)
}

/// Returns the first index of every group, followed by the size. Group lengths differ by at most 1.
pub(super) fn group_bounds(size: usize) -> Vec<usize> {
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
    /// Returns a box of the group as a box of the domain.
    fn to_domain(&self, query: &GridBox) -> GridBox {
        let shifted =
            |corner: &[usize]| corner.iter().zip(&self.low).map(|(c, low)| c + low).collect();
        GridBox::between(shifted(query.low()), shifted(query.high()))
    }
}

/// Runs both phases. `max_levels` bounds the levels of both phases together.
///
/// # Errors
/// Invalid options (at least two levels are required: one of merged cells, one of cells), a
/// workload without a query, a Gram matrix that is not positive semidefinite, or too many cells.
pub fn run(gram: &Gram, options: &LsaOptions) -> Result<GeneralizedOutcome> {
    options.check()?;
    if options.max_levels < 2 {
        return Err(Error::bad_input(
            "options of lsa-generalized: max_levels",
            "at least 2, one level of merged cells and one of cells",
            options.max_levels.to_string(),
            "use e.g. max_levels = 32, or `lsa`, which accepts one level",
        ));
    }
    let shape = gram.shape();
    let dense = gram.to_dense()?;
    check_gram("lsa-generalized", &dense)?;
    let bounds: Vec<Vec<usize>> = shape.iter().map(|&size| group_bounds(size)).collect();
    let merged_shape: Vec<usize> = bounds.iter().map(|b| b.len() - 1).collect();
    let boxes: Vec<GridBox> = (0..merged_shape.iter().product())
        .map(|index| over_cells(&GridBox::cell(&merged_shape, index), &bounds))
        .collect();
    let merged_options = LsaOptions { max_levels: options.max_levels - 1, ..*options };
    let merged_gram = merged(&dense, &shape, &boxes);
    let merged = run_dense(&merged_shape, merged_gram, Reading::JointSweep, &merged_options)?;

    let mut queries = BoxQueries::new(&shape);
    queries.extend(&merged.queries, |query| over_cells(query, &bounds));
    queries.extend(&BoxQueries::identity(&shape), GridBox::clone);
    let mut grower =
        Grower { reading: Reading::JointSweep, tolerance: options.tolerance, candidates: 0 };
    let refinements =
        refine(&dense, &shape, &boxes, merged.levels.len(), options, &mut grower, &mut queries)?;
    let candidates = merged.candidates + grower.candidates;
    Ok(GeneralizedOutcome { merged, refinements, candidates, queries })
}

/// Returns a box of merged cells as a box of cells.
fn over_cells(query: &GridBox, bounds: &[Vec<usize>]) -> GridBox {
    let corner =
        |corner: &[usize]| corner.iter().zip(bounds).map(|(&c, bounds)| bounds[c]).collect();
    GridBox::between(corner(query.low()), corner(query.high()))
}

/// Returns the workload over the groups: the mean of G over every pair of groups.
pub(super) fn merged(gram: &Array2<f64>, shape: &[usize], boxes: &[GridBox]) -> Array2<f64> {
    let cells: Vec<Vec<usize>> = boxes.iter().map(|b| b.cells(shape)).collect();
    Array2::from_shape_fn((boxes.len(), boxes.len()), |(a, b)| {
        let total: f64 =
            cells[a].iter().map(|&i| cells[b].iter().map(|&j| gram[[i, j]]).sum::<f64>()).sum();
        total / (cells[a].len() * cells[b].len()) as f64
    })
}

/// Runs phase 2: levels inside the groups, one level of all groups at a time.
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
            .flat_map(|(g, level)| level.parts().iter().map(|p| g.to_domain(&p.query)));
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
    /// The limits of the search. Default [`LsaOptions::default`].
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
