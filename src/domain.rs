//! Attributes, domains and sets of attributes: what a data vector is indexed by.

use crate::error::{Error, Result};

/// Whether an attribute's values are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeKind {
    /// Ordered values: ranges and prefixes make sense.
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

/// A product of attributes. Its cells are numbered row-major: the last attribute varies fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    attributes: Vec<Attribute>,
    cells: usize,
}

impl Domain {
    /// A domain over the given attributes.
    ///
    /// # Errors
    /// No attribute, a size of zero, a name used twice, or more cells than a `usize` counts.
    pub fn new(attributes: Vec<Attribute>) -> Result<Self> {
        if attributes.is_empty() {
            return Err(Error::invalid(
                "domain",
                "at least one attribute",
                "none",
                "name the attributes and their sizes",
            ));
        }
        let mut cells: usize = 1;
        for (i, attribute) in attributes.iter().enumerate() {
            let what = format!("attribute `{}`", attribute.name);
            if attribute.size == 0 {
                return Err(Error::invalid(what, "a size of at least 1", "0", "give the number of its values"));
            }
            if attributes[..i].iter().any(|a| a.name == attribute.name) {
                return Err(Error::invalid(what, "a name used once", "the name twice", "rename one of the two"));
            }
            cells = cells.checked_mul(attribute.size).ok_or_else(|| Error::TooLarge {
                what: "domain".into(),
                limit: format!("{} cells", usize::MAX),
                found: "more".into(),
                remedy: "plan over marginals instead of the full domain".into(),
            })?;
        }
        Ok(Domain { attributes, cells })
    }

    /// A domain of ordered attributes `A1, A2, …` with the given sizes.
    ///
    /// # Errors
    /// As [`Domain::new`].
    pub fn from_shape(shape: &[usize]) -> Result<Self> {
        Self::new(
            shape
                .iter()
                .enumerate()
                .map(|(i, &size)| Attribute { name: format!("A{}", i + 1), size, kind: AttributeKind::Numeric })
                .collect(),
        )
    }

    /// The attributes, in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attributes' sizes, in order.
    pub fn shape(&self) -> Vec<usize> {
        self.attributes.iter().map(|a| a.size).collect()
    }

    /// The number of cells: the length of the data vector.
    pub fn cells(&self) -> usize {
        self.cells
    }
}

/// The coordinates of cell `cell` in a row-major box of the given shape.
pub fn coordinates(shape: &[usize], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let mut out = vec![0; shape.len()];
    for (o, &size) in out.iter_mut().zip(shape).rev() {
        *o = rest % size;
        rest /= size;
    }
    out
}

/// The cell at the given coordinates of a row-major box: the inverse of [`coordinates`].
pub fn cell_index(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |index, (&size, &c)| index * size + c)
}

/// A set of attributes of a domain with at most 128 of them, by position. Ordered by its bits, which puts ∅ first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct AttributeSet(u128);

impl AttributeSet {
    /// The largest number of attributes a set can range over.
    pub const CAPACITY: usize = 128;

    /// The empty set: the residual subspace of the total.
    pub fn empty() -> Self {
        AttributeSet(0)
    }

    /// The set with the given positions.
    ///
    /// # Errors
    /// A position of 128 or more, or one that comes twice.
    pub fn from_positions(positions: &[usize]) -> Result<Self> {
        let mut bits = 0u128;
        for &p in positions {
            if p >= Self::CAPACITY {
                return Err(Error::invalid(
                    "attribute set",
                    "positions below 128",
                    p.to_string(),
                    "use fewer attributes",
                ));
            }
            if bits >> p & 1 == 1 {
                return Err(Error::invalid("attribute set", "each attribute once", format!("{p} twice"), "drop one"));
            }
            bits |= 1 << p;
        }
        Ok(AttributeSet(bits))
    }

    /// Whether the attribute at `position` is in the set.
    pub fn contains(self, position: usize) -> bool {
        position < Self::CAPACITY && self.0 >> position & 1 == 1
    }

    /// Whether every attribute of `self` is in `other`.
    pub fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The attributes in both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        AttributeSet(self.0 & other.0)
    }

    /// All subsets, ∅ first and the set itself last; the k-th of them has attribute i of the set (ascending) iff bit i of k
    /// is set.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        // The next subset is the next larger number among those that use only bits of the set.
        let step = move |subset: &Self| {
            (subset.0 != self.0).then(|| AttributeSet((subset.0 | !self.0).wrapping_add(1) & self.0))
        };
        std::iter::successors(Some(Self::empty()), step)
    }

    /// The number of attributes in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether this is ∅.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as a number: bit p is set if position p is in it.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// The positions in the set, ascending.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        (0..Self::CAPACITY).filter(move |&p| self.contains(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_and_index_are_inverse() {
        let shape = [3, 4, 2];
        for cell in 0..24 {
            assert_eq!(cell_index(&shape, &coordinates(&shape, cell)), cell);
        }
        assert_eq!(coordinates(&shape, 5), vec![0, 2, 1]);
    }

    #[test]
    fn impossible_domains_are_refused() {
        assert!(Domain::from_shape(&[]).is_err());
        assert!(Domain::from_shape(&[4, 0]).is_err());
        assert!(Domain::from_shape(&[usize::MAX, 2]).is_err());
        let twice = Attribute { name: "age".into(), size: 2, kind: AttributeKind::Numeric };
        assert!(Domain::new(vec![twice.clone(), twice]).is_err());
        assert_eq!(Domain::from_shape(&[16, 8, 8]).unwrap().cells(), 1024);
    }

    #[test]
    fn attribute_sets_behave_as_sets() {
        let a = AttributeSet::from_positions(&[0, 65]).unwrap();
        let b = AttributeSet::from_positions(&[65]).unwrap();
        assert!(b.is_subset(a) && !a.is_subset(b) && AttributeSet::empty().is_subset(b));
        assert_eq!(a.positions().collect::<Vec<_>>(), vec![0, 65]);
        assert_eq!((a.len(), b.is_empty()), (2, false));
        assert_eq!(a.intersection(b), b);
        let subsets: Vec<Vec<usize>> =
            AttributeSet::from_positions(&[1, 5, 127]).unwrap().subsets().map(|s| s.positions().collect()).collect();
        let by_mask = [vec![], vec![1], vec![5], vec![1, 5], vec![127], vec![1, 127], vec![5, 127], vec![1, 5, 127]];
        assert_eq!(subsets, by_mask);
        assert_eq!(AttributeSet::empty().subsets().count(), 1);
        assert!(AttributeSet::from_positions(&[3, 3]).is_err());
        assert!(AttributeSet::from_positions(&[128]).is_err());
    }
}
