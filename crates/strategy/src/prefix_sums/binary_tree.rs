//! Noisy counts of a binary tree.

use ndarray::Array2;

use super::factorisation::{Factorisation, factor, select_gram, steps};
use crate::call::Call;
use crate::error::Result;
use crate::noise_cost::NoiseCost;
use crate::workload::Gram;
use crate::{Problem, Selection, StrategySelector};

/// The binary tree mechanism of continual counting.
///
/// C has the counts of all intervals `[j·2^l, (j + 1)·2^l)` within the steps. The prefix of t steps
/// is the sum of one interval per binary digit 1 of t, at level l. Its variance is
///
/// - plain (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011): `Σ_l 1`
/// - with Honaker's estimator (Honaker, Efficient use of differentially private binary trees, 2015;
///   Kairouz et al. 2021), the least-squares estimate from the counts below: `Σ_l 1/(2 − 2^(−l))`
///
/// Both are computable in step t. Least squares with later counts too is `hierarchical`.
#[derive(Debug, Clone, Copy, Default)]
pub struct BinaryTree {
    /// Whether intervals are estimated from the counts below. Default false.
    pub honaker: bool,
}

impl StrategySelector for BinaryTree {
    fn name(&self) -> &str {
        "binary-tree"
    }

    fn summary(&self) -> &str {
        "binary tree of prefix sums, estimator=plain or honaker"
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        select_gram(self, gram)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        self.factorise(problem)?.selection(self.name(), problem)
    }

    fn query_errors(&self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        self.factorise(problem)?.query_errors(problem)
    }

    fn options(&self) -> &'static [&'static str] {
        &["estimator"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        match call.written("estimator") {
            None | Some("plain") => Ok(Box::new(BinaryTree { honaker: false })),
            Some("honaker") => Ok(Box::new(BinaryTree { honaker: true })),
            Some(other) => Err(call.refuse("estimator=plain or estimator=honaker", other)),
        }
    }
}

impl BinaryTree {
    fn factorise(&self, problem: &Problem<'_>) -> Result<Factorisation> {
        let n = steps(self.name(), problem)?;
        let levels = n.ilog2() as usize + 1;
        let nodes: Vec<(usize, usize)> =
            (0..levels).flat_map(|l| (0..n >> l).map(move |j| (j << l, (j + 1) << l))).collect();
        let counts = Array2::from_shape_fn((nodes.len(), n), |(node, step)| {
            let (start, end) = nodes[node];
            f64::from(u8::from(start <= step && step < end))
        });
        let of_level =
            |l: usize| if self.honaker { (2.0 - 0.5f64.powi(l as i32)).recip() } else { 1.0 };
        let variance =
            |t: usize| (0..levels).filter(|l| t >> l & 1 == 1).map(of_level).sum::<f64>();
        Ok(Factorisation {
            factor: factor(counts)?,
            variances: (1..=n).map(variance).collect(),
            cost: NoiseCost {
                buffers: levels as f64,
                normals: nodes.len() as f64 / n as f64,
                coefficients: if self.honaker { levels as f64 } else { 0.0 },
            },
        })
    }
}
