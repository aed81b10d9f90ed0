//! One attribute's values, in as few bytes as its size allows.

/// The cell numbers of one attribute: 1, 2 or 4 bytes per record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    /// At most 2⁸ values.
    Small(Vec<u8>),
    /// At most 2¹⁶ values.
    Medium(Vec<u16>),
    /// More.
    Large(Vec<u32>),
}

impl Column {
    /// A column of values below `size`; the caller has checked them.
    pub(super) fn compact(size: usize, values: Vec<u32>) -> Self {
        if size <= 1 << 8 {
            Column::Small(values.into_iter().map(|v| v as u8).collect())
        } else if size <= 1 << 16 {
            Column::Medium(values.into_iter().map(|v| v as u16).collect())
        } else {
            Column::Large(values)
        }
    }

    /// An empty column, to be filled by [`Column::push`].
    pub(super) fn new() -> Self {
        Column::Small(Vec::new())
    }

    /// Appends a value, in a wider column if it does not fit.
    pub(super) fn push(&mut self, value: u32) {
        if let Column::Small(values) = self
            && value > u8::MAX.into()
        {
            *self = Column::Medium(values.iter().map(|&v| v.into()).collect());
        }
        if let Column::Medium(values) = self
            && value > u16::MAX.into()
        {
            *self = Column::Large(values.iter().map(|&v| v.into()).collect());
        }
        match self {
            Column::Small(values) => values.push(value as u8),
            Column::Medium(values) => values.push(value as u16),
            Column::Large(values) => values.push(value),
        }
    }

    /// Replaces every value v by `codes[v]`; no code may be larger than the largest value the column's width holds.
    pub(super) fn recode(&mut self, codes: &[u32]) {
        match self {
            Column::Small(values) => values.iter_mut().for_each(|v| *v = codes[usize::from(*v)] as u8),
            Column::Medium(values) => values.iter_mut().for_each(|v| *v = codes[usize::from(*v)] as u16),
            Column::Large(values) => values.iter_mut().for_each(|v| *v = codes[*v as usize]),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Column::Small(values) => values.len(),
            Column::Medium(values) => values.len(),
            Column::Large(values) => values.len(),
        }
    }

    /// The value of a record; `None` past the end.
    pub(super) fn get(&self, record: usize) -> Option<u32> {
        match self {
            Column::Small(values) => values.get(record).map(|&v| v.into()),
            Column::Medium(values) => values.get(record).map(|&v| v.into()),
            Column::Large(values) => values.get(record).copied(),
        }
    }

    /// `cells[i] ← cells[i] · size + value of record start + i`: one more digit of row-major cell numbers.
    pub(super) fn append_digit(&self, size: usize, start: usize, cells: &mut [u32]) {
        // u32 keeps four numbers in one vector register; callers have checked that the marginal has fewer cells.
        let size = size as u32;
        fn append<T: Copy + Into<u32>>(values: &[T], size: u32, cells: &mut [u32]) {
            for (cell, &value) in cells.iter_mut().zip(values) {
                *cell = cell.wrapping_mul(size).wrapping_add(value.into());
            }
        }
        match self {
            Column::Small(values) => append(&values[start..], size, cells),
            Column::Medium(values) => append(&values[start..], size, cells),
            Column::Large(values) => append(&values[start..], size, cells),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_widen_as_values_need_it_and_keep_them() {
        let mut column = Column::new();
        let values = [0, 255, 3, 256, 65_535, 65_536, 1];
        for (i, &value) in values.iter().enumerate() {
            column.push(value);
            assert_eq!(column.len(), i + 1);
        }
        assert_eq!(column, Column::Large(values.to_vec()));
        assert_eq!((column.get(3), column.get(7)), (Some(256), None));
        assert_eq!(Column::compact(256, vec![255, 0]), Column::Small(vec![255, 0]));
        assert_eq!(Column::compact(257, vec![256, 0]), Column::Medium(vec![256, 0]));
    }

    #[test]
    fn recoding_replaces_values() {
        let mut column = Column::compact(3, vec![2, 0, 1, 2]);
        column.recode(&[5, 7, 0]);
        assert_eq!(column, Column::Small(vec![0, 5, 7, 0]));
    }
}
