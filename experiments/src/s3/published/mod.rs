//! ResidualPlanner+ with the unconverged bases of the published tables, to compare printed digits.

mod line_search;
mod optimum;
mod planner;
mod quasi_newton;

pub use optimum::published_optimum;
pub use planner::PublishedResidualPlannerPlus;
pub use quasi_newton::{Stop, Stopped};
