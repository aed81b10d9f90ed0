//! The Walsh–Hadamard transform.

use crate::error::{Error, Result};

/// Replaces `x` by `H x`.
///
/// `H_kj = (−1)^(number of ones in k & j)`, so `H H = n I`. O(n log n) time.
///
/// # Errors
/// The length is not a power of two.
pub fn walsh_hadamard(x: &mut [f64]) -> Result<()> {
    let n = x.len();
    if !n.is_power_of_two() {
        let remedy = "give every attribute a number of values that is a power of two";
        return Err(Error::shape(
            "Walsh–Hadamard transform",
            "a power of two",
            n.to_string(),
            remedy,
        ));
    }
    let mut half = 1;
    while half < n {
        for block in x.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_equals_the_explicit_matrix() {
        let x: Vec<f64> = (0..16).map(|i| ((i * i) as f64).sin()).collect();
        let mut y = x.clone();
        walsh_hadamard(&mut y).unwrap();
        for (k, y) in y.iter().enumerate() {
            let sum: f64 = x
                .iter()
                .enumerate()
                .map(|(j, x)| if (k & j).count_ones() % 2 == 0 { *x } else { -x })
                .sum();
            assert!((y - sum).abs() < 1e-13);
        }
        assert!(walsh_hadamard(&mut [0.0; 6]).is_err());
    }
}
