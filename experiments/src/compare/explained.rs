//! Checks that every documented deviation is explained in `docs/deviations.md` and in use.

use std::collections::BTreeSet;

use super::deviations::{self, Deviations};
use super::known::KnownValue;
use super::report::Finding;
use crate::columns;
use crate::config::{CompareSpec, Profile};

/// Checks that every entry of the list is explained and, except under `quick`, decides a verdict.
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
                location: deviations::LIST.to_owned(),
                expected: "a published value with this id that a config selects and \
                           that is not reproduced"
                    .to_owned(),
                found: "none: the value is reproduced, not comparable, or not selected".to_owned(),
                remedy: "remove the entry or correct its id".to_owned(),
            });
        }
    }
}

/// Checks that every reason in `deviations` of a config is explained and names a selected value.
///
/// A reason may be unused: the ratio of times on this machine can be within the tolerance.
pub(super) fn check_reasons(
    findings: &mut Vec<Finding>,
    deviations: &Deviations,
    spec: &CompareSpec,
    values: &[KnownValue],
    config: &str,
) {
    for (id, _) in spec.deviations() {
        if !deviations.is_explained(id) {
            findings.push(without_explanation(id, config));
        }
        if !values.iter().any(|value| value.id == *id) {
            findings.push(Finding {
                title: format!("deviation of an unknown value: {id}"),
                location: config.to_owned(),
                expected: format!(
                    "the id of a row of {} that `filter` selects",
                    spec.relative_path()
                ),
                found: "no such row".to_owned(),
                remedy: "correct the key in `deviations` or remove it".to_owned(),
            });
        }
    }
}

/// Checks that every name in `fitted` of a config is the method or the id of a selected value.
pub(super) fn check_fitted(
    findings: &mut Vec<Finding>,
    spec: &CompareSpec,
    values: &[KnownValue],
    config: &str,
) {
    let method = spec.rows.join.iter().position(|column| column == columns::METHOD);
    let is_known = |name: &String, value: &KnownValue| {
        value.id == *name || method.is_some_and(|index| value.key.get(index) == Some(name))
    };
    for name in spec.fitted_names() {
        if !values.iter().any(|value| is_known(name, value)) {
            findings.push(Finding {
                title: format!("fitted reading of an unknown value: {name}"),
                location: config.to_owned(),
                expected: format!(
                    "a method in our spelling or the id of a row of {} that `filter` selects",
                    spec.relative_path()
                ),
                found: "no such row".to_owned(),
                remedy: "correct the key in `fitted` or remove it".to_owned(),
            });
        }
    }
}

fn without_explanation(id: &str, location: &str) -> Finding {
    Finding {
        title: format!("deviation without explanation: {id}"),
        location: location.to_owned(),
        expected: format!("the anchor <a id=\"{id}\"></a> in {}", deviations::EXPLANATIONS),
        found: "no such anchor".to_owned(),
        remedy: "explain the deviation there, under this anchor".to_owned(),
    }
}
