//! Program 1: the weights of fixed design queries.
//!
//! For design queries Q (k×n) and a workload W, the strategy `A = diag(w) Q` answers design query i
//! with variance 1/w_i². Its error on the workload is at most `Σ c_i/w_i²`, with
//! `c_i = ‖column i of W Q⁺‖²` (equal if the rows of Q are independent). If the column norms of A
//! are at most 1, the best weights solve, with `u = w^(2/p)`, the convex program
//!
//! ```text
//! minimise  Σ_i c_i / u_i^p      subject to  Bᵀu ≤ 1,  u ≥ 0
//!
//! Gaussian noise (L2 norm of a column):  p = 1,  B_ij = Q_ij²,  u = w²      Program 1 of S2
//! Laplace noise (L1 norm of a column):   p = 2,  B_ij = |Q_ij|, u = w       its pure-ε variant
//! ```
//!
//! For every y on the simplex over the cells, with `s = B y`, the dual gives
//!
//! ```text
//! F(y) = Σ_i c_i^(1/(p+1)) s_i^(p/(p+1))      LB = F^(p+1)       a lower bound for all weights
//! u_i  = (c_i/s_i)^(1/(p+1)),  g = Bᵀu        UB = F·(max g)^p   the objective of u / max g
//! ```
//!
//! Every iterate therefore has a certificate. Because `Σ_j y_j g_j = F`, the bounds are equal if g
//! is constant on the support of y. A primal–dual Newton method finds y; the multiplicative update
//! `y ← y ∘ g / F` is the fallback.
//!
//! *Cost*: 10 to 20 Newton steps. Each takes `k n²` flops and a Cholesky factorisation of order n,
//! or for k < n `k² n` flops and one of order k. Equal rows and equal columns of B are merged.
//! Memory O(k n + n²). One thread. *Reference*: S2, Program 1 and Thm 1; the dual and the method
//! are ours.

mod newton;
mod reduced;
mod solve;
mod weighting_problem;

pub use weighting_problem::{ColumnNorm, Method, Weighting, WeightingOptions, WeightingProblem};

#[cfg(test)]
mod tests;
