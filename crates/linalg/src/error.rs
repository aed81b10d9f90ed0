//! Errors of the linear algebra.

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A computation with invalid input, or one that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Matrices or vectors whose shapes do not match.
    #[error("{what}: expected {expected}, found {found}\n  remedy: {remedy}")]
    Shape {
        /// The computation.
        what: String,
        /// The expected shape.
        expected: String,
        /// The shape that was found.
        found: String,
        /// How to fix it.
        remedy: &'static str,
    },
    /// A matrix that is not symmetric positive definite.
    #[error(
        "{what}: expected a symmetric positive definite matrix of order {order}, found a \
         non-positive pivot"
    )]
    NotPositiveDefinite {
        /// The matrix.
        what: String,
        /// Its order.
        order: usize,
    },
    /// An iterative algorithm did not converge, for example on entries that are not finite.
    #[error("{what}: did not converge on a matrix of order {order}")]
    DidNotConverge {
        /// The computation.
        what: String,
        /// The order of the matrix.
        order: usize,
    },
}

impl Error {
    /// Creates an [`Error::Shape`].
    pub(crate) fn shape(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Error::Shape { what: what.into(), expected: expected.into(), found: found.into(), remedy }
    }
}
