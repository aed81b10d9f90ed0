//! HDMM with Gaussian noise: one Kronecker strategy over the domain, or one per marginal.

mod optimum;
mod planner;
mod single;
mod union;

pub use self::planner::{Hdmm, HdmmForm};
