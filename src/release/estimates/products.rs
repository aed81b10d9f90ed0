//! Answers to products of rows, and their exact covariances.
//!
//! The answers to two queries q and r, products of rows, have the covariance
//!
//! ```text
//! Σ_A Var_A · q_A V_A⁺ r_Aᵀ        q_A the component of q in the subspace of A
//! ```
//!
//! The component of a product is the product of centred rows in A and of means elsewhere, so each
//! term is a product over the factors of the strategy.

use std::collections::HashMap;
use std::sync::Arc;

use super::conditions::MIN_SHARE;
use super::least_squares::Estimates;
use super::variances::add_products;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::SubspaceStrategy;
use crate::residual::centre_for;
use crate::strategy::StrategyFactor;
use crate::workload::query::ProductRows;

/// Entries of centred rows, and means, below this share of the largest weight are rounding errors.
const MAX_ROUNDING: f64 = 1e-12;

/// A covariance: of the measurements alone, and after the known answers of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::release) struct Covariance {
    measured: f64,
    /// The covariance.
    pub(in crate::release) left: f64,
}

impl Covariance {
    /// Adds a multiple of another covariance.
    pub(in crate::release) fn add(&mut self, weight: f64, other: Covariance) {
        self.measured += weight * other.measured;
        self.left += weight * other.left;
    }

    /// Returns the variance, if this is one: 0 if it is less than 10⁻⁹ of what the measurements
    /// alone have, because then the answer is known.
    pub(in crate::release) fn variance(self) -> f64 {
        if self.left < MIN_SHARE * self.measured { 0.0 } else { self.left.max(0.0) }
    }
}

/// The rows of products, centred, with their means.
struct Centred {
    positions: Vec<usize>,
    rows: Vec<Vec<Vec<f64>>>,
    means: Vec<Arc<Vec<f64>>>,
    /// The attributes for which some centred row is not 0: only their subspaces have components.
    varying: AttributeSet,
    /// The attributes for which all means are 0: all subspaces with components have them.
    required: AttributeSet,
}

/// The row of an attribute in a query, and in another one.
type RowPair = (usize, usize, usize);

/// Products of centred rows with the covariance of a factor, by the index of the factor and the
/// rows.
type KnownProducts = HashMap<(usize, Vec<RowPair>), f64>;

impl Estimates {
    fn centred(&self, products: &ProductRows) -> Centred {
        let positions: Vec<usize> = products.attributes().positions().collect();
        let (mut rows, mut means) = (Vec::new(), Vec::new());
        let (mut varying, mut required) = (AttributeSet::EMPTY, AttributeSet::EMPTY);
        for (&position, of_axis) in positions.iter().zip(products.rows()) {
            let measure = self.measure.of_attribute(position);
            let (mut has_component, mut has_mean) = (false, false);
            let (mut centred, mut of_rows) = (Vec::new(), Vec::new());
            for row in of_axis {
                let least = MAX_ROUNDING * row.iter().fold(0.0f64, |max, x| max.max(x.abs()));
                let mean: f64 = row.iter().enumerate().map(|(c, x)| x * measure.weight(c)).sum();
                let mut component = row.clone();
                centre_for(&[row.len()], &mut component, std::slice::from_ref(measure));
                has_component |= component.iter().any(|x| x.abs() > least);
                has_mean |= mean.abs() > least;
                centred.push(component);
                of_rows.push(mean);
            }
            let member = AttributeSet::single(position);
            if has_component {
                varying = varying.union(member);
            }
            if !has_mean {
                required = required.union(member);
            }
            rows.push(centred);
            means.push(Arc::new(of_rows));
        }
        if !required.is_subset(varying) {
            // Some row of every query is 0: there is no component.
            varying = AttributeSet::EMPTY;
        }
        Centred { positions, rows, means, varying, required }
    }

    /// Refuses queries that the measurements do not determine.
    ///
    /// # Errors
    /// A component in a subspace that was not measured; the message names its attributes.
    pub(in crate::release) fn check_products(&self, products: &ProductRows) -> Result<()> {
        let Centred { varying, required, .. } = self.centred(products);
        let refuse = |set: AttributeSet| {
            let found = match self.schema.names(set) {
                none if none.is_empty() => "the number of records, which was not measured".into(),
                names => format!("`{names}`, not measured together"),
            };
            Err(Error::bad_input(
                "attributes",
                "a set that the release measured together",
                found,
                "use other attributes; or plan another release with this query in its workload",
            ))
        };
        // The largest subspace; if it was measured, the number of its subsets is small.
        if required.is_subset(varying) && !self.parts.contains_key(&varying) {
            return refuse(varying);
        }
        let has_component = |set: &AttributeSet| required.is_subset(*set);
        let mut sets = varying.subsets().filter(has_component);
        match sets.find(|set| !self.parts.contains_key(set)) {
            Some(set) => refuse(set),
            None => Ok(()),
        }
    }

    /// Returns the unbiased answers to products of rows.
    ///
    /// # Errors
    /// As [`Estimates::check_products`].
    pub(in crate::release) fn product_answers(&self, products: &ProductRows) -> Result<Vec<f64>> {
        self.check_products(products)?;
        let centred = self.centred(products);
        Ok(self.answers_of(products, &centred, |set| {
            self.parts.get(&set).map(|part| part.estimate.as_slice())
        }))
    }

