//! A workload family, a planner and a mechanism outside the library, through its public interface.
//!
//! `docs/extending.md` refers to these files. `examples/` has a strategy and a subspace solver.

mod cheapest;
mod equal_marginals;
mod suffix;
mod whole_domain;
