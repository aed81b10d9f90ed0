//! What a term computes from products of rows.

use super::chosen::{Target, cell_name};
use super::mistake::Mistake;
use super::product_rows::ProductRows;
use super::rows::{Rows, check_size};
use super::spans::{End, Spans, to_double};
use super::syntax::{Measure, Name, Word};
use crate::domain::AttributeKind;
use crate::schema::Schema;

/// A number about records, from products of rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// A count or a sum.
    Linear(ProductRows),
    /// A mean or a share: the ratio of two products, which have equal cells with weights.
    Ratio {
        /// The numerator: the weights of the denominator, times the values of one attribute or of a
        /// condition.
        numerator: ProductRows,
        /// The denominator: a count.
        denominator: ProductRows,
        /// The smallest and the largest of these values.
        range: (f64, f64),
    },
    /// A quantile.
    Quantile(Quantile),
}

/// A quantile of the values of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantile {
    /// The position of the attribute.
    pub position: usize,
    /// The share p of records that are at most the quantile, in (0, 1).
    pub share: f64,
    /// The cells with numbers that meet the conditions, in ascending order.
    pub cells: Vec<QuantileCell>,
    /// One row of the attribute for every cell k: `1{cell ≤ k} − p`, the last for the last cell. A
    /// negative answer says that the quantile is in a later cell.
    pub excess: ProductRows,
}

/// A cell of an attribute, for quantiles.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileCell {
    /// The smallest number; `None` for an open end.
    pub low: Option<f64>,
    /// The largest number, or the limit of the numbers; `None` for an open end.
    pub high: Option<f64>,
    /// The number of integers, if the cell contains only these.
    pub integers: Option<f64>,
}

impl Quantity {
    /// Returns the quantity of a measure; adds sentences about it.
    pub(super) fn of(
        measure: &Measure,
        rows: &Rows,
        schema: &Schema,
        notes: &mut Vec<String>,
    ) -> Result<Self, Mistake> {
        Ok(match measure {
            Measure::Total | Measure::Count => Quantity::Linear(rows.products(schema, &[])),
            Measure::Sum(name) => {
                let values = Values::of(name, "sum", rows, schema, notes)?;
                Quantity::Linear(rows.products(schema, &[(values.position, vec![values.weights])]))
            }
            Measure::Mean(name) => {
                let values = Values::of(name, "mean", rows, schema, notes)?;
                let p = values.position;
                Quantity::Ratio {
                    numerator: rows.products(schema, &[(p, vec![values.weights])]),
                    denominator: rows.products(schema, &[(p, vec![values.has_value])]),
                    range: values.range,
                }
            }
            Measure::Share(_) => {
                let weights =
                    |cells: &Vec<bool>| cells.iter().map(|is| f64::from(u8::from(*is))).collect();
                let part: Vec<(usize, Vec<Vec<f64>>)> =
                    rows.part.iter().map(|(p, cells)| (*p, vec![weights(cells)])).collect();
                for (position, _) in &rows.part {
                    let missing = schema.missing(*position).map(|cell| cell as usize);
                    if missing.is_some_and(|cell| rows.mask(*position).is_none_or(|m| m[cell])) {
                        let name = &schema.attributes()[*position].name;
                        add(
                            notes,
                            format!(
                                "Records with a missing `{name}` are in the whole of the share; \
                             exclude them with `where`."
                            ),
                        );
                    }
                }
                Quantity::Ratio {
                    numerator: rows.products(schema, &part),
                    denominator: rows.products(schema, &[]),
                    range: (0.0, 1.0),
                }
            }
            Measure::Median(name) => Quantity::Quantile(quantile(name, 0.5, rows, schema, notes)?),
            Measure::Quantile(name, share) => {
                let share = share_of(share)?;
                Quantity::Quantile(quantile(name, share, rows, schema, notes)?)
            }
        })
    }
}

/// Returns the share of a quantile.
fn share_of(word: &Word) -> Result<f64, Mistake> {
    let number: Option<f64> = word.text.parse().ok();
    number.filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| {
        let found = format!("`{}`", word.text);
        let expected = "a number between 0 and 1, without these";
        Mistake::new(word.at.clone(), expected, found, "write e.g. 0.9 for the highest tenth")
    })
}

