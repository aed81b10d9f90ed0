//! Long arrays of weights of steps, kept at few steps.
//!
//! The weights of a long sequence of steps are smooth functions of the logit `ln(u/(1−u))`,
//! `u = (i + ½)/n`, of the step. Knots are equally spaced in the logit, so all steps near both ends
//! are knots. Between them the logarithm of a weight is the cubic through the four nearest knots.

/// Arrays up to this length are kept as they are.
pub const MAX_LENGTH: usize = 1 << 17;

/// Number of knots, of which those at the same step are omitted.
const KNOTS: usize = 12_000;

fn logit(i: f64, n: usize) -> f64 {
    ((i + 0.5) / (n as f64 - i - 0.5)).ln()
}

/// Returns the steps of the knots among n.
pub fn positions(n: usize) -> Vec<usize> {
    let end = logit(n as f64 - 1.0, n);
    let mut positions: Vec<usize> = (0..KNOTS)
        .map(|k| end * (2.0 * k as f64 / (KNOTS - 1) as f64 - 1.0))
        .map(|x| ((n as f64 / (1.0 + (-x).exp())).floor() as usize).min(n - 1))
        .collect();
    positions.dedup();
    positions
}

/// Returns the values of n steps from those at knots, which include both ends; `None` if the knots
/// do not increase or a value is not positive.
pub fn interpolated(values: &[f64], at: &[f64], n: usize) -> Option<Vec<f64>> {
    let increasing = at.windows(2).all(|pair| pair[0] < pair[1]);
    let ends = at.first() == Some(&0.0) && at.last() == Some(&(n as f64 - 1.0));
    let count = at.len();
    let positive = values.iter().all(|&x| x > 0.0 && x.is_finite());
    if !(increasing && ends && positive && count >= 4 && values.len() == count) {
        return None;
    }
    let places: Vec<f64> = at.iter().map(|&i| logit(i, n)).collect();
    let logarithms: Vec<f64> = values.iter().map(|x| x.ln()).collect();
    let mut right = 1;
    let value = |i: usize| {
        while at[right] < i as f64 {
            right += 1;
        }
        for knot in [right - 1, right] {
            if at[knot] == i as f64 {
                return values[knot];
            }
        }
        let first = right.saturating_sub(2).min(count - 4);
        let x = logit(i as f64, n);
        let term = |k: usize| {
            let factors = (first..first + 4).filter(|&j| j != k);
            let basis = factors.map(|j| (x - places[j]) / (places[k] - places[j]));
            logarithms[k] * basis.product::<f64>()
        };
        (first..first + 4).map(term).sum::<f64>().exp()
    };
    Some((0..n).map(value).collect())
}
