//! Answers that are known without noise: cells that cannot occur, and public counts.
//!
//! The estimates are conditioned on them one after the other. Let w be the [whitened](super::whitened)
//! query of a known answer v with the estimate x, and u_1 … u_k the orthonormal directions of those
//! before. The noisy answers y_A of the subspaces become
//!
//! ```text
//! r = w − Σ_i (u_i·w) u_i        u = r/|r|        y_A ← y_A + √Var_A u_A (v − x)/|r|
//! ```
//!
//! Estimates from them are the least-squares estimates that agree with all known answers. They stay
//! unbiased, and the variance of every other query w falls to `|w|² − Σ_i (u_i·w)²`. Whitened
//! queries have the condition number of the strategies; covariances would have its square.

use std::collections::HashMap;

use super::least_squares::Estimates;
use super::weights::{Direction, Weights};
use super::whitened::unmeasured;
use crate::domain::{AttributeSet, AxisSet, coordinates};
use crate::error::{Error, Result};
use crate::residual::spread_for;
use crate::schema::Schema;
use crate::workload::{GroupQueries, QueryGroup};

/// Maximum number of cells that cannot occur, over all measured marginals.
const MAX_CELLS: usize = 2048;

/// A query is known if its part outside the directions has at most this share of its norm.
pub(super) const MIN_SHARE: f64 = 1e-10;

/// Variances that fall below this share are computed again without cancellation.
pub(in crate::release) const CANCELLED: f64 = 1e-4;

/// An answer that is known: the number of records in a product of sets of values.
#[derive(Debug)]
struct Known {
    attributes: AttributeSet,
    /// 1 for the values in the set, 0 for others, per attribute.
    rows: Vec<Vec<f64>>,
    value: f64,
}

/// Refuses more impossible cells than estimates can be conditioned on.
///
/// `measured` are the measured sets of attributes.
///
/// # Errors
/// More than 2048 cells of the measured marginals that cannot occur.
pub fn check(schema: &Schema, measured: &[AttributeSet]) -> Result<()> {
    impossible(schema, measured).map(|_| ())
}

/// Returns the cells that cannot occur of the largest measured marginals.
fn impossible(schema: &Schema, measured: &[AttributeSet]) -> Result<Vec<Known>> {
    let sizes = schema.sizes();
    let mut known = Vec::new();
    for cells in schema.impossible() {
        let contains = |set: &&AttributeSet| cells.attributes().is_subset(**set);
        let sets: Vec<AttributeSet> = measured.iter().filter(contains).copied().collect();
        let is_largest =
            |set: &&AttributeSet| !sets.iter().any(|other| other != *set && set.is_subset(*other));
        for &set in sets.iter().filter(is_largest) {
            let in_box = cells.cells(set, &set.select(&sizes));
            for cell in (0..in_box.len()).filter(|cell| in_box[*cell]) {
                let shape = set.select(&sizes);
                let unit = |(value, size): (usize, &usize)| -> Vec<f64> {
                    (0..*size).map(|other| f64::from(u8::from(other == value))).collect()
                };
                let rows = coordinates(&shape, cell).into_iter().zip(&shape).map(unit).collect();
                known.push(Known { attributes: set, rows, value: 0.0 });
                if known.len() > MAX_CELLS {
                    let remedy = "remove [[impossible]] tables, or give attributes fewer values";
                    return Err(Error::bad_input(
                        "[[impossible]] tables of the schema",
                        format!("at most {MAX_CELLS} cells of the measured marginals"),
                        "more",
                        remedy,
                    ));
                }
            }
        }
    }
    Ok(known)
}

impl Estimates {
    /// Conditions noisy answers on the impossible cells of the schema and on its public counts.
    ///
    /// An answer with a component in a subspace that was not measured determines nothing else and
    /// is left out. *Time*: O(k² · rows) for k known answers and the rows of all strategies.
    /// *Memory*: O(k · rows).
    ///
    /// # Errors
    /// Not one count per public count of the schema, or too many impossible cells.
    pub(super) fn condition(&mut self, answers: &mut Weights, public_counts: &[u64]) -> Result<()> {
        let boxes = self.schema.public_counts();
        if boxes.len() != public_counts.len() {
            let expected = format!("{} public counts", boxes.len());
            return Err(Error::bug("estimates", expected, public_counts.len().to_string()));
        }
        let known = boxes.iter().zip(public_counts).map(|(cells, &count)| {
            let row = |chosen: &Vec<bool>| -> Vec<f64> {
                chosen.iter().map(|chosen| f64::from(u8::from(*chosen))).collect()
            };
            let rows = cells.chosen().iter().map(row).collect();
            Known { attributes: cells.attributes(), rows, value: count as f64 }
        });
        let mut all: Vec<Known> = known.collect();
        all.extend(impossible(&self.schema, &self.sets())?);
        for known in all {
            self.condition_on(answers, &known)?;
        }
        Ok(())
    }

