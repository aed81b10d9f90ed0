//! One attribute in a functional-ANOVA basis of its weights, and derivatives by the weights.

use ndarray::{Array1, Array2, Axis as Dimension};

use crate::error::Result;
use matmech_linalg as linalg;

/// The relative gap up to which eigenvalues count as equal.
///
/// A function of the Gram does not depend on the basis of their eigenspace.
const MAX_RELATIVE_GAP: f64 = 1e-11;

/// The share of `|Su|` up to which `e_aᵀSu` counts as zero, as it is by symmetry for half of the
/// vectors of ranges. The trace of √K is an even function of it.
const MIN_COUPLING: f64 = 1e-13;

/// `S = diag(u) G diag(u)` with u = √m, in the orthonormal basis Q = (u, e_1, …, e_r).
///
/// The e_a are the eigenvectors of S on the complement of u.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    u: Array1<f64>,
    basis: Array2<f64>,
    gram: Array2<f64>,
    /// `uᵀSu`.
    pub s00: f64,
    /// `e_aᵀSu`.
    pub s: Array1<f64>,
    /// The eigenvalues of S on the complement of u.
    pub w: Array1<f64>,
    /// The Gram of queries on the attribute alone in the same basis, if it is another one.
    pub alone: Option<Alone>,
}

/// The Gram of queries on the attribute alone, if it is not a multiple of the Gram in pairs.
#[derive(Debug, Clone)]
pub(super) struct Alone {
    gram: Array2<f64>,
    /// `Qᵀ diag(u) G diag(u) Q`.
    pub matrix: Array2<f64>,
}

/// The derivatives of a function by the parts of an [`Axis`].
#[derive(Debug, Clone)]
pub(super) struct ByAxis {
    /// The derivative by `s00`.
    pub s00: f64,
    /// The derivative by s.
    pub s: Array1<f64>,
    /// The derivative by w.
    pub w: Array1<f64>,
    /// The derivative by the matrix of `alone`, symmetric.
    pub alone: Option<Array2<f64>>,
}

