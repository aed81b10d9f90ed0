//! Estimates from a soft model and from measured sets outside its junction tree.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::evidence::Widths;
use super::model::SoftModel;
use super::update::{Evidence, SHIFT_STEPS, Update, raise_to_minimum};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::graphical_model::{CalibratedTree, Messages, Projection};
use crate::estimation::{MarginalEstimates, ResidualEstimates};

/// Smallest share by which rejected pairs are moved.
const MIN_SHARE: f64 = 0.02;

/// Number of sweeps over the parts of a marginal that contains pairs outside the tree.
const FITTING_SWEEPS: usize = 5;

/// Estimates from residuals by a soft model and measured sets outside its junction tree.
#[derive(Debug)]
pub struct SoftIpf {
    pub(super) residuals: ResidualEstimates,
    pub(super) model: SoftModel,
    /// The measured sets outside the tree.
    pub(super) outside: HashSet<AttributeSet>,
    /// The marginals of factors of the tree that the model does not fit, and of rejected pairs that
    /// were moved.
    pub(super) corrected: HashMap<AttributeSet, Vec<f64>>,
    /// Maximum total number of cells of the model's cliques.
    max_cells: f64,
    pub(super) cache: RefCell<Cache>,
}

/// Intermediate results of marginals, valid until the model or the residuals change.
#[derive(Debug, Default)]
pub(super) struct Cache {
    messages: Messages,
    parts: HashMap<AttributeSet, Rc<Vec<f64>>>,
}

impl SoftIpf {
    /// Creates estimates over some attributes from residuals without measurements.
    ///
    /// The model's cliques have at most `cells` cells in total, in addition to one factor per
    /// attribute.
    ///
    /// # Errors
    /// No attributes, or attributes that the estimates lack.
    pub fn new(
        residuals: ResidualEstimates,
        attributes: AttributeSet,
        cells: f64,
        widths: Widths,
    ) -> Result<Self> {
        let model = SoftModel::new(residuals.sizes(), attributes, widths)?;
        Ok(SoftIpf {
            residuals,
            model,
            outside: HashSet::new(),
            corrected: HashMap::new(),
            max_cells: cells,
            cache: RefCell::default(),
        })
    }

    /// Adds a measurement `μ_γ + N(0, σ²I)`.
    ///
    /// It is stored as residuals. γ and its subsets become factors of the model, or γ is kept
    /// outside the tree if they do not fit.
    ///
    /// # Errors
    /// Attributes that the model lacks, a wrong number of cells, or an invalid variance.
    pub fn measured(&mut self, gamma: AttributeSet, values: &[f64], variance: f64) -> Result<()> {
        self.residuals.update_by_marginal(gamma, values, variance)?;
        self.insert(gamma)?;
        self.model.follow(&self.residuals)?;
        self.cache.take();
        Ok(())
    }

    /// Adds γ, whose residuals are all known, to the model or to the sets outside the tree.
    fn insert(&mut self, gamma: AttributeSet) -> Result<()> {
        if self.model.has_room(gamma, self.max_cells) {
            let sets: Vec<AttributeSet> = gamma.subsets().filter(|set| !set.is_empty()).collect();
            self.model.add(&sets)?;
            self.outside.retain(|set| !set.is_subset(gamma));
            return Ok(());
        }
        if gamma.len() > 1 {
            self.outside.insert(gamma);
        }
        for pair in gamma.of_size(2).filter(|pair| *pair != gamma) {
            if self.model.has_room(pair, self.max_cells) {
                self.model.add(&[pair])?;
                self.outside.remove(&pair);
            } else {
                self.outside.insert(pair);
            }
        }
        Ok(())
    }

    /// Makes at most `sweeps` sweeps over the model and returns their number.
    pub fn sweep(&mut self, sweeps: usize) -> usize {
        let made = self.model.sweep(sweeps);
        self.corrected.clear();
        self.cache.take();
        made
    }

    /// Replaces the marginals of factors that the model does not fit.
    pub(super) fn correct(&mut self) {
        self.corrected = self.model.corrected().into_iter().collect();
        self.cache.take();
    }

    /// Moves the estimates of pairs that are not factors towards their evidence, all by one share w.
    ///
    /// With D = Σ (μ − y)²/s² over all cells of these pairs, whose expectation is their number n plus
    /// the squared biases of the model over s², the share `w = 1 − n/D` is an estimate of the one with
    /// the smallest mean squared error. Of many dependences that are too weak for a factor it keeps
    /// what the measurements say together; the result is the nearest point without negative cells and
    /// with the same sum. Nothing is done for w below 0.02. O(cells).
    ///
    /// # Errors
    /// Attributes that the model lacks.
    pub(super) fn move_rejected(&mut self, pairs: &[AttributeSet]) -> Result<()> {
        let (mut cells, mut distance, mut found) = (0.0, 0.0, Vec::new());
        for &pair in pairs.iter().filter(|pair| !self.model.has(**pair) && !self.differs(pair)) {
            let marginal = self.marginal(pair)?;
            let target = self.residuals.marginal(pair)?;
            let squares = marginal.iter().zip(&target).map(|(v, y)| (v - y).powi(2));
            distance += squares.sum::<f64>() / self.residuals.cell_variance(pair);
            cells += marginal.len() as f64;
            found.push((pair, marginal, target));
        }
        let share = 1.0 - cells / distance;
        if share >= MIN_SHARE {
            let (mut update, total) = (Update::default(), self.total());
            for (pair, mut marginal, target) in found {
                marginal.iter_mut().zip(&target).for_each(|(v, y)| *v += share * (y - *v));
                update.project(&marginal, total);
                self.corrected.insert(pair, update.values.clone());
            }
            self.cache.take();
        }
        Ok(())
    }

