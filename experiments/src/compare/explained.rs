//! Every deviation is explained in `docs/deviations.md`, and is one of a value that is compared.

use std::collections::BTreeSet;

use super::deviations::{self, Deviations};
use super::known::KnownValue;
use super::report::Finding;
use crate::config::{CompareSpec, Profile};

/// Every entry of the list must be explained, and under the full profiles be the reason of some
/// verdict.
pub(super) fn check_deviations(
    findings: &mut Vec<Finding>,
    deviations: &Deviations,
    used: &BTreeSet<String>,
    profile: Profile,
) {
    for entry in deviations.entries() {
        if !deviations.is_explained(&entry.id) {
            findings.push(without_explanation(&entry.id, deviations::LIST));
        }
        if profile != Profile::Quick && !used.contains(&entry.id) {
            findings.push(Finding {
                title: format!("unused deviation: {}", entry.id),
                place: deviations::LIST.to_owned(),
                expected: "a published value with this id that is selected by a config and does not come out"
                    .to_owned(),
                found: "none: the value is reproduced, not comparable, or not selected".to_owned(),
                remedy: "remove the entry, or correct its id".to_owned(),
            });
        }
    }
}

/// Every reason that a config gives for a ratio of times must be explained, and be one of a value
/// that it selects. It need not be used: on this machine the ratio may be the paper's.
pub(super) fn check_reasons(
    findings: &mut Vec<Finding>,
    deviations: &Deviations,
    spec: &CompareSpec,
    values: &[KnownValue],
    config: &str,
) {
    for id in spec.deviations.keys() {
        if !deviations.is_explained(id) {
            findings.push(without_explanation(id, config));
        }
        if !values.iter().any(|value| value.ids.contains(id)) {
            findings.push(Finding {
                title: format!("reason for no value: {id}"),
                place: config.to_owned(),
                expected: format!(
                    "the id of a row of {} that `filter` selects",
                    spec.relative_path()
                ),
                found: "no such row".to_owned(),
                remedy: "correct the key in `deviations`, or remove it".to_owned(),
            });
        }
    }
}

fn without_explanation(id: &str, place: &str) -> Finding {
    Finding {
        title: format!("deviation without explanation: {id}"),
        place: place.to_owned(),
        expected: format!("the anchor <a id=\"{id}\"></a> in {}", deviations::EXPLANATIONS),
        found: "no such anchor".to_owned(),
        remedy: "explain the deviation there, under this anchor".to_owned(),
    }
}