    fn condition_on(&mut self, answers: &mut Weights, known: &Known) -> Result<()> {
        let rows: Vec<&[f64]> = known.rows.iter().map(Vec::as_slice).collect();
        let Some(weights) = self.weights_of_product(known.attributes, &rows)? else {
            return Ok(());
        };
        let estimate = weights.dot(answers);
        let mut direction = self.remaining(self.whitened(weights));
        let deviation = direction.norm();
        // Answers that follow from others, or are measured without noise, say nothing new.
        if deviation == 0.0 {
            return Ok(());
        }
        direction.scale(deviation.recip());
        answers.add((known.value - estimate) / deviation, &self.whitened(direction.clone()));
        let mut cells = HashMap::with_capacity(direction.0.len());
        for (set, values) in &self.whitened(direction.clone()).0 {
            cells.insert(*set, self.reconstructed(*set, values)?);
        }
        self.directions.push(Direction { whitened: direction, cells });
        Ok(())
    }

    /// Returns what the known answers leave of a whitened query: its squared norm is the variance.
    ///
    /// 0 if the query is known: at most 10⁻¹⁰ of its norm is left. *Time*: O(k · rows).
    pub(super) fn remaining(&self, mut query: Weights) -> Weights {
        let before = query.norm();
        for _ in 0..2 {
            query.subtract(self.directions.iter().map(|direction| &direction.whitened));
            let left = query.norm();
            if left <= MIN_SHARE * before {
                return Weights::default();
            }
            // If little is left, the second time removes the rounding errors of the first.
            if left > 0.5 * before {
                break;
            }
        }
        query
    }

    /// Subtracts what the known answers explain from the variances of a group's answers.
    ///
    /// A variance that falls below 10⁻⁴ of what it was is computed again from the whitened query; it
    /// is 0 if the answer is known.
    pub(super) fn subtract_known(&self, group: &QueryGroup, variances: &mut [f64]) -> Result<()> {
        let before = variances.to_vec();
        for direction in &self.directions {
            let attributes = group.attributes();
            if !attributes.subsets().any(|set| direction.cells.contains_key(&set)) {
                continue;
            }
            let sizes = self.schema.shape_of(attributes)?;
            let measures = self.measure.of(attributes);
            let mut marginal = vec![0.0; sizes.iter().product()];
            for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
                if let Some(values) = direction.cells.get(&set) {
                    spread_for(&mut marginal, &sizes, kept, values, &measures);
                }
            }
            let explained = group.answers(&marginal)?;
            variances.iter_mut().zip(explained).for_each(|(v, u)| *v -= u * u);
        }
        let is_cancelled = |query: &usize| variances[*query] < CANCELLED * before[*query];
        let cancelled: Vec<usize> = (0..variances.len()).filter(is_cancelled).collect();
        self.for_weights_of(group, &cancelled, &mut |query, weights| {
            variances[query] = self.remaining(self.whitened(weights)).norm().powi(2);
        })
    }

    /// Calls a function with the weights of some of a group's queries, given in ascending order.
    fn for_weights_of(
        &self,
        group: &QueryGroup,
        chosen: &[usize],
        call: &mut dyn FnMut(usize, Weights),
    ) -> Result<()> {
        if chosen.is_empty() {
            return Ok(());
        }
        let families = match group.queries() {
            GroupQueries::Product(families) => families,
            GroupQueries::Joint(joint) => {
                let rows = joint.rows()?.enumerate();
                for (query, row) in rows.filter(|(k, _)| chosen.binary_search(k).is_ok()) {
                    call(query, self.weights_of_query(group.attributes(), &row)?);
                }
                return Ok(());
            }
        };
        let (mut counts, mut rows) = (Vec::new(), Vec::new());
        for (family, &size) in families.iter().zip(group.sizes()) {
            counts.push(family.rows(&[size])?.count());
            rows.push(HashMap::new());
        }
        // Large families are not kept: only the rows of the chosen queries.
        for query in chosen {
            coordinates(&counts, *query).into_iter().zip(&mut rows).for_each(|(index, rows)| {
                rows.insert(index, Vec::new());
            });
        }
        for ((family, &size), rows) in families.iter().zip(group.sizes()).zip(&mut rows) {
            for (index, row) in family.rows(&[size])?.enumerate() {
                rows.entry(index).and_modify(|kept| *kept = row);
            }
        }
        for query in chosen {
            let indices = coordinates(&counts, *query).into_iter().zip(&rows);
            let of_axes: Vec<&[f64]> =
                indices.filter_map(|(index, rows)| rows.get(&index)).map(Vec::as_slice).collect();
            let weights = self.weights_of_product(group.attributes(), &of_axes)?;
            call(*query, weights.ok_or_else(unmeasured)?);
        }
        Ok(())
    }
}
