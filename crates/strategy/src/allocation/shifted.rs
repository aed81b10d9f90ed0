//! The law of outputs shifted to the nearest ones where the likelihood ratio is e^ε.
//!
//! An output x with mean Σ_j c_j s_j, c ≥ 0, has the density `e^{⟨c, y⟩ − cᵀAc/2}` relative to Q. The outputs
//! with L ≥ e^ε that are nearest to 0, at least among those near them, have c = κπ with the
//! posterior probabilities π of the bins there. Here L is the mean of the e^{v_j} at the output and not
//! at its mean Ac: with ⟨c, y⟩ fixed, v_j varies with the variance A_jj − (Ac)_j²/cᵀAc, so that the mean
//! of e^{v_j} is `exp((Ac)_j − (Ac)_j²/2cᵀAc)`. The shifts are found by fixed-point steps from the bins
//! near each one, and from all bins alike: with many bins and a small ε, many bins share the output.
//! They are mixed with weights proportional to `e^{−cᵀAc/2}`. Any c gives valid samples; the better ones
//! give less variance.

use ndarray::aview1;
use rand::RngExt;
use rand_chacha::ChaCha12Rng;

use super::outputs::{self, Scaled};

/// Fixed-point steps.
const STEPS: usize = 6;

/// Maximum number of Newton steps for κ.
const NEWTON_STEPS: usize = 30;

/// Precision of ln L at a shift.
const PRECISION: f64 = 1e-3;

/// Smallest c_j, as a share of the largest.
const MIN_SHARE: f64 = 0.02;

/// Bins with at least this share of the largest c_j are not the start of another shift.
const COVERED: f64 = 0.5;

/// A mixture of shifts.
#[derive(Debug)]
pub(super) struct Shifted {
    shifts: Vec<Shift>,
}

#[derive(Debug)]
struct Shift {
    /// The first j with c_j > 0, and c from there to the last one.
    first: usize,
    entries: Vec<f64>,
    /// Ac.
    mean: Vec<f64>,
    /// cᵀAc/2.
    half_norm: f64,
    /// The probability of this and all earlier shifts.
    cumulative: f64,
    /// The logarithm of the probability.
    ln_probability: f64,
}

impl Shifted {
    /// Finds the shifts. O(shifts · b · entries).
    pub fn new(scaled: &Scaled, epsilon: f64) -> Self {
        let mut covered = vec![false; scaled.count()];
        let mut shifts: Vec<Shift> = Shift::of_all(scaled, epsilon).into_iter().collect();
        for bin in 0..scaled.count() {
            if covered[bin] {
                continue;
            }
            let Some(shift) = Shift::near(bin, scaled, epsilon) else { continue };
            let largest = shift.entries.iter().copied().fold(0.0, f64::max);
            for (covered, x) in covered[shift.first..].iter_mut().zip(&shift.entries) {
                *covered |= *x >= COVERED * largest;
            }
            shifts.push(shift);
        }
        let least = shifts.iter().map(|x| x.half_norm).fold(f64::INFINITY, f64::min);
        let total: f64 = shifts.iter().map(|x| (least - x.half_norm).exp()).sum();
        let mut cumulative = 0.0;
        for shift in &mut shifts {
            shift.ln_probability = least - shift.half_norm - total.ln();
            cumulative += shift.ln_probability.exp();
            shift.cumulative = cumulative;
        }
        Shifted { shifts }
    }

    /// Returns whether there are no shifts.
    pub fn is_empty(&self) -> bool {
        self.shifts.is_empty()
    }

    /// Draws a shift, and adds Ac to `shift`.
    pub fn draw(&self, random: &mut ChaCha12Rng, shift: &mut [f64]) {
        let number = random.random::<f64>();
        let found = self.shifts.iter().find(|x| number < x.cumulative).or(self.shifts.last());
        if let Some(found) = found {
            shift.iter_mut().zip(&found.mean).for_each(|(shift, x)| *shift += x);
        }
    }

    /// Returns the logarithm of the density relative to Q at y. O(b) per shift.
    pub fn ln_density(&self, y: &[f64], terms: &mut Vec<f64>) -> f64 {
        terms.clear();
        terms.extend(self.shifts.iter().map(|shift| {
            let product = shift.product(y);
            shift.ln_probability + product - shift.half_norm
        }));
        outputs::exponentials(terms) + (terms.len() as f64).ln()
    }
}

