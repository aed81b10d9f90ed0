//! The sequence of stages, for any way of measuring residuals.

use std::collections::{HashMap, HashSet};

use super::plan::{Measurable, StagePlan};
use super::rounds::{Round, expected_evidence, is_next, rounds};
use super::scouts::{ClosureResidual, closure, scouts};
use super::settings::Staged;
use super::unbiased::UnbiasedPlan;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::graphical_model::cells_of_mb;
use crate::estimation::soft_ipf::{LearnedFit, SetEvidence, SoftIpf};
use crate::estimation::{MarginalEstimates, ResidualEstimates};
use crate::schema::{LevelSchema, Refinement};

/// Maximum number of cells of measured residuals, which are kept in memory.
const MAX_CELLS: f64 = (1u64 << 25) as f64;

/// Maximum number of cells of the pairs of neighbouring levels, which are cliques of the model.
const MAX_LEVEL_CELLS: f64 = (1u64 << 24) as f64;

/// Maximum sweeps of a fit during the stages, and of the last one.
const SWEEPS: [usize; 2] = [30, 40];

/// More attributes than this have a smaller model by default.
const MAX_ATTRIBUTES_OF_LARGE_MODEL: usize = 30;

/// Centred answers to residuals, with their actual noise variances.
pub(crate) type Answers = Vec<(Vec<f64>, f64)>;

/// Measures residuals in a stage, with given precisions.
pub(crate) type Measure<'a> = dyn FnMut(u64, &[(AttributeSet, f64)]) -> Result<Answers> + 'a;

/// The residuals of a stage with their answers.
pub(crate) type StageAnswers = (Vec<AttributeSet>, Answers);

/// The estimates after the last stage.
#[derive(Debug)]
pub(crate) struct StagedEstimates {
    /// The fitted model and the sets outside it.
    pub(crate) fit: SoftIpf,
    /// Whether the answers are linear in the measurements; then they may be negative.
    pub(crate) is_linear: bool,
}

impl MarginalEstimates for StagedEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        match self.is_linear {
            true => self.fit.residuals().marginal(gamma),
            false => self.fit.marginal(gamma),
        }
    }
}

/// Staged measurement of a workload of marginals.
#[derive(Debug)]
pub(crate) struct Stages {
    settings: Staged,
    domain: LevelSchema,
    empty: ResidualEstimates,
    closure: Vec<ClosureResidual>,
    residuals: HashMap<AttributeSet, ClosureResidual>,
    workload: Vec<AttributeSet>,
    /// The first measurements. Those after the first round are made if their size pays.
    rounds: Vec<Round>,
    attributes: AttributeSet,
    /// Attributes that are functions of others.
    refinements: Vec<Refinement>,
    rho: f64,
    /// The evidence for which one stage is planned, in place of measured evidence.
    evidence: Option<Vec<SetEvidence>>,
}

impl Stages {
    /// Plans the first measurements.
    ///
    /// The workload may have levels in place of attributes.
    ///
    /// # Errors
    /// Attributes that the schema lacks, or too many cells.
    pub(crate) fn new(
        settings: Staged,
        domain: &LevelSchema,
        workload: &[AttributeSet],
        rho: f64,
    ) -> Result<Self> {
        let closure = closure(domain, workload)?;
        let rounds = rounds(domain, scouts(&closure, &settings.shares, rho, MAX_CELLS)?);
        let attributes = (workload.iter())
            .flat_map(|gamma| domain.determined_by(*gamma))
            .fold(AttributeSet::EMPTY, AttributeSet::union);
        let residuals = closure.iter().map(|residual| (residual.set, *residual)).collect();
        let stages = Stages {
            settings,
            empty: ResidualEstimates::new(domain.schema()),
            closure,
            residuals,
            workload: workload.to_vec(),
            rounds,
            attributes,
            refinements: domain.refinements(attributes),
            rho,
            domain: domain.clone(),
            evidence: None,
        };
        let cells = stages.level_cells();
        if cells > MAX_LEVEL_CELLS {
            return Err(Error::too_large(
                "pairs of neighbouring levels, which the mechanism `staged` keeps in memory",
                "cells",
                MAX_LEVEL_CELLS,
                cells,
                "drop fine levels from the schema, ask for coarser levels, or omit --mechanism",
            ));
        }
        Ok(stages)
    }

    /// Replaces the stages after the first measurements by one, planned for given evidence.
    pub(super) fn with_evidence(self, evidence: &[SetEvidence]) -> Self {
        Stages { evidence: Some(evidence.to_vec()), ..self }
    }

