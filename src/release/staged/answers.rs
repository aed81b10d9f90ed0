//! The table of answers of a staged release: one row per query, with an error bound.
//!
//! The answer to a query with weights w is Σ_c w_c x̂_c over the cells of its marginal, so
//!
//! ```text
//! |error| ≤ max_c |w_c| · Σ_c |x̂_c − x_c|
//! ```
//!
//! where the sum is the certified L1 error of the marginal. Both are in the unit of the answer.

use std::path::Path;

use super::marginals::{StagedMarginal, StagedMarginals};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::mechanism::LevelQueries;
use crate::release::answers::table;
use crate::release::statement::{at_most, shortest};
use crate::schema::Schema;
use crate::workload::GroupedWorkload;

/// The columns of `answers.csv` besides those of the query.
const COLUMNS: [&str; 4] = ["estimate", "error_bound_95", "extrapolated", "error_bound_is"];

/// Decimals of bounds.
const DECIMALS: u32 = 6;

/// Writes the table of a workload.
///
/// Estimates of counts are multiples of 2^−bits, written exactly; those of other queries are
/// written as the shortest decimals of their doubles. `progress` is called with the number of groups
/// written.
///
/// # Errors
/// Queries on attributes that were not measured; or the file cannot be written.
pub fn write(
    path: &Path,
    marginals: &StagedMarginals,
    workload: &GroupedWorkload,
    progress: &mut dyn FnMut(usize),
) -> Result<()> {
    let domain = marginals.domain();
    for group in workload.groups() {
        LevelQueries::of(group, domain).sets().try_for_each(|set| marginals.check(set))?;
    }
    let bits = marginals.bits();
    let mut known: Vec<(AttributeSet, StagedMarginal)> = Vec::new();
    table(path, &COLUMNS, workload, progress, &mut |group, write_row| {
        let queries = LevelQueries::of(group, domain);
        if !queries.sets().eq(known.iter().map(|(set, _)| *set)) {
            let marginal = |set| Ok((set, marginals.marginal(set)?));
            known = queries.sets().map(marginal).collect::<Result<_>>()?;
        }
        let (largest_weights, are_counts) = group.largest_weights()?;
        let cells: Vec<&[f64]> = known.iter().map(|(_, m)| m.cells.as_slice()).collect();
        // Counts are sums of multiples of 2^−bits, which doubles hold exactly.
        let rounding = match are_counts {
            true => 0.0,
            false => cells.iter().map(|cells| rounding_of_sum(cells)).fold(0.0, f64::max),
        };
        let answers = queries.answers(group, domain, &cells)?;
        for (query, (answer, part)) in answers.into_iter().enumerate() {
            let marginal = &known[part].1;
            let extrapolated = if marginal.of_published.is_none() { "yes" } else { "no" };
            let estimate = if are_counts { exactly(answer, bits) } else { shortest(answer) };
            let weight = largest_weights[query];
            let bound = marginal.error_bound.map(|bound| of_query(bound, weight, rounding));
            let bound = bound.map(|bound| at_most(bound, DECIMALS)).unwrap_or_default();
            let bound_is = in_words(domain.schema(), marginal, weight);
            write_row(&[&estimate, &bound, extrapolated, &bound_is])?;
        }
        Ok(())
    })
}

/// Returns the bound of a query with a largest absolute weight, rounded up.
fn of_query(bound_of_marginal: f64, weight: f64, rounding: f64) -> f64 {
    if weight == 1.0 && rounding == 0.0 {
        return bound_of_marginal;
    }
    weight * (bound_of_marginal + rounding) * (1.0 + 4.0 * f64::EPSILON)
}

/// Returns a bound of the rounding error of a weighted sum of cells, per largest weight.
pub(in crate::release) fn rounding_of_sum(cells: &[f64]) -> f64 {
    let sizes: f64 = cells.iter().map(|x| x.abs()).sum();
    2.0 * (cells.len() + 2) as f64 * f64::EPSILON * sizes
}

/// Says what the bound of a query is.
fn in_words(schema: &Schema, marginal: &StagedMarginal, weight: f64) -> String {
    match (marginal.error_bound, marginal.of_published) {
        (Some(_), Some(set)) => {
            let factor = match weight == 1.0 {
                true => String::new(),
                false => format!("{} times ", shortest(weight)),
            };
            format!("{factor}the sum of the absolute errors of all cells of {}", schema.names(set))
        }
        _ => String::new(),
    }
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
