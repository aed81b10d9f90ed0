//! The cell numbers of one attribute, stored compactly.

use std::fmt;
use std::ops::Range;

/// The cell numbers of one attribute, in 1, 2 or 4 bytes per record, depending on the largest.
///
/// Readers fill columns, and [`Records`](super::Records) consist of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Column(Width);

#[derive(Clone, PartialEq, Eq)]
enum Width {
    /// At most 2⁸ values.
    Small(Vec<u8>),
    /// At most 2¹⁶ values.
    Medium(Vec<u16>),
    /// More than 2¹⁶ values.
    Large(Vec<u32>),
}

/// Shows no field: the values are private, and so are their number and their width.
impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Column").finish_non_exhaustive()
    }
}

impl Default for Column {
    fn default() -> Self {
        Column(Width::Small(Vec::new()))
    }
}

impl FromIterator<u32> for Column {
    fn from_iter<I: IntoIterator<Item = u32>>(values: I) -> Self {
        let mut column = Column::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

impl Column {
    /// Returns an empty column for cell numbers below `size`, whose width does not depend on the
    /// records.
    pub fn for_size(size: usize) -> Self {
        Column(match size {
            0..=0x100 => Width::Small(Vec::new()),
            0x101..=0x1_0000 => Width::Medium(Vec::new()),
            _ => Width::Large(Vec::new()),
        })
    }

    /// Appends a value; widens the column if the value does not fit.
    pub fn push(&mut self, value: u32) {
        if let Width::Small(values) = &self.0
            && value > u8::MAX.into()
        {
            self.0 = Width::Medium(values.iter().map(|&v| v.into()).collect());
        }
        if let Width::Medium(values) = &self.0
            && value > u16::MAX.into()
        {
            self.0 = Width::Large(values.iter().map(|&v| v.into()).collect());
        }
        match &mut self.0 {
            Width::Small(values) => values.push(value as u8),
            Width::Medium(values) => values.push(value as u16),
            Width::Large(values) => values.push(value),
        }
    }

    /// Appends the values of the records that are kept; of all if `kept` is `None`. All fit the size
    /// of [`Column::for_size`].
    pub(super) fn extend(&mut self, values: &[u32], kept: Option<&[bool]>) {
        fn append<T>(
            column: &mut Vec<T>,
            values: &[u32],
            kept: Option<&[bool]>,
            cast: impl Fn(u32) -> T,
        ) {
            match kept {
                None => column.extend(values.iter().map(|&value| cast(value))),
                Some(kept) => {
                    let kept = values.iter().zip(kept).filter(|(_, kept)| **kept);
                    column.extend(kept.map(|(&value, _)| cast(value)));
                }
            }
        }
        match &mut self.0 {
            Width::Small(column) => append(column, values, kept, |value| value as u8),
            Width::Medium(column) => append(column, values, kept, |value| value as u16),
            Width::Large(column) => append(column, values, kept, |value| value),
        }
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        match &self.0 {
            Width::Small(values) => values.len(),
            Width::Medium(values) => values.len(),
            Width::Large(values) => values.len(),
        }
    }

    /// Returns the largest value.
    pub(super) fn max(&self) -> Option<u32> {
        match &self.0 {
            Width::Small(values) => values.iter().copied().reduce(Ord::max).map(Into::into),
            Width::Medium(values) => values.iter().copied().reduce(Ord::max).map(Into::into),
            Width::Large(values) => values.iter().copied().reduce(Ord::max),
        }
    }

    /// Returns whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a record; `None` past the end.
    pub fn get(&self, record: usize) -> Option<u32> {
        match &self.0 {
            Width::Small(values) => values.get(record).map(|&v| v.into()),
            Width::Medium(values) => values.get(record).map(|&v| v.into()),
            Width::Large(values) => values.get(record).copied(),
        }
    }

    /// Returns the values, record by record.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        (0..self.len()).map(|record| self.get(record).unwrap_or_default())
    }

    /// Calls `f` with the index and the value of every record of a part, counted from its start.
    pub(super) fn for_each(&self, part: Range<usize>, mut f: impl FnMut(usize, usize)) {
        match &self.0 {
            Width::Small(values) => {
                values[part].iter().enumerate().for_each(|(i, &v)| f(i, v.into()));
            }
            Width::Medium(values) => {
                values[part].iter().enumerate().for_each(|(i, &v)| f(i, v.into()));
            }
            Width::Large(values) => {
                values[part].iter().enumerate().for_each(|(i, &v)| f(i, v as usize));
            }
        }
    }

    /// Appends a digit to row-major cell numbers: `cells[i] ← cells[i] · size + value of record
    /// start + i`.
    pub(super) fn append_digit(&self, size: usize, start: usize, cells: &mut [u32]) {
        // u32 fits four numbers in one vector register. Callers have checked that the marginal has
        // fewer than 2³² cells.
        let size = size as u32;
        fn append<T: Copy + Into<u32>>(values: &[T], size: u32, cells: &mut [u32]) {
            for (cell, &value) in cells.iter_mut().zip(values) {
                *cell = cell.wrapping_mul(size).wrapping_add(value.into());
            }
        }
        match &self.0 {
            Width::Small(values) => append(&values[start..], size, cells),
            Width::Medium(values) => append(&values[start..], size, cells),
            Width::Large(values) => append(&values[start..], size, cells),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_widen_and_keep_their_values() {
        let mut column = Column::default();
        let values = [0, 255, 3, 256, 65_535, 65_536, 1];
        for (i, &value) in values.iter().enumerate() {
            column.push(value);
            assert_eq!(column.len(), i + 1);
        }
        assert_eq!(column, Column(Width::Large(values.to_vec())));
        assert_eq!((column.get(3), column.get(7)), (Some(256), None));
        assert_eq!(column.iter().collect::<Vec<_>>(), values);
        assert_eq!(Column::from_iter([255, 0]), Column(Width::Small(vec![255, 0])));
        assert_eq!(Column::from_iter([0, 256]), Column(Width::Medium(vec![0, 256])));
    }
}
