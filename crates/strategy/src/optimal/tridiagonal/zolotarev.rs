//! Rational approximations of `x^-½` on an interval.
//!
//! With s² = t, `x^-½ = (2/π) ∫₀^∞ ds/(x + s²)`. The substitution `s = √a · sc(u, k')` with
//! `k = √(a/b)` maps the interval to (0, K'), and the midpoint rule of N nodes gives Zolotarev's
//! approximation `r(x) = Σ_j w_j/(x + t_j)` on [a, b] up to a factor near 1. The relative error
//! equioscillates and is at most `4q/(1 − q)` with `q = exp(−2πNK/K')`, from the Fourier series of
//! dn. *Reference*: Hale, Higham & Trefethen, Computing A^α, log(A) and related matrix functions by
//! contour integrals (2008), method 3.

use std::f64::consts::PI;

/// `r(x) = Σ_j weights[j]/(x + shifts[j])`, close to `x^-½`.
#[derive(Debug, Clone)]
pub(crate) struct InverseRoot {
    /// The shifts t_j > 0, ascending.
    pub shifts: Vec<f64>,
    /// The weights w_j > 0.
    pub weights: Vec<f64>,
    /// A bound on `|√x r(x) − 1|` over the interval.
    pub error: f64,
}

impl InverseRoot {
    /// Creates an approximation on [low, high] with an error of at most `error`.
    ///
    /// The number of nodes is a multiple of `multiple`. O(nodes).
    pub fn new(low: f64, high: f64, error: f64, multiple: usize) -> Self {
        let needed = ((4.0 / error + 1.0).ln() / Periods::of(low, high).rate).ceil() as usize;
        Self::with_nodes(low, high, needed.max(1).next_multiple_of(multiple))
    }

    /// Creates the approximation of a number of nodes on [low, high]. O(nodes).
    pub fn with_nodes(low: f64, high: f64, nodes: usize) -> Self {
        let Periods { k, quarter_complement, rate } = Periods::of(low, high);
        let q = (-rate * nodes as f64).exp();
        let step = quarter_complement / nodes as f64;
        let root = low.sqrt();
        let (mut shifts, mut weights) = (vec![0.0; nodes], vec![0.0; nodes]);
        for j in 0..nodes.div_ceil(2) {
            let Functions { sc, cn, dn } = Functions::at((j as f64 + 0.5) * step, k);
            shifts[j] = low * sc * sc;
            weights[j] = 2.0 * step * root / PI * dn / (cn * cn);
            // sc(K' − u) = 1/(k sc(u)).
            let mirror = nodes - 1 - j;
            shifts[mirror] = low / (k * sc * k * sc);
            weights[mirror] = 2.0 * step * root / PI * dn / (k * (sc * cn).powi(2));
        }
        InverseRoot { shifts, weights, error: 4.0 * q / (1.0 - q) }
    }
}

/// The elliptic integrals of an interval.
struct Periods {
    /// The modulus k.
    k: f64,
    /// K'.
    quarter_complement: f64,
    /// `q = exp(−rate · nodes)`.
    rate: f64,
}

impl Periods {
    fn of(low: f64, high: f64) -> Self {
        // K' vanishes for a modulus near 1: widen short intervals.
        let k = (low / high).sqrt().min(0.5);
        let complement = (1.0 - k * k).sqrt();
        let (quarter, quarter_complement) =
            (PI / (2.0 * agm(1.0, complement)), PI / (2.0 * agm(1.0, k)));
        Periods { k, quarter_complement, rate: 2.0 * PI * quarter / quarter_complement }
    }
}

/// Returns the arithmetic-geometric mean.
fn agm(a: f64, b: f64) -> f64 {
    let (mut a, mut b) = (a, b);
    while (a - b).abs() > 1e-15 * a {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    0.5 * (a + b)
}

/// Jacobi's elliptic functions of a modulus k' with complement k.
struct Functions {
    sc: f64,
    cn: f64,
    dn: f64,
}

impl Functions {
    /// Evaluates the functions at 0 < u ≤ K'/2 by ascending Landen transformations, which square
    /// the complement up to a factor. All terms keep their relative accuracy.
    fn at(u: f64, complement: f64) -> Self {
        if complement < 1e-14 {
            let (sinh, cosh) = (u.sinh(), u.cosh());
            return Functions { sc: sinh, cn: 1.0 / cosh, dn: 1.0 / cosh };
        }
        let modulus = (1.0 - complement * complement).sqrt();
        let next = (complement / (1.0 + modulus)).powi(2);
        let next_squared = 1.0 - next * next;
        let f = Functions::at(u / (1.0 + next), next);
        let sn = f.sc * f.cn;
        let dn2 = f.dn * f.dn;
        let cn = (1.0 + next) * (dn2 - next) / (next_squared * f.dn);
        Functions {
            sc: (1.0 + next) * sn * f.cn / f.dn / cn,
            cn,
            dn: (1.0 - next) * (dn2 + next) / (next_squared * f.dn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_error_is_the_largest_error_on_the_interval() {
        for (low, high) in [(1.0, 10.0), (0.3, 1e4), (1e-3, 1e9), (1.0, 1e20)] {
            for target in [1e-2, 1e-5, 1e-9, 1e-13] {
                let root = InverseRoot::new(low, high, target, 1);
                assert!(root.error <= target);
                let mut largest = 0.0f64;
                for i in 0..=4000 {
                    let x = low * ((high / low).ln() * f64::from(i) / 4000.0).exp();
                    let terms = root.shifts.iter().zip(&root.weights).map(|(t, w)| w / (x + t));
                    largest = largest.max((x.sqrt() * terms.sum::<f64>() - 1.0).abs());
                }
                let rounding = 4e-15;
                assert!(largest <= root.error + rounding, "{largest} > {}", root.error);
                assert!(largest >= 0.99 * root.error - rounding, "{largest} < {}", root.error);
            }
        }
    }

    #[test]
    fn shifts_are_ascending_and_their_number_is_a_multiple() {
        let root = InverseRoot::new(0.5, 2e6, 1e-7, 8);
        assert_eq!(root.shifts.len() % 8, 0);
        assert!(root.shifts.is_sorted() && root.weights.iter().all(|&w| w > 0.0));
        // A single point.
        assert!(InverseRoot::new(3.0, 3.0, 1e-12, 1).error <= 1e-12);
    }
}
