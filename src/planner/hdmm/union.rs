//! One strategy per attribute set of the workload, on its marginal.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::Array2;

use super::optimum::{Optimum, family_gram, optimum, trace};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction, SubspaceProof};
use crate::planner::solver::check_dense_memory;
use crate::planner::subspace::SubspaceStrategy;
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::strategy::{Objective, Proof};
use crate::workload::{Family, GroupQueries, GroupedWorkload, JointQueries, QueryGroup};
use matmech_linalg as linalg;

/// The memory limit of a dense problem, in bytes.
const MAX_BYTES: u64 = 8 << 30;

/// The optima found so far for the union of Kronecker strategies.
#[derive(Default)]
struct Union<'a> {
    factors: Vec<(Family, usize, Optimum)>,
    joints: Vec<(&'a JointQueries, Optimum)>,
    /// The proofs of the solved problems.
    proofs: Vec<SubspaceProof>,
    /// Proofs that replace the solves.
    known: Option<std::vec::IntoIter<Proof>>,
    solves: usize,
    iterations: usize,
}

/// The strategy of one attribute set, the error of every group under it, and its tightness.
struct Marginal {
    strategy: SubspaceStrategy,
    errors: Vec<f64>,
    tightness: f64,
}

impl<'a> Union<'a> {
    fn solve(
        &mut self,
        attributes: AttributeSet,
        sizes: &[usize],
        gram: Array2<f64>,
    ) -> Result<Optimum> {
        let known = match &mut self.known {
            None => None,
            Some(proofs) => Some(proofs.next().ok_or_else(|| {
                let remedy = "use the proofs of the plan for this workload";
                Error::bad_input("proofs of a plan", "one per problem", "fewer", remedy)
            })?),
        };
        let mut best = optimum(sizes, gram, known.as_ref())?;
        let proof = best.proof.take();
        self.proofs.extend(proof.map(|proof| SubspaceProof { attributes, proof }));
        self.solves += 1;
        self.iterations += best.iterations;
        Ok(best)
    }

    fn marginal(&mut self, groups: &[&'a QueryGroup]) -> Result<Marginal> {
        let (best, errors) = match groups {
            [group] => match group.queries() {
                GroupQueries::Product(families) => return self.product(families, group),
                GroupQueries::Joint(queries) => {
                    let best =
                        match self.joints.iter().find(|(known, _)| *known == queries.as_ref()) {
                            Some((_, best)) => best.clone(),
                            None => {
                                let (set, sizes) = (group.attributes(), group.sizes());
                                let best = self.solve(set, sizes, full_gram(group)?)?;
                                self.joints.push((queries.as_ref(), best.clone()));
                                best
                            }
                        };
                    let error = best.error;
                    (best, vec![error])
                }
            },
            several => {
                let grams = several.iter().map(|g| full_gram(g)).collect::<Result<Vec<_>>>()?;
                let mut sum = Array2::zeros(grams[0].dim());
                for (gram, group) in grams.iter().zip(several) {
                    sum.scaled_add(group.weight(), gram);
                }
                let best = self.solve(several[0].attributes(), several[0].sizes(), sum)?;
                let errors = grams
                    .iter()
                    .map(|gram| trace(gram, &best.strategy))
                    .collect::<Result<Vec<_>>>()?;
                (best, errors)
            }
        };
        Ok(Marginal {
            strategy: SubspaceStrategy::Kronecker(vec![best.strategy]),
            errors,
            tightness: best.tightness,
        })
    }

    fn product(&mut self, families: &[Family], group: &QueryGroup) -> Result<Marginal> {
        let (mut parts, mut error, mut tightness) = (Vec::new(), 1.0, 1.0);
        let sizes = families.iter().zip(group.sizes());
        for ((&family, &n), position) in sizes.zip(group.attributes().positions()) {
            let best = match self.factors.iter().find(|(f, size, _)| *f == family && *size == n) {
                Some((_, _, best)) => best.clone(),
                None => {
                    let attribute = AttributeSet::from_positions(&[position])?;
                    let best = self.solve(attribute, &[n], family_gram(family, n)?)?;
                    self.factors.push((family, n, best.clone()));
                    best
                }
            };
            parts.push(best.strategy);
            error *= best.error;
            tightness *= best.tightness;
        }
        Ok(Marginal {
            strategy: SubspaceStrategy::Kronecker(parts),
            errors: vec![error],
            tightness,
        })
    }
}

/// Returns the plan of one strategy per attribute set, with the cost divided as p_S ∝ √L_S.
///
/// With `known` proofs there is no search.
pub(super) fn union(
    name: &str,
    workload: &GroupedWorkload,
    privacy_cost: PrivacyCost,
    known: Option<Vec<Proof>>,
) -> Result<Plan> {
    let mut by_set: BTreeMap<(usize, AttributeSet), Vec<usize>> = BTreeMap::new();
    for (index, group) in workload.groups().iter().enumerate() {
        by_set.entry((group.attributes().len(), group.attributes())).or_default().push(index);
    }
    let mut union = Union { known: known.map(IntoIterator::into_iter), ..Union::default() };
    let mut chosen = Vec::with_capacity(by_set.len());
    let (mut total, mut total_bound) = (0.0, 0.0);
    for ((_, attributes), indices) in by_set {
        let groups: Vec<&QueryGroup> =
            indices.iter().map(|&index| &workload.groups()[index]).collect();
        let marginal = union.marginal(&groups)?;
        let error: f64 =
            marginal.errors.iter().zip(&groups).map(|(error, g)| error * g.weight()).sum();
        total += error.sqrt();
        total_bound += (error * marginal.tightness).sqrt();
        chosen.push((attributes, marginal, error, indices));
    }
    let mut measurements = Vec::with_capacity(chosen.len());
    let mut variances = vec![0.0; workload.groups().len()];
    for (attributes, marginal, error, indices) in chosen {
        let share = privacy_cost.get() * error.sqrt() / total;
        let (strategy, privacy_cost) = (Arc::new(marginal.strategy), PrivacyCost::new(share)?);
        measurements.push(PlannedMeasurement { attributes, strategy, privacy_cost });
        for (index, error) in indices.into_iter().zip(marginal.errors) {
            variances[index] = error / share;
        }
    }
    let groups = workload
        .groups()
        .iter()
        .zip(variances)
        .map(|(group, variance)| GroupError::of(group, variance));
    Ok(Plan {
        planner: name.to_string(),
        schema: workload.schema().clone(),
        privacy_cost,
        measurements,
        reconstruction: Reconstruction::SameMarginal,
        measure: ReferenceMeasure::uniform(&workload.schema().sizes()),
        search: None,
        groups: groups.collect(),
        lower_bound: Some(total_bound * total_bound / privacy_cost.get()),
        objective: Objective::Mean,
        objective_bound: None,
        proofs: union.proofs,
        solves: union.solves,
        iterations: union.iterations,
    })
}

/// Returns the Gram of a group's queries over the cells of its marginal.
fn full_gram(group: &QueryGroup) -> Result<Array2<f64>> {
    check_dense_memory(group.sizes(), MAX_BYTES)?;
    match group.queries() {
        GroupQueries::Product(families) => {
            let grams: Vec<Array2<f64>> = families
                .iter()
                .zip(group.sizes())
                .map(|(family, &n)| family_gram(*family, n))
                .collect::<Result<_>>()?;
            Ok(linalg::kron_all(grams.iter().map(|g| g.view())))
        }
        GroupQueries::Joint(queries) => queries.gram(),
    }
}