impl Shift {
    /// Returns ⟨c, y⟩.
    fn product(&self, y: &[f64]) -> f64 {
        aview1(&self.entries).dot(&aview1(&y[self.first..][..self.entries.len()]))
    }

    /// Finds the shift from all bins alike, or none if it is not finite.
    fn of_all(scaled: &Scaled, epsilon: f64) -> Option<Shift> {
        Shift::from(vec![1.0; scaled.count()], scaled, epsilon)
    }

    /// Finds the shift near a bin, or none if it is not finite.
    fn near(bin: usize, scaled: &Scaled, epsilon: f64) -> Option<Shift> {
        let count = scaled.count();
        let diagonal = scaled.half_diagonal.iter().fold(0.0, |most, x| f64::max(most, 2.0 * x));
        let first = (epsilon + (count as f64).ln()) / diagonal + 0.5;
        let mut posterior: Vec<f64> = scaled.gram.row(bin).iter().map(|x| first * x).collect();
        outputs::exponentials(&mut posterior);
        Shift::from(posterior, scaled, epsilon)
    }

    /// Finds a shift by steps from posterior probabilities, which need not add up to 1, or none if it is
    /// not finite. O(b · entries) per step.
    fn from(mut posterior: Vec<f64>, scaled: &Scaled, epsilon: f64) -> Option<Shift> {
        let count = scaled.count();
        let mut found = None;
        for _ in 0..STEPS {
            let largest = posterior.iter().copied().fold(0.0, f64::max);
            posterior.iter_mut().filter(|x| **x < MIN_SHARE * largest).for_each(|x| *x = 0.0);
            let kept = |x: &f64| *x > 0.0;
            let first = posterior.iter().position(kept)?;
            let last = posterior.iter().rposition(kept)?;
            let sum: f64 = posterior.iter().sum();
            let mut entries: Vec<f64> = posterior[first..=last].iter().map(|x| x / sum).collect();
            let mut mean = vec![0.0; count];
            for (j, x) in entries.iter().enumerate().filter(|(_, x)| kept(x)) {
                let row = scaled.gram.row(first + j);
                mean.iter_mut().zip(row).for_each(|(mean, a)| *mean += *x * a);
            }
            // The halves (Ac)_j²/2cᵀAc do not depend on κ.
            let norm = aview1(&entries).dot(&aview1(&mean[first..=last]));
            let halves: Vec<f64> = mean.iter().map(|x| 0.5 * x * x / norm).collect();
            let size = size(&mean, &halves, epsilon, &mut posterior)?;
            entries.iter_mut().for_each(|x| *x *= size);
            mean.iter_mut().for_each(|x| *x *= size);
            let (cumulative, ln_probability) = (1.0, 0.0);
            let half_norm = 0.0;
            let mut shift = Shift { first, entries, mean, half_norm, cumulative, ln_probability };
            shift.half_norm = 0.5 * shift.product(&shift.mean);
            found = Some(shift);
        }
        found.filter(|shift| shift.half_norm.is_finite())
    }
}

/// Returns the κ at which the mean of `exp(κ mean_j − halves_j)` is e^ε, by Newton's method, and the
/// posterior probabilities there up to a factor.
fn size(mean: &[f64], halves: &[f64], epsilon: f64, posterior: &mut [f64]) -> Option<f64> {
    let mut size = 1.0;
    for _ in 0..NEWTON_STEPS {
        let ratios = posterior.iter_mut().zip(mean).zip(halves);
        ratios.for_each(|((v, mean), half)| *v = size * mean - half);
        let ln_ratio = outputs::exponentials(posterior);
        if (ln_ratio - epsilon).abs() <= PRECISION * epsilon.min(1.0) {
            return Some(size);
        }
        let total: f64 = posterior.iter().sum();
        let slope = posterior.iter().zip(mean).map(|(x, mean)| x * mean).sum::<f64>() / total;
        size += (epsilon - ln_ratio) / slope;
        if !size.is_finite() {
            return None;
        }
    }
    Some(size)
}
