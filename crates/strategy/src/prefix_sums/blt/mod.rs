//! Buffered linear Toeplitz strategies.

mod buffered_toeplitz;
mod fit;

pub use buffered_toeplitz::BufferedToeplitz;

#[cfg(test)]
mod tests;