impl Axis {
    /// Computes the basis for a Gram over n values.
    ///
    /// The weights are positive and sum to 1. O(n³) time.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn of(gram: &Array2<f64>, alone: Option<&Array2<f64>>, weights: &[f64]) -> Result<Self> {
        let u: Array1<f64> = weights.iter().map(|m| m.sqrt()).collect();
        let n = u.len();
        // The reflection of the first unit vector to −u has the complement of u in its other
        // columns.
        let mut v = u.clone();
        v[0] += 1.0;
        let norm = v.dot(&v);
        let complement = Array2::from_shape_fn((n, n - 1), |(i, j)| {
            f64::from(u8::from(i == j + 1)) - 2.0 * v[i] * v[j + 1] / norm
        });
        let scaled = scaled(gram, &u);
        let inside =
            linalg::matmul(complement.t(), linalg::matmul(scaled.view(), complement.view()).view());
        let eigen = linalg::eigh(inside.view())?;
        let vectors = linalg::matmul(complement.view(), eigen.vectors.view());
        let mut basis = Array2::zeros((n, n));
        basis.column_mut(0).assign(&u);
        for (k, column) in vectors.axis_iter(Dimension(1)).enumerate() {
            basis.column_mut(k + 1).assign(&column);
        }
        let image = scaled.dot(&u);
        let alone = alone.map(|gram| {
            let scaled = self::scaled(gram, &u);
            let matrix =
                linalg::matmul(basis.t(), linalg::matmul(scaled.view(), basis.view()).view());
            Alone { gram: gram.clone(), matrix }
        });
        let negligible = MIN_COUPLING * image.dot(&image).sqrt();
        Ok(Axis {
            s00: u.dot(&image),
            s: vectors.t().dot(&image).mapv(|s| if s.abs() > negligible { s } else { 0.0 }),
            w: eigen.values.mapv(|w| w.max(0.0)),
            u,
            basis,
            gram: gram.clone(),
            alone,
        })
    }

    /// Returns the rank r = n − 1.
    pub fn rank(&self) -> usize {
        self.w.len()
    }

    /// Returns zero derivatives.
    pub fn no_derivative(&self) -> ByAxis {
        let r = self.rank();
        ByAxis {
            s00: 0.0,
            s: Array1::zeros(r),
            w: Array1::zeros(r),
            alone: self.alone.as_ref().map(|_| Array2::zeros((r + 1, r + 1))),
        }
    }

    /// Returns the derivative by z, with weights = softmax(z).
    ///
    /// The function depends on S and u only, and not on the choice of the basis. This determines
    /// its derivative by the off-diagonal entries of the diagonal block: with H the symmetric
    /// derivative by `S̃ = QᵀSQ`, `H S̃` (plus the same for the queries alone) is symmetric on the
    /// complement of u. Then `dQ = QΩ` with `Ω_{b0} = e_b·du` gives
    /// `dF = ⟨QHQᵀ, dS⟩ + 2 tr(H S̃ Ω)`. O(n³) time.
    pub fn by_logits(&self, by: &ByAxis) -> Vec<f64> {
        let n = self.u.len();
        let mut matrix = Array2::zeros((n, n));
        matrix[[0, 0]] = self.s00;
        let mut h = Array2::zeros((n, n));
        h[[0, 0]] = by.s00;
        for b in 1..n {
            (matrix[[0, b]], matrix[[b, 0]]) = (self.s[b - 1], self.s[b - 1]);
            matrix[[b, b]] = self.w[b - 1];
            (h[[0, b]], h[[b, 0]], h[[b, b]]) = (by.s[b - 1] / 2.0, by.s[b - 1] / 2.0, by.w[b - 1]);
        }
        let alone = match (&self.alone, &by.alone) {
            (Some(alone), Some(by)) => linalg::matmul(by.view(), alone.matrix.view()),
            _ => Array2::zeros((n, n)),
        };
        let top = self.w.iter().copied().fold(0.0, f64::max);
        for b in 1..n {
            for c in 1..n {
                let distance = self.w[c - 1] - self.w[b - 1];
                if distance.abs() > MAX_RELATIVE_GAP * top {
                    let commutator = h[[c, 0]] * self.s[b - 1] - h[[b, 0]] * self.s[c - 1];
                    h[[b, c]] = (commutator + alone[[c, b]] - alone[[b, c]]) / distance;
                }
            }
        }
        let mut gradient = by_weights(&self.basis, &h, &self.gram, &self.u);
        if let (Some(alone), Some(by)) = (&self.alone, &by.alone) {
            gradient += &by_weights(&self.basis, by, &alone.gram, &self.u);
        }
        let product = linalg::matmul(h.view(), matrix.view()) + alone;
        for b in 1..n {
            gradient.scaled_add(2.0 * (product[[0, b]] - product[[b, 0]]), &self.basis.column(b));
        }
        // m = u² and dm_a = m_a (dz_a − Σ m dz).
        let by_log: Vec<f64> = gradient.iter().zip(&self.u).map(|(g, u)| g * u / 2.0).collect();
        let sum: f64 = by_log.iter().sum();
        by_log.iter().zip(&self.u).map(|(g, u)| g - u * u * sum).collect()
    }
}

fn scaled(gram: &Array2<f64>, u: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn(gram.dim(), |(i, j)| u[i] * gram[[i, j]] * u[j])
}

/// Returns the derivative by u of `⟨QHQᵀ, diag(u) G diag(u)⟩` with Q fixed.
fn by_weights(
    basis: &Array2<f64>,
    h: &Array2<f64>,
    gram: &Array2<f64>,
    u: &Array1<f64>,
) -> Array1<f64> {
    let y = linalg::matmul(basis.view(), linalg::matmul(h.view(), basis.t()).view());
    (&y * gram).dot(u) * 2.0
}
