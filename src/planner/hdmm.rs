//! HDMM with Gaussian noise: one Kronecker strategy over the domain, or one per marginal.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::Array2;

use super::Planner;
use super::plan::{GroupError, Plan, PlannedMeasurement, Reconstruction};
use super::solver::check_dense_memory;
use super::subspace::{SubspaceStrategy, entrywise};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::privacy::PrivacyCost;
use crate::residual::ReferenceMeasure;
use crate::strategy::{Optimal, StrategyFactor, StrategySelector};
use crate::workload::{Family, Gram, GroupQueries, GroupedWorkload, JointQueries, QueryGroup};
use matmech_linalg as linalg;

/// The maximum number of sweeps over the attributes for the single Kronecker strategy.
const MAX_SWEEPS: usize = 10;

/// The sweeps end when one lowers the loss by at most this share.
const MIN_IMPROVEMENT: f64 = 1e-9;

/// The memory limit of a dense problem, in bytes.
const MAX_BYTES: u64 = 8 << 30;

/// The form of HDMM's strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HdmmForm {
    /// The form with the smaller total variance.
    #[default]
    Best,
    /// One strategy `V = ⊗ V_i` over the full domain.
    SingleKronecker,
    /// One strategy per attribute set of the workload, on its marginal.
    UnionOfKroneckers,
}

/// HDMM under L2 sensitivity.
///
/// *Single Kronecker*: `V = ⊗ V_i` minimises `Σ_groups w Π_{i∈S} tr(Γ_i V_i⁻¹) Π_{i∉S} tr(J V_i⁻¹)`
/// by at most ten coordinate sweeps that start from V = I. Each step is the certified 1-D optimum
/// for `aJ + Σ bΓ`, with a and b from the other attributes. *Union*: the certified optimum for the
/// queries of every attribute set. The privacy cost is divided in the ratio `p_S ∝ √L_S`, so the
/// total variance is `(Σ_S √L_S)²/β`. A query is answered only from the measurement of its
/// attribute set.
///
/// *Requirements*: the single strategy needs product families; with joint queries
/// [`HdmmForm::Best`] is the union. *Cost*: single: sweeps × attributes 1-D solves and O(sweeps ·
/// attributes · groups) time; union: one solve per distinct family and size, one per distinct joint
/// query set, and one per attribute set with several groups. *Reference*: McKenna, Miklau, Hay,
/// Machanavajjhala, Optimizing error of high-dimensional statistical queries under differential
/// privacy (2018); S3, Sec. 8.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hdmm {
    /// The form of the strategy.
    ///
    /// Default [`HdmmForm::Best`].
    pub form: HdmmForm,
}

impl Planner for Hdmm {
    fn name(&self) -> &str {
        match self.form {
            HdmmForm::Best => "hdmm",
            HdmmForm::SingleKronecker => "hdmm-kronecker",
            HdmmForm::UnionOfKroneckers => "hdmm-union",
        }
    }

    fn summary(&self) -> &str {
        match self.form {
            HdmmForm::Best => "the better of one Kronecker strategy and one per marginal",
            HdmmForm::SingleKronecker => "one Kronecker strategy over the full domain",
            HdmmForm::UnionOfKroneckers => "one strategy per marginal, no inference across them",
        }
    }

    fn plan(&self, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
        let products_only =
            workload.groups().iter().all(|g| matches!(g.queries(), GroupQueries::Product(_)));
        let plan = match self.form {
            HdmmForm::SingleKronecker => single(self.name(), workload, privacy_cost)?,
            HdmmForm::UnionOfKroneckers => union(self.name(), workload, privacy_cost)?,
            HdmmForm::Best if !products_only => union(self.name(), workload, privacy_cost)?,
            HdmmForm::Best => {
                let kronecker = single(self.name(), workload, privacy_cost)?;
                let union = union(self.name(), workload, privacy_cost)?;
                if kronecker.total_variance() < union.total_variance() { kronecker } else { union }
            }
        };
        plan.checked()
    }
}

/// Returns the 1-D Gram of a family.
fn family_gram(family: Family, n: usize) -> Result<Array2<f64>> {
    crate::workload::check_dense_size(&format!("Gram matrix of {}:{n}", family.name()), n)?;
    family.gram(&[n])
}

