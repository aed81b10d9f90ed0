//! A junction tree of bounded size whose factors follow noisy marginals, by sweeps of soft
//! iterative proportional fitting.

use super::update::{Evidence, Update, floored};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::ResidualEstimates;
use crate::estimation::graphical_model::{CalibratedTree, JunctionTree, Projection};

/// A factor is at least this.
const SMALLEST_FACTOR: f64 = 1e-9;

/// Sweeps end when the mean change of a factor's marginal is below this share of the records.
const SETTLED: f64 = 1e-4;

/// One factor: a marginal that was measured, and what multiplies the model's cells on its account.
#[derive(Debug, Clone)]
struct SoftFactor {
    set: AttributeSet,
    clique: usize,
    projection: Projection,
    /// f.
    values: Vec<f64>,
    /// y_c.
    target: Vec<f64>,
    /// s².
    variance: f64,
    /// c, kept between visits.
    shift: f64,
}

/// The prior widths τ by the number of attributes of a marginal: of one, of two, of more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Widths {
    /// τ₁.
    pub single: f64,
    /// τ₂.
    pub pair: f64,
    /// τ₃, also for larger marginals.
    pub larger: f64,
}

impl Widths {
    /// τ for a marginal on so many attributes.
    pub fn of(&self, attributes: usize) -> f64 {
        match attributes {
            0 | 1 => self.single,
            2 => self.pair,
            _ => self.larger,
        }
    }
}

/// The model `Π_c f_c` over its junction tree, scaled to N̂ records.
///
/// *Sweep*: one tour around the tree. At a clique its factors are updated, smaller sets first; then
/// for every child a message down (the child's table times the new separator by the old one, as in
/// Hugin propagation), the child's own tour, and a message up. At the end the tree is calibrated
/// from the root, scaled to N̂. A factor's update with its current marginal μ: cavity q = μ/f
/// scaled to N̂, the [`Update`]'s v, and `f ← max(v/q, 10⁻⁹)`; the clique's table is multiplied by
/// the ratio of the new factor to the old. *Time* of a sweep: O(cells of the model · factors per
/// clique).
#[derive(Debug, Clone)]
pub struct SoftModel {
    tree: CalibratedTree,
    attributes: AttributeSet,
    factors: Vec<SoftFactor>,
    widths: Widths,
    /// N̂, at least 1.
    total: f64,
    /// [`SETTLED`], but in tests that follow the sweeps to their fixed point.
    settled: f64,
}

