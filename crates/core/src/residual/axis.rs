//! The four in-axis operations (S4, Table 1).
//!
//! Each maps every one-dimensional run along one axis of an array.
//!
//! | operation | on a run v | matrix |
//! |---|---|---|
//! | [`sum`] | Σ v | 1ᵀ |
//! | [`sub`] | `v[1..] − v[0]` | S = [−1 I] |
//! | [`centre`] | u − mean(u), u = (0, v) | S⁺ |
//! | [`smear`] | v/n, n times | 1/n, the pseudoinverse of 1ᵀ |

use super::slices::add_slices;

/// A row-major array viewed along one axis.
///
/// It has `outer` blocks of `n` slices of `inner` contiguous cells. Several neighbouring axes may
/// count as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisView {
    /// The product of the sizes before the axis.
    pub outer: usize,
    /// The size of the axis.
    pub n: usize,
    /// The product of the sizes after the axis.
    pub inner: usize,
}

impl AxisView {
    /// Creates the view of an array with these sizes along `axis`.
    pub fn of(sizes: &[usize], axis: usize) -> Self {
        AxisView {
            outer: sizes.iter().take(axis).product(),
            n: sizes.get(axis).copied().unwrap_or(1),
            inner: sizes.iter().skip(axis + 1).product(),
        }
    }

    /// Returns the number of cells if the axis has size `length`.
    fn cells(self, length: usize) -> usize {
        self.outer * length * self.inner
    }
}

/// Sums along the axis.
///
/// Maps `outer × n × inner` cells to `outer × inner`. Reads each cell once.
///
/// # Panics
/// A slice has the wrong length.
pub fn sum(from: &[f64], view: AxisView, to: &mut [f64]) {
    check(from, view.cells(view.n), to, view.cells(1));
    if view.n == 0 || to.is_empty() {
        to.fill(0.0);
    } else if view.inner == 1 {
        for (run, sum) in from.chunks_exact(view.n).zip(to) {
            *sum = total(run);
        }
    } else {
        for (block, sums) in
            from.chunks_exact(view.n * view.inner).zip(to.chunks_exact_mut(view.inner))
        {
            add_slices(block, sums);
        }
    }
}

/// Subtracts the first slice along the axis from the others.
///
/// Maps `outer × n × inner` cells to `outer × (n − 1) × inner`.
///
/// # Panics
/// A slice has the wrong length.
pub fn sub(from: &[f64], view: AxisView, to: &mut [f64]) {
    check(from, view.cells(view.n), to, view.cells(view.n.saturating_sub(1)));
    if to.is_empty() {
        return;
    }
    let AxisView { n, inner, .. } = view;
    for (block, differences) in
        from.chunks_exact(n * inner).zip(to.chunks_exact_mut((n - 1) * inner))
    {
        let (first, others) = block.split_at(inner);
        if let [first] = first {
            for (difference, x) in differences.iter_mut().zip(others) {
                *difference = x - first;
            }
            continue;
        }
        for (slice, differences) in
            others.chunks_exact(inner).zip(differences.chunks_exact_mut(inner))
        {
            for ((difference, x), first) in differences.iter_mut().zip(slice).zip(first) {
                *difference = x - first;
            }
        }
    }
}

/// Applies the pseudoinverse of [`sub`].
///
/// Puts a slice of zeros first and subtracts the mean along the axis. `view` describes the result,
/// `outer × n × inner`; `from` has `outer × (n − 1) × inner` cells.
///
/// # Panics
/// A slice has the wrong length.
pub fn centre(from: &[f64], view: AxisView, to: &mut [f64]) {
    check(from, view.cells(view.n.saturating_sub(1)), to, view.cells(view.n));
    let AxisView { n, inner, .. } = view;
    if from.is_empty() || to.is_empty() {
        // With a single slice the result is zero.
        to.fill(0.0);
        return;
    }
    for (block, centred) in from.chunks_exact((n - 1) * inner).zip(to.chunks_exact_mut(n * inner)) {
        let (first, others) = centred.split_at_mut(inner);
        if let [first] = first {
            *first = -total(block) / n as f64;
            for (centred, x) in others.iter_mut().zip(block) {
                *centred = x + *first;
            }
            continue;
        }
        add_slices(block, first);
        first.iter_mut().for_each(|sum| *sum = -*sum / n as f64);
        for (centred, slice) in others.chunks_exact_mut(inner).zip(block.chunks_exact(inner)) {
            for ((centred, x), first) in centred.iter_mut().zip(slice).zip(&*first) {
                *centred = x + first;
            }
        }
    }
}

