//! A split of a level, by a rank-2 update.

use ndarray::{Array1, Array2};

use super::inverse::Inverse;
use super::level::{Level, append};
use super::profile::Split;
use super::square::add_pair;
use crate::error::Result;

impl Level {
    /// Splits a box. O(n b).
    ///
    /// With `U = [q₁ q₂]` and `J = [[0,1],[1,0]]` the split changes the strategy's Gram matrix by
    /// `−U J Uᵀ`, hence its inverse S' by `−(S'U) M⁻¹ (S'U)ᵀ` with `M = UᵀS'U − J`. In the
    /// coordinates of the boxes, with E before and E' after the split and `E = E' L`:
    ///
    /// ```text
    /// ζ = [e₁ e₂] − L K EᵀSU,   S'U = SU − Z EᵀSU = Y'ζ,   K' = L K Lᵀ + ζ M⁻¹ ζᵀ
    /// tr' = tr − ⟨M⁻¹, ζᵀQ'ζ⟩
    /// Z' = Z Lᵀ + S'U M⁻¹ ζᵀ,   H' = F' − ½ Z'Q'
    /// ```
    pub(super) fn split(&mut self, inverse: &Inverse, part: usize, split: &Split) -> Result<()> {
        let last = self.parts.len();
        let (whole_y, whole_f) =
            (self.over_parts(self.y.row(part)), self.over_parts(self.f.row(part)));
        self.refine(inverse, part, split)?;
        // Products of the second half with the boxes after the split; those of the first half are
        // the rest of the products of the whole box.
        let (to_y, to_f) = (self.over_parts(self.y.row(last)), self.over_parts(self.f.row(last)));
        let second = (merged(&to_y, part), merged(&to_f, part));
        let first = (&whole_y - &second.0, &whole_f - &second.1);
        let k_first = self.k.times(&first.0);
        let k_second = self.k.times(&second.0);

        let [y_first, y_second, f_second] = combinations(&self.z, [&first.0, &second.0, &second.1]);
        let su = [&self.y.row(part) - &y_first, &self.y.row(last) - &y_second];
        let products = [first.0[part] - to_y[part], to_y[part], to_y[last]];
        let m = [
            products[0] - first.0.dot(&k_first),
            products[1] - first.0.dot(&k_second) - 1.0,
            products[2] - second.0.dot(&k_second),
        ];
        let determinant = m[0] * m[2] - m[1] * m[1];
        let m = [m[2] / determinant, -m[1] / determinant, m[0] / determinant];

        let mut zeta = [-lifted(&k_first, part), -lifted(&k_second, part)];
        zeta[0][part] += 1.0;
        zeta[1][last] += 1.0;
        let weights = times_symmetric(&zeta, m);
        self.k.grow();
        let row = lifted(&self.k.view().row(part).iter().copied().take(last).collect(), part);
        self.k.set(last, row.view());
        self.k.add_outer(&weights, &zeta);

        let mut row = &lifted(&whole_f, part) - &to_f;
        row[part] = first.1[part] - to_f[part];
        row[last] = to_f[part];
        self.q.grow();
        self.q.set(part, row.view());
        self.q.set(last, to_f.view());
        let q_zeta = [self.q.times(&zeta[0]), self.q.times(&zeta[1])];
        self.trace -= m[0] * zeta[0].dot(&q_zeta[0])
            + 2.0 * m[1] * zeta[0].dot(&q_zeta[1])
            + m[2] * zeta[1].dot(&q_zeta[1]);

        let row = self.z.row(part).to_owned();
        append(&mut self.z, row.view())?;
        add_outer(&mut self.z, &weights, &su, 1.0);
        // Only the columns of the two halves of Z Lᵀ Q' are new, and their sum is the old column.
        let h_second = &self.f.row(last) - &(0.5 * f_second);
        let h_first = &self.h.row(part) - &h_second;
        self.h.row_mut(part).assign(&h_first);
        append(&mut self.h, h_second.view())?;
        add_outer(&mut self.h, &times_symmetric(&q_zeta, m), &su, -0.5);
        Ok(())
    }
}

/// Returns `Lᵀ v`: products with the boxes before the split from those with the boxes after it.
fn merged(v: &Array1<f64>, part: usize) -> Array1<f64> {
    let last = v.len() - 1;
    let mut out: Array1<f64> = v.iter().copied().take(last).collect();
    out[part] += v[last];
    out
}

/// Returns `L v`: the coefficients of the same vector in the boxes after the split.
fn lifted(v: &Array1<f64>, part: usize) -> Array1<f64> {
    v.iter().copied().chain([v[part]]).collect()
}

/// Returns `v M` for a symmetric 2×2 matrix `M = [[m₀, m₁], [m₁, m₂]]`.
fn times_symmetric(v: &[Array1<f64>; 2], m: [f64; 3]) -> [Array1<f64>; 2] {
    [&v[0] * m[0] + &v[1] * m[1], &v[0] * m[1] + &v[1] * m[2]]
}

/// Returns three combinations of the rows of a matrix, in one pass over it.
fn combinations(rows: &Array2<f64>, weights: [&Array1<f64>; 3]) -> [Array1<f64>; 3] {
    let n = rows.ncols();
    let [mut a, mut b, mut c] = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
    for (i, row) in rows.rows().into_iter().enumerate() {
        let [wa, wb, wc] = weights.map(|w| w[i]);
        // Slices of equal length let the compiler vectorise the loop.
        let row = row.to_slice().unwrap_or_default();
        for (((x, a), b), c) in row.iter().zip(&mut a).zip(&mut b).zip(&mut c) {
            *a += wa * x;
            *b += wb * x;
            *c += wc * x;
        }
    }
    [a.into(), b.into(), c.into()]
}

/// Adds `scale · (weights[0][i] · vectors[0] + weights[1][i] · vectors[1])` to row i.
fn add_outer(
    rows: &mut Array2<f64>,
    weights: &[Array1<f64>; 2],
    vectors: &[Array1<f64>; 2],
    scale: f64,
) {
    for (i, row) in rows.rows_mut().into_iter().enumerate() {
        add_pair(row.into_slice(), [scale * weights[0][i], scale * weights[1][i]], vectors);
    }
}
