//! Answers that are known without noise: cells that cannot occur, and public counts.
//!
//! The estimates are conditioned on them one after the other. With Σ the covariance of the
//! estimates, q a query with the known answer v, and `u = Σqᵀ/√(qΣqᵀ)`,
//!
//! ```text
//! x ← x + u (v − q x)/√(qΣqᵀ)          Σ ← Σ − u uᵀ
//! ```
//!
//! These are the least-squares estimates that agree with all known answers. They stay unbiased, and
//! the variance of every other query can only fall.

use super::least_squares::{Direction, Estimates, Part};
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::{centre_for, contracted, project_for, spread_for};
use crate::schema::Schema;
use crate::workload::QueryGroup;

/// Maximum number of cells that cannot occur, over all measured marginals.
const MAX_CELLS: usize = 2048;

/// A known answer that is left after conditioning on others: its share of the variance.
pub(super) const MIN_SHARE: f64 = 1e-9;

/// An answer that is known: the number of records in some cells of a marginal.
#[derive(Debug)]
struct Known {
    attributes: AttributeSet,
    cells: Vec<bool>,
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
                let mut one = vec![false; in_box.len()];
                one[cell] = true;
                known.push(Known { attributes: set, cells: one, value: 0.0 });
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
    /// Conditions the estimates on the impossible cells of the schema and on its public counts.
    ///
    /// An answer with a component in a subspace that was not measured determines nothing else and
    /// is left out.
    ///
    /// *Time*: O(k²) products of subspaces for k known answers.
    ///
    /// # Errors
    /// Not one count per public count of the schema, or too many impossible cells.
    pub(super) fn condition(&mut self, public_counts: &[u64]) -> Result<()> {
        let boxes = self.schema.public_counts();
        if boxes.len() != public_counts.len() {
            let expected = format!("{} public counts", boxes.len());
            return Err(Error::bug("estimates", expected, public_counts.len().to_string()));
        }
        let sizes = self.schema.sizes();
        let known = boxes.iter().zip(public_counts).map(|(cells, &count)| {
            let attributes = cells.attributes();
            let in_box = cells.cells(attributes, &attributes.select(&sizes));
            Known { attributes, cells: in_box, value: count as f64 }
        });
        let mut all: Vec<Known> = known.collect();
        all.extend(impossible(&self.schema, &self.sets())?);
        for known in all {
            self.condition_on(&known)?;
        }
        Ok(())
    }

    fn condition_on(&mut self, known: &Known) -> Result<()> {
        let query: Vec<f64> =
            known.cells.iter().map(|in_box| f64::from(u8::from(*in_box))).collect();
        let Some(components) = self.components(known.attributes, &query)? else { return Ok(()) };
        let mut direction = Direction::with_capacity(components.len());
        for (set, component) in &components {
            if let Some(part) = self.parts.get(set) {
                direction.insert(*set, self.times_covariance(*set, part, component)?);
            }
        }
        let before = dot(&components, &direction);
        for earlier in &self.directions {
            let share = dot(&components, earlier);
            for (set, values) in &mut direction {
                let Some(other) = earlier.get(set) else { continue };
                values.iter_mut().zip(other).for_each(|(x, u)| *x -= share * u);
            }
            for (set, other) in earlier {
                if share != 0.0 && !direction.contains_key(set) {
                    direction.insert(*set, other.iter().map(|u| -share * u).collect());
                }
            }
        }
        let variance = dot(&components, &direction);
        // Answers that follow from others, or are measured without noise, say nothing new.
        if variance <= MIN_SHARE * before {
            return Ok(());
        }
        let deviation = variance.sqrt();
        direction.values_mut().flatten().for_each(|x| *x /= deviation);
        let estimate = in_order(&components)
            .filter_map(|(set, query)| Some(product(query, &self.parts.get(set)?.estimate)))
            .sum::<f64>();
        let step = (known.value - estimate) / deviation;
        for (set, values) in &direction {
            if let Some(part) = self.parts.get_mut(set) {
                part.estimate.iter_mut().zip(values).for_each(|(x, u)| *x += step * u);
            }
        }
        self.directions.push(direction);
        Ok(())
    }

    /// Returns the components of a query in the subspaces; `None` if one was not measured.
    fn components(&self, attributes: AttributeSet, query: &[f64]) -> Result<Option<Direction>> {
        let sizes = self.schema.shape_of(attributes)?;
        let measures = self.measure.of(attributes);
        let mut components = Direction::new();
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
            let mut component = contracted(&sizes, kept, query.to_vec(), &measures);
            centre_for(&kept.select(&sizes), &mut component, &self.measure.of(set));
            let is_zero = component.iter().all(|x| x.abs() < 1e-12);
            match (is_zero, self.parts.contains_key(&set)) {
                (true, _) => {}
                (false, true) => drop(components.insert(set, component)),
                (false, false) => return Ok(None),
            }
        }
        Ok(Some(components))
    }

    /// Returns the covariance of a subspace's estimate with the answer to a centred query.
    fn times_covariance(&self, set: AttributeSet, part: &Part, query: &[f64]) -> Result<Vec<f64>> {
        let mut covariance = part.strategy.times_covariance(query)?;
        covariance.iter_mut().for_each(|x| *x *= part.noise);
        project_for(&part.strategy.shape(), &mut covariance, &self.measure.of(set));
        Ok(covariance)
    }

    /// Subtracts what the known answers explain from the variances of a group's answers.
    ///
    /// A variance of less than 10⁻⁹ of what it was is 0: the answer is known.
    pub(super) fn subtract_known(&self, group: &QueryGroup, variances: &mut [f64]) -> Result<()> {
        let before = variances.to_vec();
        for direction in &self.directions {
            let attributes = group.attributes();
            if !attributes.subsets().any(|set| direction.contains_key(&set)) {
                continue;
            }
            let sizes = self.schema.shape_of(attributes)?;
            let measures = self.measure.of(attributes);
            let mut marginal = vec![0.0; sizes.iter().product()];
            for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
                if let Some(values) = direction.get(&set) {
                    spread_for(&mut marginal, &sizes, kept, values, &measures);
                }
            }
            let explained = group.answers(&marginal)?;
            variances.iter_mut().zip(explained).for_each(|(v, u)| *v -= u * u);
        }
        for (variance, before) in variances.iter_mut().zip(before) {
            if *variance < MIN_SHARE * before {
                *variance = 0.0;
            }
        }
        Ok(())
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Returns the sum of products over common subspaces.
fn dot(a: &Direction, b: &Direction) -> f64 {
    in_order(a).filter_map(|(set, x)| Some(product(x, b.get(set)?))).sum()
}

/// Iterates over the subspaces in the order of their sets, so that sums have the same bits in every
/// run.
fn in_order(direction: &Direction) -> impl Iterator<Item = (&AttributeSet, &Vec<f64>)> {
    let mut entries: Vec<_> = direction.iter().collect();
    entries.sort_unstable_by_key(|(set, _)| **set);
    entries.into_iter()
}
