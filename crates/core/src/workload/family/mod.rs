//! Query families, with Gram matrices in closed form. One file per family.

mod abs;
mod affine;
mod cdf;
mod circular;
mod entries;
mod extra_cells;
mod families;
mod given;
mod identity;
mod nested;
mod nodes;
mod predicate;
mod prefix;
mod query_family;
mod range;
mod total;

pub use families::Family;
pub use nodes::{NodeName, Nodes};
pub use query_family::{QueryFamily, Rows};
