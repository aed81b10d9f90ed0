//! A junction tree of bounded size, fitted by sweeps of soft iterative proportional fitting.

use super::evidence::Widths;
use super::update::{Evidence, SHIFT_STEPS, Update, fits, raise_to_minimum};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::ResidualEstimates;
use crate::estimation::graphical_model::{CalibratedTree, JunctionTree, Projection};
use crate::schema::Refinement;

/// Minimum cell of a factor.
const MIN_FACTOR: f64 = 1e-9;

/// Sweeps end when the mean change of a factor's marginal is below this fraction of the records.
const SWEEP_TOLERANCE: f64 = 1e-4;

/// Increase of the change of a sweep after which the exponent of updates is halved.
const MAX_INCREASE: f64 = 1.2;

/// Smallest exponent of updates.
const MIN_STEP: f64 = 0.125;

/// One factor: a measured marginal and its multipliers of the model's cells.
#[derive(Debug, Clone)]
struct SoftFactor {
    set: AttributeSet,
    clique: usize,
    projection: Projection,
    /// The multipliers f.
    values: Vec<f64>,
    /// The evidence y_c.
    target: Vec<f64>,
    /// The cell variance s² of the evidence.
    variance: f64,
    /// The shift c of the last update.
    shift: f64,
}

impl SoftFactor {
    fn evidence(&self, width: f64) -> Evidence<'_> {
        Evidence { target: &self.target, variance: self.variance, width }
    }
}

/// A marginal μ of the model and its cavity.
struct Cavity {
    marginal: Vec<f64>,
    cells: Vec<f64>,
    scale: f64,
    width: f64,
}

/// The model `Π_c f_c` over its junction tree, scaled to N̂ records.
///
/// *Sweep*: one depth-first traversal of the tree. At a clique its factors are updated, smaller
/// sets first. Then, for every child: a message down (the child's table is multiplied by the new
/// separator over the old one, as in Hugin propagation), the child's traversal, and a message up.
/// Finally the tree is calibrated from the root, scaled to N̂.
///
/// *Update* of a factor with its current marginal μ: the cavity is q = μ/f, scaled to N̂; the
/// [`Update`] gives v; `f ← f^(1−a) max(v/q, 10⁻⁹)^a`, where a = 1. In a damped
/// model a is halved, down to ⅛, after a sweep with a change more than 1.2 times the previous one:
/// full updates can diverge. The clique's table is multiplied by the ratio of the
/// new factor to the old one. *Time* of a sweep: O(cells of the model · factors per clique).
#[derive(Debug, Clone)]
pub struct SoftModel {
    tree: CalibratedTree,
    attributes: AttributeSet,
    factors: Vec<SoftFactor>,
    widths: Widths,
    /// The number of records N̂, at least 1.
    total: f64,
    /// Whether the exponents of updates are lowered if sweeps diverge.
    damped: bool,
    /// The exponent of an update, at most 1.
    step: f64,
    /// [`SWEEP_TOLERANCE`], or smaller in tests of the fixed point.
    tolerance: f64,
}

impl SoftModel {
    /// Creates the model of independent attributes, with one factor per attribute.
    ///
    /// # Errors
    /// No attributes, or attributes that the schema lacks.
    pub fn new(sizes: &[usize], attributes: AttributeSet, widths: Widths) -> Result<Self> {
        let sets: Vec<AttributeSet> = attributes.positions().map(AttributeSet::single).collect();
        let tree = JunctionTree::new(sizes, attributes, &sets)?;
        let tables = tree.cliques().iter().map(|set| ones(sizes, *set)).collect();
        let separators = vec![vec![1.0]; tree.cliques().len()];
        let tree = CalibratedTree::new(sizes.to_vec(), tree, tables, separators);
        let mut model = SoftModel {
            tree,
            attributes,
            factors: Vec::new(),
            widths,
            total: 1.0,
            damped: false,
            step: 1.0,
            tolerance: SWEEP_TOLERANCE,
        };
        model.add(&sets)?;
        Ok(model)
    }

    /// Returns whether the junction tree of the factors and one more set has at most `cells` cells.
    pub fn has_room(&self, set: AttributeSet, cells: f64) -> bool {
        let tree = self.tree.tree();
        tree.clique_of(self.tree.sizes(), set).is_some() || {
            let sets: Vec<AttributeSet> = self.sets().into_iter().chain([set]).collect();
            JunctionTree::cells_for(self.tree.sizes(), self.attributes, &sets) <= cells
        }
    }

    /// Returns the sets of all factors, smaller ones first.
    pub(super) fn sets(&self) -> Vec<AttributeSet> {
        self.factors.iter().map(|factor| factor.set).collect()
    }

    /// Returns whether the model has a factor for a set.
    pub fn has(&self, set: AttributeSet) -> bool {
        self.factors.binary_search_by_key(&order(set), |f| order(f.set)).is_ok()
    }

