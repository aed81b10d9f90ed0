//! Streamed noise from N buffers, near the certified optimum, for fixed epochs.
//!
//! The noise of step t is emitted before step t + 1 is known, from N numbers per coordinate and
//! independent standard normals z:
//!
//! ```text
//! x = 0
//! for t = 0, 1, …, n − 1:
//!     e = z_t + Σ_{g=1}^{min(k−1, ⌊t/b⌋)} f[g,t] z_{t−gb}
//!     y = (e − Σ_j H[t,j] x_j) / d[t];    x_j = exp(−λ_j) (x_j + B[t,j] y);    emit r[t] y
//! ```
//!
//! for k epochs of b = n/k steps. The normals of earlier epochs are generated again from their
//! positions. As a matrix this is `C⁻¹ = diag(r) C₀⁻¹ F`, where C₀ is semiseparable, and F couples
//! the steps of a pattern `c, c + b, …`. The strategy C is lower triangular, so the data may depend
//! on earlier outputs (Denisov et al. 2022, Theorem 2.1). The privacy statement is for exactly this
//! participation: not for min-separation, and not for shuffled epochs.
//!
//! [`fit_recurrence`] minimises the error over all coefficients. Columns of a pattern are
//! orthogonal, which costs nothing at the optimum (docs/participation.md) and makes the sensitivity
//! a smooth function.

mod answers;
mod coefficients;
mod columns;
mod fit;
mod gmres;
mod knots;
mod objective;
mod patterns;
mod semiseparable;

pub use coefficients::{Certified, NoiseRecurrence};
pub use fit::{FitOptions, RecurrenceFit, fit_recurrence};

#[cfg(test)]
mod tests;
