//! Random numbers of NumPy's `RandomState`, which S3's tables use: MT19937 seeded by `init_genrand`.

use ndarray::Array2;
use rand_mt::Mt;

/// A stream of random numbers.
pub(super) struct RandomState(Mt);

impl RandomState {
    /// Starts the stream of a seed.
    pub fn new(seed: u32) -> Self {
        RandomState(Mt::new(seed))
    }

    /// Draws a double in [0, 1) from two 32-bit numbers (`genrand_res53`).
    fn next_double(&mut self) -> f64 {
        let (high, low) = (f64::from(self.0.next_u32() >> 5), f64::from(self.0.next_u32() >> 6));
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// Returns `rand(rows, columns) < probability`, with entries 0 and 1.
    pub fn indicators(&mut self, rows: usize, columns: usize, probability: f64) -> Array2<f64> {
        Array2::from_shape_simple_fn((rows, columns), || {
            f64::from(u8::from(self.next_double() < probability))
        })
    }

    /// Returns `randint(1, 6, count)`: 3-bit numbers plus 1; numbers above 4 are rejected.
    pub fn one_to_five(&mut self, count: usize) -> Vec<f64> {
        std::iter::repeat_with(|| self.0.next_u32() & 7)
            .filter(|&draw| draw < 5)
            .take(count)
            .map(|draw| f64::from(draw + 1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with the reference generator of Matsumoto and Nishimura (2002), whose first doubles
    /// with seed 5489 are 0.814723686393179 and 0.905791937075619.
    #[test]
    fn doubles_are_those_of_the_reference_generator() {
        let mut state = RandomState::new(5489);
        assert!((state.next_double() - 0.814_723_686_393_179).abs() < 1e-15);
        assert!((state.next_double() - 0.905_791_937_075_619).abs() < 1e-15);
        let ones = RandomState::new(5489).indicators(1, 2, 0.85);
        assert_eq!(ones, ndarray::array![[1.0, 0.0]]);
    }

    /// Compared with `numpy.random.RandomState(42).randint(1, 6, 10)`.
    #[test]
    fn integers_are_those_of_numpy() {
        let expected = [4.0, 5.0, 3.0, 5.0, 5.0, 2.0, 3.0, 3.0, 3.0, 5.0];
        assert_eq!(RandomState::new(42).one_to_five(10), expected);
    }
}
