//! A domain: a product of attributes.

use super::attribute::{Attribute, AttributeKind, check_attributes, numbered_attributes};
use crate::error::{Error, Result};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_domains_are_refused() {
        assert!(Domain::from_shape(&[]).is_err());
        assert!(Domain::from_shape(&[4, 0]).is_err());
        assert!(Domain::from_shape(&[usize::MAX, 2]).is_err());
        let twice = Attribute::new("age", 2, AttributeKind::Numeric);
        assert!(Domain::new(vec![twice.clone(), twice]).is_err());
        assert_eq!(Domain::from_shape(&[16, 8, 8]).unwrap().cells(), 1024);
    }
}
