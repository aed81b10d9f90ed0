//! The marginals that a report shows.

use std::collections::BTreeSet;

use super::chart::Chart;
use super::published::{Intervals, PublishedMarginal};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Result;
use crate::residual::summed;
use crate::schema::Schema;

/// Number of pairs of attributes that are shown.
const PAIRS_SHOWN: usize = 10;

/// Pairs of more cells are not compared.
const MAX_CELLS: usize = 1 << 20;

/// Charts with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// What the charts show.
    pub note: String,
    /// The charts, in order.
    pub charts: Vec<Chart>,
}

/// Returns the sets of one and two attributes that some sets contain, without very large ones.
pub fn candidates(schema: &Schema, sets: impl Iterator<Item = AttributeSet>) -> Vec<AttributeSet> {
    let sizes = schema.sizes();
    let is_small = |set: &AttributeSet| {
        set.select(&sizes)
            .iter()
            .try_fold(1usize, |cells, n| cells.checked_mul(*n))
            .is_some_and(|cells| cells <= MAX_CELLS)
    };
    let parts = sets.flat_map(|set| set.of_size(1).chain(set.of_size(2)).collect::<Vec<_>>());
    let parts: BTreeSet<AttributeSet> = parts.filter(is_small).collect();
    parts.into_iter().collect()
}

/// Returns the charts of single attributes and of the ten most dependent pairs.
///
/// `sets` are the published marginals of one and two attributes, and `marginal` returns their
/// estimates. Pairs are compared by mutual information; those without any are omitted.
///
/// # Errors
/// Errors of `marginal`.
pub fn sections(
    schema: &Schema,
    sets: &[AttributeSet],
    marginal: &mut dyn FnMut(AttributeSet) -> Result<PublishedMarginal>,
) -> Result<Vec<Section>> {
    let mut singles = Vec::new();
    let mut pairs: Vec<(f64, PublishedMarginal)> = Vec::new();
    let mut notes = BTreeSet::new();
    for &set in sets {
        let published = marginal(set)?;
        notes.insert(match published.intervals {
            Intervals::None => "",
            Intervals::Each(_) => " Lines are 95 % intervals, each for one estimate alone.",
            Intervals::OfSum { .. } => {
                " Lines extend to the 95 % bound of a single error, which holds for all estimates \
                 of a marginal together: errors are usually much smaller."
            }
        });
        match set.len() {
            1 => singles.push(Chart::of(schema, schema.names(set), &published)),
            2 => {
                let dependence = dependence(&set.select(&schema.sizes()), &published);
                if dependence > 0.0 {
                    pairs.push((dependence, published));
                    pairs.sort_by(|a, b| {
                        b.0.total_cmp(&a.0).then(a.1.attributes.cmp(&b.1.attributes))
                    });
                    pairs.truncate(PAIRS_SHOWN);
                }
            }
            _ => {}
        }
    }
    let lines = notes.into_iter().collect::<String>();
    let pair = |(rank, (_, published)): (usize, &(f64, PublishedMarginal))| {
        let names: Vec<String> =
            published.attributes.of_size(1).map(|single| schema.names(single)).collect();
        Chart::of(schema, format!("{}. {}", rank + 1, names.join(" × ")), published)
    };
    let pairs: Vec<Chart> = pairs.iter().enumerate().map(pair).collect();
    let mut sections = Vec::new();
    if !singles.is_empty() {
        let note = format!("Estimated numbers of records.{}", intervals_of(&singles, &lines));
        sections.push(Section { heading: "Single attributes".into(), note, charts: singles });
    }
    if !pairs.is_empty() {
        let heading = match pairs.len() {
            1 => "The most dependent pair of attributes".to_owned(),
            n => format!("The {n} most dependent pairs of attributes"),
        };
        let note = format!(
            "Estimated numbers of records, by decreasing mutual information of the published \
             estimates.{}",
            intervals_of(&pairs, &lines)
        );
        sections.push(Section { heading, note, charts: pairs });
    }
    Ok(sections)
}

/// Returns what lines mean, if some chart has any.
fn intervals_of<'a>(charts: &[Chart], lines: &'a str) -> &'a str {
    let has_lines = |chart: &Chart| chart.bars.iter().any(|bar| bar.interval.is_some());
    if charts.iter().any(has_lines) { lines } else { "" }
}

/// Returns the mutual information of two attributes in nats, from estimates.
///
/// `Σ p ln(p/q) − p + q` with p the nonnegative estimates and q the product of their sums, both
/// divided by the total. Every term is nonnegative. Cells whose interval contains q are treated as
/// equal to q, so that noise does not count as dependence.
fn dependence(sizes: &[usize], published: &PublishedMarginal) -> f64 {
    let cells: Vec<f64> = published.estimates.iter().map(|x| x.max(0.0)).collect();
    let total: f64 = cells.iter().sum();
    let &[_, columns] = sizes else { return 0.0 };
    if !(total > 0.0 && total.is_finite()) {
        return 0.0;
    }
    let side = |kept: usize| {
        let sums = summed(sizes, AxisSet::of(2, |axis| axis == kept), &published.estimates);
        sums.into_iter().map(|x| x.max(0.0)).collect::<Vec<f64>>()
    };
    let (rows, lines) = (side(0), side(1));
    let all: f64 = rows.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let term = |(cell, &p): (usize, &f64)| {
        let q = rows[cell / columns] * lines[cell % columns] / all;
        if (p - q).abs() <= published.half_width(cell) || q <= 0.0 {
            return 0.0;
        }
        let logarithm = if p > 0.0 { p * (p / q).ln() } else { 0.0 };
        logarithm - p + q
    };
    cells.iter().enumerate().map(term).sum::<f64>() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::test_support::set;

    fn published(estimates: &[f64], half_width: Option<f64>) -> PublishedMarginal {
        PublishedMarginal {
            attributes: set(&[0, 1]),
            estimates: estimates.to_vec(),
            intervals: half_width
                .map_or(Intervals::None, |w| Intervals::Each(vec![w; estimates.len()])),
        }
    }

    #[test]
    fn dependence_is_mutual_information_beyond_the_noise() {
        let of = |cells: &[f64], width| dependence(&[2, 2], &published(cells, width));
        // Two equal bits: ln 2. Independent bits: 0.
        assert!((of(&[50.0, 0.0, 0.0, 50.0], None) - 2f64.ln()).abs() < 1e-12);
        assert_eq!(of(&[25.0; 4], None), 0.0);
        assert!(of(&[26.0, 24.0, 24.0, 26.0], None) > 0.0);
        assert_eq!(of(&[26.0, 24.0, 24.0, 26.0], Some(2.0)), 0.0);
        assert_eq!(of(&[-1.0; 4], None), 0.0);
    }
}
