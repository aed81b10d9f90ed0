//! A plan whose measurements are made by other strategies: its errors, recomputed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::decomposition::{Decomposition, KernelId};
use super::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction};
use super::subspace::SubspaceStrategy;
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::workload::GroupedWorkload;

impl Plan {
    /// The plan with other strategies and shares c_A of the privacy cost, one per measurement and in
    /// their order, for the residual subspaces of another measure; its privacy cost is their sum. The
    /// errors are those of the new strategies, exactly: `Σ_A tr(G_A V_A⁺)/c_A`. A subspace without a
    /// share is known without noise: it adds nothing to the errors and is no measurement.
    ///
    /// Nothing is claimed about the best plan, so there is no lower bound. *Cost*: a decomposition, and a trace per distinct
    /// strategy and kernel.
    ///
    /// # Errors
    /// Another workload than the plan's, a plan that does not measure residual subspaces, another number of strategies, or strategies
    /// that cost more than their shares.
    pub fn remeasured(
        &self,
        workload: &GroupedWorkload,
        measure: &ReferenceMeasure,
        strategies: &[(Arc<SubspaceStrategy>, Option<PrivacyCost>)],
    ) -> Result<Plan> {
        let same = self.schema == *workload.schema() && self.groups.len() == workload.groups().len();
        if !same
            || self.reconstruction != Reconstruction::ResidualSubspaces
            || strategies.len() != self.measurements.len()
        {
            return Err(Error::bad_input(
                "plan with other strategies",
                "a plan of residual subspaces, its workload, and a strategy per measurement",
                format!("{} strategies for {} measurements", strategies.len(), self.measurements.len()),
                "plan this workload first",
            ));
        }
        let decomposition = Decomposition::for_measure(workload, measure)?;
        let measurements: Vec<PlannedMeasurement> = (self.measurements.iter().zip(strategies))
            .filter_map(|(own, (strategy, privacy_cost))| {
                let (strategy, privacy_cost) = (strategy.clone(), (*privacy_cost)?);
                Some(PlannedMeasurement { attributes: own.attributes, strategy, privacy_cost })
            })
            .collect();
        let without_noise = self.measurements.iter().zip(strategies).filter(|(_, own)| own.1.is_none());
        let known: HashSet<_> = without_noise.map(|(own, _)| own.attributes).collect();
        let places: HashMap<_, _> = measurements.iter().map(|m| (m.attributes, m)).collect();
        let mut traces: HashMap<(usize, Vec<KernelId>), f64> = HashMap::new();
        let mut groups = Vec::with_capacity(self.groups.len());
        for (group, own) in workload.groups().iter().zip(&self.groups) {
            let mut variance = 0.0;
            for (attributes, term) in decomposition.terms_of(group)? {
                if known.contains(&attributes) {
                    continue;
                }
                let Some(measurement) = places.get(&attributes) else {
                    let found = format!("no measurement of residual subspace {attributes:?}");
                    return Err(Error::bug(
                        "plan with other strategies",
                        "all residual subspaces of its workload",
                        found,
                    ));
                };
                let key = (Arc::as_ptr(&measurement.strategy) as usize, term.kernels);
                let trace = match traces.get(&key) {
                    Some(&trace) => trace,
                    None => {
                        let trace = measurement.strategy.trace(&decomposition.kernels(&key.1))?;
                        *traces.entry(key).or_insert(trace)
                    }
                };
                variance += term.coefficient * trace / measurement.privacy_cost.get();
            }
            groups.push(GroupError { variance, ..own.clone() });
        }
        let measure = measure.clone();
        let privacy_cost = PrivacyCost::new(measurements.iter().map(|m| m.privacy_cost.get()).sum())?;
        Plan { privacy_cost, measurements, measure, groups, lower_bound: None, ..self.clone() }.checked()
    }
}