/// The certified optimum for a Gram over a box.
#[derive(Clone)]
struct Optimum {
    strategy: StrategyFactor,
    error: f64,
    /// `lower_bound / error`: at most 1.
    tightness: f64,
    iterations: usize,
}

fn optimum(sizes: &[usize], gram: Array2<f64>) -> Result<Optimum> {
    let best = Optimal::default().select(&Gram::dense(sizes, gram)?)?;
    let matrix = best.strategy.factors()[0].gram()?.as_ref().clone();
    Ok(Optimum {
        strategy: StrategyFactor::from_gram_scaled(sizes, matrix)?,
        error: best.error,
        tightness: best.certificate.map_or(0.0, |c| c.lower_bound / best.error),
        iterations: best.certificate.map_or(0, |c| c.iterations),
    })
}

/// Returns `tr(Γ V⁻¹)`.
fn trace(gram: &Array2<f64>, strategy: &StrategyFactor) -> Result<f64> {
    Ok(entrywise(gram, strategy.covariance()?.as_ref()))
}

/// The state of one attribute in the search for the single Kronecker strategy.
struct Axis {
    size: usize,
    /// The families of the workload on this attribute, with Gram and `tr(Γ V⁻¹)/tr(J V⁻¹)`.
    families: Vec<(Family, Array2<f64>, f64)>,
    /// `tr(J V⁻¹)`.
    total: f64,
    strategy: StrategyFactor,
}

impl Axis {
    fn ratio(&self, family: Family) -> f64 {
        self.families.iter().find(|(f, ..)| *f == family).map_or(0.0, |(_, _, ratio)| *ratio)
    }
}

fn families_of(group: &QueryGroup) -> Result<&[Family]> {
    match group.queries() {
        GroupQueries::Product(families) => Ok(families),
        GroupQueries::Joint(_) => Err(Error::bad_input(
            "planner `hdmm-kronecker`",
            "product families on one attribute each, such as identity, prefix or range",
            format!(
                "a group of joint `{}` queries on {} attributes",
                group.family(),
                group.sizes().len()
            ),
            "use hdmm-union or query-smasher",
        )),
    }
}

fn single(name: &str, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
    let mut axes = Vec::new();
    for (position, attribute) in workload.schema().attributes().iter().enumerate() {
        let mut families: Vec<(Family, Array2<f64>, f64)> = Vec::new();
        for group in workload.groups() {
            let wanted = group
                .attributes()
                .positions()
                .zip(families_of(group)?)
                .find(|(p, _)| *p == position);
            if let Some((_, family)) =
                wanted.filter(|(_, f)| families.iter().all(|(known, ..)| known != *f))
            {
                let gram = family_gram(*family, attribute.size)?;
                let ratio = gram.diag().sum() / attribute.size as f64;
                families.push((*family, gram, ratio));
            }
        }
        let strategy =
            StrategyFactor::from_gram_scaled(&[attribute.size], Array2::eye(attribute.size))?;
        axes.push(Axis { size: attribute.size, families, total: attribute.size as f64, strategy });
    }
    let (mut solves, mut iterations) = (0, 0);
    let mut loss = f64::MAX;
    for _ in 0..MAX_SWEEPS {
        for position in 0..axes.len() {
            let gram = coordinate_gram(workload, &axes, position)?;
            let Optimum { strategy, iterations: used, .. } = optimum(&[axes[position].size], gram)?;
            (solves, iterations) = (solves + 1, iterations + used);
            let axis = &mut axes[position];
            axis.total = strategy.covariance()?.sum();
            for (_, gram, ratio) in &mut axis.families {
                *ratio = trace(gram, &strategy)? / axis.total;
            }
            axis.strategy = strategy;
        }
        let new_loss: f64 = variances(workload, &axes)?
            .iter()
            .zip(workload.groups())
            .map(|(variance, g)| variance * g.weight())
            .sum();
        let converged = loss - new_loss <= MIN_IMPROVEMENT * loss;
        loss = new_loss;
        if converged {
            break;
        }
    }
    let variances = variances(workload, &axes)?;
    let groups = workload
        .groups()
        .iter()
        .zip(variances)
        .map(|(g, variance)| GroupError::of(g, variance / privacy_cost.get()));
    let groups = groups.collect();
    Ok(Plan {
        planner: name.to_string(),
        schema: workload.schema().clone(),
        privacy_cost,
        measurements: vec![PlannedMeasurement {
            attributes: AttributeSet::first(axes.len()),
            strategy: Arc::new(SubspaceStrategy::Kronecker(
                axes.into_iter().map(|axis| axis.strategy).collect(),
            )),
            privacy_cost,
        }],
        reconstruction: Reconstruction::FullDomain,
        measure: ReferenceMeasure::uniform(&workload.schema().sizes()),
        search: None,
        groups,
        lower_bound: None,
        solves,
        iterations,
    })
}

