//! The table of answers of a staged release: one row per query, with the error bound of its
//! marginal.

use std::path::Path;

use super::marginals::{PublishedMarginal, StagedMarginals};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::release::answers::{failed, table};
use crate::release::query_words::QueryWords;
use crate::workload::GroupedWorkload;

/// The columns of `answers.csv`.
const COLUMNS: [&str; 7] =
    ["attributes", "family", "query", "cells", "estimate", "error_bound_95", "extrapolated"];

/// Writes the table of a workload.
///
/// Estimates are multiples of 2^−bits, written exactly. `progress` is called with the number of
/// groups written.
///
/// # Errors
/// Queries on attributes that were not measured; or the file cannot be written.
pub fn write(
    path: &Path,
    marginals: &StagedMarginals,
    workload: &GroupedWorkload,
    progress: &mut dyn FnMut(usize),
) -> Result<()> {
    workload.groups().iter().try_for_each(|group| marginals.check(group.attributes()))?;
    let schema = workload.schema();
    let bits = marginals.bits();
    let mut known: Option<(AttributeSet, PublishedMarginal)> = None;
    table(path, &COLUMNS, workload, progress, &mut |out, group| {
        let set = group.attributes();
        let marginal = match known.take() {
            Some((of, marginal)) if of == set => marginal,
            _ => marginals.marginal(set)?,
        };
        let (attributes, words) = (schema.names(set), QueryWords::of(schema, group)?);
        let bound = marginal.error_bound.map(|bound| format!("{bound:.6}")).unwrap_or_default();
        let extrapolated = if marginal.is_extrapolated { "yes" } else { "no" };
        for (query, answer) in group.answers(&marginal.cells)?.into_iter().enumerate() {
            let (text, cells) = words.of_query(query);
            let estimate = exactly(answer, bits);
            let fields = [
                attributes.as_str(),
                group.family(),
                &text,
                &cells,
                &estimate,
                &bound,
                extrapolated,
            ];
            out.write_record(fields).map_err(|e| failed(path, e))?;
        }
        known = Some((set, marginal));
        Ok(())
    })
}

/// Returns the decimal digits of a multiple of 2^−bits, without trailing zeros.
fn exactly(value: f64, bits: u32) -> String {
    let digits = format!("{value:.*}", bits as usize);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if digits == "-0" { "0".to_owned() } else { digits.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_powers_of_two_are_written_exactly() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (10.0, "10"),
            (-2.5, "-2.5"),
            (123_456_789_012.0 + 1.0 / 1024.0, "123456789012.0009765625"),
        ] {
            assert_eq!(exactly(value, 10), expected);
        }
        assert_eq!(exactly((-30f64).exp2(), 30), "0.000000000931322574615478515625");
    }
}
