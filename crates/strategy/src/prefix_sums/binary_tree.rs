//! Noisy counts of a binary tree.

use ndarray::Array2;

use super::factorisation::{Factorisation, Factorised, NoiseCost, factor};
use crate::Problem;
use crate::call::Call;
use crate::error::Result;

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

impl Factorised for BinaryTree {
    const NAME: &'static str = "binary-tree";
    const SUMMARY: &'static str = "binary tree of prefix sums, estimator=plain or honaker";
    const OPTIONS: &'static [&'static str] = &["estimator"];

    fn factorise(&self, _problem: &Problem<'_>, n: usize) -> Result<Factorisation> {
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

    fn configured(&self, call: &Call<'_>) -> Result<Self> {
        match call.written("estimator") {
            None | Some("plain") => Ok(BinaryTree { honaker: false }),
            Some("honaker") => Ok(BinaryTree { honaker: true }),
            Some(other) => Err(call.refuse("estimator=plain or estimator=honaker", other)),
        }
    }
}
