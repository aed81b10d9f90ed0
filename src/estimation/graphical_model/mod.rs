//! Graphical models of a table: junction trees, belief propagation, and fits to noisy marginals.
//!
//! A model is a distribution over all attributes, `x ∝ exp(Σ_c θ_c(x_c))` over measured sets c.
//!
//! - [`JunctionTree`] determines the size of a model.
//! - [`CalibratedTree`] holds the marginals on the cliques and computes all others by variable
//!   elimination.
//! - [`GraphicalModel`] is the fit `min Σ_c ‖μ_c − y_c‖²/(2σ_c²)` over all distributions, by
//!   entropic mirror descent.
//! - [`ProportionalFit`] is the model of exact marginals.
//!
//! *Source*: S4, App. F (AIM+PGM); Koller and Friedman, Probabilistic Graphical Models, Ch. 9
//! and 10.

mod axis_order;
mod calibrated;
mod fit;
mod junction_tree;
mod propagation;
mod proportional;
mod sampling;
mod table;

pub use calibrated::{CalibratedTree, Messages};
pub use fit::{Fit, FitSettings, FitStatus, GraphicalModel};
pub use junction_tree::{JunctionTree, cells_of_mb};
pub use proportional::ProportionalFit;
pub(crate) use sampling::{Draws, check_attributes};
pub(crate) use table::Projection;

#[cfg(test)]
mod tests;