    /// Adds factors of 1 for sets that have none.
    ///
    /// The tree is rebuilt if no clique contains a set.
    ///
    /// # Errors
    /// Attributes that the model lacks.
    pub fn add(&mut self, sets: &[AttributeSet]) -> Result<()> {
        let sizes = self.tree.sizes().to_vec();
        let mut rebuild = false;
        for &set in sets {
            let Err(index) = self.factors.binary_search_by_key(&order(set), |f| order(f.set))
            else {
                continue;
            };
            let clique = self.tree.tree().clique_of(&sizes, set);
            rebuild |= clique.is_none();
            let clique = clique.unwrap_or(0);
            let clique_set = self.tree.tree().cliques()[clique];
            let values = ones(&sizes, set);
            let target = values.clone();
            let factor = SoftFactor {
                set,
                clique,
                projection: Projection::new(&sizes, clique_set, set.intersection(clique_set)),
                values,
                target,
                variance: f64::INFINITY,
                shift: 0.0,
            };
            self.factors.insert(index, factor);
        }
        if rebuild { self.rebuild() } else { Ok(()) }
    }

    /// Makes attributes functions of others, by factors of 1 and 0 that no sweep changes.
    ///
    /// Combinations that cannot occur have probability 0 in every clique. *Memory*: the product of
    /// the two sizes.
    ///
    /// # Errors
    /// Attributes that the model lacks.
    pub(super) fn refine(&mut self, refinements: &[Refinement]) -> Result<()> {
        let sizes = self.tree.sizes().to_vec();
        for Refinement { finer, coarser, coarser_of } in refinements {
            let set = AttributeSet::from_positions(&[*finer, *coarser])?;
            self.add(&[set])?;
            let Some(factor) = self.factors.iter_mut().find(|factor| factor.set == set) else {
                continue;
            };
            factor.values.fill(0.0);
            for (fine, &coarse) in coarser_of.iter().enumerate() {
                let (fine, coarse) = (fine, coarse as usize);
                let cell = match finer < coarser {
                    true => fine * sizes[*coarser] + coarse,
                    false => coarse * sizes[*finer] + fine,
                };
                factor.values[cell] = 1.0;
            }
        }
        if refinements.is_empty() { Ok(()) } else { self.rebuild() }
    }

    fn rebuild(&mut self) -> Result<()> {
        let sizes = self.tree.sizes().to_vec();
        let sets = self.sets();
        let tree = JunctionTree::new(&sizes, self.attributes, &sets)?;
        let mut tables: Vec<Vec<f64>> =
            tree.cliques().iter().map(|set| ones(&sizes, *set)).collect();
        for factor in &mut self.factors {
            factor.clique = tree.clique_of(&sizes, factor.set).ok_or_else(|| {
                Error::bug("soft fitting", "a clique for every factor", format!("{:?}", factor.set))
            })?;
            factor.projection = Projection::new(&sizes, tree.cliques()[factor.clique], factor.set);
            factor.projection.apply(&mut tables[factor.clique], &factor.values, |x, f| *x *= f);
        }
        let separators = (0..tree.cliques().len())
            .map(|k| ones(&sizes, tree.parent(k).map_or(AttributeSet::EMPTY, |(_, s)| s)))
            .collect();
        self.tree = CalibratedTree::new(sizes, tree, tables, separators);
        for clique in (1..self.tree.tables.len()).rev() {
            let sum: f64 = self.tree.tables[clique].iter().sum();
            self.tree.tables[clique].iter_mut().for_each(|x| *x /= sum);
            self.tree.pass(clique, true);
        }
        self.distribute();
        Ok(())
    }

    /// Sets the targets and variances of all factors from the residuals, and N̂ from the total.
    ///
    /// # Errors
    /// Attributes that the estimates lack.
    pub fn follow(&mut self, estimates: &ResidualEstimates) -> Result<()> {
        self.total =
            estimates.marginal(AttributeSet::EMPTY)?.first().map_or(1.0, |total| total.max(1.0));
        for factor in &mut self.factors {
            factor.target = estimates.marginal(factor.set)?;
            factor.variance = estimates.cell_variance(factor.set);
        }
        Ok(())
    }

    /// As [`SoftModel::follow`], for one factor.
    #[cfg(test)]
    pub(super) fn follow_only(&mut self, estimates: &ResidualEstimates, set: AttributeSet) {
        self.total = estimates.marginal(AttributeSet::EMPTY).unwrap()[0];
        for factor in self.factors.iter_mut().filter(|factor| factor.set == set) {
            factor.target = estimates.marginal(set).unwrap();
            factor.variance = estimates.cell_variance(set);
        }
    }

    /// Replaces [`SWEEP_TOLERANCE`].
    #[cfg(test)]
    pub(super) fn set_tolerance(&mut self, tolerance: f64) {
        self.tolerance = tolerance;
    }

    /// Lowers the exponents of updates in sweeps that diverge.
    pub(super) fn damp(&mut self) {
        self.damped = true;
    }

    /// Makes sweeps until the factors converge, at most `sweeps`, and returns their number.
    pub fn sweep(&mut self, sweeps: usize) -> usize {
        let mut update = Update::default();
        let mut previous = f64::INFINITY;
        self.step = 1.0;
        for sweep in 0..sweeps {
            let mut change = 0.0;
            self.tour(0, &mut update, &mut change);
            self.distribute();
            if self.damped && change > MAX_INCREASE * previous {
                self.step = (0.5 * self.step).max(MIN_STEP);
            }
            previous = change;
            if change / (self.factors.len().max(1) as f64) < self.tolerance {
                return sweep + 1;
            }
        }
        sweeps
    }

