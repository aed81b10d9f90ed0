//! Subsets of the axes of a marginal.

use std::fmt;

/// A set of axes of an array.
///
/// For a marginal on γ it is a subset τ ⊆ γ: axis i is the i-th attribute of γ. At most 128 axes.
///
/// The subsets of k axes are numbered 0 … 2^k − 1: bit i of the number is 1 if axis i is in the
/// subset. Lists with one item per subset are in this order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct AxisSet(u128);

impl AxisSet {
    /// The empty set.
    pub const EMPTY: Self = AxisSet(0);

    /// Returns the set of all `count` axes, at most 128.
    pub fn all(count: usize) -> Self {
        AxisSet(if count >= 128 { u128::MAX } else { (1 << count) - 1 })
    }

    /// Returns the set of the axes below `count` for which `chosen` is true.
    pub fn of(count: usize, chosen: impl Fn(usize) -> bool) -> Self {
        AxisSet(
            (0..count.min(128)).filter(|&axis| chosen(axis)).fold(0, |bits, axis| bits | 1 << axis),
        )
    }

    pub(super) fn from_bits(bits: u128) -> Self {
        AxisSet(bits)
    }

    /// Returns the subset with this number.
    pub fn from_number(number: usize) -> Self {
        AxisSet(number as u128)
    }

    /// Returns the number of this subset: its index in a list of all subsets.
    pub fn number(self) -> usize {
        self.0 as usize
    }

    /// Iterates over the subsets of `count` axes in the order of their numbers.
    ///
    /// ∅ is first, all axes are last.
    pub fn subsets(count: usize) -> impl Iterator<Item = Self> {
        subsets_of(Self::all(count).0).map(AxisSet)
    }

    /// Returns whether the axis is in the set.
    pub fn contains(self, axis: usize) -> bool {
        axis < 128 && self.0 >> axis & 1 == 1
    }

    /// Returns whether every axis of `self` is in `other`.
    pub fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns this set as axes of the array over the axes in `larger` only.
    #[must_use]
    pub fn among(self, larger: Self) -> Self {
        let axes: Vec<usize> = (0..larger.end()).filter(|&axis| larger.contains(axis)).collect();
        Self::of(axes.len(), |k| self.contains(axes[k]))
    }

    /// Returns the set without one axis.
    #[must_use]
    pub fn without(self, axis: usize) -> Self {
        AxisSet(if axis < 128 { self.0 & !(1 << axis) } else { self.0 })
    }

    /// Returns the number of axes in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns whether no axis is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns one past the last axis in the set; 0 for ∅.
    pub fn end(self) -> usize {
        128 - self.0.leading_zeros() as usize
    }

    /// Returns the items at the axes of the set, given one item per axis.
    pub fn select<T: Copy>(self, items: &[T]) -> Vec<T> {
        items
            .iter()
            .enumerate()
            .filter(|&(axis, _)| self.contains(axis))
            .map(|(_, &item)| item)
            .collect()
    }
}

impl fmt::Debug for AxisSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.end()).filter(|&axis| self.contains(axis))).finish()
    }
}

/// Iterates over the subsets of a set given by its bits, in ascending order.
///
/// Each step gives the next larger number that uses only bits of the set.
pub(super) fn subsets_of(bits: u128) -> impl Iterator<Item = u128> {
    std::iter::successors(Some(0), move |&subset| {
        (subset != bits).then(|| (subset | !bits).wrapping_add(1) & bits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_in_the_order_of_their_numbers() {
        let all: Vec<AxisSet> = AxisSet::subsets(3).collect();
        assert_eq!(all.len(), 8);
        for (number, set) in all.iter().enumerate() {
            assert_eq!((set.number(), *set), (number, AxisSet::from_number(number)));
        }
        assert_eq!(all[7], AxisSet::all(3));
        assert_eq!(AxisSet::subsets(0).collect::<Vec<_>>(), [AxisSet::EMPTY]);
    }

    #[test]
    fn axis_sets_behave_as_sets() {
        let set = AxisSet::of(5, |axis| axis % 2 == 0);
        assert_eq!(format!("{set:?}"), "[0, 2, 4]");
        assert_eq!(
            (set.len(), set.end(), set.contains(2), set.contains(3), set.contains(500)),
            (3, 5, true, false, false)
        );
        assert_eq!(set.select(&[7, 8, 9, 10, 11]), [7, 9, 11]);
        assert_eq!(set.without(4), AxisSet::of(3, |axis| axis != 1));
        assert_eq!(set.without(0).among(set), AxisSet::of(3, |axis| axis > 0));
        assert!(set.without(0).is_subset(set) && !set.is_subset(set.without(0)));
        assert_eq!(
            (AxisSet::EMPTY.end(), AxisSet::all(128).len(), AxisSet::all(200).end()),
            (0, 128, 128)
        );
    }
}
