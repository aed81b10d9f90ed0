//! Search for the best split of a box, O(1) per candidate.

use ndarray::Axis;

use super::level::Level;
use super::profile::{Profile, Split, Sums, by_slab};

/// The contribution of the level's boxes to a profile, to be subtracted.
struct Correction {
    s: Sums,
    t: Sums,
}

/// Returns the best split of a box of the level, and the number of candidates.
///
/// The trace decreases by `[bα + aβ − 2(c−1)γ] / [ab − (c−1)²]` with `a = q₁ᵀSq₁`, `b = q₂ᵀSq₂`,
/// `c = q₁ᵀSq₂`, and α, β, γ the same with T. Gains that differ by at most `tie` are equal: the
/// lowest dimension is chosen, then the lowest position.
pub(super) fn best_split(level: &Level, part: usize, tie: f64) -> (Option<Split>, usize) {
    let part = &level.parts()[part];
    let mut candidates = Vec::new();
    for (profile, correction) in
        part.profiles.iter().zip(corrections(level, &part.cells, &part.profiles))
    {
        let (s, t) = (profile.s.corrected(&correction.s), profile.t.corrected(&correction.t));
        for i in 0..s.edge.len() - 1 {
            let ((a, c, b), (alpha, gamma, beta)) = (s.halves(i), t.halves(i));
            let gain =
                (b * alpha + a * beta - 2.0 * (c - 1.0) * gamma) / (a * b - (c - 1.0).powi(2));
            candidates.push(Split {
                dimension: profile.dimension,
                position: profile.low + i + 1,
                gain,
            });
        }
    }
    let largest = candidates.iter().map(|c| c.gain).fold(f64::NEG_INFINITY, f64::max);
    (candidates.iter().copied().find(|c| c.gain >= largest - tie), candidates.len())
}

/// Returns the cumulative sums of `Z Yᵀ` and `Z Hᵀ + H Zᵀ` on the block of a box.
///
/// O(d·|box|·boxes).
fn corrections(level: &Level, cells: &[usize], profiles: &[Profile]) -> Vec<Correction> {
    let mut out: Vec<Correction> = profiles
        .iter()
        .map(|p| Correction { s: Sums::zeros(p.s.edge.len()), t: Sums::zeros(p.s.edge.len()) })
        .collect();
    if profiles.is_empty() {
        return out;
    }
    let (y, z, h) = level.rows();
    let mut gathered = [Vec::new(), Vec::new(), Vec::new()];
    let mut slabs = [Vec::new(), Vec::new(), Vec::new()];
    for k in 0..level.parts().len() {
        for (values, matrix) in gathered.iter_mut().zip([y, z, h]) {
            let row = matrix.index_axis(Axis(0), k);
            values.clear();
            values.extend(cells.iter().map(|&cell| row[cell]));
        }
        let [y_total, z_total, h_total] = [0, 1, 2].map(|i| gathered[i].iter().sum::<f64>());
        for (profile, correction) in profiles.iter().zip(&mut out) {
            let length = profile.s.edge.len();
            let [y_slabs, z_slabs, h_slabs] = &mut slabs;
            let ys = by_slab(&gathered[0], length, profile.stride, y_slabs);
            let zs = by_slab(&gathered[1], length, profile.stride, z_slabs);
            let hs = by_slab(&gathered[2], length, profile.stride, h_slabs);
            let (mut y_sum, mut z_sum, mut h_sum) = (0.0, 0.0, 0.0);
            for i in 0..length {
                y_sum += ys[i];
                z_sum += zs[i];
                h_sum += hs[i];
                correction.s.diagonal[i] += z_sum * y_sum;
                correction.s.edge[i] += z_sum * y_total;
                correction.t.diagonal[i] += 2.0 * z_sum * h_sum;
                correction.t.edge[i] += z_sum * h_total + h_sum * z_total;
            }
        }
    }
    out
}
