//! Haar wavelets.

use ndarray::Array2;

use super::{Selection, StrategySelector, evaluated, per_attribute};
use crate::error::Result;
use crate::workload::Gram;

/// The wavelet strategy of Xiao et al.
///
/// The all-ones query and, for every node of the binary tree, its left half minus its right half,
/// with weights ±1; in several dimensions the Kronecker product. Squared sensitivity per attribute:
/// log₂ n + 1. The left half of a node of odd length has one cell more, so any size is supported
/// (unbalanced Haar, of full rank).
#[derive(Debug, Clone, Copy, Default)]
pub struct Wavelet;

impl StrategySelector for Wavelet {
    fn name(&self) -> &str {
        "wavelet"
    }

    fn summary(&self) -> &str {
        "Haar wavelet per attribute"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        evaluated(per_attribute(self.name(), gram, haar)?, gram)
    }
}

/// Returns the unweighted Haar matrix over `size` cells: `size` rows, the all-ones row first.
fn haar(size: usize) -> Array2<f64> {
    let mut out = Array2::zeros((size, size));
    out.row_mut(0).fill(1.0);
    let mut nodes = vec![(0, size)];
    let (mut next, mut row) = (0, 1);
    while next < nodes.len() {
        let (start, end) = nodes[next];
        next += 1;
        if end - start > 1 {
            let middle = start + (end - start).div_ceil(2);
            for cell in start..end {
                out[[row, cell]] = if cell < middle { 1.0 } else { -1.0 };
            }
            row += 1;
            nodes.extend([(start, middle), (middle, end)]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against S1, Fig. 4.
    #[test]
    fn the_wavelet_over_four_cells_matches_figure_4_of_s1() {
        let expected = ndarray::array![
            [1., 1., 1., 1.],
            [1., 1., -1., -1.],
            [1., -1., 0., 0.],
            [0., 0., 1., -1.]
        ];
        assert_eq!(haar(4), expected);
        assert_eq!(haar(1), ndarray::array![[1.0]]);
    }
}
