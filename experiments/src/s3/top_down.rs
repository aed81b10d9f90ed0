//! Measurements of every level of a hierarchy, made consistent by least squares.

use matmech::domain::Hierarchy;

/// Least-squares estimates of the nodes of a hierarchy, from one measurement of every node.
///
/// The noise is independent and of equal variance σ² everywhere. Two passes give the estimate of
/// least variance: `inside` combines the measurements in the subtree of a node, `outside` those of
/// all other nodes, and the two are independent. With z the variance from the inside of a node,
///
/// - inside precision: 1/σ² + 1/Σ_children z, and 1/σ² for a leaf;
/// - outside precision of a child of v: 1/(1/(outside_v + 1/σ²) + Σ_siblings z), and 0 for a root.
///
/// *Reference*: Hay et al., Boosting the Accuracy of Differentially Private Histograms Through
/// Consistency, Sec. 4, for trees of equal nodes; here nodes can differ.
#[derive(Debug)]
pub(super) struct TopDown {
    /// The parent of every node of every level but the first.
    parents: Vec<Vec<usize>>,
    /// The precision 1/σ² of a measurement.
    measured: f64,
    /// The precision of every node of every level from its subtree.
    inside: Vec<Vec<f64>>,
    /// The precision of every node of every level from all other nodes.
    outside: Vec<Vec<f64>>,
}

impl TopDown {
    /// Computes the precisions for measurements of variance σ² of all levels and the leaves.
    ///
    /// Nodes of the coarsest level are independent roots.
    pub(super) fn new(hierarchy: &Hierarchy, variance: f64) -> Self {
        let levels = hierarchy.levels();
        let leaves: Vec<u32> = (0..hierarchy.leaves() as u32).collect();
        let node_of: Vec<&[u32]> =
            levels.iter().map(|level| level.node_of()).chain([leaves.as_slice()]).collect();
        let mut nodes: Vec<usize> = levels.iter().map(|level| level.labels().len()).collect();
        nodes.push(leaves.len());
        let parents: Vec<Vec<usize>> = (1..nodes.len())
            .map(|level| {
                let mut parents = vec![0; nodes[level]];
                for (&node, &parent) in node_of[level].iter().zip(node_of[level - 1]) {
                    parents[node as usize] = parent as usize;
                }
                parents
            })
            .collect();
        let measured = variance.recip();
        let mut inside: Vec<Vec<f64>> = nodes.iter().map(|&n| vec![measured; n]).collect();
        let mut outside: Vec<Vec<f64>> = nodes.iter().map(|&n| vec![0.0; n]).collect();
        let mut sums: Vec<Vec<f64>> = Vec::new();
        for level in (0..parents.len()).rev() {
            let z: Vec<f64> = inside[level + 1].iter().map(|precision| precision.recip()).collect();
            let sum = summed(&z, &parents[level], nodes[level]);
            inside[level].iter_mut().zip(&sum).for_each(|(p, sum)| *p += sum.recip());
            sums.push(sum);
        }
        for (level, sum) in sums.iter().rev().enumerate() {
            for (child, &parent) in parents[level].iter().enumerate() {
                let siblings = sum[parent] - inside[level + 1][child].recip();
                let variance = (outside[level][parent] + measured).recip() + siblings;
                outside[level + 1][child] = variance.recip();
            }
        }
        TopDown { parents, measured, inside, outside }
    }

    /// Returns the variances of the nodes of every level, the leaves last.
    pub(super) fn variances(&self) -> Vec<Vec<f64>> {
        let of_level = |(inside, outside): (&Vec<f64>, &Vec<f64>)| {
            inside.iter().zip(outside).map(|(p, o)| (p + o).recip()).collect()
        };
        self.inside.iter().zip(&self.outside).map(of_level).collect()
    }

