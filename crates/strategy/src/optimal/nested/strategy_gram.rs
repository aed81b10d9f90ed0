//! The strategy's Gram matrix from its blocks.

use ndarray::Array2;

use super::node_types::NodeTypes;
use crate::domain::Hierarchy;
use crate::error::{Error, Result};
use crate::factor::GramSource;
use crate::workload::MAX_DENSE_CELLS;

/// The strategy of an optimum, computed on demand.
#[derive(Debug)]
pub(super) struct NestedStrategy {
    pub hierarchy: Hierarchy,
    pub types: NodeTypes,
    /// One copy of the block of every type, if it has copies; the largest diagonal entry is 1.
    pub blocks: Vec<Option<Array2<f64>>>,
}

impl GramSource for NestedStrategy {
    fn sensitivity_squared(&self) -> f64 {
        1.0
    }

    /// Computes `V_ij = Σ_q (δ − 1/m_q) X_q[l, l'] / (k_l(q) k_l'(q))^½` over the types q of nodes
    /// whose parents contain both leaves, with δ = 1 if a node of the type contains both; the term
    /// of the root has the factor 1. O(leaves² · levels).
    fn gram(&self) -> Result<Array2<f64>> {
        let n = self.hierarchy.leaves();
        if n > MAX_DENSE_CELLS {
            return Err(Error::too_large(
                "matrix of the optimal strategy",
                "cells",
                MAX_DENSE_CELLS as f64,
                n as f64,
                "the bounds need no matrix; to save or to use the strategy's matrix, select it for \
                 fewer leaves",
            ));
        }
        let types = &self.types;
        let counts = types.leaf_counts();
        let paths: Vec<Vec<usize>> = (0..counts.len()).map(|l| types.path(l)).collect();
        let levels = self.hierarchy.levels();
        let value = |i: usize, j: usize| {
            let (a, b) = (types.of_leaf[i], types.of_leaf[j]);
            let entry = |index: usize, factor: f64| {
                let node = &types.list[index];
                let size = (counts[a] * counts[b]).sqrt() / node.count;
                let start = node.leaves.start;
                self.blocks[index]
                    .as_ref()
                    .map_or(0.0, |x| factor * x[[a - start, b - start]] / size)
            };
            let mut sum = entry(0, 1.0);
            for (depth, (&p, &q)) in paths[a].iter().zip(&paths[b]).enumerate().skip(1) {
                let inside = levels
                    .get(depth - 1)
                    .map_or(i == j, |level| level.node_of()[i] == level.node_of()[j]);
                if p == q {
                    let share = 1.0 / types.list[p].siblings as f64;
                    sum += entry(p, f64::from(u8::from(inside)) - share);
                }
                if !inside {
                    break;
                }
            }
            sum
        };
        let mut gram = Array2::zeros((n, n));
        for i in 0..n {
            for j in 0..=i {
                let entry = value(i, j);
                gram[[i, j]] = entry;
                gram[[j, i]] = entry;
            }
        }
        Ok(gram)
    }
}
