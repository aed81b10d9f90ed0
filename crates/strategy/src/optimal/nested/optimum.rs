//! The optimum of a problem whose queries are all nodes of a hierarchy.

use std::sync::Arc;

use super::node_types::NodeTypes;
use super::strategy_gram::NestedStrategy;
use crate::error::{Error, Result};
use crate::optimal::bounds::{Optimal, Proved};
use crate::optimal::dual::Dual;
use crate::optimal::proof::{Proof, ProofWeights, ProvedBounds, normalised};
use crate::optimal::weighting::Weighting;
use crate::workload::Nodes;
use crate::{DualWeights, Problem, Selection, StrategyFactor};

/// Maximum types of leaves: that of the cells of other problems.
const MAX_TYPES: usize = 4096;

/// The blocks of a problem.
struct Blocks {
    types: NodeTypes,
    /// The types of the blocks.
    indices: Vec<usize>,
    dual: Dual,
}

impl Blocks {
    /// # Errors
    /// There are too many types, or the eigensolver fails.
    fn of(nodes: &Nodes) -> Result<Self> {
        let types = NodeTypes::of(nodes);
        if types.of_leaves.len() > MAX_TYPES {
            return Err(Error::too_large(
                "optimal strategy for a hierarchy",
                "types of leaves",
                MAX_TYPES as f64,
                types.of_leaves.len() as f64,
                "use a hierarchy in which more siblings have equal subtrees",
            ));
        }
        let (indices, blocks): (Vec<usize>, Vec<_>) = types.blocks().into_iter().unzip();
        let scaled = indices.iter().zip(blocks).map(|(&index, block)| {
            let leaves: Vec<usize> = types.list[index].leaves.clone().collect();
            (leaves, block * types.copies(index).powi(2))
        });
        let dual = Dual::of_blocks(types.leaf_counts(), scaled.collect())?;
        Ok(Blocks { types, indices, dual })
    }

    fn proved(&self, weighting: &Weighting<'_>) -> Result<Proved> {
        let means = |weights: &[f64]| {
            let counts = self.types.leaf_counts();
            let mut means = vec![0.0; counts.len()];
            for (&leaves, weight) in self.types.of_leaf.iter().zip(weights) {
                means[leaves] += weight / counts[leaves];
            }
            means
        };
        let cells = self.types.of_leaf.len();
        weighting.proved(&self.dual, self.dual.uniform(), cells, means)
    }
}

