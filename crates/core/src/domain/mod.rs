//! Attributes, domains and sets of attributes: the index of a data vector.

mod attribute_set;
mod axis_set;

pub use attribute_set::AttributeSet;
pub use axis_set::AxisSet;

use crate::error::{Error, Result};
pub use matmech_linalg::{cell_index, coordinates};

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
}

/// A product of attributes.
///
/// Cells are numbered row-major: the last attribute varies fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    attributes: Vec<Attribute>,
    cells: usize,
}

impl Domain {
    /// Creates a domain over the given attributes.
    ///
    /// # Errors
    /// No attribute, a size of zero, a repeated name, or more cells than `usize::MAX`.
    pub fn new(attributes: Vec<Attribute>) -> Result<Self> {
        if attributes.is_empty() {
            return Err(Error::bad_input(
                "domain",
                "at least one attribute",
                "none",
                "name the attributes and their sizes",
            ));
        }
        check_attributes(&attributes, |_, attribute| format!("attribute `{}`", attribute.name))?;
        let product = attributes.iter().try_fold(1usize, |cells, a| cells.checked_mul(a.size));
        let cells = product.ok_or_else(|| {
            let found: f64 = attributes.iter().map(|a| a.size as f64).product();
            let remedy = "plan over marginals instead of the full domain";
            Error::too_large("domain", "cells", usize::MAX as f64, found, remedy)
        })?;
        Ok(Domain { attributes, cells })
    }

    /// Creates a domain of numeric attributes `A1, A2, …` with the given sizes.
    ///
    /// # Errors
    /// As [`Domain::new`].
    pub fn from_shape(shape: &[usize]) -> Result<Self> {
        Self::new(numbered_attributes(shape, AttributeKind::Numeric))
    }

    /// Returns the attributes, in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Returns the attributes' sizes, in order.
    pub fn shape(&self) -> Vec<usize> {
        self.attributes.iter().map(|a| a.size).collect()
    }

    /// Returns the number of cells: the length of the data vector.
    pub fn cells(&self) -> usize {
        self.cells
    }
}

/// Returns attributes `A1, A2, …` with the given sizes, all of one kind.
pub(crate) fn numbered_attributes(sizes: &[usize], kind: AttributeKind) -> Vec<Attribute> {
    let attribute =
        |(i, &size): (usize, &usize)| Attribute { name: format!("A{}", i + 1), size, kind };
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
        if attributes[..i].iter().any(|a| a.name == attribute.name) {
            return refuse("a name used once", "the name twice", "rename one of the two");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_domains_are_refused() {
        assert!(Domain::from_shape(&[]).is_err());
        assert!(Domain::from_shape(&[4, 0]).is_err());
        assert!(Domain::from_shape(&[usize::MAX, 2]).is_err());
        let twice = Attribute { name: "age".into(), size: 2, kind: AttributeKind::Numeric };
        assert!(Domain::new(vec![twice.clone(), twice]).is_err());
        assert_eq!(Domain::from_shape(&[16, 8, 8]).unwrap().cells(), 1024);
    }
}