    fn tour(&mut self, clique: usize, update: &mut Update, change: &mut f64) {
        for index in 0..self.factors.len() {
            if self.factors[index].clique == clique {
                *change += self.update(index, update);
            }
        }
        for k in 0..self.tree.tree().children(clique).len() {
            let child = self.tree.tree().children(clique)[k];
            self.tree.pass(child, false);
            self.tour(child, update, change);
            self.tree.pass(child, true);
        }
    }

    /// Returns the present marginal of a factor, its cavity q with cells of at least 10⁻³ records, the
    /// scale of the cavity, and the width; `None` if an update has no effect.
    fn cavity(&self, factor: &SoftFactor) -> Option<Cavity> {
        if !factor.variance.is_finite() {
            return None;
        }
        let clique = self.tree.tree.cliques()[factor.clique];
        let (shape, axes) = (clique.select(&self.tree.sizes), clique.axes_in(factor.set));
        let marginal = crate::residual::summed(&shape, axes, &self.tree.tables[factor.clique]);
        let mut cells: Vec<f64> = marginal.iter().zip(&factor.values).map(|(m, f)| m / f).collect();
        let scale = self.total / cells.iter().sum::<f64>();
        cells.iter_mut().for_each(|q| *q *= scale);
        raise_to_minimum(&mut cells);
        let rule = self.widths.of(factor.set.len());
        let width = rule.width(&cells, &factor.target, factor.variance)?;
        Some(Cavity { marginal, cells, scale, width })
    }

    /// Returns better marginals of the factors of several attributes that do not fit their evidence.
    ///
    /// Sweeps converge slowly if the true marginal has cells without records. Criterion: the
    /// model's marginal does not [fit](fits) y. Its replacement is the update v, or, if that does not
    /// fit either, the [projection](Update::project) of y.
    pub(super) fn corrected(&self) -> Vec<(AttributeSet, Vec<f64>)> {
        let mut found = Vec::new();
        let mut update = Update::default();
        for factor in self.factors.iter().filter(|factor| factor.set.len() > 1) {
            let Some(cavity) = self.cavity(factor) else { continue };
            if fits(&cavity.marginal, &factor.target, factor.variance) {
                continue;
            }
            let evidence = factor.evidence(cavity.width);
            let mut shift = factor.shift;
            update.solve(&cavity.cells, evidence, self.total, SHIFT_STEPS, &mut shift);
            if !fits(&update.values, &factor.target, factor.variance) {
                update.project(&factor.target, self.total);
            }
            found.push((factor.set, update.values.clone()));
        }
        found
    }

    /// Updates a factor and returns ‖v − μ‖₁/N̂.
    fn update(&mut self, index: usize, update: &mut Update) -> f64 {
        let Some(cavity) = self.cavity(&self.factors[index]) else { return 0.0 };
        let Cavity { mut marginal, cells: cavity, scale, width } = cavity;
        let factor = &mut self.factors[index];
        let table = &mut self.tree.tables[factor.clique];
        let mut shift = factor.shift;
        let evidence = factor.evidence(width);
        match factor.set.len() {
            0 | 1 => update.rescaled(&cavity, evidence, self.total),
            _ => update.solve(&cavity, evidence, self.total, 1, &mut shift),
        }
        factor.shift = shift;
        let step = self.step;
        let mut change = 0.0;
        for (((m, f), v), q) in
            marginal.iter_mut().zip(&mut factor.values).zip(&update.values).zip(&cavity)
        {
            change += (v - *m).abs();
            let mut new = (v / q).max(MIN_FACTOR);
            if step < 1.0 {
                new = new.powf(step) * f.powf(1.0 - step);
            }
            *m = scale * new / *f;
            *f = new;
        }
        factor.projection.apply(table, &marginal, |x, ratio| *x *= ratio);
        change / self.total
    }

    /// Scales the root to N̂ and calibrates all other cliques from it.
    fn distribute(&mut self) {
        if let Some(root) = self.tree.tables.first_mut() {
            let scale = self.total / root.iter().sum::<f64>();
            root.iter_mut().for_each(|x| *x *= scale);
        }
        for clique in 1..self.tree.tables.len() {
            self.tree.pass(clique, false);
        }
    }

    /// Returns the calibrated tree with the marginals of the model.
    pub fn tree(&self) -> &CalibratedTree {
        &self.tree
    }

    /// Returns the number of records N̂.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The prior widths.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// Replaces the prior widths.
    pub(super) fn set_widths(&mut self, widths: Widths) {
        self.widths = widths;
    }
}

/// Returns the sort key of factors: smaller sets first.
fn order(set: AttributeSet) -> (usize, u128) {
    (set.len(), set.bits())
}

fn ones(sizes: &[usize], set: AttributeSet) -> Vec<f64> {
    vec![1.0; set.select(sizes).iter().product()]
}
