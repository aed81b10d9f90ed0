//! From noisy integers to unbiased answers with their exact variances.

use std::collections::HashMap;
use std::sync::Arc;

use super::measurements::Measurements;
use super::reach::Reach;
use super::rounding;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::mechanism::group_answers;
use crate::planner::{Decomposition, SubspaceStrategy};
use crate::residual::{ReferenceMeasure, centre_for, contracted, project_for, spread_for};
use crate::schema::Schema;
use crate::strategy::{IntegerFactor, StrategyFactor};
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

/// The estimate of one residual subspace.
#[derive(Debug)]
struct Part {
    /// Least squares from the noisy answers, projected: cells of the marginal.
    estimate: Vec<f64>,
    /// The strategy at unit privacy cost.
    strategy: Arc<SubspaceStrategy>,
    /// Var · V⁺ is its covariance: Δ² over the variance of the noise, inverted.
    noise: f64,
    /// The same with σ², the sub-Gaussian variance proxy of the noise, for its variance: larger below σ = 2.
    proxy: f64,
}

/// Estimates of all residual subspaces that were measured. Everything here is computed from outputs: it costs no privacy.
///
/// *Memory*: 8 bytes per cell of the measured subspaces.
#[derive(Debug)]
pub struct Estimates {
    schema: Schema,
    measure: ReferenceMeasure,
    parts: HashMap<AttributeSet, Part>,
    smallest: f64,
    integers: usize,
}

impl Estimates {
    /// The least-squares estimates from measurements. O(cells · Σ sizes) per subspace, and one pseudo-inverse per distinct factor.
    ///
    /// # Errors
    /// Strategies of another rank than their subspace: they answer nothing for certain.
    pub fn of(measurements: &Measurements) -> Result<Self> {
        let schema = measurements.schema.clone();
        let own = measurements.weights.iter().map(|p| rounding::measure(p)).collect::<Result<Vec<_>>>()?;
        let measure = ReferenceMeasure::new(own);
        let mut reals: HashMap<*const IntegerFactor, StrategyFactor> = HashMap::new();
        let mut parts = HashMap::with_capacity(measurements.list.len());
        for (own, noisy) in &measurements.list {
            let mut factors = Vec::with_capacity(own.strategy.factors().len());
            for factor in own.strategy.factors() {
                let real = match reals.get(&Arc::as_ptr(factor)) {
                    Some(real) => real.clone(),
                    None => {
                        let real = checked(factor)?;
                        reals.entry(Arc::as_ptr(factor)).or_insert(real).clone()
                    }
                };
                factors.push(real);
            }
            let strategy = Arc::new(SubspaceStrategy::Kronecker(factors));
            let scale = own.strategy.scale();
            let scaled: Vec<f64> = noisy.iter().map(|answer| *answer as f64 / scale).collect();
            let mut estimate = strategy.reconstruct(&scaled)?;
            if !measure.is_uniform() {
                project_for(&strategy.shape(), &mut estimate, &measure.of(own.attributes));
            }
            let noise = own.deviation.variance() / (scale * scale);
            let proxy = own.deviation.to_f64().powi(2) / (scale * scale);
            parts.insert(own.attributes, Part { estimate, strategy, noise, proxy });
        }
        let smallest = measurements.list.iter().map(|(own, _)| own.deviation.to_f64()).fold(f64::INFINITY, f64::min);
        let integers = measurements.list.iter().map(|(_, noisy)| noisy.len()).sum();
        Ok(Estimates { schema, measure, parts, smallest, integers })
    }

