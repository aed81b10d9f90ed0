//! The fit of a graphical model to noisy marginals: entropic mirror descent with backtracking.

use super::calibrated::CalibratedTree;
use super::junction_tree::JunctionTree;
use super::propagation::Propagation;
use super::table::Projection;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::summed;

/// The stopping criteria of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitSettings {
    /// Maximum number of steps of mirror descent.
    pub iterations: usize,
    /// Relative tolerance of the certified gap.
    ///
    /// The fit has converged when the gap is at most `tolerance · (loss + 1)`.
    pub tolerance: f64,
    /// Stall threshold.
    ///
    /// The fit stops without convergence when ten steps improve the loss by at most
    /// `stall · min(loss, Σ_c n_c/2)`. The second term is the loss from the noise alone.
    pub stall: f64,
}

/// Number of steps between checks of the gap and the progress.
const CHECK_INTERVAL: usize = 10;

/// The status of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitStatus {
    /// The gap is within the tolerance.
    Converged,
    /// The loss no longer decreases by more than the stall threshold.
    Stalled,
    /// The maximum number of steps was reached.
    OutOfIterations,
}

/// The outcome of a fit, with its certificate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The reason why the fit ended.
    pub status: FitStatus,
    /// The number of steps of mirror descent.
    pub iterations: usize,
    /// The loss L(μ) = Σ_c ‖μ_c − y_c‖²/(2σ_c²).
    pub loss: f64,
    /// A certified upper bound on L(μ) − min L.
    ///
    /// It is ⟨∇L, μ⟩ − min ⟨∇L, ·⟩ over all distributions, the minimum by max-propagation.
    pub gap: f64,
}

/// A measured marginal y with cell variance σ², and its contribution to the potentials.
#[derive(Debug, Clone)]
struct Measured {
    set: AttributeSet,
    target: Vec<f64>,
    variance: f64,
    potential: Vec<f64>,
}

/// A graphical model fitted to noisy marginals.
///
/// It minimises `Σ_c ‖μ_c − y_c‖²/(2σ_c²)` over all distributions of N̂ records, in the exponential
/// family of the measured sets.
///
/// A step of entropic mirror descent is `θ_c ← θ_c − α (μ_c − y_c)/σ_c²` with the marginals μ of
/// `x ∝ exp Σ θ_c` by belief propagation (the potentials are those of the distribution times N̂).
/// α starts from twice the previous one and is halved until `L − L' ≥ ½ α ⟨∇L, μ − μ'⟩`. Potentials
/// are kept when sets are added: the fit has a warm start. *Time* of a step: O(cells of the model ·
/// measured sets per clique). *Source*: S4, App. F; McKenna et al., Graphical-model based
/// estimation and inference for differential privacy (2019), Alg. 2.
#[derive(Debug, Clone)]
pub struct GraphicalModel {
    attributes: AttributeSet,
    measured: Vec<Measured>,
    marginals: CalibratedTree,
    total: f64,
    step: f64,
}

/// One evaluation of the model.
struct FitPoint {
    marginals: CalibratedTree,
    loss: f64,
    /// (μ_c − y_c)/σ_c² for every measured set.
    gradients: Vec<Vec<f64>>,
    /// μ_c for every measured set.
    projected: Vec<Vec<f64>>,
}

/// The tree with quantities that every step uses.
struct Frame {
    tree: JunctionTree,
    propagation: Propagation,
    /// For every measured set, its clique and the projection of the clique onto it.
    projections: Vec<(usize, Projection)>,
    cells: Vec<usize>,
}

impl GraphicalModel {
    /// Creates the uniform distribution of one record.
    ///
    /// # Errors
    /// No attributes, or attributes that the schema lacks.
    pub fn new(sizes: &[usize], attributes: AttributeSet) -> Result<Self> {
        let tree = JunctionTree::new(sizes, attributes, &[])?;
        let potentials =
            tree.cliques().iter().map(|c| vec![0.0; c.select(sizes).iter().product()]).collect();
        let marginals = CalibratedTree::of_potentials(sizes, &tree, potentials, 1.0);
        Ok(GraphicalModel { attributes, measured: Vec::new(), marginals, total: 1.0, step: 0.0 })
    }

