//! Attributes, and what holds for lists of them.

use super::hierarchy::Hierarchy;
use crate::error::{Error, Result};

/// Whether an attribute's values are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeKind {
    /// Ordered values, for which ranges and prefixes are defined.
    Numeric,
    /// Unordered values.
    Categorical,
}

/// One attribute: its name, its number of values, and whether they are ordered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attribute {
    /// The name, unique in its domain.
    pub name: String,
    /// The number of values.
    pub size: usize,
    /// Ordered or not.
    pub kind: AttributeKind,
    /// The number of last values outside the order, such as the cell of missing values. No prefix
    /// or range contains them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extra: usize,
    /// The levels above the values, for nested queries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<Hierarchy>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Attribute {
    /// Creates an attribute without values outside its order.
    pub fn new(name: impl Into<String>, size: usize, kind: AttributeKind) -> Self {
        Attribute { name: name.into(), size, kind, extra: 0, hierarchy: None }
    }

    /// Adds `extra` values outside the order after the others.
    #[must_use]
    pub fn with_extra_cells(mut self, extra: usize) -> Self {
        self.size += extra;
        self.extra += extra;
        self
    }

    /// Returns the attribute with levels above its values.
    #[must_use]
    pub fn with_hierarchy(self, hierarchy: Hierarchy) -> Self {
        Attribute { hierarchy: Some(hierarchy), ..self }
    }
}

/// Returns attributes `A1, A2, …` with the given sizes, all of one kind.
pub(crate) fn numbered_attributes(sizes: &[usize], kind: AttributeKind) -> Vec<Attribute> {
    let attribute = |(i, &size): (usize, &usize)| Attribute::new(format!("A{}", i + 1), size, kind);
    sizes.iter().enumerate().map(attribute).collect()
}

/// Checks that all sizes are positive and all names are different.
///
/// `what` names an attribute, given with its position, in error messages.
///
/// # Errors
/// A size of zero, or a repeated name.
pub(crate) fn check_attributes(
    attributes: &[Attribute],
    what: impl Fn(usize, &Attribute) -> String,
) -> Result<()> {
    for (i, attribute) in attributes.iter().enumerate() {
        let refuse = |expected: &str, found: &str, remedy: &str| {
            Err(Error::bad_input(what(i, attribute), expected, found, remedy))
        };
        if attribute.size == 0 {
            return refuse("a size of at least 1", "0", "give the number of its values");
        }
        if attribute.size <= attribute.extra {
            let expected = format!("more than {} values, those outside the order", attribute.extra);
            return refuse(&expected, &attribute.size.to_string(), "give the number of its values");
        }
        if attributes[..i].iter().any(|a| a.name == attribute.name) {
            return refuse("a name used once", "the name twice", "rename one of the two");
        }
    }
    Ok(())
}
