//! Functional ANOVA: residual subspaces for an optimised product reference measure.

mod classes;
mod compressed;
mod objective;
mod options;
mod planner;
mod pullback;
mod rows;
mod saddle;
mod search;
mod starts;

pub(super) use self::classes::Classes;
pub use self::options::SearchOptions;
pub use self::planner::{Anova, MeasureChoice};

#[cfg(test)]
mod tests;