/// Adds a sentence once.
fn add(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

/// The numbers of an attribute's cells, in a sum or a mean.
struct Values {
    position: usize,
    /// The number of every cell; 0 for a cell that is left out.
    weights: Vec<f64>,
    /// 1 for a cell with a number.
    has_value: Vec<f64>,
    range: (f64, f64),
}

/// Returns the numeric attribute of a name, and the numbers of its cells.
fn numeric(name: &Name, what: &str, schema: &Schema) -> Result<(usize, Spans), Mistake> {
    let target = Target::of(schema, name)?;
    let position = target.position;
    let is_numeric = schema.attributes()[position].kind == AttributeKind::Numeric;
    let spans = Spans::of(schema, position)
        .filter(|spans| target.level.is_none() && is_numeric && !spans.are_times);
    let spans = spans.ok_or_else(|| {
        let found = format!("`{name}`, which has no numbers");
        let remedy = "use count or share, or declare the attribute numeric in the schema";
        Mistake::new(name.at(), format!("a numeric attribute for {what}"), found, remedy)
    })?;
    Ok((position, spans))
}

/// Says which cells without numbers are left out.
fn note_left_out(
    position: usize,
    spans: &Spans,
    rows: &Rows,
    schema: &Schema,
    notes: &mut Vec<String>,
) {
    let is_in = |cell: usize| rows.mask(position).is_none_or(|mask| mask[cell]);
    let left_out: Vec<String> = (0..spans.cells.len())
        .filter(|cell| spans.cells[*cell].is_none() && is_in(*cell))
        .map(|cell| cell_name(schema, position, cell))
        .collect();
    if !left_out.is_empty() {
        let name = &schema.attributes()[position].name;
        add(
            notes,
            format!("Records without a number are left out: `{name}` = {}.", {
                left_out.join(", ")
            }),
        );
    }
}

/// Refuses cells that all lack numbers.
fn check_some(found: bool, name: &Name) -> Result<(), Mistake> {
    if found {
        return Ok(());
    }
    Err(Mistake::new(
        name.at(),
        "cells with numbers among those that meet the conditions",
        format!("none of `{name}`"),
        "correct the conditions",
    ))
}

impl Values {
    fn of(
        name: &Name,
        what: &str,
        rows: &Rows,
        schema: &Schema,
        notes: &mut Vec<String>,
    ) -> Result<Self, Mistake> {
        let (position, spans) = numeric(name, what, schema)?;
        let size = spans.cells.len();
        let (mut weights, mut has_value) = (vec![0.0; size], vec![0.0; size]);
        let mut range: Option<(f64, f64)> = None;
        for (cell, span) in spans.cells.iter().enumerate() {
            if rows.mask(position).is_some_and(|mask| !mask[cell]) {
                continue;
            }
            let Some(span) = span else { continue };
            let Some(middle) = span.middle() else {
                let limit = match (&span.low, &span.high) {
                    (Some(low), _) => format!("<= {}", spans.shown(&low.at)),
                    (_, Some(high)) => format!(">= {}", spans.shown(&high.at)),
                    _ => String::new(),
                };
                let limit = match (spans.are_integers, &span.low, &span.high) {
                    (true, Some(low), _) => format!("< {}", spans.shown(&low.at)),
                    (true, _, Some(high)) => format!("> {}", spans.shown(&high.at)),
                    _ => limit,
                };
                let bin = cell_name(schema, position, cell);
                return Err(Mistake::new(
                    name.at(),
                    format!("numbers with a midpoint for {what}"),
                    format!("the open bin `{bin}`"),
                    format!("exclude it: `where {name} {limit}`, or use median({name})"),
                ));
            };
            let middle = to_double(&middle);
            (weights[cell], has_value[cell]) = (middle, 1.0);
            range = Some(range.map_or((middle, middle), |(a, b)| (a.min(middle), b.max(middle))));
        }
        check_some(range.is_some(), name)?;
        if spans.are_bins {
            let middle = match spans.are_integers {
                true => "the mean of the integers of its bin",
                false => "the midpoint of its bin",
            };
            add(
                notes,
                format!(
                    "Every record counts with {middle} of `{name}`; the interval is that of this \
                 number."
                ),
            );
        }
        note_left_out(position, &spans, rows, schema, notes);
        Ok(Values { position, weights, has_value, range: range.unwrap_or_default() })
    }
}

/// Returns the cells and rows of a quantile.
fn quantile(
    name: &Name,
    share: f64,
    rows: &Rows,
    schema: &Schema,
    notes: &mut Vec<String>,
) -> Result<Quantile, Mistake> {
    let (position, spans) = numeric(name, "a quantile", schema)?;
    if rows.by.iter().any(|(by, _)| by.position == position) {
        let expected = "a quantile of another attribute than those of `by`";
        let remedy = "drop the attribute from `by`";
        return Err(Mistake::new(name.at(), expected, format!("`{name}` in both"), remedy));
    }
    let is_in = |cell: &usize| {
        spans.cells[*cell].is_some() && rows.mask(position).is_none_or(|mask| mask[*cell])
    };
    let mut order: Vec<usize> = (0..spans.cells.len()).filter(is_in).collect();
    let start = |cell: &usize| {
        spans.cells[*cell].as_ref().and_then(|span| span.low.as_ref()).map(|low| low.at.clone())
    };
    order.sort_by_key(start);
    check_some(!order.is_empty(), name)?;
    check_size(name, order.len(), spans.cells.len())?;
    let cell_of = |cell: &usize| {
        let span = spans.cells[*cell].as_ref();
        let (low, high) = span.map_or((None, None), |span| (span.low.as_ref(), span.high.as_ref()));
        let integers = match (low, high, spans.are_integers) {
            (Some(low), Some(high), true) => Some(to_double(&(&high.at - &low.at)) + 1.0),
            _ => None,
        };
        let double = |end: Option<&End>| end.map(|end| to_double(&end.at));
        QuantileCell { low: double(low), high: double(high), integers }
    };
    let excess = (0..order.len()).map(|k| {
        let mut row = vec![0.0; spans.cells.len()];
        order.iter().enumerate().for_each(|(j, cell)| {
            row[*cell] = if j <= k { 1.0 - share } else { -share };
        });
        row
    });
    let excess = rows.products(schema, &[(position, excess.collect())]);
    if spans.are_bins {
        add(
            notes,
            format!(
                "A quantile of `{name}` is located up to its bin: the interval ends at edges of \
                 bins, and the estimate is interpolated inside one."
            ),
        );
    }
    note_left_out(position, &spans, rows, schema, notes);
    Ok(Quantile { position, share, cells: order.iter().map(cell_of).collect(), excess })
}
