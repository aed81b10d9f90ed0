//! Errors of the library.

/// What the library refuses.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum LibraryError {
    /// A workload, strategy, plan, file, ….
    General(#[from] matmech::Error),
    /// A privacy parameter.
    Privacy(#[from] matmech::privacy::PrivacyError),
}

impl LibraryError {
    /// Expected, found and remedy, where the error has them as parts.
    pub(super) fn parts(&self) -> Option<(String, String, &str)> {
        match self {
            Self::General(matmech::Error::Invalid { what, expected, found, remedy }) => {
                Some((format!("{what}: {expected}"), found.clone(), remedy))
            }
            Self::Privacy(matmech::privacy::PrivacyError::InvalidParameter { quantity, expected, found, remedy }) => {
                Some((format!("{quantity}: {expected}"), found.to_string(), remedy))
            }
            _ => None,
        }
    }
}
