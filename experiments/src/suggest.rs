//! The nearest known names, for "did you mean" messages.

pub use matmech::call::nearest;
use strsim::levenshtein;

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
