//! Laws of likelihood ratios on a geometric grid.

use std::f64::consts::SQRT_2;

/// Mass under P that [`RatioLaw::trimmed`] moves from the top of the grid to 0.
const NEGLIGIBLE: f64 = 1e-20;

/// Standard deviations of a normal law that are kept; the mass beyond is 5e-22.
const TAIL: f64 = 9.6;

/// The law of a likelihood ratio L ≥ 0 with E L ≤ 1 on the grid 0, `e^{hi}` for consecutive integers
/// i, or of b times such a ratio.
///
/// Every operation replaces a law by one that is larger in convex order: mass between two points
/// of the grid goes to both, with the same mean. Mass above the grid is moved to 0, and its mean is
/// kept as lost mass. So [`delta`](Self::delta) is an upper bound.
///
/// *Source*: Doroshenko et al., Connect the dots: tighter discrete approximations of privacy loss
/// distributions (2022), for products; sums are new here.
#[derive(Debug, Clone)]
pub struct RatioLaw {
    /// h.
    step: f64,
    /// i of the first point.
    first: i64,
    /// The mass at `e^{h(first + k)}`.
    mass: Vec<f64>,
    /// The mass at 0.
    zero: f64,
    /// Σ mass·value of what was moved from above the grid to 0.
    lost: f64,
}

/// Φ(x), accurate in the lower tail.
pub fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// Φ⁻¹(p) for p from 0 to 1, by bisection on [`normal_below`].
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if normal_below(middle) < p { low = middle } else { high = middle }
    }
    if p > 0.0 { high } else { f64::NEG_INFINITY }
}

impl RatioLaw {
    /// Returns the law of `scale · e^{sξ − s²/2} + constant` for a standard normal ξ, on points with
    /// logarithms from `low` up. O(points).
    ///
    /// Expects s > 0, scale > 0, constant ≥ 0, h > 0.
    pub fn shifted_lognormal(
        deviation: f64,
        scale: f64,
        constant: f64,
        step: f64,
        low: f64,
    ) -> Self {
        let (s, ln_scale) = (deviation, scale.ln());
        // ln L under P is at most s²/2 + TAIL·s with the first summand alone.
        let top = (scale * (0.5 * s * s + TAIL * s).exp() + constant).ln();
        let bottom = match constant > 0.0 {
            true => constant.ln().max(low),
            false => (ln_scale - 0.5 * s * s - TAIL * s).max(low),
        };
        let first = (bottom / step).floor() as i64;
        let last = ((top / step).ceil() as i64).max(first + 1);
        // Masses under Q and means of everything below a point.
        let below = |value: f64| match value > constant {
            false => (0.0, 0.0, 1.0, 1.0),
            true => {
                let x = ((value - constant).ln() - ln_scale) / s;
                let (q, p) = (x + 0.5 * s, x - 0.5 * s);
                (normal_below(q), normal_below(p), normal_below(-q), normal_below(-p))
            }
        };
        let mut law = RatioLaw {
            step,
            first,
            mass: vec![0.0; (last - first + 1) as usize],
            zero: 0.0,
            lost: 0.0,
        };
        let start = law.value(0);
        let mut previous = below(start);
        law.place_below_first(previous.0, scale * previous.1 + constant * previous.0);
        for k in 1..law.mass.len() {
            let (low, high) = (law.value(k - 1), law.value(k));
            let next = below(high);
            // Differences of the smaller tail.
            let difference = |a: f64, b: f64, above_a: f64, above_b: f64| match a < 0.5 {
                true => b - a,
                false => above_a - above_b,
            };
            let q = difference(previous.0, next.0, previous.2, next.2).max(0.0);
            let p = difference(previous.1, next.1, previous.3, next.3).max(0.0);
            let upper = (scale * p + (constant - low) * q) / (high - low);
            let upper = upper.clamp(0.0, q);
            law.mass[k] += upper;
            law.mass[k - 1] += q - upper;
            previous = next;
        }
        law.zero += previous.2;
        law.lost += scale * previous.3 + constant * previous.2;
        law
    }

    /// Returns the value of point k.
    fn value(&self, k: usize) -> f64 {
        (self.step * (self.first + k as i64) as f64).exp()
    }

    /// Splits mass below the first point between 0 and it.
    fn place_below_first(&mut self, mass: f64, mean: f64) {
        let upper = (mean / self.value(0)).min(mass);
        self.mass[0] += upper;
        self.zero += mass - upper;
    }

    /// Returns the same law without points of negligible mass at both ends.
    fn trimmed(mut self) -> Self {
        let mut top = self.mass.len();
        let mut moved = 0.0;
        while top > 1 {
            let mean = self.mass[top - 1] * self.value(top - 1);
            if moved + mean > NEGLIGIBLE {
                break;
            }
            (moved, top) = (moved + mean, top - 1);
            self.zero += self.mass[top];
        }
        self.lost += moved;
        self.mass.truncate(top);
        let (mut bottom, mut mass, mut mean) = (0, 0.0, 0.0);
        while bottom + 1 < self.mass.len() && mass + self.mass[bottom] <= NEGLIGIBLE {
            mass += self.mass[bottom];
            mean += self.mass[bottom] * self.value(bottom);
            bottom += 1;
        }
        self.mass.drain(..bottom);
        self.first += bottom as i64;
        self.place_below_first(mass, mean);
        self
    }