    /// Measures all stages and returns the estimates.
    ///
    /// `measure` gets the number of the stage (0 for the first measurements) and residuals with the
    /// precisions to be added, and returns their centred answers and noise variances.
    ///
    /// # Errors
    /// Errors of `measure`.
    pub(crate) fn run(&self, measure: &mut Measure<'_>) -> Result<StagedEstimates> {
        let mut known = self.empty.clone();
        let mut measured = 0;
        let mut measure_list = |list: &[(AttributeSet, f64)], known: &mut _| {
            let answers = measure(measured, list)?;
            measured += 1;
            let sets = list.iter().map(|(set, _)| *set).collect();
            add(known, &(sets, answers))
        };
        let mut rest = self.rho;
        for round in 0..self.rounds.len() {
            let list;
            (known, list) = self.round(round, known)?;
            measure_list(&list, &mut known)?;
            rest -= self.cost(&list);
        }
        if let Some(evidence) = &self.evidence {
            let list = self.plan(&known, evidence, |found| &found.posterior, rest).measurements;
            measure_list(&list, &mut known)?;
            return self.last(known, false);
        }
        let shares = self.settings.stage_weights();
        let all: f64 = shares.iter().sum();
        let mut evidence = Vec::new();
        for (stage, share) in shares.iter().enumerate() {
            let fit = self.fit(0.25, SWEEPS[0]);
            let (fit, found) = fit.fit(known, self.attributes, &self.refinements, &evidence)?;
            (known, evidence) = (fit.into_residuals(), found);
            if stage == 0
                && let Some(unbiased) = self.unbiased(&known, &evidence, rest)?
            {
                measure_list(&unbiased.measurements, &mut known)?;
                return self.last(known, true);
            }
            let budget = rest * share / all;
            let list = self.plan(&known, &evidence, |found| &found.posterior, budget).measurements;
            measure_list(&list, &mut known)?;
        }
        self.last(known, false)
    }

    /// Returns the first measurements of a round, planned from those of earlier rounds.
    fn round(
        &self,
        round: usize,
        mut known: ResidualEstimates,
    ) -> Result<(ResidualEstimates, Round)> {
        let mut list = self.rounds[round].clone();
        if round > 0 && !list.is_empty() {
            let fit = self.fit(0.25, SWEEPS[0]);
            let (fit, _) = fit.fit(known, self.attributes, &self.refinements, &[])?;
            let mut measured: HashSet<AttributeSet> = fit.residuals().measured_sets().collect();
            let has_residual = |set: AttributeSet| self.residuals.contains_key(&set);
            let planned = std::mem::take(&mut list);
            for (set, precision) in planned {
                let Some(residual) = self.residuals.get(&set) else { continue };
                if is_next(&self.domain, set, &measured, &has_residual) {
                    let evidence = expected_evidence(&fit.marginal(set)?, residual, precision);
                    if evidence > self.settings.threshold {
                        measured.insert(set);
                        list.push((set, precision));
                    }
                }
            }
            known = fit.into_residuals();
        }
        Ok((known, list))
    }

    /// Returns the last fit; if the answers are linear it is for records only, and as small as those
    /// of the stages.
    fn last(&self, known: ResidualEstimates, is_linear: bool) -> Result<StagedEstimates> {
        let fit = if is_linear { self.fit(0.25, SWEEPS[0]) } else { self.fit(1.0, SWEEPS[1]) };
        let (fit, _) = fit.fit(known, self.attributes, &self.refinements, &[])?;
        Ok(StagedEstimates { fit, is_linear })
    }

    /// Returns the estimates from the answers of the first stages, such as those of an interrupted
    /// run; those of [`Stages::run`] if all stages are given.
    ///
    /// # Errors
    /// Answers of other residuals than those of the workload.
    pub(crate) fn estimates(&self, stages: &[StageAnswers]) -> Result<StagedEstimates> {
        let mut known = self.empty.clone();
        let mut is_linear = false;
        let mut rest = self.rho;
        for (stage, answers) in stages.iter().enumerate() {
            if let Some(round) = self.rounds.get(stage) {
                let sets: HashSet<AttributeSet> = answers.0.iter().copied().collect();
                let is_measured = |(set, _): &&(AttributeSet, f64)| sets.contains(set);
                rest -= self.cost(&round.iter().filter(is_measured).copied().collect::<Round>());
            }
            if stage == self.rounds.len() && stages.len() == stage + 1 {
                let fit = self.fit(0.25, SWEEPS[0]);
                let (fit, evidence) = fit.fit(known, self.attributes, &self.refinements, &[])?;
                known = fit.into_residuals();
                is_linear = self.unbiased(&known, &evidence, rest)?.is_some();
            }
            add(&mut known, answers)?;
        }
        self.last(known, is_linear)
    }