    /// Returns the estimates of the nodes of every level, from measurements in the same form.
    pub(super) fn estimates(&self, measurements: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut inside = measurements.to_vec();
        let mut sums = Vec::new();
        for level in (0..self.parents.len()).rev() {
            let sum = summed(&inside[level + 1], &self.parents[level], inside[level].len());
            for (node, estimate) in inside[level].iter_mut().enumerate() {
                let precision = self.inside[level][node];
                let share = self.measured / precision;
                *estimate = share * *estimate + (1.0 - share) * sum[node];
            }
            sums.push(sum);
        }
        let mut outside: Vec<Vec<f64>> = inside.clone();
        for (level, sum) in sums.iter().rev().enumerate() {
            for (child, &parent) in self.parents[level].iter().enumerate() {
                let weight = self.outside[level][parent];
                let known =
                    weight * outside[level][parent] + self.measured * measurements[level][parent];
                let siblings = sum[parent] - inside[level + 1][child];
                outside[level + 1][child] = known / (weight + self.measured) - siblings;
            }
        }
        for (level, estimates) in inside.iter_mut().enumerate() {
            for (node, estimate) in estimates.iter_mut().enumerate() {
                let (p, o) = (self.inside[level][node], self.outside[level][node]);
                *estimate = (p * *estimate + o * outside[level][node]) / (p + o);
            }
        }
        inside
    }
}

/// Returns the sums of the values of the children of every node.
fn summed(values: &[f64], parents: &[usize], nodes: usize) -> Vec<f64> {
    let mut sums = vec![0.0; nodes];
    values.iter().zip(parents).for_each(|(value, &parent)| sums[parent] += value);
    sums
}

#[cfg(test)]
pub(super) mod tests {
    use ndarray::{Array1, Array2};

    use super::*;
    use crate::s3::geography::Geography;

    /// Compares with least squares on the matrix of all nodes: covariance W (WᵀW/σ²)⁻¹ Wᵀ and
    /// estimates W (WᵀW)⁻¹ Wᵀ y.
    #[test]
    fn passes_are_least_squares() {
        let children = [vec![2], vec![1, 3], vec![2], vec![1, 3, 2]];
        let hierarchy = Geography { name: "small".into(), children }.hierarchy().unwrap();
        let n = hierarchy.leaves();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for level in hierarchy.levels() {
            for node in 0..level.labels().len() as u32 {
                let is_in = |&of: &u32| f64::from(u8::from(of == node));
                rows.push(level.node_of().iter().map(is_in).collect());
            }
        }
        rows.extend((0..n).map(|leaf| (0..n).map(|k| f64::from(u8::from(k == leaf))).collect()));
        let w = Array2::from_shape_fn((rows.len(), n), |(i, j)| rows[i][j]);
        let inverse = inverse(w.t().dot(&w));
        let y = Array1::from_shape_fn(rows.len(), |k| ((k * k + 3) % 17) as f64);
        let estimates = w.dot(&inverse.dot(&w.t().dot(&y)));
        let variances = 5.0 * w.dot(&inverse).dot(&w.t()).diag().to_owned();

        let top_down = TopDown::new(&hierarchy, 5.0);
        let mut rest = y.iter().copied();
        let measurements: Vec<Vec<f64>> = (top_down.inside.iter())
            .map(|level| rest.by_ref().take(level.len()).collect())
            .collect();
        for (found, expected) in
            [(top_down.variances(), variances), (top_down.estimates(&measurements), estimates)]
        {
            let found: Vec<f64> = found.into_iter().flatten().collect();
            assert_eq!(found.len(), expected.len());
            for (x, y) in found.iter().zip(&expected) {
                approx::assert_relative_eq!(x, y, epsilon = 1e-10, max_relative = 1e-10);
            }
        }
    }

    /// Gauss-Jordan elimination of a positive definite matrix.
    pub fn inverse(matrix: Array2<f64>) -> Array2<f64> {
        let n = matrix.nrows();
        let (mut left, mut right) = (matrix, Array2::eye(n));
        for k in 0..n {
            let pivot = left[[k, k]];
            for j in 0..n {
                left[[k, j]] /= pivot;
                right[[k, j]] /= pivot;
            }
            for i in (0..n).filter(|&i| i != k) {
                let factor = left[[i, k]];
                for j in 0..n {
                    left[[i, j]] -= factor * left[[k, j]];
                    right[[i, j]] -= factor * right[[k, j]];
                }
            }
        }
        right
    }
}