    /// Answers products of rows on vectors over the cells of subspaces, which are projected.
    fn answers_of<'a>(
        &'a self,
        products: &ProductRows,
        centred: &Centred,
        values: impl Fn(AttributeSet) -> Option<&'a [f64]>,
    ) -> Vec<f64> {
        let counts = products.counts();
        let mut out = vec![0.0; counts.iter().product()];
        for set in centred.varying.subsets() {
            let Some(values) = values(set) else { continue };
            let answers = Arc::new(products.restricted(set).answers(values));
            let (mut inside, mut tables) = (Vec::new(), Vec::new());
            for (axis, position) in centred.positions.iter().enumerate() {
                match set.contains(*position) {
                    true => inside.push(axis),
                    false => tables.push((vec![axis], centred.means[axis].clone())),
                }
            }
            tables.push((inside, answers));
            add_products(&mut out, &counts, 1.0, &tables);
        }
        out
    }

    /// Returns the covariances of pairs of answers, given by the indices of a query of `a` and of a
    /// query of `b`.
    ///
    /// *Time*: per pair O(2^k) products, with each distinct product of rows and factor once.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub(in crate::release) fn product_covariances(
        &self,
        a: &ProductRows,
        b: &ProductRows,
        pairs: &[(usize, usize)],
    ) -> Result<Vec<Covariance>> {
        let (of_a, of_b) = (self.centred(a), self.centred(b));
        let common = of_a.varying.intersection(of_b.varying);
        let sets: Vec<AttributeSet> =
            common.subsets().filter(|set| self.parts.contains_key(set)).collect();
        let mut known = KnownProducts::new();
        let mut covariances = Vec::with_capacity(pairs.len());
        for &(i, j) in pairs {
            let (rows_a, rows_b) = (a.row_indices(i), b.row_indices(j));
            let mut covariance = 0.0;
            for &set in &sets {
                let means = mean_outside(&of_a, &rows_a, set) * mean_outside(&of_b, &rows_b, set);
                if means != 0.0 {
                    let (a, b) = ((&of_a, &rows_a[..]), (&of_b, &rows_b[..]));
                    covariance += means * self.product_in(set, a, b, &mut known)?;
                }
            }
            covariances.push(Covariance { measured: covariance, left: covariance });
        }
        for direction in &self.directions {
            let share = |products: &ProductRows, centred: &Centred| {
                self.answers_of(products, centred, |set| direction.get(&set).map(Vec::as_slice))
            };
            let (shares_a, shares_b) = (share(a, &of_a), share(b, &of_b));
            for (covariance, &(i, j)) in covariances.iter_mut().zip(pairs) {
                covariance.left -= shares_a[i] * shares_b[j];
            }
        }
        Ok(covariances)
    }

    /// Returns the covariance in a subspace, without the means of other attributes.
    fn product_in(
        &self,
        set: AttributeSet,
        (a, rows_a): (&Centred, &[usize]),
        (b, rows_b): (&Centred, &[usize]),
        known: &mut KnownProducts,
    ) -> Result<f64> {
        let Some(part) = self.parts.get(&set) else { return Ok(0.0) };
        let SubspaceStrategy::Kronecker(factors) = part.strategy.as_ref() else {
            return Err(Error::bug("covariances", "a product of factors", "another strategy"));
        };
        let axis = |centred: &Centred, position: usize| {
            centred.positions.iter().position(|known| *known == position).unwrap_or_default()
        };
        let mut positions = set.positions();
        let mut product = part.noise;
        for (factor, index) in factors.iter().zip(&part.factors) {
            let of_factor: Vec<usize> = positions.by_ref().take(factor.shape().len()).collect();
            let pair = |&p: &usize| (p, rows_a[axis(a, p)], rows_b[axis(b, p)]);
            let key = (*index, of_factor.iter().map(pair).collect::<Vec<RowPair>>());
            let value = match known.get(&key) {
                Some(value) => *value,
                None => {
                    let left = key.1.iter().map(|(p, row, _)| &a.rows[axis(a, *p)][*row]);
                    let right = key.1.iter().map(|(p, _, row)| &b.rows[axis(b, *p)][*row]);
                    let value = with_covariance(factor, &kron(left), &kron(right))?;
                    known.insert(key, value);
                    value
                }
            };
            product *= value;
        }
        Ok(product)
    }
}

/// Returns the product of the means of a query's rows outside a set.
fn mean_outside(centred: &Centred, rows: &[usize], set: AttributeSet) -> f64 {
    let outside = (0..rows.len()).filter(|axis| !set.contains(centred.positions[*axis]));
    outside.map(|axis| centred.means[axis][rows[axis]]).product()
}

fn kron<'a>(rows: impl Iterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    rows.fold(vec![1.0], |product, row| {
        product.iter().flat_map(|x| row.iter().map(move |y| x * y)).collect()
    })
}

/// Returns `q V⁺ rᵀ` by polarisation, which every form of a factor can compute.
fn with_covariance(factor: &StrategyFactor, q: &[f64], r: &[f64]) -> Result<f64> {
    if q == r {
        return factor.variance(q);
    }
    let combined = |sign: f64| -> Vec<f64> { q.iter().zip(r).map(|(x, y)| x + sign * y).collect() };
    Ok(0.25 * (factor.variance(&combined(1.0))? - factor.variance(&combined(-1.0))?))
}