    /// Returns whether the estimate of a set is not that of the model.
    fn differs(&self, set: &AttributeSet) -> bool {
        self.outside.contains(set) || self.corrected.contains_key(set)
    }

    /// Returns the estimated number of records N̂, at least 1.
    pub fn total(&self) -> f64 {
        self.model.total()
    }

    /// Returns the number of measured sets outside the tree.
    pub fn outside(&self) -> usize {
        self.outside.len()
    }

    /// Returns the calibrated tree, from which records can be drawn.
    ///
    /// Measurements of sets outside the tree do not enter it.
    pub fn tree(&self) -> &CalibratedTree {
        self.model.tree()
    }

    /// Returns the residuals, and drops the model.
    pub fn into_residuals(self) -> ResidualEstimates {
        self.residuals
    }

    /// Returns the residuals.
    pub fn residuals(&self) -> &ResidualEstimates {
        &self.residuals
    }

    fn estimate(&self, cache: &mut Cache, gamma: AttributeSet) -> Result<Vec<f64>> {
        if let Some(updated) = self.corrected.get(&gamma) {
            return Ok(updated.clone());
        }
        let mut marginal = self.model.tree().marginal_with(&mut cache.messages, gamma)?;
        if gamma.len() < 2 || (self.outside.is_empty() && self.corrected.is_empty()) {
            return Ok(marginal);
        }
        if gamma.len() > 2 {
            self.fit_parts(cache, gamma, &mut marginal)?;
        }
        if self.outside.contains(&gamma) {
            marginal = self.blended(gamma, marginal)?;
        }
        Ok(marginal)
    }

    /// Updates a set outside the tree, with its marginal as the cavity q.
    fn blended(&self, gamma: AttributeSet, marginal: Vec<f64>) -> Result<Vec<f64>> {
        let target = self.residuals.marginal(gamma)?;
        let variance = self.residuals.cell_variance(gamma);
        let mut cavity = marginal.clone();
        raise_to_minimum(&mut cavity);
        let rule = self.model.widths().of(gamma.len());
        let Some(width) = rule.width(&cavity, &target, variance) else {
            return Ok(marginal);
        };
        let evidence = Evidence { target: &target, variance, width };
        let mut update = Update::default();
        update.solve(&cavity, evidence, self.total(), SHIFT_STEPS, &mut 0.0);
        Ok(update.values)
    }

    /// Fits a marginal to the estimates of its pairs and of its larger subsets outside the tree.
    ///
    /// The fit is iterative proportional fitting; nothing is done if no part is outside the tree.
    fn fit_parts(
        &self,
        cache: &mut Cache,
        gamma: AttributeSet,
        marginal: &mut [f64],
    ) -> Result<()> {
        let parts: Vec<AttributeSet> = match gamma.len() {
            3 => gamma.of_size(2).collect(),
            n => (2..n)
                .flat_map(|size| gamma.of_size(size))
                .filter(|set| set.len() == 2 || self.differs(set))
                .collect(),
        };
        if !parts.iter().any(|set| self.differs(set)) {
            return Ok(());
        }
        let sizes = self.residuals.sizes();
        let mut targets = Vec::with_capacity(parts.len());
        for part in parts {
            let estimate = match cache.parts.get(&part) {
                Some(estimate) => Rc::clone(estimate),
                None => {
                    let estimate = Rc::new(self.estimate(cache, part)?);
                    cache.parts.insert(part, Rc::clone(&estimate));
                    estimate
                }
            };
            targets.push((gamma.axes_in(part), Projection::new(sizes, gamma, part), estimate));
        }
        let shape = gamma.select(sizes);
        for _ in 0..FITTING_SWEEPS {
            for (axes, projection, target) in &targets {
                let mut ratios = crate::residual::summed(&shape, *axes, marginal);
                for (ratio, target) in ratios.iter_mut().zip(target.iter()) {
                    *ratio = if *ratio > 0.0 { target / *ratio } else { 0.0 };
                }
                projection.apply(marginal, &ratios, |x, ratio| *x *= ratio);
            }
        }
        Ok(())
    }
}

impl MarginalEstimates for SoftIpf {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        self.estimate(&mut self.cache.borrow_mut(), gamma)
    }
}
