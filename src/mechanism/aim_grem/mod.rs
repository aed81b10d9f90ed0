//! AIM+GReM: adaptively selected marginals, reconstructed by GReM-MLE (S4, Sec. 5, Alg. 4).
//!
//! ```text
//! measure every 1-way marginal with σ₀² = K/(0.9ρ)
//! repeat
//!     γ ← exponential mechanism over W↓ on                                        costs ε_t²/8
//!         w_γ (‖μ_γ − μ̂_γ‖₁ − √(2/π) σ_t n_γ)
//!     σ_τ² for τ ⊆ γ by Conditional ResidualPlanner                               costs 1/(2σ_t²)
//!     measure the residuals, update z_τ and λ_τ
//!     anneal ε and σ if μ̂_γ changed by at most the expected noise
//! until the budget is spent
//! ```
//!
//! K = |W↓|. The estimates are stored as residuals and marginals are computed on demand, so memory
//! does not grow with the number of marginals in the workload. The loop accesses the data only
//! through [`PaidAccess`](crate::access::PaidAccess).
//!
//! *Cost*: a round is O(K) plus O(records + n_γ) for every marginal that selection reads. *Memory*:
//! the records, the measured residuals, one marginal, and the counts that selection caches.
//!
//! *Reconstruction*: for unmeasured residuals, GReM's estimate is an additive model, with negative
//! cells for skewed attributes. [`UnmeasuredResiduals::Independence`] uses the product of the
//! estimated 1-way marginals instead
//! ([`IndependentMarginals`](crate::estimation::IndependentMarginals)). The loop, its measurements
//! and its privacy are the same.
//!
//! *Differences from the paper*: annealing compares old and new estimates (its Alg. 7 compares with
//! the true marginal), and a flag ends the loop after the last round. *Reference*: S4, Sec. 5,
//! App. F.

mod mechanism;
mod rounds;

pub use mechanism::{AimGrem, UnmeasuredResiduals};
pub use rounds::{AimGremOutcome, Round, run};
