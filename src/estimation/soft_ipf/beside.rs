//! Marginals beside the tree, and the estimates of all others.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::model::{SoftModel, Widths};
use super::update::{Evidence, Update, floored};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::graphical_model::{CalibratedTree, Messages, Projection};
use crate::estimation::{MarginalEstimates, ResidualEstimates};

/// Steps of the shift for a marginal beside the tree.
const SHIFTS: usize = 3;

/// Sweeps over the parts of a marginal that has pairs beside the tree.
const FITTING_SWEEPS: usize = 5;

/// Estimates from residuals by a soft model and marginals beside it.
#[derive(Debug)]
pub struct SoftIpf {
    residuals: ResidualEstimates,
    model: SoftModel,
    beside: HashSet<AttributeSet>,
    /// The most cells that the model's cliques may have together.
    limit: f64,
    known: RefCell<Known>,
}

/// What several marginals need; good until the model or the residuals change.
#[derive(Debug, Default)]
struct Known {
    messages: Messages,
    parts: HashMap<AttributeSet, Rc<Vec<f64>>>,
}

impl SoftIpf {
    /// No measurement yet, over the given attributes, with at most `cells` cells in the model's
    /// cliques, besides one factor for every attribute.
    ///
    /// # Errors
    /// No attribute, or attributes that the estimates lack.
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
            beside: HashSet::new(),
            limit: cells,
            known: RefCell::default(),
        })
    }

    /// Takes in `μ_γ + N(0, σ²I)`: as residuals, and γ with its subsets as factors, or beside the
    /// model if they do not fit.
    ///
    /// # Errors
    /// Attributes that the model lacks, another number of cells, or a variance without meaning.
    pub fn measured(&mut self, gamma: AttributeSet, values: &[f64], variance: f64) -> Result<()> {
        self.residuals.update_by_marginal(gamma, values, variance)?;
        self.insert(gamma)?;
        self.model.follow(&self.residuals)?;
        self.known.take();
        Ok(())
    }

    /// Makes γ, of which all residuals are known, part of the estimates.
    fn insert(&mut self, gamma: AttributeSet) -> Result<()> {
        if self.model.has_room(gamma, self.limit) {
            let sets: Vec<AttributeSet> = gamma.subsets().filter(|set| !set.is_empty()).collect();
            self.model.add(&sets)?;
            self.beside.retain(|set| !set.is_subset(gamma));
            return Ok(());
        }
        if gamma.len() > 1 {
            self.beside.insert(gamma);
        }
        for pair in gamma.of_size(2).filter(|pair| *pair != gamma) {
            if self.model.has_room(pair, self.limit) {
                self.model.add(&[pair])?;
                self.beside.remove(&pair);
            } else {
                self.beside.insert(pair);
            }
        }
        Ok(())
    }

    /// All residuals as they are known elsewhere, every set of `sets` beside the model: for
    /// measurements planned ahead.
    ///
    /// # Errors
    /// Attributes that the model lacks.
    pub fn of_residuals(
        residuals: ResidualEstimates,
        attributes: AttributeSet,
        sets: impl IntoIterator<Item = AttributeSet>,
        widths: Widths,
    ) -> Result<Self> {
        let mut estimates = Self::new(residuals, attributes, 0.0, widths)?;
        estimates.beside = sets.into_iter().filter(|set| set.len() > 1).collect();
        estimates.model.follow(&estimates.residuals)?;
        Ok(estimates)
    }

    /// Up to so many sweeps over the model; the estimates are those of the new model. Returns how
    /// many were made.
    pub fn sweep(&mut self, sweeps: usize) -> usize {
        let made = self.model.sweep(sweeps);
        self.known.take();
        made
    }

    /// N̂, at least 1.
    pub fn total(&self) -> f64 {
        self.model.total()
    }

    /// How many measured sets stand beside the model.
    pub fn beside(&self) -> usize {
        self.beside.len()
    }

    /// The calibrated tree: what records can be drawn from. Sets beside it have no part in it.
    pub fn tree(&self) -> &CalibratedTree {
        self.model.tree()
    }

    /// The residuals.
    pub fn residuals(&self) -> &ResidualEstimates {
        &self.residuals
    }

    fn estimate(&self, known: &mut Known, gamma: AttributeSet) -> Result<Vec<f64>> {
        let mut marginal = self.model.tree().marginal_with(&mut known.messages, gamma)?;
        if gamma.len() < 2 || self.beside.is_empty() {
            return Ok(marginal);
        }
        if gamma.len() > 2 {
            self.fit_parts(known, gamma, &mut marginal)?;
        }
        if self.beside.contains(&gamma) {
            marginal = self.blended(gamma, marginal)?;
        }
        Ok(marginal)
    }

    /// The update of a set beside the model, with its marginal as q.
    fn blended(&self, gamma: AttributeSet, mut cavity: Vec<f64>) -> Result<Vec<f64>> {
        let target = self.residuals.marginal(gamma)?;
        let width = self.model.widths().of(gamma.len());
        let evidence =
            Evidence { target: &target, variance: self.residuals.cell_variance(gamma), width };
        floored(&mut cavity);
        let mut update = Update::default();
        update.solve(&cavity, evidence, self.total(), SHIFTS, &mut 0.0);
        Ok(update.values)
    }

    /// Iterative proportional fitting to the estimates of all pairs, and of larger sets beside, if
    /// one of these stands beside.
    fn fit_parts(
        &self,
        known: &mut Known,
        gamma: AttributeSet,
        marginal: &mut [f64],
    ) -> Result<()> {
        let parts: Vec<AttributeSet> = match gamma.len() {
            3 => gamma.of_size(2).collect(),
            n => (2..n)
                .flat_map(|size| gamma.of_size(size))
                .filter(|set| set.len() == 2 || self.beside.contains(set))
                .collect(),
        };
        if !parts.iter().any(|set| self.beside.contains(set)) {
            return Ok(());
        }
        let sizes = self.residuals.sizes();
        let mut targets = Vec::with_capacity(parts.len());
        for part in parts {
            let estimate = match known.parts.get(&part) {
                Some(estimate) => Rc::clone(estimate),
                None => {
                    let estimate = Rc::new(self.estimate(known, part)?);
                    known.parts.insert(part, Rc::clone(&estimate));
                    estimate
                }
            };
            targets.push((gamma.axes_in(part), Projection::new(sizes, gamma, part), estimate));
        }
        let own = gamma.items(sizes);
        for _ in 0..FITTING_SWEEPS {
            for (axes, projection, target) in &targets {
                let mut ratios = crate::residual::summed(&own, *axes, marginal);
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
        self.estimate(&mut self.known.borrow_mut(), gamma)
    }
}
