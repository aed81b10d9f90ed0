//! Shortened hashes and lists of findings.

/// Returns the first digits of a hash.
pub(super) fn start(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Lists the first few names and the number of the others.
pub(super) fn in_short(names: &[String]) -> String {
    const MAX_SHOWN: usize = 6;
    let first = names.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_SHOWN {
        format!("{first} and {} more", names.len() - MAX_SHOWN)
    } else {
        first
    }
}