    /// Returns the first measurements: residuals with their precisions; with levels, those of the
    /// first round.
    pub(crate) fn first(&self) -> &[(AttributeSet, f64)] {
        self.rounds.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the attributes and levels of the model: those that the workload determines.
    pub(crate) fn attributes(&self) -> AttributeSet {
        self.attributes
    }

    /// Returns the size of the pairs of neighbouring levels in MB of 2²⁰ bytes.
    pub(crate) fn level_mb(&self) -> f64 {
        self.level_cells() / cells_of_mb(1.0)
    }

    /// Returns the number of cells of the pairs of neighbouring levels.
    fn level_cells(&self) -> f64 {
        let size = |position: usize| self.empty.sizes()[position] as f64;
        self.refinements.iter().map(|pair| size(pair.finer) * size(pair.coarser)).sum()
    }

    /// Returns the maximum number of residuals and of their cells over all stages.
    ///
    /// A later stage measures a residual of the closure at most once.
    pub(crate) fn max_measured(&self) -> (usize, f64) {
        let cells: f64 = self.closure.iter().map(|residual| residual.cells).sum();
        let scouts = || self.rounds.iter().flatten();
        let first: f64 = scouts()
            .filter_map(|(set, _)| self.residuals.get(set).map(|residual| residual.cells))
            .sum();
        let later = self.settings.stages;
        (scouts().count() + later * self.closure.len(), first + later as f64 * cells)
    }

    /// Returns the cost of measurements when one record is added or removed: Σ p_τ λ_τ/2.
    pub(crate) fn cost(&self, list: &[(AttributeSet, f64)]) -> f64 {
        list.iter().map(|(set, precision)| self.price(*set) * precision / 2.0).sum()
    }

    /// Returns the plan of unbiased answers if it replaces all stages after the first measurements.
    fn unbiased(
        &self,
        known: &ResidualEstimates,
        evidence: &[SetEvidence],
        rest: f64,
    ) -> Result<Option<UnbiasedPlan>> {
        let unbiased = UnbiasedPlan::new(known, &self.closure, &self.workload, rest)?;
        let staged = self.plan(known, evidence, |found| &found.cautious, rest).mean_l1;
        Ok((unbiased.mean_l1 <= self.settings.switch * staged).then_some(unbiased))
    }

    /// Returns p_τ.
    fn price(&self, set: AttributeSet) -> f64 {
        self.residuals.get(&set).map_or(0.0, |residual| residual.price)
    }

    /// Returns the maximum size of the model's cliques in MB of 2²⁰ bytes.
    ///
    /// The pairs of neighbouring levels are additional.
    pub(crate) fn model_mb(&self) -> f64 {
        let is_large = self.attributes.len() > MAX_ATTRIBUTES_OF_LARGE_MODEL;
        self.settings.max_mb.unwrap_or(if is_large { 0.25 } else { 1.0 })
    }

    /// Returns the smallest budget of a stage after the first measurements.
    pub(crate) fn smallest_budget(&self) -> f64 {
        let rest = self.rho - self.rounds.iter().map(|round| self.cost(round)).sum::<f64>();
        rest * self.settings.smallest_share()
    }

    /// Returns the settings of a fit, with a share of the model's size.
    fn fit(&self, share: f64, sweeps: usize) -> LearnedFit {
        LearnedFit {
            cells: cells_of_mb(share * self.model_mb()) + self.level_cells(),
            sweeps,
            threshold: self.settings.threshold,
            pseudo_observations: self.settings.pseudo_observations,
            ..LearnedFit::default()
        }
    }

    /// Plans a stage for given posteriors of the widths.
    fn plan(
        &self,
        known: &ResidualEstimates,
        evidence: &[SetEvidence],
        posterior: fn(&SetEvidence) -> &[f64],
        budget: f64,
    ) -> StagePlan {
        let measurable = |found: &SetEvidence| {
            let present = known.precision(found.set);
            Measurable::new(found, posterior(found), self.price(found.set), present)
        };
        let total = AttributeSet::EMPTY;
        let total = Measurable::total(self.price(total), known.precision(total));
        let residuals = std::iter::once(total).chain(evidence.iter().map(measurable)).collect();
        StagePlan::new(residuals, &self.domain, &self.workload, budget)
    }
}

/// Adds the answers of a stage.
fn add(known: &mut ResidualEstimates, (sets, answers): &StageAnswers) -> Result<()> {
    for (set, (centred, variance)) in sets.iter().zip(answers) {
        known.update(*set, centred, *variance)?;
    }
    Ok(())
}