    /// The schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The reference measure.
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }

    /// The subspaces that were measured, ∅ first.
    pub fn sets(&self) -> Vec<AttributeSet> {
        let mut sets: Vec<AttributeSet> = self.parts.keys().copied().collect();
        sets.sort_unstable_by_key(|set| (set.len(), *set));
        sets
    }

    /// Whether variances are their proxies: no σ is below 2.
    pub(super) fn has_fine_noise(&self) -> bool {
        self.smallest >= 2.0
    }

    /// How far the intervals of so many queries reach.
    pub fn reach(&self, queries: f64) -> Reach {
        Reach::of(queries, self.smallest, self.integers)
    }

    /// The projected estimate of a subspace with the variance of its noise per unit of V⁺, and the strategy.
    pub(super) fn part(&self, set: AttributeSet) -> Option<(&[f64], f64, &SubspaceStrategy)> {
        self.parts.get(&set).map(|part| (part.estimate.as_slice(), part.noise, part.strategy.as_ref()))
    }

    /// Refuses queries that the measurements do not determine.
    ///
    /// # Errors
    /// A group with a part in a subspace that was not measured; the message names both.
    pub fn check_answers(&self, workload: &GroupedWorkload) -> Result<()> {
        if workload.schema() != &self.schema {
            return Err(Error::bug("answers", "a workload over the schema of the measurements", "another"));
        }
        let decomposition = Decomposition::for_measure(workload, &self.measure)?;
        for group in workload.groups() {
            for (set, _) in decomposition.terms_of(group)? {
                if !self.parts.contains_key(&set) {
                    let name = |set| match self.schema.names(set) {
                        none if none.is_empty() => "the number of records".into(),
                        names => names,
                    };
                    return Err(Error::bad_input(
                        format!("`{}` queries on {}", group.family(), name(group.attributes())),
                        "queries in the span of what was measured",
                        format!("a part on {} that was not measured", name(set)),
                        "ask for other queries, or put these into the workload of another release",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The unbiased estimate of a marginal, as far as it is measured. O(2^k · cells).
    ///
    /// # Errors
    /// Attributes that the schema lacks.
    pub fn marginal(&self, attributes: AttributeSet) -> Result<Vec<f64>> {
        let sizes = self.schema.shape_of(attributes)?;
        let mut marginal = vec![0.0; sizes.iter().product()];
        let measures = self.measure.of(attributes);
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
            if let Some(part) = self.parts.get(&set) {
                spread_for(&mut marginal, &sizes, kept, &part.estimate, &measures);
            }
        }
        Ok(marginal)
    }

    /// The unbiased answers of a group's queries, in the order of the family's rows.
    ///
    /// # Errors
    /// As [`Estimates::marginal`], or a family that cannot be enumerated.
    pub fn answers(&self, group: &QueryGroup) -> Result<Vec<f64>> {
        group_answers(group, &self.marginal(group.attributes())?)
    }

    /// The exact variances of [`Estimates::answers`]: `Σ_A Var_A · q_A V_A⁺ q_Aᵀ`.
    ///
    /// For products of families from the factors: one variance per query of an attribute and factor of a strategy, then their products,
    /// O(2^k · queries). For joint queries one by one, O(2^k · cells · Σ sizes) each.
    ///
    /// # Errors
    /// As [`Estimates::answers`].
    pub fn variances(&self, group: &QueryGroup, known: &mut KnownVariances) -> Result<Vec<f64>> {
        self.squares(group, known, |part| part.noise)
    }

    /// The sub-Gaussian variance proxies of [`Estimates::answers`]: σ² for the variance of every noisy integer. Intervals are multiples of
    /// their roots.
    ///
    /// # Errors
    /// As [`Estimates::answers`].
    pub fn variance_proxies(&self, group: &QueryGroup, known: &mut KnownVariances) -> Result<Vec<f64>> {
        self.squares(group, known, |part| part.proxy)
    }

    fn squares(&self, group: &QueryGroup, known: &mut KnownVariances, of: fn(&Part) -> f64) -> Result<Vec<f64>> {
        match group.queries() {
            GroupQueries::Joint(joint) => {
                joint.rows()?.map(|row| self.variance(group.attributes(), &row, of)).collect()
            }
            GroupQueries::Product(families) => self.product_variances(group, families, known, of),
        }
    }

    fn variance(&self, attributes: AttributeSet, query: &[f64], of: fn(&Part) -> f64) -> Result<f64> {
        let sizes = self.schema.shape_of(attributes)?;
        let measures = self.measure.of(attributes);
        let mut variance = 0.0;
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(attributes.subsets()) {
            let Some(part) = self.parts.get(&set) else { continue };
            let mut own = contracted(&sizes, kept, query.to_vec(), &measures);
            centre_for(&kept.of_items(&sizes), &mut own, &self.measure.of(set));
            variance += of(part) * part.strategy.variance(&own)?;
        }
        Ok(variance)
    }

    fn product_variances(
        &self,
        group: &QueryGroup,
        families: &[Family],
        known: &mut KnownVariances,
        of: fn(&Part) -> f64,
    ) -> Result<Vec<f64>> {
        let sizes = group.sizes();
        let rows = families.iter().zip(sizes).map(|(family, &n)| {
            let weight = family.query_weight(&[n]);
            let rows = family.rows(&[n])?;
            Ok(rows.map(|row| row.into_iter().map(|x| x * weight).collect()).collect::<Vec<Vec<f64>>>())
        });
        let rows: Vec<Vec<Vec<f64>>> = rows.collect::<Result<_>>()?;
        let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
        let positions: Vec<usize> = group.attributes().positions().collect();
        let mut out = vec![0.0; counts.iter().product()];
        for (kept, set) in AxisSet::subsets(sizes.len()).zip(group.attributes().subsets()) {
            let Some(part) = self.parts.get(&set) else { continue };
            let SubspaceStrategy::Kronecker(factors) = part.strategy.as_ref() else { continue };
            // The variance is a product of tables, each over the queries of some axes.
            let mut tables: Vec<(Vec<usize>, Arc<Vec<f64>>)> = Vec::new();
            for axis in (0..sizes.len()).filter(|axis| !kept.contains(*axis)) {
                let measure = self.measure.of_attribute(positions[axis]);
                let mean = |row: &Vec<f64>| row.iter().enumerate().map(|(c, x)| x * measure.weight(c)).sum::<f64>();
                tables.push((vec![axis], Arc::new(rows[axis].iter().map(|row| mean(row).powi(2)).collect())));
            }
            let mut axes = (0..sizes.len()).filter(|axis| kept.contains(*axis));
            for factor in factors {
                let own: Vec<usize> = axes.by_ref().take(factor.shape().len()).collect();
                let chosen: Vec<Family> = own.iter().map(|axis| families[*axis]).collect();
                let key = (Arc::as_ptr(&factor.gram()?) as usize, chosen);
                let table = match known.0.get(&key) {
                    Some(table) => table.clone(),
                    None => {
                        let lists: Vec<&[Vec<f64>]> = own.iter().map(|axis| rows[*axis].as_slice()).collect();
                        let set: Vec<usize> = own.iter().map(|axis| positions[*axis]).collect();
                        let table = Arc::new(self.factor_variances(factor, &set, &lists)?);
                        known.0.insert(key, table.clone());
                        table
                    }
                };
                tables.push((own, table));
            }
            add_products(&mut out, &counts, of(part), &tables);
        }
        Ok(out)
    }

    /// `q V⁺ qᵀ` of all products of the lists' queries, each centred.
    fn factor_variances(
        &self,
        factor: &StrategyFactor,
        positions: &[usize],
        lists: &[&[Vec<f64>]],
    ) -> Result<Vec<f64>> {
        let measures = self.measure.of(AttributeSet::from_positions(positions)?);
        let mut products = vec![vec![1.0]];
        for list in lists {
            let longer = |left: &Vec<f64>| -> Vec<Vec<f64>> {
                list.iter().map(|row| left.iter().flat_map(|x| row.iter().map(move |y| x * y)).collect()).collect()
            };
            products = products.iter().flat_map(longer).collect();
        }
        products
            .into_iter()
            .map(|mut query| {
                centre_for(factor.shape(), &mut query, &measures);
                factor.variance(&query)
            })
            .collect()
    }
}

/// Variances of factors that were computed for other groups, while their [`Estimates`] live.
#[derive(Debug, Default)]
pub struct KnownVariances(HashMap<(usize, Vec<Family>), Arc<Vec<f64>>>);

/// A factor as doubles, if it spans its whole subspace.
fn checked(factor: &IntegerFactor) -> Result<StrategyFactor> {
    let real = factor.real()?;
    let full = rounding::full_rank(factor.shape());
    let rank = crate::linalg::Semidefinite::of(real.gram()?.view())?.rank();
    if rank == full {
        return Ok(real);
    }
    Err(Error::bad_input(
        format!("integer strategy over {:?}", factor.shape()),
        format!("rows that span their residual subspace, of rank {full}"),
        format!("rows of rank {rank}"),
        "give the folder `measurements` of a release, as it was written",
    ))
}

/// `out[q] += scale · Π table[q]`, with q over the box `counts` and every table over some of its axes.
fn add_products(out: &mut [f64], counts: &[usize], scale: f64, tables: &[(Vec<usize>, Arc<Vec<f64>>)]) {
    let strides: Vec<Vec<usize>> = (tables.iter())
        .map(|(axes, _)| {
            let mut strides = vec![0; counts.len()];
            let mut stride = 1;
            for &axis in axes.iter().rev() {
                strides[axis] = stride;
                stride *= counts[axis];
            }
            strides
        })
        .collect();
    let mut at = vec![0usize; counts.len()];
    let mut places = vec![0usize; tables.len()];
    for value in out {
        *value += tables.iter().zip(&places).fold(scale, |product, ((_, table), place)| product * table[*place]);
        // The next query, the last axis fastest.
        for axis in (0..counts.len()).rev() {
            at[axis] += 1;
            places.iter_mut().zip(&strides).for_each(|(place, strides)| *place += strides[axis]);
            if at[axis] < counts[axis] {
                break;
            }
            places.iter_mut().zip(&strides).for_each(|(place, strides)| *place -= strides[axis] * counts[axis]);
            at[axis] = 0;
        }
    }
}
