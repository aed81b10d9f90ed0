//! Strategies for prefix sums, from continual counting and private training.
//!
//! | name | C | buffers |
//! |---|---|---|
//! | `toeplitz` | [`SquareRoot`]: the square root of the prefix sums | n − 1 |
//! | `bsr` | [`BandedSquareRoot`]: its first bands | bands − 1 |
//! | `bisr` | [`BandedInverseSquareRoot`]: the first bands of its inverse | bands − 1 |
//! | `blt` | [`BufferedToeplitz`]: a sum of exponentials | N |
//! | `circulant` | [`Circulant`]: the square root in a cyclic group | 2n |
//! | `binary-tree` | [`BinaryTree`]: counts of a binary tree | ⌊log₂ n⌋ + 1 |
//!
//! Each is a pair (B, C) with W = BC: the error of query q is `‖b_q‖²` times the squared sensitivity
//! of C. B is the published reconstruction, which can be worse than least squares.

mod banded_inverse_square_root;
mod banded_square_root;
mod binary_tree;
mod blt;
mod circulant;
mod factorisation;
mod toeplitz;

pub use banded_inverse_square_root::BandedInverseSquareRoot;
pub use banded_square_root::BandedSquareRoot;
pub use binary_tree::BinaryTree;
pub use blt::BufferedToeplitz;
pub use circulant::Circulant;
pub(crate) use factorisation::{NoiseCost, select_gram};
pub use toeplitz::SquareRoot;

#[cfg(test)]
pub(super) mod tests;
