//! Attributes, domains and sets of attributes: the index of a data vector.

mod attribute;
mod attribute_set;
mod axis_set;
mod hierarchy;
mod product_domain;

pub use attribute::{Attribute, AttributeKind};
pub(crate) use attribute::{check_attributes, numbered_attributes};
pub use attribute_set::AttributeSet;
pub use axis_set::AxisSet;
pub use hierarchy::{Hierarchy, Level};
pub use matmech_linalg::{cell_index, coordinates};
pub use product_domain::Domain;
