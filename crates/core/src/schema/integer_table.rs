//! Look-ups of integers in a small range.

/// Maximum number of integers with an entry.
const MAX_ENTRIES: i64 = 1 << 12;

/// The results of look-ups of consecutive integers.
#[derive(Debug)]
pub(super) struct IntegerTable<T> {
    first: i64,
    entries: Vec<T>,
}

impl<T: Copy> IntegerTable<T> {
    /// Returns a table without entries.
    pub(super) fn empty() -> Self {
        IntegerTable { first: 0, entries: Vec::new() }
    }

    /// Looks up the integers from `first` to `last`; none if there are more than 4096.
    pub(super) fn new(first: i64, last: i64, look_up: impl Fn(i64) -> T) -> Self {
        match last.checked_sub(first) {
            Some(0..MAX_ENTRIES) => {
                IntegerTable { first, entries: (first..=last).map(look_up).collect() }
            }
            _ => IntegerTable::empty(),
        }
    }

    /// Returns the entry of an integer.
    #[inline(always)]
    pub(super) fn get(&self, number: i64) -> Option<T> {
        self.entries.get(usize::try_from(number.wrapping_sub(self.first)).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_outside_the_range_have_no_entry() {
        for (first, last) in [(-3, 5), (i64::MIN, i64::MIN + 2), (i64::MAX - 1, i64::MAX), (7, 7)] {
            let table = IntegerTable::new(first, last, |number| number);
            for number in [i64::MIN, i64::MIN + 2, -4, -3, 0, 5, 6, 7, i64::MAX - 1, i64::MAX] {
                let expected = (first..=last).contains(&number).then_some(number);
                assert_eq!(table.get(number), expected, "{number} in {first} to {last}");
            }
        }
        for (first, last) in [(i64::MIN, i64::MAX), (0, MAX_ENTRIES), (1, 0)] {
            assert_eq!(IntegerTable::new(first, last, |number| number).get(0), None);
        }
    }
}
