//! Calibration by bisection that never rounds to the unsafe side.

/// Returns the largest positive number for which `feasible` holds.
///
/// `feasible` must hold below some threshold and fail above it. The bracket grows by factors of two
/// from 1, then shrinks by bisection until its ends are adjacent floating-point numbers (about 60
/// evaluations). The returned end is one at which the predicate *was evaluated and held*, so a
/// calibration never overspends by rounding. `None` if the threshold lies outside the normal range
/// of `f64`.
pub(super) fn largest_feasible(feasible: impl Fn(f64) -> bool) -> Option<f64> {
    bracket(feasible).map(|(low, _)| low)
}

/// Returns the smallest positive number for which `feasible` holds.
///
/// `feasible` must fail below some threshold and hold above it. The method and the guarantee are
/// those of [`largest_feasible`].
pub(super) fn smallest_feasible(feasible: impl Fn(f64) -> bool) -> Option<f64> {
    bracket(|x| !feasible(x)).map(|(_, high)| high)
}

/// Returns the adjacent positive numbers between which `is_below` changes from true to false.
fn bracket(is_below: impl Fn(f64) -> bool) -> Option<(f64, f64)> {
    let (mut low, mut high) = (1.0_f64, 1.0_f64);
    if is_below(1.0) {
        while is_below(high) {
            low = high;
            high *= 2.0;
            if !high.is_finite() {
                return None;
            }
        }
    } else {
        while !is_below(low) {
            high = low;
            low *= 0.5;
            if !low.is_normal() {
                return None;
            }
        }
    }
    // The ends differ by at most a factor of two: the arithmetic mean is as good as the geometric
    // mean and cannot overflow.
    Some(bisected(low, high, is_below))
}

/// Shrinks an interval by bisection until its ends are adjacent floating-point numbers.
///
/// `is_below` says whether a number is below the threshold.
pub(super) fn bisected(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> (f64, f64) {
    loop {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            return (low, high);
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{largest_feasible, smallest_feasible};

    #[test]
    fn finds_the_last_number_on_the_feasible_side() {
        for threshold in [1e-300, 3.3e-7, 0.5, 1.0, 1.5, 7e12, 1e300] {
            assert_eq!(largest_feasible(|x| x <= threshold), Some(threshold));
            assert_eq!(smallest_feasible(|x| x >= threshold), Some(threshold));
        }
    }

    #[test]
    fn returns_none_without_a_threshold() {
        assert_eq!(largest_feasible(|_| true), None);
        assert_eq!(largest_feasible(|_| false), None);
        assert_eq!(smallest_feasible(|_| true), None);
        assert_eq!(smallest_feasible(|_| false), None);
    }
}
