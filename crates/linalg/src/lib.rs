//! Dense linear algebra on [`ndarray`] arrays of `f64`, as functions of concrete types.
//!
//! The backends' kernels are generic and slow to compile. This crate compiles them once, so that
//! changes to matmech do not rebuild them. It is the only crate that uses a backend directly:
//!
//! | module | contents | backend |
//! |---|---|---|
//! | `dense` | eigendecomposition, Cholesky, solves, products | `faer`; LAPACK (feature `lapack`) |
//! | `semidefinite` | root, pseudo-inverse and quotients of semidefinite matrices | |
//! | `anderson` | safeguarded Anderson acceleration of fixed points | |
//! | `interior_point` | steps of primal–dual interior-point methods | |
//! | `triangular` | inverses of lower triangular matrices | |
//! | `quasi_newton` | L-BFGS with nonnegative variables | |
//! | `spd_factor` | one factorisation for many right-hand sides, half a Gram matrix | `faer` |
//! | `kronecker` | Kronecker products, explicit and applied factor by factor | |
//! | `fourier` | transforms over boxes of cells, Walsh–Hadamard, coordinates of cells | `rustfft` |
//! | `low_rank` | roots of low-rank matrices by pivoted Cholesky | |
//! | `simd` | loops compiled for the vector instructions of the processor | `pulp` |
//!
//! Every kernel runs on the calling thread, so results do not depend on the number of threads.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod anderson;
mod dense;
mod error;
mod exponential;
mod fourier;
pub mod interior_point;
mod kronecker;
mod low_rank;
mod quasi_newton;
mod semidefinite;
mod simd;
mod spd_factor;
mod triangular;

pub use anderson::{Anderson, StepLimit};
pub use dense::{
    Backend, Eigh, RowSpace, add_gram, cholesky, cholesky_with, eigh, eigh_with, eigvalsh,
    full_rank_cholesky, matmul, product, row_space, spd_inverse, spd_inverse_with, spd_solve,
};
pub use error::{Error, Result};
pub use exponential::exponentials;
pub use fourier::{BoxTransform, cell_index, coordinates, walsh_hadamard};
pub use kronecker::{kron, kron_all, kron_apply};
pub use low_rank::low_rank_root;
pub use quasi_newton::{Metric, QuasiNewton, SmoothFunction};
pub use semidefinite::{
    Quotient, Semidefinite, gram_of, least_squares_inverse, nonzero_eigenvalues, trace_of_quotient,
};
pub use simd::{Loops, Wide};
pub use spd_factor::SpdFactor;
pub use triangular::{
    Entries, inverse_of_lower, lower_factor, lower_gram_of, lower_of_product,
    matmul_by_lower_transposed,
};