    /// Returns the law of the sum of two independent values on grids of one step. O(points²).
    ///
    /// `e^{hi} + e^{hj}` with j = i + d is `e^{h(j + ln(1 + e^{−hd})/h)}`: the two points next to it
    /// depend on d only.
    #[must_use]
    pub fn sum(&self, other: &Self) -> Self {
        let first = self.first.min(other.first);
        let end = |law: &Self| law.first + law.mass.len() as i64;
        let last = end(self).max(end(other)) + (2f64.ln() / self.step).ceil() as i64 + 1;
        let mut out = RatioLaw {
            step: self.step,
            first,
            mass: vec![0.0; (last - first + 1) as usize],
            zero: self.zero * other.zero,
            // A value x moved to 0 loses at most x of (x + y − K)₊.
            lost: self.lost + other.lost,
        };
        for (law, with) in [(self, other.zero), (other, self.zero)] {
            let offset = (law.first - first) as usize;
            let to = out.mass[offset..].iter_mut().zip(&law.mass);
            to.for_each(|(to, mass)| *to += mass * with);
        }
        let ratio = self.step.exp_m1();
        let mut pairs = |low: &Self, high: &Self, from: i64| {
            // d = j − i for the points i of `low` and j of `high`.
            let largest = end(high) - 1 - low.first;
            for d in from..=largest {
                let gap = (-self.step * d as f64).exp();
                let whole = (gap.ln_1p() / self.step).floor();
                let base = (whole * self.step).exp();
                let upper = ((1.0 + gap - base) / (base * ratio)).clamp(0.0, 1.0);
                let start = high.first.max(low.first + d);
                let stop = end(high).min(end(low) + d);
                if start >= stop {
                    continue;
                }
                let count = (stop - start) as usize;
                let of_high = &high.mass[(start - high.first) as usize..][..count];
                let of_low = &low.mass[(start - d - low.first) as usize..][..count];
                let to = (start + whole as i64 - first) as usize;
                let out = &mut out.mass[to..=to + count];
                let lower = 1.0 - upper;
                for k in 0..count {
                    let mass = of_high[k] * of_low[k];
                    out[k] += lower * mass;
                    out[k + 1] += upper * mass;
                }
            }
        };
        pairs(self, other, 0);
        pairs(other, self, 1);
        out.trimmed()
    }

    /// Returns the law of the product of two independent ratios on grids of one step. O(points²).
    #[must_use]
    pub fn product(&self, other: &Self) -> Self {
        let mut mass = vec![0.0; self.mass.len() + other.mass.len() - 1];
        let (short, long) = match self.mass.len() <= other.mass.len() {
            true => (self, other),
            false => (other, self),
        };
        for (k, weight) in short.mass.iter().enumerate() {
            let to = mass[k..].iter_mut().zip(&long.mass);
            to.for_each(|(to, mass)| *to += weight * mass);
        }
        RatioLaw {
            step: self.step,
            first: self.first + other.first,
            mass,
            zero: self.zero + other.zero - self.zero * other.zero,
            // A value x moved to 0 loses at most E xY ≤ x.
            lost: self.lost + other.lost,
        }
        .trimmed()
    }

    /// Returns the result of an associative operation on `count` copies, by doubling.
    #[must_use]
    pub fn repeated(&self, count: usize, join: impl Fn(&Self, &Self) -> Self) -> Self {
        let mut result = self.clone();
        let bits = usize::BITS - count.leading_zeros();
        for bit in (0..bits.saturating_sub(1)).rev() {
            result = join(&result, &result);
            if count >> bit & 1 == 1 {
                result = join(&result, self);
            }
        }
        result
    }

    /// Returns upper bounds on `E (ℓG − e^ε)₊` and `E (1 − e^ε ℓG)₊`, for ℓ the ratio of which this
    /// is the law of `count` times, and an independent G = `e^{√c ξ − c/2}`.
    ///
    /// These are the largest δ of the two directions. The Gaussian factor is integrated exactly.
    pub fn delta(&self, count: usize, common: f64, epsilon: f64) -> f64 {
        let (ln_count, root) = ((count as f64).ln(), common.sqrt());
        let bound = epsilon.exp();
        let (mut added, mut removed) = (self.lost / count as f64, self.zero);
        for (k, &mass) in self.mass.iter().enumerate() {
            let ln = self.step * (self.first + k as i64) as f64 - ln_count;
            let value = ln.exp();
            let (above, below) = if common > 0.0 {
                let (x, y) = ((ln - epsilon) / root, (ln + epsilon) / root);
                let half = 0.5 * root;
                let above = value * normal_below(x + half) - bound * normal_below(x - half);
                (above, normal_below(half - y) - bound * value * normal_below(-y - half))
            } else {
                (value - bound, 1.0 - bound * value)
            };
            added += mass * above.max(0.0);
            removed += mass * below.max(0.0);
        }
        added.max(removed)
    }
}
