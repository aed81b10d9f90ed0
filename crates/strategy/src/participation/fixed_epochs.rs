//! The patterns of fixed epochs.

/// Returns the indices of the steps of every pattern of fixed epochs: `c, c + b, …` for c < b.
pub(crate) fn epochs(steps: usize, count: usize) -> Vec<Vec<usize>> {
    let separation = steps / count;
    (0..separation).map(|c| (0..count).map(|e| c + e * separation).collect()).collect()
}
