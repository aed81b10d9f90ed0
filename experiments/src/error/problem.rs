//! What is wrong with a config at some place, with its parts.

use std::fmt;

use super::parts::Parts;
use crate::suggest::nearest;

/// What is wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// A value that is not what it should be.
    Mismatch {
        /// What would be right.
        expected: String,
        /// What is there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A key that means nothing here.
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that mean something.
        known: Vec<String>,
    },
    /// A key that must be there and is not.
    MissingKey(String),
    /// A name of something that does not exist.
    UnknownName {
        /// What it should be the name of.
        noun: &'static str,
        /// The name.
        found: String,
        /// Names of what exists.
        known: Vec<String>,
    },
    /// Text that is not TOML; what the parser says.
    Syntax(String),
    /// A value that the library refuses.
    Refused(matmech::Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = |expected: &str, found: &str, remedy: &str| {
            write!(f, "{}", Parts(expected, found, remedy))
        };
        match self {
            Self::Mismatch { expected, found, remedy } => parts(expected, found, remedy),
            Self::UnknownKey { key, known } => {
                let expected = match known.as_slice() {
                    [] => "no keys here".to_owned(),
                    [one] => format!("only the key {one}"),
                    keys => format!("only the keys {}", keys.join(", ")),
                };
                let remedy = match nearest(key, known) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "remove this key".to_owned(),
                };
                parts(&expected, "an unknown key", &remedy)
            }
            Self::MissingKey(key) => {
                parts("this key", "nothing", &format!("add a line `{key} = …`"))
            }
            Self::UnknownName { noun, found, known } => {
                let expected = if known.is_empty() {
                    format!("a known {noun} (there are none)")
                } else {
                    format!("one of the {} {}", plural(noun), known.join(", "))
                };
                let remedy = match nearest(found, known) {
                    Some(name) => format!("did you mean \"{name}\"?"),
                    None => format!("write one of the known {}", plural(noun)),
                };
                parts(&expected, &format!("\"{found}\""), &remedy)
            }
            Self::Refused(error) => match refused(error) {
                Some((expected, found, remedy)) => parts(&expected, &found, remedy),
                None => write!(f, "  problem:  {error}"),
            },
            Self::Syntax(message) => write!(f, "  problem:  {message}"),
        }
    }
}

/// Expected, found and remedy, where the library's error has them as parts.
fn refused(error: &matmech::Error) -> Option<(String, String, &str)> {
    use matmech::privacy::PrivacyError::InvalidParameter;
    match error {
        matmech::Error::BadInput { what, expected, found, remedy } => {
            Some((format!("{what}: {expected}"), found.clone(), remedy))
        }
        matmech::Error::Privacy(InvalidParameter { quantity, expected, found, remedy }) => {
            Some((format!("{quantity}: {expected}"), found.to_string(), remedy))
        }
        _ => None,
    }
}

/// "kinds of figure", "data sets".
fn plural(noun: &str) -> String {
    match noun.split_once(' ') {
        Some((first, rest)) if rest.starts_with("of ") => format!("{first}s {rest}"),
        _ if noun.ends_with('y') => format!("{}ies", &noun[..noun.len() - 1]),
        _ => format!("{noun}s"),
    }
}