    /// Adds a measurement `μ_γ + N(0, σ²I)`; the marginals do not change until the next fit.
    ///
    /// Several measurements of one set are averaged, weighted by precision.
    ///
    /// # Errors
    /// Attributes that the model lacks, a wrong number of cells, or a variance that is not a finite
    /// number greater than 0.
    pub fn measure(&mut self, gamma: AttributeSet, values: Vec<f64>, variance: f64) -> Result<()> {
        let refuse = |expected: String, found: String| {
            let what = format!("measurement of the marginal on {gamma:?}");
            Err(Error::bad_input(
                what,
                expected,
                found,
                "pass one finite number per cell, and the noise variance",
            ))
        };
        if !gamma.is_subset(self.attributes) {
            return refuse(
                format!("attributes of the model, {:?}", self.attributes),
                format!("{gamma:?}"),
            );
        }
        let cells: usize = gamma.select(&self.marginals.sizes).iter().product();
        if values.len() != cells || values.iter().any(|x| !x.is_finite()) {
            return refuse(format!("{cells} finite numbers"), format!("{} numbers", values.len()));
        }
        if !(variance > 0.0 && variance.is_finite() && variance.recip().is_finite()) {
            return refuse("a finite variance greater than 0".into(), variance.to_string());
        }
        match self.measured.iter_mut().find(|m| m.set == gamma) {
            Some(known) => {
                let precision = known.variance.recip() + variance.recip();
                let weight = variance.recip() / precision;
                known.target.iter_mut().zip(values).for_each(|(y, new)| *y += weight * (new - *y));
                known.variance = precision.recip();
            }
            None => self.measured.push(Measured {
                set: gamma,
                target: values,
                variance,
                potential: vec![0.0; cells],
            }),
        }
        Ok(())
    }