/// Applies the pseudoinverse of [`sum`].
///
/// Spreads each value evenly over the axis. Maps `outer × inner` cells to `outer × n × inner`.
///
/// # Panics
/// A slice has the wrong length.
pub fn smear(from: &[f64], view: AxisView, to: &mut [f64]) {
    check(from, view.cells(1), to, view.cells(view.n));
    if to.is_empty() {
        return;
    }
    let AxisView { n, inner, .. } = view;
    for (values, block) in from.chunks_exact(inner).zip(to.chunks_exact_mut(n * inner)) {
        if let [value] = values {
            block.fill(value / n as f64);
            continue;
        }
        let (first, others) = block.split_at_mut(inner);
        for (share, value) in first.iter_mut().zip(values) {
            *share = value / n as f64;
        }
        for slice in others.chunks_exact_mut(inner) {
            slice.copy_from_slice(first);
        }
    }
}

fn check(from: &[f64], expected: usize, to: &[f64], result: usize) {
    assert_eq!(from.len(), expected, "in-axis operation: length of the array");
    assert_eq!(to.len(), result, "in-axis operation: length of the result");
}

/// Returns the sum of a run.
///
/// Uses eight interleaved partial sums, which vectorise and are more accurate than one running sum.
#[inline(always)]
pub(super) fn total(run: &[f64]) -> f64 {
    const WIDTH: usize = 8;
    let (chunks, rest) = run.as_chunks::<WIDTH>();
    let mut sums = [0.0; WIDTH];
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    let mut fours = [a + e, b + f, c + g, d + h];
    let (chunk, rest) = rest.split_at(rest.len() / 4 * 4);
    for (sum, x) in fours.iter_mut().zip(chunk) {
        *sum += x;
    }
    (fours[0] + fours[2]) + (fours[1] + fours[3]) + rest.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations against manually computed values.
    ///
    /// 2 × 3 × 2 cells along the middle axis, 4 × 3 along the last.
    #[test]
    fn operations_along_inner_and_last_axes() {
        let x: Vec<f64> = [1, 2, 3, 5, 8, 13, 0, 1, 4, 9, 16, 25].map(f64::from).to_vec();
        let middle = AxisView::of(&[2, 3, 2], 1);
        let last = AxisView::of(&[4, 3], 1);
        assert_eq!(
            (middle, last),
            (AxisView { outer: 2, n: 3, inner: 2 }, AxisView { outer: 4, n: 3, inner: 1 })
        );
        let run = |op: fn(&[f64], AxisView, &mut [f64]), from: &[f64], view, cells| {
            let mut to = vec![f64::NAN; cells];
            op(from, view, &mut to);
            to
        };
        assert_eq!(run(sum, &x, middle, 4), [12.0, 20.0, 20.0, 35.0]);
        assert_eq!(run(sum, &x, last, 4), [6.0, 26.0, 5.0, 50.0]);
        assert_eq!(run(sub, &x, middle, 8), [2.0, 3.0, 7.0, 11.0, 4.0, 8.0, 16.0, 24.0]);
        assert_eq!(run(sub, &x, last, 8), [1.0, 2.0, 3.0, 8.0, 1.0, 4.0, 7.0, 16.0]);
        assert_eq!(
            run(smear, &[6.0, 3.0], AxisView { outer: 1, n: 3, inner: 2 }, 6),
            [2.0, 1.0, 2.0, 1.0, 2.0, 1.0]
        );
        assert_eq!(
            run(smear, &[6.0, 3.0], AxisView { outer: 2, n: 3, inner: 1 }, 6),
            [2.0, 2.0, 2.0, 1.0, 1.0, 1.0]
        );
        let differences = [3.0, 6.0, 9.0, 0.0];
        assert_eq!(
            run(centre, &differences, AxisView { outer: 2, n: 3, inner: 1 }, 6),
            [-3.0, 0.0, 3.0, -3.0, 6.0, -3.0]
        );
        assert_eq!(
            run(centre, &differences, AxisView { outer: 1, n: 3, inner: 2 }, 6),
            [-4.0, -2.0, -1.0, 4.0, 5.0, -2.0]
        );
    }

    #[test]
    fn an_axis_of_one_value_has_no_differences() {
        let single = AxisView { outer: 2, n: 1, inner: 3 };
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        sub(&x, single, &mut []);
        let mut to = [f64::NAN; 6];
        centre(&[], single, &mut to);
        assert_eq!(to, [0.0; 6]);
        sum(&x, single, &mut to);
        assert_eq!(to, x);
        smear(&x, single, &mut to);
        assert_eq!(to, x);
    }

    #[test]
    fn sums_of_any_length_are_complete() {
        for n in 0..40usize {
            let run: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            assert_eq!(total(&run), (n * (n + 1) / 2) as f64);
            let mut sums = [0.0; 2];
            let block: Vec<f64> = run.iter().flat_map(|&x| [x, -x]).collect();
            add_slices(&block, &mut sums);
            assert_eq!(sums, [total(&run), -total(&run)]);
        }
    }
}