impl SoftModel {
    /// The model in which the attributes are independent, of one factor for each.
    ///
    /// # Errors
    /// No attribute, or attributes that the schema lacks.
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
            settled: SETTLED,
        };
        model.add(&sets)?;
        Ok(model)
    }

    /// Whether the junction tree of the factors and one more set has at most so many cells.
    pub fn has_room(&self, set: AttributeSet, cells: f64) -> bool {
        let tree = self.tree.tree();
        tree.clique_of(self.tree.sizes(), set).is_some() || {
            let sets: Vec<AttributeSet> = self.factors.iter().map(|f| f.set).chain([set]).collect();
            JunctionTree::cells_for(self.tree.sizes(), self.attributes, &sets) <= cells
        }
    }

    /// Whether there is a factor for a set.
    pub fn has(&self, set: AttributeSet) -> bool {
        self.factors.binary_search_by_key(&order(set), |f| order(f.set)).is_ok()
    }

    /// Adds factors of 1 for sets that have none; the tree is built anew if no clique contains one
    /// of them.
    ///
    /// # Errors
    /// Attributes that the model lacks.
    pub fn add(&mut self, sets: &[AttributeSet]) -> Result<()> {
        let sizes = self.tree.sizes().to_vec();
        let mut rebuild = false;
        for &set in sets {
            let Err(place) = self.factors.binary_search_by_key(&order(set), |f| order(f.set))
            else {
                continue;
            };
            let clique = self.tree.tree().clique_of(&sizes, set);
            rebuild |= clique.is_none();
            let clique = clique.unwrap_or(0);
            let own = self.tree.tree().cliques()[clique];
            let values = ones(&sizes, set);
            let target = values.clone();
            let factor = SoftFactor {
                set,
                clique,
                projection: Projection::new(&sizes, own, set.intersection(own)),
                values,
                target,
                variance: f64::INFINITY,
                shift: 0.0,
            };
            self.factors.insert(place, factor);
        }
        if rebuild { self.rebuild() } else { Ok(()) }
    }

    fn rebuild(&mut self) -> Result<()> {
        let sizes = self.tree.sizes().to_vec();
        let sets: Vec<AttributeSet> = self.factors.iter().map(|f| f.set).collect();
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

    /// Takes the targets and variances of all factors from the residuals, and N̂ from the total.
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

    /// [`SoftModel::follow`] for one factor only.
    #[cfg(test)]
    pub(super) fn follow_only(&mut self, estimates: &ResidualEstimates, set: AttributeSet) {
        self.total = estimates.marginal(AttributeSet::EMPTY).unwrap()[0];
        for factor in self.factors.iter_mut().filter(|factor| factor.set == set) {
            factor.target = estimates.marginal(set).unwrap();
            factor.variance = estimates.cell_variance(set);
        }
    }

    /// Sweeps end at another change than [`SETTLED`].
    #[cfg(test)]
    pub(super) fn settle_at(&mut self, change: f64) {
        self.settled = change;
    }

    /// Up to so many sweeps; fewer if the factors have settled. Returns how many were made.
    pub fn sweep(&mut self, sweeps: usize) -> usize {
        let mut update = Update::default();
        for sweep in 0..sweeps {
            let mut change = 0.0;
            self.tour(0, &mut update, &mut change);
            self.distribute();
            if change / (self.factors.len().max(1) as f64) < self.settled {
                return sweep + 1;
            }
        }
        sweeps
    }

    fn tour(&mut self, clique: usize, update: &mut Update, change: &mut f64) {
        for place in 0..self.factors.len() {
            if self.factors[place].clique == clique {
                *change += self.update(place, update);
            }
        }
        for k in 0..self.tree.tree().children(clique).len() {
            let child = self.tree.tree().children(clique)[k];
            self.tree.pass(child, false);
            self.tour(child, update, change);
            self.tree.pass(child, true);
        }
    }

    /// Updates a factor; returns ‖v − μ‖₁/N̂.
    fn update(&mut self, place: usize, update: &mut Update) -> f64 {
        let factor = &mut self.factors[place];
        if !factor.variance.is_finite() {
            return 0.0;
        }
        let own = self.tree.tree.cliques()[factor.clique];
        let table = &mut self.tree.tables[factor.clique];
        let mut marginal =
            crate::residual::summed(&own.items(&self.tree.sizes), own.axes_in(factor.set), table);
        let mut cavity: Vec<f64> =
            marginal.iter().zip(&factor.values).map(|(m, f)| m / f).collect();
        let scale = self.total / cavity.iter().sum::<f64>();
        cavity.iter_mut().for_each(|q| *q *= scale);
        floored(&mut cavity);
        let width = self.widths.of(factor.set.len());
        let evidence = Evidence { target: &factor.target, variance: factor.variance, width };
        match factor.set.len() {
            0 | 1 => update.rescaled(&cavity, evidence, self.total),
            _ => update.solve(&cavity, evidence, self.total, 1, &mut factor.shift),
        }
        let mut change = 0.0;
        for (((m, f), v), q) in
            marginal.iter_mut().zip(&mut factor.values).zip(&update.values).zip(&cavity)
        {
            change += (v - *m).abs();
            let new = (v / q).max(SMALLEST_FACTOR);
            *m = scale * new / *f;
            *f = new;
        }
        factor.projection.apply(table, &marginal, |x, ratio| *x *= ratio);
        change / self.total
    }

    /// Scales the root to N̂ and calibrates all others from it.
    fn distribute(&mut self) {
        if let Some(root) = self.tree.tables.first_mut() {
            let scale = self.total / root.iter().sum::<f64>();
            root.iter_mut().for_each(|x| *x *= scale);
        }
        for clique in 1..self.tree.tables.len() {
            self.tree.pass(clique, false);
        }
    }

    /// The calibrated tree: the marginals of the model.
    pub fn tree(&self) -> &CalibratedTree {
        &self.tree
    }

    /// N̂.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The prior widths.
    pub fn widths(&self) -> Widths {
        self.widths
    }
}

/// Smaller sets first.
fn order(set: AttributeSet) -> (usize, u128) {
    (set.len(), set.bits())
}

fn ones(sizes: &[usize], set: AttributeSet) -> Vec<f64> {
    vec![1.0; set.items(sizes).iter().product()]
}