/// Returns the groups' variances at unit privacy cost.
fn variances(workload: &GroupedWorkload, axes: &[Axis]) -> Result<Vec<f64>> {
    let base: f64 = axes.iter().map(|axis| axis.total).product();
    let variance = |group: &QueryGroup| -> Result<f64> {
        let pairs = group.attributes().positions().zip(families_of(group)?);
        Ok(pairs.map(|(p, family)| axes[p].ratio(*family)).product::<f64>() * base)
    };
    workload.groups().iter().map(variance).collect()
}

/// Returns the Gram of the loss for one attribute, with the others fixed.
///
/// It is `aJ + Σ bΓ`, scaled to a maximum diagonal of 1.
///
/// Ratios to `tr(J V⁻¹)` keep the products over all attributes within the range of f64.
fn coordinate_gram(
    workload: &GroupedWorkload,
    axes: &[Axis],
    position: usize,
) -> Result<Array2<f64>> {
    let axis = &axes[position];
    let mut total_share = 0.0;
    let mut shares = vec![0.0; axis.families.len()];
    for group in workload.groups() {
        let mut product = group.weight();
        let mut family_index = None;
        for (p, family) in group.attributes().positions().zip(families_of(group)?) {
            if p == position {
                family_index = axis.families.iter().position(|(f, ..)| f == family);
            } else {
                product *= axes[p].ratio(*family);
            }
        }
        match family_index {
            Some(k) => shares[k] += product,
            None => total_share += product,
        }
    }
    let mut gram = Array2::from_elem((axis.size, axis.size), total_share);
    for ((_, family_gram, _), share) in axis.families.iter().zip(&shares) {
        gram.scaled_add(*share, family_gram);
    }
    let scale = gram.diag().iter().copied().fold(0.0, f64::max);
    Ok(gram / scale)
}

/// The optima found so far for the union of Kronecker strategies.
#[derive(Default)]
struct Union<'a> {
    factors: Vec<(Family, usize, Optimum)>,
    joints: Vec<(&'a JointQueries, Optimum)>,
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
    fn solve(&mut self, sizes: &[usize], gram: Array2<f64>) -> Result<Optimum> {
        let best = optimum(sizes, gram)?;
        self.solves += 1;
        self.iterations += best.iterations;
        Ok(best)
    }

    fn marginal(&mut self, groups: &[&'a QueryGroup]) -> Result<Marginal> {
        let (best, errors) = match groups {
            [group] => match group.queries() {
                GroupQueries::Product(families) => return self.product(families, group.sizes()),
                GroupQueries::Joint(queries) => {
                    let best =
                        match self.joints.iter().find(|(known, _)| *known == queries.as_ref()) {
                            Some((_, best)) => best.clone(),
                            None => {
                                let best = self.solve(group.sizes(), full_gram(group)?)?;
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
                let best = self.solve(several[0].sizes(), sum)?;
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

    fn product(&mut self, families: &[Family], sizes: &[usize]) -> Result<Marginal> {
        let (mut parts, mut error, mut tightness) = (Vec::new(), 1.0, 1.0);
        for (&family, &n) in families.iter().zip(sizes) {
            let best = match self.factors.iter().find(|(f, size, _)| *f == family && *size == n) {
                Some((_, _, best)) => best.clone(),
                None => {
                    let best = self.solve(&[n], family_gram(family, n)?)?;
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

fn union(name: &str, workload: &GroupedWorkload, privacy_cost: PrivacyCost) -> Result<Plan> {
    let mut by_set: BTreeMap<(usize, AttributeSet), Vec<usize>> = BTreeMap::new();
    for (index, group) in workload.groups().iter().enumerate() {
        by_set.entry((group.attributes().len(), group.attributes())).or_default().push(index);
    }
    let mut union = Union::default();
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
