//! Binary trees of range counts.

use ndarray::Array2;

use super::{Selection, StrategySelector, evaluated, per_attribute};
use crate::error::Result;
use crate::workload::Gram;

/// The hierarchical strategy of Hay et al.
///
/// All nodes of a binary tree over each attribute, including the root and the leaves; in several
/// dimensions the Kronecker product of the trees. Squared sensitivity per attribute: log₂ n + 1.
/// The left half of a node of odd length has one cell more, so any size is supported.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hierarchical;

impl StrategySelector for Hierarchical {
    fn name(&self) -> &str {
        "hierarchical"
    }

    fn summary(&self) -> &str {
        "binary tree of range counts per attribute"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        evaluated(per_attribute(self.name(), gram, tree)?, gram)
    }
}

/// Returns the nodes of the binary tree over `size` cells, root first.
fn tree(size: usize) -> Array2<f64> {
    let mut nodes = vec![(0, size)];
    let mut next = 0;
    while next < nodes.len() {
        let (start, end) = nodes[next];
        next += 1;
        if end - start > 1 {
            let middle = start + (end - start).div_ceil(2);
            nodes.extend([(start, middle), (middle, end)]);
        }
    }
    Array2::from_shape_fn((nodes.len(), size), |(node, cell)| {
        let (start, end) = nodes[node];
        f64::from(u8::from(start <= cell && cell < end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against S1, Fig. 4.
    #[test]
    fn the_tree_over_four_cells_matches_figure_4_of_s1() {
        let expected = ndarray::array![
            [1., 1., 1., 1.],
            [1., 1., 0., 0.],
            [0., 0., 1., 1.],
            [1., 0., 0., 0.],
            [0., 1., 0., 0.],
            [0., 0., 1., 0.],
            [0., 0., 0., 1.],
        ];
        assert_eq!(tree(4), expected);
        assert_eq!(tree(1).dim(), (1, 1));
        assert_eq!(tree(6).dim(), (11, 6));
    }
}
