//! Problems at a location of a config, with their parts and the names that were probably meant.

use std::fmt::{self, Display};

use matmech::call::nearest;
use strsim::levenshtein;

/// A problem at a location of a config.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// An invalid value.
    Mismatch {
        /// The expected value.
        expected: String,
        /// The value found.
        found: String,
        /// How to fix it.
        remedy: String,
    },
    /// An unknown name.
    UnknownName {
        /// The kind of thing that is named.
        noun: &'static str,
        /// The name.
        found: String,
        /// The known names.
        known: Vec<String>,
    },
    /// Text that is not TOML or has other keys or types, with the parser's message.
    Toml(toml::de::Error),
    /// A value that the library refuses.
    Refused(matmech::Error),
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = |expected: &str, found: &str, remedy: &str| {
            write!(f, "{}", Parts(expected, found, remedy))
        };
        match self {
            Self::Mismatch { expected, found, remedy } => parts(expected, found, remedy),
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
            Self::Toml(error) => {
                write!(f, "{}", error.to_string().trim_end())?;
                match meant(error.message()) {
                    Some(name) => write!(f, "; did you mean `{name}`?"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Returns the nearest of the names that a message expects instead of an unknown name.
fn meant(message: &str) -> Option<String> {
    let mut names = message.strip_prefix("unknown ")?.split('`').skip(1).step_by(2);
    let found = names.next()?;
    let known: Vec<String> = names.map(str::to_owned).collect();
    nearest(found, &known).map(ToString::to_string)
}

/// Returns expected, found and remedy of a library error that has these parts.
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

/// Returns the plural, such as "kinds of figure" or "data sets".
fn plural(noun: &str) -> String {
    match noun.split_once(' ') {
        Some((first, rest)) if rest.starts_with("of ") => format!("{first}s {rest}"),
        _ if noun.ends_with('y') => format!("{}ies", &noun[..noun.len() - 1]),
        _ => format!("{noun}s"),
    }
}

/// Expected, found and remedy, one per line.
pub(super) struct Parts<'p>(pub(super) &'p str, pub(super) &'p str, pub(super) &'p str);

impl Display for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  expected: {}\n  found:    {}\n  remedy:   {}", self.0, self.1, self.2)
    }
}

/// Returns the `count` known names nearest to `found`, the nearest first.
///
/// The distance is that to the nearest part of a name with the length of `found`, since a key is
/// usually a part of an address.
#[must_use]
pub fn near<'n>(found: &str, known: &[&'n str], count: usize) -> Vec<&'n str> {
    let mut ranked: Vec<(usize, usize, &str)> = known
        .iter()
        .enumerate()
        .map(|(order, name)| (distance_to_part(found, name), order, *name))
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(count).map(|(_, _, name)| name).collect()
}

/// Returns the edit distance between `found` and the nearest part of `name` of the same length.
fn distance_to_part(found: &str, name: &str) -> usize {
    let letters = found.chars().count();
    let boundaries: Vec<usize> =
        name.char_indices().map(|(offset, _)| offset).chain([name.len()]).collect();
    let parts = boundaries.windows(letters + 1).map(|part| &name[part[0]..part[letters]]);
    parts.map(|part| levenshtein(found, part)).min().unwrap_or_else(|| levenshtein(found, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ranked_by_their_nearest_part() {
        let address = "s1/x/workload=range:1024/method=a";
        assert_eq!(distance_to_part("range:1024", address), 0);
        assert_eq!(distance_to_part("rangr:1024", address), 1);
        let known = ["s1/x/workload=prefix:9/method=a", address, "s1/x/workload=range:16/method=a"];
        assert_eq!(near("rnge:1024", &known, 2), [address, known[2]]);
        assert_eq!(near("longer than any of the names", &["abc", ""], 9).len(), 2);
    }
}
