//! Uniform integers from the operating system.

use crate::error::{Error, Result};

/// Number of bytes that are read from the operating system at once.
const BLOCK: usize = 4096;

/// Source of uniform integers: random bytes of the operating system.
pub(super) struct SystemIntegers {
    block: [u8; BLOCK],
    used: usize,
}

impl SystemIntegers {
    /// Creates a source without bytes.
    pub fn new() -> Self {
        SystemIntegers { block: [0; BLOCK], used: BLOCK }
    }

    /// Returns a uniform integer of 0, …, bound − 1, exactly.
    ///
    /// # Errors
    /// The operating system returns no random bytes.
    pub fn below(&mut self, bound: u64) -> Result<u64> {
        below(bound, || self.next())
    }

    fn next(&mut self) -> Result<u64> {
        if self.used == BLOCK {
            getrandom::fill(&mut self.block).map_err(|error| {
                Error::bad_input(
                    "allocation of the records",
                    "random bytes of the operating system",
                    error.to_string(),
                    "run where the operating system's generator is available",
                )
            })?;
            self.used = 0;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.block[self.used..self.used + 8]);
        self.used += 8;
        Ok(u64::from_le_bytes(word))
    }
}

/// Returns a uniform integer below a bound from uniform words.
///
/// Words from the largest multiple of the bound on are drawn again, so all remainders have the same
/// number of words.
fn below(bound: u64, mut next: impl FnMut() -> Result<u64>) -> Result<u64> {
    // 2⁶⁴ mod bound words are too many.
    let excess = (u64::MAX % bound + 1) % bound;
    loop {
        let word = next()?;
        if word <= u64::MAX - excess {
            return Ok(word % bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With words at both ends of the range: those beyond the largest multiple are drawn again.
    #[test]
    fn words_beyond_the_largest_multiple_are_drawn_again() {
        for (bound, excess) in [(1, 0), (3, 1), (10, 6), (1 << 40, 0), (u64::MAX, 1)] {
            assert_eq!((1u128 << 64) % u128::from(bound), excess, "{bound}");
            let last = u64::MAX - excess as u64;
            let mut words = [u64::MAX, last, 5].into_iter();
            let found = below(bound, || Ok(words.next().unwrap())).unwrap();
            assert_eq!(found, if excess > 0 { last } else { u64::MAX } % bound);
            assert_eq!(words.len(), if excess > 0 { 1 } else { 2 });
        }
    }

    /// χ² of 7 bins; the threshold has probability 1e-9.
    #[test]
    fn integers_of_the_system_are_uniform() {
        let mut integers = SystemIntegers::new();
        let mut counts = [0f64; 7];
        for _ in 0..70_000 {
            counts[integers.below(7).unwrap() as usize] += 1.0;
        }
        let squared: f64 = counts.iter().map(|n| (n - 1e4).powi(2) / 1e4).sum();
        assert!(squared < 54.0, "{counts:?}");
    }
}
