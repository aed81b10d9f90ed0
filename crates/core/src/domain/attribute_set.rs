//! Sets of attributes.

use std::fmt;

use super::axis_set::{AxisSet, subsets_of};
use crate::error::{Error, Result};

/// A set of attributes of a domain, by position.
///
/// At most 128 attributes. Sets are ordered by their bits, so ∅ is first.
///
/// The marginal on a set has the set's attributes as axes, in ascending order. The last axis varies
/// fastest. An [`AxisSet`] is a subset of these axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct AttributeSet(u128);

impl AttributeSet {
    /// The maximum number of attributes.
    pub const CAPACITY: usize = 128;

    /// The empty set.
    ///
    /// Its residual subspace is the total.
    pub const EMPTY: Self = AttributeSet(0);

    /// Returns the set of the attributes at the given positions.
    ///
    /// # Errors
    /// A position of 128 or more, or a repeated position.
    pub fn from_positions(positions: &[usize]) -> Result<Self> {
        let mut bits = 0u128;
        for &p in positions {
            if p >= Self::CAPACITY {
                let remedy = "use fewer attributes";
                return Err(Error::bad_input(
                    "attribute set",
                    "positions below 128",
                    p.to_string(),
                    remedy,
                ));
            }
            if bits >> p & 1 == 1 {
                return Err(Error::bad_input(
                    "attribute set",
                    "each attribute once",
                    format!("{p} twice"),
                    "drop one",
                ));
            }
            bits |= 1 << p;
        }
        Ok(AttributeSet(bits))
    }

    /// Returns the set of the first `count` attributes, at most 128.
    pub fn first(count: usize) -> Self {
        AttributeSet(if count >= Self::CAPACITY { u128::MAX } else { (1 << count) - 1 })
    }

    /// Returns the set of one attribute.
    ///
    /// The set is ∅ if the position is 128 or more.
    pub fn single(position: usize) -> Self {
        AttributeSet(if position < Self::CAPACITY { 1 << position } else { 0 })
    }

    /// Returns whether the attribute at `position` is in the set.
    pub fn contains(self, position: usize) -> bool {
        position < Self::CAPACITY && self.0 >> position & 1 == 1
    }

    /// Returns whether every attribute of `self` is in `other`.
    pub fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns the intersection of two sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        AttributeSet(self.0 & other.0)
    }

    /// Returns the union of two sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        AttributeSet(self.0 | other.0)
    }

    /// Returns the attributes that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        AttributeSet(self.0 & !other.0)
    }

    /// Iterates over all subsets, ∅ first and the set itself last.
    ///
    /// The k-th subset has the axes [`AxisSet::from_number`]`(k)`.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        subsets_of(self.0).map(AttributeSet)
    }

    /// Iterates over the subsets with `size` attributes, in lexicographic order of their positions.
    pub fn of_size(self, size: usize) -> impl Iterator<Item = Self> {
        let positions: Vec<usize> = self.positions().collect();
        let last = positions.len().saturating_sub(size);
        // Indices into `positions`. The next combination increments the last index that can grow.
        let mut next = (size <= positions.len()).then(|| (0..size).collect::<Vec<usize>>());
        std::iter::from_fn(move || {
            let mut indices = next.take()?;
            let set =
                indices.iter().fold(Self::EMPTY, |set, &k| AttributeSet(set.0 | 1 << positions[k]));
            if let Some(k) = (0..size).rev().find(|&k| indices[k] < last + k) {
                indices[k] += 1;
                for later in k + 1..size {
                    indices[later] = indices[later - 1] + 1;
                }
                next = Some(indices);
            }
            Some(set)
        })
    }

    /// Returns the attributes at the given axes of this set.
    #[must_use]
    pub fn at(self, axes: AxisSet) -> Self {
        self.positions()
            .enumerate()
            .filter(|&(axis, _)| axes.contains(axis))
            .fold(Self::EMPTY, |set, (_, p)| AttributeSet(set.0 | 1 << p))
    }

    /// Returns the set as axes of an array over all attributes of the domain.
    pub fn axes(self) -> AxisSet {
        AxisSet::from_bits(self.0)
    }

    /// Returns the axes of this set whose attributes are in `other`.
    pub fn axes_in(self, other: Self) -> AxisSet {
        let positions: Vec<usize> = self.positions().collect();
        AxisSet::of(positions.len(), |axis| other.contains(positions[axis]))
    }

    /// Returns the number of attributes in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns whether this is ∅.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set as a bit mask: bit p is 1 if position p is in the set.
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Iterates over the positions in the set, ascending.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let position = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(position)
        })
    }

    /// Returns one past the largest position in the set; 0 for ∅.
    pub fn end(self) -> usize {
        Self::CAPACITY - self.0.leading_zeros() as usize
    }

    /// Returns the set's items of a list with one item per attribute of the domain.
    ///
    /// They are in ascending order of position. Positions beyond the list are skipped.
    pub fn select<T: Copy>(self, all: &[T]) -> Vec<T> {
        self.positions().filter_map(|p| all.get(p)).copied().collect()
    }
}

impl fmt::Debug for AttributeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.positions()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::set;

    #[test]
    fn attribute_sets_behave_as_sets() {
        let (a, b) = (set(&[0, 65]), set(&[65]));
        assert!(b.is_subset(a) && !a.is_subset(b) && AttributeSet::EMPTY.is_subset(b));
        assert_eq!(a.positions().collect::<Vec<_>>(), vec![0, 65]);
        assert_eq!((a.len(), a.end(), b.is_empty()), (2, 66, false));
        assert_eq!((a.intersection(b), b.union(set(&[0]))), (b, a));
        let subsets: Vec<AttributeSet> = set(&[1, 5, 127]).subsets().collect();
        let by_number: Vec<AttributeSet> =
            AxisSet::subsets(3).map(|axes| set(&[1, 5, 127]).at(axes)).collect();
        assert_eq!(subsets, by_number);
        assert_eq!(subsets[6], set(&[5, 127]));
        assert_eq!(AttributeSet::EMPTY.subsets().count(), 1);
        assert!(AttributeSet::from_positions(&[3, 3]).is_err());
        assert!(AttributeSet::from_positions(&[128]).is_err());
        assert_eq!(format!("{a:?}"), "[0, 65]");
    }

    #[test]
    fn subsets_of_a_size_are_in_lexicographic_order() {
        let four = set(&[1, 4, 6, 7]);
        let pairs: Vec<AttributeSet> = four.of_size(2).collect();
        assert_eq!(pairs, [[1, 4], [1, 6], [1, 7], [4, 6], [4, 7], [6, 7]].map(|pair| set(&pair)));
        assert_eq!(four.of_size(0).collect::<Vec<_>>(), [AttributeSet::EMPTY]);
        assert_eq!((four.of_size(4).count(), four.of_size(5).count()), (1, 0));
        assert_eq!(AttributeSet::first(15).of_size(3).count(), 455);
    }

    #[test]
    fn axes_are_indices_into_the_set() {
        let gamma = set(&[2, 3, 9]);
        assert_eq!(gamma.axes_in(set(&[3, 9, 40])), AxisSet::of(3, |axis| axis > 0));
        assert_eq!(gamma.at(AxisSet::of(3, |axis| axis == 2)), set(&[9]));
        assert_eq!(gamma.select(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), [2, 3, 9]);
        assert_eq!(AttributeSet::first(3), set(&[0, 1, 2]));
        assert_eq!(AttributeSet::single(7), set(&[7]));
    }
}
