//! The derivative of the dual function along a direction of the weights, in O(cells · nodes).
//!
//! The recurrences of [`evaluation`](super::evaluation) are differentiated:
//!
//! ```text
//! σ'_{i+1} = m'_{i+1} + ρ_{i+1}² (σ'_i − t p'_i σ_i²)/(1 + t p_i σ_i)²
//! κ'_{i−1} = p'_{i−1} + ρ_i² (κ'_i − t m'_i κ_i²)/(1 + t m_i κ_i)²
//! e'_i = Σ_j w_j (σ'_i − t_j σ_i² κ'_i)/(1 + t_j σ_i κ_i)²
//! v'_i = a_i² Σ_j w_j (κ'_i − t_j κ_i² σ'_i)/(1 + t_j σ_i κ_i)²
//! ```

use super::zolotarev::InverseRoot;
use crate::workload::Recurrence;
use matmech_linalg::{Loops, Wide};

/// Number of nodes that are computed together.
const LANES: usize = 8;

/// One number per node of a group.
type Lanes = [f64; LANES];

/// The derivatives of m and p.
pub(super) struct Direction {
    /// p'.
    pub queries: Vec<f64>,
    /// m'.
    pub cells: Vec<f64>,
}

/// The derivatives of e and v.
#[derive(Debug)]
pub(super) struct Tangent {
    /// e'.
    pub queries: Vec<f64>,
    /// v'.
    pub cells: Vec<f64>,
}

/// Returns e' and v' along a direction, for the nodes of an approximation. Memory: 128 bytes per
/// cell.
pub(super) fn tangent(
    recurrence: &Recurrence,
    cells: &[f64],
    queries: &[f64],
    root: &InverseRoot,
    direction: &Direction,
) -> Tangent {
    let n = cells.len();
    let (shifts, weights) = (root.shifts.as_chunks().0, root.weights.as_chunks().0);
    let mut sweep = Tangent { queries: vec![0.0; n], cells: vec![0.0; n] };
    let mut stored = vec![([0.0; LANES], [0.0; LANES]); n];
    for (&shifts, &weights) in shifts.iter().zip(weights) {
        Wide::detect().run(Sweep {
            recurrence,
            cells,
            queries,
            shifts,
            weights,
            direction,
            stored: &mut stored,
            sums: &mut sweep,
        });
    }
    let gains = recurrence.squared_gains();
    sweep.cells.iter_mut().zip(gains).for_each(|(v, a)| *v *= a);
    sweep
}

/// The recurrences and their derivatives for one group of nodes.
struct Sweep<'a> {
    recurrence: &'a Recurrence,
    /// m.
    cells: &'a [f64],
    /// p.
    queries: &'a [f64],
    shifts: Lanes,
    weights: Lanes,
    direction: &'a Direction,
    /// σ and σ' of every step.
    stored: &'a mut [(Lanes, Lanes)],
    sums: &'a mut Tangent,
}

impl Sweep<'_> {
    /// Returns ρ_i², m_i and p_{i−1}, the last two with their derivatives.
    #[inline(always)]
    fn step(&self, i: usize) -> (f64, (f64, f64), (f64, f64)) {
        let query = match i {
            0 => (0.0, 0.0),
            _ => (self.queries[i - 1], self.direction.queries[i - 1]),
        };
        (self.recurrence.squared_factors()[i], (self.cells[i], self.direction.cells[i]), query)
    }
}

impl Loops for Sweep<'_> {
    #[inline(always)]
    fn run(self) {
        let n = self.cells.len();
        let (t, w) = (&self.shifts, &self.weights);
        let (mut sigma, mut change) = ([self.cells[0]; LANES], [self.direction.cells[0]; LANES]);
        self.stored[0] = (sigma, change);
        for i in 1..n {
            let (factor, (m, dm), (p, dp)) = self.step(i);
            for l in 0..LANES {
                let inverse = 1.0 / (1.0 + t[l] * p * sigma[l]);
                change[l] =
                    dm + factor * (change[l] - t[l] * dp * sigma[l] * sigma[l]) * inverse * inverse;
                sigma[l] = m + factor * sigma[l] * inverse;
            }
            self.stored[i] = (sigma, change);
        }
        let (mut kappa, mut slope) =
            ([self.queries[n - 1]; LANES], [self.direction.queries[n - 1]; LANES]);
        for i in (0..n).rev() {
            let (sigma, change) = &self.stored[i];
            let (factor, (m, dm), (p, dp)) = self.step(i);
            let (mut e, mut v) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                let inverse = 1.0 / (1.0 + t[l] * sigma[l] * kappa[l]);
                let weight = w[l] * inverse * inverse;
                e[l] = weight * (change[l] - t[l] * sigma[l] * sigma[l] * slope[l]);
                v[l] = weight * (slope[l] - t[l] * kappa[l] * kappa[l] * change[l]);
                let inverse = 1.0 / (1.0 + t[l] * m * kappa[l]);
                slope[l] =
                    dp + factor * (slope[l] - t[l] * dm * kappa[l] * kappa[l]) * inverse * inverse;
                kappa[l] = p + factor * kappa[l] * inverse;
            }
            self.sums.queries[i] += e.iter().sum::<f64>();
            self.sums.cells[i] += v.iter().sum::<f64>();
        }
    }
}
