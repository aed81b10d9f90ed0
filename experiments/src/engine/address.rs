//! Addresses of cells, and the random stream and input hash derived from them.

use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::Value;

use crate::experiment::Cell;
use crate::files::{canonical, hex, sha256_of_fields};

/// Returns `<experiment>/<column>=<value>/…/method=<method>`.
#[must_use]
pub fn cell_address(experiment: &str, cell: &Cell) -> String {
    let mut address = experiment.to_owned();
    for (column, value) in &cell.key {
        address.push_str(&format!("/{column}={value}"));
    }
    address.push_str("/method=");
    address.push_str(&cell.method);
    address
}

/// Returns the random stream of a cell: ChaCha20 with the key SHA-256(seed, experiment, address).
///
/// The stream depends on nothing else, so the number of jobs, the order and other cells cannot
/// change a result.
#[must_use]
pub fn cell_rng(seed: u64, experiment: &str, address: &str) -> ChaCha20Rng {
    let digest =
        sha256_of_fields(&["matmech cell stream 1", &seed.to_string(), experiment, address]);
    ChaCha20Rng::from_seed(digest)
}

/// Returns the SHA-256, in hex, of everything that determines the result of a cell.
///
/// A stored cell is reused only if its hash is equal. `files` has the hashes of the files that the
/// cell names.
#[must_use]
pub fn inputs_hash(
    experiment: &str,
    kind: &str,
    revision: u32,
    address: &str,
    params: &Value,
    seed: u64,
    files: &BTreeMap<String, String>,
) -> String {
    let (revision, params, seed) = (revision.to_string(), canonical(params), seed.to_string());
    let mut fields =
        vec!["matmech cell inputs 1", experiment, kind, &revision, address, &params, &seed];
    fields.extend(files.iter().flat_map(|(name, hash)| [name.as_str(), hash.as_str()]));
    hex(&sha256_of_fields(&fields))
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::Rng;
    use serde_json::json;

    use super::*;

    fn cell() -> Cell {
        Cell {
            key: vec![("workload".to_owned(), "range:1024".to_owned())],
            method: "optimal".to_owned(),
            params: json!({}),
        }
    }

    #[test]
    fn address_has_the_documented_form() {
        assert_eq!(
            cell_address("s1/example-3.1", &cell()),
            "s1/example-3.1/workload=range:1024/method=optimal"
        );
    }

    #[test]
    fn streams_depend_on_seed_experiment_and_address() {
        let first = |seed, experiment, address| cell_rng(seed, experiment, address).next_u64();
        let value = first(1, "e", "a");
        assert_eq!(value, first(1, "e", "a"));
        assert_ne!(value, first(2, "e", "a"));
        assert_ne!(value, first(1, "f", "a"));
        assert_ne!(value, first(1, "e", "b"));
        // Lengths are hashed: moving a letter between fields gives another stream.
        assert_ne!(first(1, "ab", "c"), first(1, "a", "bc"));
    }

    #[test]
    fn inputs_hash_ignores_only_the_key_order() {
        let hash = |revision, params: &Value, seed| {
            inputs_hash("e", "k", revision, "a", params, seed, &BTreeMap::new())
        };
        let base = hash(1, &json!({"x": 1, "y": [0.1, "s"]}), 7);
        assert_eq!(base, hash(1, &json!({"y": [0.1, "s"], "x": 1}), 7));
        assert_ne!(base, hash(2, &json!({"x": 1, "y": [0.1, "s"]}), 7));
        assert_ne!(base, hash(1, &json!({"x": 1, "y": [0.1, "t"]}), 7));
        assert_ne!(base, hash(1, &json!({"x": 1, "y": [0.1, "s"]}), 8));
        let params = json!({"x": 1, "y": [0.1, "s"]});
        assert_ne!(base, inputs_hash("e", "k", 1, "b", &params, 7, &BTreeMap::new()));
        let with_file = |hash: &str| {
            let files = BTreeMap::from([("W.npy".to_owned(), hash.to_owned())]);
            inputs_hash("e", "k", 1, "a", &params, 7, &files)
        };
        assert_ne!(base, with_file("0a"));
        assert_ne!(with_file("0b"), with_file("0a"));
    }
}
