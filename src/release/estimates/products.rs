//! Answers to products of rows, and their exact covariances.
//!
//! The answers to two queries q and r, products of rows, have the covariance
//!
//! ```text
//! Σ_A Var_A · p_A · s_A        p_A = B_A^{+T} q_Aᵀ, s_A = B_A^{+T} r_Aᵀ
//!                             q_A, r_A the components in the subspace of A
//! ```
//!
//! The component of a product is the product of centred rows in A and of means elsewhere, so each
//! term is a product over the factors of the strategy.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::conditions::{CANCELLED, MIN_SHARE};
use super::least_squares::Estimates;
use super::variances::add_products;
use super::weights::{Weights, dot, kron};
use super::whitened::{MAX_ROUNDING, factors_of, unmeasured};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::workload::query::ProductRows;

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

/// What the known answers explain of a query.
struct Explained {
    /// The products of the whitened query with the directions.
    shares: Vec<f64>,
    /// What is left of the whitened query, if it is so little that variances would cancel.
    left: Option<Weights>,
}

/// The row of an attribute in a query, and in another one.
type RowPair = (usize, usize, usize);

/// Products of the weights of centred rows in a factor, by the index of the factor and the
/// rows.
type KnownProducts = HashMap<(usize, Vec<RowPair>), f64>;

impl Estimates {
    fn centred(&self, products: &ProductRows) -> Centred {
        let positions: Vec<usize> = products.attributes().positions().collect();
        let (mut rows, mut means) = (Vec::new(), Vec::new());
        let (mut varying, mut required) = (AttributeSet::EMPTY, AttributeSet::EMPTY);
        for (&position, of_axis) in positions.iter().zip(products.rows()) {
            let (mut has_component, mut has_mean) = (false, false);
            let (mut centred, mut of_rows) = (Vec::new(), Vec::new());
            for row in of_axis {
                let least = MAX_ROUNDING * row.iter().fold(0.0f64, |max, x| max.max(x.abs()));
                let (mean, component) = self.centred_row(position, row);
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
    /// query of `b`, after the known answers of the schema.
    ///
    /// *Time*: per pair O(2^k) products, with each distinct product of rows and factor once; with
    /// known answers, O(rows) per query and known answer.
    ///
    /// # Errors
    /// A component in a subspace that was not measured, or the singular value decomposition of a
    /// factor fails.
    pub(in crate::release) fn product_covariances(
        &self,
        a: &ProductRows,
        b: &ProductRows,
        pairs: &[(usize, usize)],
    ) -> Result<Vec<f64>> {
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
            covariances.push(covariance);
        }
        if self.directions.is_empty() {
            return Ok(covariances);
        }
        let explained_a = self.explained(a, pairs.iter().map(|(i, _)| *i))?;
        let explained_b = self.explained(b, pairs.iter().map(|(_, j)| *j))?;
        for (covariance, (i, j)) in covariances.iter_mut().zip(pairs) {
            let (Some(x), Some(y)) = (explained_a.get(i), explained_b.get(j)) else { continue };
            *covariance = match (&x.left, &y.left) {
                (None, None) => *covariance - dot(&x.shares, &y.shares),
                (Some(x), Some(y)) => x.dot(y),
                (Some(x), None) => x.dot(&self.whitened_product(b, *j)?),
                (None, Some(y)) => y.dot(&self.whitened_product(a, *i)?),
            };
        }
        Ok(covariances)
    }

    /// Returns the variance of a sum of products of rows, given by signs and indices, after the known
    /// answers of the schema. O(rows) per known answer.
    ///
    /// # Errors
    /// As [`Estimates::product_covariances`].
    pub(in crate::release) fn variance_of_sum<'a>(
        &self,
        terms: impl Iterator<Item = (f64, &'a ProductRows, usize)>,
    ) -> Result<f64> {
        let mut sum = Weights::default();
        let mut norms = 0.0;
        for (sign, products, query) in terms {
            let query = self.whitened_product(products, query)?;
            norms += sign.abs() * query.norm();
            sum.add(sign, &query);
        }
        let left = self.remaining(sum).norm();
        Ok(if left <= MIN_SHARE * norms { 0.0 } else { left * left })
    }

    fn whitened_product(&self, products: &ProductRows, query: usize) -> Result<Weights> {
        let indices = products.row_indices(query).into_iter().zip(products.rows());
        let rows: Vec<&[f64]> = indices.map(|(k, rows)| rows[k].as_slice()).collect();
        let weights = self.weights_of_product(products.attributes(), &rows)?;
        Ok(self.whitened(weights.ok_or_else(unmeasured)?))
    }

    /// Returns what the known answers explain of some queries, by their indices.
    fn explained(
        &self,
        products: &ProductRows,
        queries: impl Iterator<Item = usize>,
    ) -> Result<HashMap<usize, Explained>> {
        let mut found = HashMap::new();
        for index in queries {
            let Entry::Vacant(entry) = found.entry(index) else { continue };
            let query = self.whitened_product(products, index)?;
            let shares: Vec<f64> =
                (self.directions.iter()).map(|direction| query.dot(&direction.whitened)).collect();
            let before = query.dot(&query);
            let is_cancelled = before - dot(&shares, &shares) < CANCELLED * before;
            let left = is_cancelled.then(|| self.remaining(query));
            entry.insert(Explained { shares, left });
        }
        Ok(found)
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
        let factors = factors_of(&part.strategy)?;
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
                    let left = key.1.iter().map(|(p, row, _)| &a.rows[axis(a, *p)][*row][..]);
                    let right = key.1.iter().map(|(p, _, row)| &b.rows[axis(b, *p)][*row][..]);
                    let weights = factor.weights_of(&kron(left))?;
                    let value = dot(&weights, &factor.weights_of(&kron(right))?);
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
