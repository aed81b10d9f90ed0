//! The table of answers of a staged release: one row per query, with an error bound.
//!
//! The answer to a query with weights w is Σ_c w_c x̂_c over the cells of its marginal. With L the
//! certified bound of Σ_c |x̂_c − x_c|, L₀ that of the error of the marginal's total, and weights from
//! a to b,
//!
//! ```text
//! |error| ≤ |a + b|/2 · L₀ + (b − a)/2 · L
//! ```
//!
//! in the unit of the answer: (L + L₀)/2 for a count over some of the cells.

use std::path::Path;

use super::marginals::{StagedMarginal, StagedMarginals};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::mechanism::LevelQueries;
use crate::release::answers::table;
use crate::release::statement::{at_most, shortest};
use crate::schema::Schema;
use crate::workload::{GroupedWorkload, WeightRange};

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
        let (weights, are_counts) = group.weight_ranges()?;
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
            let errors = marginal.errors.map(|errors| errors.with_rounding(rounding));
            let bound = errors.map(|errors| at_most(errors.of_weights(weights[query]), DECIMALS));
            let bound = bound.unwrap_or_default();
            let bound_is = in_words(domain.schema(), marginal, weights[query]);
            write_row(&[&estimate, &bound, extrapolated, &bound_is])?;
        }
        Ok(())
    })
}

/// Returns a bound of the rounding error of a weighted sum of cells, per largest weight.
pub(in crate::release) fn rounding_of_sum(cells: &[f64]) -> f64 {
    let sizes: f64 = cells.iter().map(|x| x.abs()).sum();
    2.0 * (cells.len() + 2) as f64 * f64::EPSILON * sizes
}

/// Says what the bound of a query is.
fn in_words(schema: &Schema, marginal: &StagedMarginal, weights: WeightRange) -> String {
    let (Some(errors), Some(set)) = (marginal.errors, marginal.of_published) else {
        return String::new();
    };
    let times = |factor: f64| match factor {
        1.0 => String::new(),
        0.5 => "half ".to_owned(),
        _ => format!("{} times ", shortest(in_twelve_digits(factor))),
    };
    let (middle, half) = (weights.middle().abs(), weights.half());
    let names = schema.names(set);
    let sum = || format!("{}the sum of the absolute errors of all cells", times(half));
    let total = || format!("{}the absolute error of the total", times(middle));
    match (half > 0.0, middle > 0.0) {
        (false, false) => "0: all weights are 0".to_owned(),
        (false, true) => format!("{} of {names}", total()),
        (true, true) if errors.total > 0.0 => format!("{} and {} of {names}", sum(), total()),
        (true, _) => format!("{} of {names}", sum()),
    }
}

/// Returns a number without the rounding errors of a sum of two weights.
fn in_twelve_digits(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
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