/// Returns the nodes that are the queries of a problem of the total error.
fn nodes(problem: &Problem<'_>) -> Option<&'static Nodes> {
    problem.workload.nodes().filter(|nodes| problem.is_default() && nodes.is_nested())
}

/// Solves a problem with one weight per type of leaves.
///
/// Returns `None` if the queries are not all nodes of a hierarchy, or the objective is not the
/// total error.
///
/// # Errors
/// There are too many types, or the eigensolver fails.
pub(in crate::optimal) fn solve(
    problem: &Problem<'_>,
    optimal: &Optimal,
) -> Result<Option<(Selection, DualWeights)>> {
    let Some(nodes) = nodes(problem) else { return Ok(None) };
    let blocks = Blocks::of(nodes)?;
    let Proved { point, dual, certificate } =
        blocks.proved(&Weighting::Search(&optimal.options))?;
    let per_cell = |weights: &[f64]| {
        let cells: Vec<f64> = blocks.types.of_leaf.iter().map(|&leaves| weights[leaves]).collect();
        vec![Arc::new(cells)]
    };
    let (lower, upper) = (per_cell(&dual), per_cell(&point.mu));
    let mut parts = vec![None; blocks.types.list.len()];
    for (k, rows) in blocks.dual.strategy_rows(&point) {
        let index = blocks.indices[k];
        let scaled = matmech_linalg::gram_of(rows.view()) / blocks.types.copies(index);
        parts[index] = Some(scaled);
    }
    let strategy = Arc::new(NestedStrategy {
        hierarchy: nodes.hierarchy().clone(),
        types: blocks.types,
        blocks: parts,
    });
    let factor = StrategyFactor::from_gram_source(problem.workload.shape(), strategy);
    let proof = Proof::new(ProofWeights::of_cells(lower.clone()), ProofWeights::of_cells(upper));
    let selection = optimal.selection(vec![factor], certificate)?;
    Ok(Some((Selection { proof: Some(proof), ..selection }, DualWeights::Cells(lower))))
}

/// Returns the bounds at the weights of a proof; `None` as [`solve`].
///
/// # Errors
/// As [`solve`], or the weights do not fit.
pub(in crate::optimal) fn bounds(
    problem: &Problem<'_>,
    proof: &Proof,
) -> Result<Option<ProvedBounds>> {
    let Some(nodes) = nodes(problem) else { return Ok(None) };
    let cells = problem.workload.cells();
    let lower = normalised(proof.dual.single()?, cells)?;
    let upper = normalised(proof.strategy().single()?, cells)?;
    let certificate = Blocks::of(nodes)?.proved(&Weighting::Known(&lower, &upper))?.certificate;
    Ok(Some(ProvedBounds {
        lower_bound: certificate.lower_bound,
        error: Some(certificate.upper_bound),
    }))
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Hierarchy;
    use crate::test_support::rng;
    use crate::workload::{Family, Workload};
    use crate::{OptimalOptions, Status, StrategySelector};
    use rand::RngExt;

    fn workload(hierarchy: &Hierarchy) -> Workload {
        Workload::family(Family::nested(hierarchy), &[hierarchy.leaves()]).unwrap()
    }

    /// A tree of three levels with few numbers of children, its leaves in random order.
    fn random_tree(seed: u64) -> Hierarchy {
        let mut rng = rng(seed);
        let (mut labels, mut counties) = (Vec::new(), 0);
        for region in 0..rng.random_range(1..4) {
            for _ in 0..rng.random_range(1..4) {
                for _ in 0..rng.random_range(1..4) {
                    labels.push((region, counties));
                }
                counties += 1;
            }
        }
        for k in (1..labels.len()).rev() {
            labels.swap(k, rng.random_range(0..=k));
        }
        let level = |name: &str, of: fn(&(usize, usize)) -> usize| {
            (name.to_owned(), labels.iter().map(|label| of(label).to_string()).collect())
        };
        let levels = vec![level("region", |l| l.0), level("county", |l| l.1)];
        Hierarchy::new(levels, |leaf| leaf.to_string()).unwrap()
    }

    /// Certified totals of s9, part 2, which the dense solver confirms.
    #[test]
    fn certified_totals_are_those_of_the_dense_solver() {
        for (text, total) in [("nested:4x8", 58.86972480), ("nested:3+5+7", 30.52104319)] {
            let workload = Workload::parse(text).unwrap();
            let problem = Problem::new(&workload);
            let optimal = Optimal::new(OptimalOptions { tolerance: 1e-9, ..Default::default() });
            let optimal = optimal.unwrap();
            let reduced = optimal.solve(&problem).unwrap().0;
            let dense = optimal.solve_dense(&problem).unwrap().0;
            for selection in [reduced, dense] {
                let certificate = selection.certificate.unwrap();
                assert_eq!(certificate.status, Status::Converged);
                for bound in [certificate.lower_bound, certificate.upper_bound] {
                    assert!((bound - total).abs() < 5e-8, "{text}: {bound}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Bounds, strategy, weights and proof compared with the dense solver.
        #[test]
        fn trees_have_the_optimum_of_the_dense_solver(seed in 0u64..1_000_000) {
            let workload = workload(&random_tree(seed));
            let problem = Problem::new(&workload);
            let optimal = Optimal::default();
            let (reduced, dual) = optimal.solve(&problem).unwrap();
            let dense = optimal.solve_dense(&problem).unwrap().0;
            let (found, expected) = (reduced.certificate.unwrap(), dense.certificate.unwrap());
            prop_assert!(found.gap() <= 1e-7, "{found:?}");
            prop_assert!(found.lower_bound <= expected.upper_bound * (1.0 + 1e-9));
            prop_assert!(expected.lower_bound <= found.upper_bound * (1.0 + 1e-9));
            let bound = dual.unwrap().lower_bound(&problem).unwrap();
            prop_assert!((bound / found.lower_bound - 1.0).abs() < 1e-9);
            let error = reduced.strategy.error(&workload.gram().unwrap()).unwrap();
            prop_assert!((error / found.upper_bound - 1.0).abs() < 1e-9, "{error} {found:?}");
            let strategy = reduced.strategy.factors()[0].gram().unwrap();
            let largest = strategy.diag().iter().copied().fold(0.0, f64::max);
            prop_assert!((largest - 1.0).abs() < 1e-9);
            let proved = reduced.proof.unwrap().bounds(&problem).unwrap();
            prop_assert!((proved.lower_bound / found.lower_bound - 1.0).abs() < 1e-12);
        }
    }

    /// Balanced trees have one type of leaves and the closed form (Σ copies · √eigenvalue)²/n.
    #[test]
    fn large_trees_are_solved_without_matrices() {
        let tree = Workload::parse("nested:5x10x10x10x20").unwrap();
        let selection = Optimal::default().select_for(&Problem::new(&tree)).unwrap();
        let eigenvalues = [(95_000.0, 1.0), (4500.0, 21.0), (450.0, 221.0), (45.0, 2221.0)];
        let eigenvalues = eigenvalues.into_iter().chain([(4.0, 22_221.0), (1.0, 122_221.0)]);
        let sum: f64 = eigenvalues.map(|(copies, x): (f64, f64)| copies * x.sqrt()).sum();
        assert_relative_eq!(selection.error, sum * sum / 1e5, max_relative = 1e-12);
        assert!(selection.strategy.factors()[0].gram().is_err());

        // Numbers of children that depend on the parent: 2 × 5 × 6 × 8 nodes and more leaves.
        let mut labels = vec![Vec::new(); 4];
        for (a, b, c, d) in (0..2 * 5 * 6 * 8).map(|k| (k / 240, k / 48, k / 8, k)) {
            let leaves = 10 + 10 * (d % 4) + 5 * (b % 5) + 40 * a;
            for _ in 0..leaves {
                for (labels, node) in labels.iter_mut().zip([a, b, c, d]) {
                    labels.push(node.to_string());
                }
            }
        }
        let names = ["a", "b", "c", "d"].map(String::from);
        let levels = names.into_iter().zip(labels).collect();
        let tree = Hierarchy::new(levels, |leaf| leaf.to_string()).unwrap();
        assert!(tree.leaves() > 20_000, "{}", tree.leaves());
        let workload = workload(&tree);
        let selection = Optimal::default().select_for(&Problem::new(&workload)).unwrap();
        assert!(selection.certificate.unwrap().gap() <= 1e-7);
    }
}