    /// Returns N̂, the mean total of all measurements weighted by precision 1/(σ² n); at least 1.
    fn measured_total(&self) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for m in &self.measured {
            let weight = 1.0 / (m.variance * m.target.len() as f64);
            sum += weight * m.target.iter().sum::<f64>();
            weights += weight;
        }
        if weights > 0.0 { (sum / weights).max(1.0) } else { 1.0 }
    }

    /// Fits the model to all measurements so far.
    ///
    /// # Errors
    /// Only an internal error.
    pub fn fit(&mut self, settings: FitSettings) -> Result<Fit> {
        let sizes = self.marginals.sizes.clone();
        let sets: Vec<AttributeSet> = self.measured.iter().map(|m| m.set).collect();
        let frame = Frame::new(&sizes, self.attributes, &sets)?;
        self.total = self.measured_total();
        let mut point = self.evaluate(&frame);
        if self.step <= 0.0 {
            // In units of the most precise measurement.
            let smallest = self.measured.iter().map(|m| m.variance).fold(f64::INFINITY, f64::min);
            self.step = if smallest.is_finite() { smallest / self.total } else { 1.0 };
        }
        let mut fit = Fit {
            status: FitStatus::OutOfIterations,
            iterations: 0,
            loss: point.loss,
            gap: f64::INFINITY,
        };
        let mut earlier = point.loss;
        let noise: f64 = self.measured.iter().map(|m| 0.5 * m.target.len() as f64).sum();
        while fit.iterations < settings.iterations {
            let Some(next) = self.stepped(&frame, &point) else {
                fit.status = FitStatus::Stalled;
                break;
            };
            point = next;
            fit.iterations += 1;
            if fit.iterations.is_multiple_of(CHECK_INTERVAL) {
                if self.gap(&frame, &point) <= settings.tolerance * (point.loss + 1.0) {
                    fit.status = FitStatus::Converged;
                    break;
                }
                if earlier - point.loss <= settings.stall * point.loss.min(noise) {
                    fit.status = FitStatus::Stalled;
                    break;
                }
                earlier = point.loss;
            }
        }
        fit.loss = point.loss;
        fit.gap = self.gap(&frame, &point);
        self.marginals = point.marginals;
        Ok(fit)
    }

    /// Makes one step with backtracking; `None` if no step improves the loss.
    fn stepped(&mut self, frame: &Frame, point: &FitPoint) -> Option<FitPoint> {
        let before: Vec<Vec<f64>> = self.measured.iter().map(|m| m.potential.clone()).collect();
        self.step *= 2.0;
        for _ in 0..60 {
            for ((m, start), gradient) in
                self.measured.iter_mut().zip(&before).zip(&point.gradients)
            {
                m.potential.clear();
                m.potential
                    .extend(start.iter().zip(gradient).map(|(theta, g)| theta - self.step * g));
            }
            let next = self.evaluate(frame);
            let mut expected = 0.0;
            for ((gradient, old), new) in
                point.gradients.iter().zip(&point.projected).zip(&next.projected)
            {
                expected += gradient
                    .iter()
                    .zip(old)
                    .zip(new)
                    .map(|((g, old), new)| g * (old - new))
                    .sum::<f64>();
            }
            if point.loss - next.loss >= 0.5 * expected && next.loss.is_finite() {
                return Some(next);
            }
            self.step *= 0.5;
        }
        self.measured.iter_mut().zip(before).for_each(|(m, start)| m.potential = start);
        None
    }

    /// Computes marginals, loss and gradients for the current potentials.
    fn evaluate(&self, frame: &Frame) -> FitPoint {
        let mut tables: Vec<Vec<f64>> = frame.cells.iter().map(|&cells| vec![0.0; cells]).collect();
        for (m, (clique, onto)) in self.measured.iter().zip(&frame.projections) {
            onto.apply(&mut tables[*clique], &m.potential, |x, theta| *x += theta);
        }
        let separators = frame.propagation.marginals(&mut tables, self.total);
        let sizes = &self.marginals.sizes;
        let (mut loss, mut gradients, mut projected) = (0.0, Vec::new(), Vec::new());
        for (m, (clique, _)) in self.measured.iter().zip(&frame.projections) {
            let set = frame.tree.cliques()[*clique];
            let marginal = summed(&set.select(sizes), set.axes_in(m.set), &tables[*clique]);
            let gradient: Vec<f64> =
                marginal.iter().zip(&m.target).map(|(mu, y)| (mu - y) / m.variance).collect();
            loss += 0.5 * m.variance * gradient.iter().map(|g| g * g).sum::<f64>();
            gradients.push(gradient);
            projected.push(marginal);
        }
        let marginals = CalibratedTree::new(sizes.clone(), frame.tree.clone(), tables, separators);
        FitPoint { marginals, loss, gradients, projected }
    }

    /// Returns the gap ⟨∇L, μ⟩ − N̂ min_x Σ_c ∇_c(x_c).
    ///
    /// L is convex, so no distribution has a loss smaller by more than this.
    fn gap(&self, frame: &Frame, point: &FitPoint) -> f64 {
        let mut tables: Vec<Vec<f64>> = frame.cells.iter().map(|&cells| vec![0.0; cells]).collect();
        let mut along = 0.0;
        for ((gradient, marginal), (clique, onto)) in
            point.gradients.iter().zip(&point.projected).zip(&frame.projections)
        {
            onto.apply(&mut tables[*clique], gradient, |x, g| *x -= g);
            along += gradient.iter().zip(marginal).map(|(g, mu)| g * mu).sum::<f64>();
        }
        (along + self.total * frame.propagation.largest(&mut tables)).max(0.0)
    }

    /// Returns the marginals of the last fit.
    pub fn marginals(&self) -> &CalibratedTree {
        &self.marginals
    }

    /// Returns the measured sets.
    pub fn sets(&self) -> impl Iterator<Item = AttributeSet> + '_ {
        self.measured.iter().map(|m| m.set)
    }

    /// Returns the number of records N̂ of the last fit.
    pub fn total(&self) -> f64 {
        self.total
    }
}

impl Frame {
    fn new(sizes: &[usize], attributes: AttributeSet, sets: &[AttributeSet]) -> Result<Self> {
        let tree = JunctionTree::new(sizes, attributes, sets)?;
        let mut projections = Vec::with_capacity(sets.len());
        for &set in sets {
            let clique = tree.clique_of(sizes, set).ok_or_else(|| {
                Error::bug("fit of a model", "a clique for every measured set", format!("{set:?}"))
            })?;
            projections.push((clique, Projection::new(sizes, tree.cliques()[clique], set)));
        }
        let cells = tree.cliques().iter().map(|c| c.select(sizes).iter().product()).collect();
        Ok(Frame { propagation: Propagation::new(sizes, &tree), tree, projections, cells })
    }
}
