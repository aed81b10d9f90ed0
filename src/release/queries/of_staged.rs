//! Answers from the published marginals of a staged release.

use super::answer::QueryAnswers;
use super::certified::{self, CERTIFIED, EXTRAPOLATED, NO_CERTIFICATE, Ratio};
use super::sum::{Estimated, sum};
use super::woodruff;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::release::staged::{MarginalErrors, StagedMarginals, rounding_of_sum};
use crate::schema::LevelSchema;
use crate::workload::WeightRange;
use crate::workload::query::{ProductRows, Quantity, ResolvedQuery};

/// Maximum number of cells of a marginal that is taken from the model.
const MAX_CELLS: f64 = (1u64 << 27) as f64;

/// Returns the answers to a query from the published marginals, or from the model for attributes
/// that no published marginal contains.
///
/// # Errors
/// Attributes that were not measured, or too many cells of the model.
pub fn of_staged(marginals: &StagedMarginals, query: &ResolvedQuery) -> Result<QueryAnswers> {
    let domain = marginals.domain();
    let all: Vec<&ProductRows> =
        query.terms.iter().flat_map(|(_, quantity)| products_of(quantity)).collect();
    let together = reduced_set(marginals, &all);
    marginals.check(together)?;
    let is_published = |set| marginals.published().iter().any(|(g, _)| domain.determines(*g, set));
    // All terms from one marginal, whose bound holds for all of them at once.
    let sets: Vec<AttributeSet> = match is_published(together) {
        true => vec![together; query.terms.len()],
        false => (query.terms.iter())
            .map(|(_, quantity)| reduced_set(marginals, &products_of(quantity)))
            .collect(),
    };
    let mut sources: Vec<Source> = Vec::new();
    for &set in &sets {
        if sources.iter().all(|source| source.set != set) {
            sources.push(Source::of(marginals, set, is_published(set))?);
        }
    }
    // Bounds of several marginals must hold together, and so must those of several terms; counts and
    // sums from one marginal are one sum.
    let is_linear = |(_, quantity): &(f64, Quantity)| matches!(quantity, Quantity::Linear(_));
    if sources.len() > 1 {
        sources.iter_mut().for_each(|source| source.errors = source.errors_together);
    } else if query.terms.len() > 1 && !query.terms.iter().all(is_linear) {
        let together = |errors: MarginalErrors| errors.together();
        sources.iter_mut().for_each(|source| source.errors = source.errors.map(together));
    }
    let mut terms: Vec<Vec<(f64, Estimated)>> = vec![Vec::new(); query.count()];
    for source in &sources {
        let of_source = || {
            let terms = query.terms.iter().zip(&sets).filter(|(_, set)| **set == source.set);
            terms.map(|((sign, quantity), _)| (*sign, quantity))
        };
        let linear: Vec<(f64, ProductRows)> = of_source()
            .filter_map(|(sign, quantity)| match quantity {
                Quantity::Linear(products) => Some((sign, source.reduced(domain, products))),
                _ => None,
            })
            .collect();
        let mut found: Vec<(f64, Vec<Estimated>)> = Vec::new();
        if !linear.is_empty() {
            found.push((1.0, source.linear(domain, query, &linear)));
        }
        for (sign, quantity) in of_source() {
            if let Some(estimated) = source.other(domain, query, quantity) {
                found.push((sign, estimated));
            }
        }
        for (sign, found) in found {
            terms.iter_mut().zip(found).for_each(|(terms, found)| terms.push((sign, found)));
        }
    }
    let extrapolated = sources.iter().any(|source| source.is_extrapolated);
    let certified = |sum: Estimated| match sum.low {
        Some(_) => Estimated { interval: CERTIFIED, ..sum },
        None => sum,
    };
    let answers = terms.iter().map(|terms| (certified(sum(terms)), extrapolated)).collect();
    Ok(QueryAnswers::new(query, answers))
}

fn products_of(quantity: &Quantity) -> Vec<&ProductRows> {
    match quantity {
        Quantity::Linear(products) => vec![products],
        Quantity::Ratio { numerator, denominator, .. } => vec![numerator, denominator],
        Quantity::Quantile(quantile) => vec![&quantile.excess],
    }
}

/// Returns the attributes of products, with the coarsest estimated level in place of an attribute
/// that determines all of their rows.
fn reduced_set(marginals: &StagedMarginals, products: &[&ProductRows]) -> AttributeSet {
    let domain = marginals.domain();
    let mut set = AttributeSet::EMPTY;
    for products in products {
        set = set.union(products.attributes());
    }
    set.positions().fold(AttributeSet::EMPTY, |all, position| {
        let of_attribute = AttributeSet::single(position);
        let levels = (0..domain.depth_of(of_attribute))
            .map(|depth| domain.at_level(of_attribute, position, depth));
        let is_fine = |level: &AttributeSet| {
            let nodes = domain.values_of(position, level.end() - 1);
            marginals.check(*level).is_ok()
                && products.iter().all(|products| of_nodes(products, position, &nodes).is_some())
        };
        all.union(levels.into_iter().find(is_fine).unwrap_or(of_attribute))
    })
}

/// Returns the rows of an attribute over nodes, if cells of a node have equal weights; no rows if
/// the products do not depend on the attribute.
fn of_nodes(products: &ProductRows, position: usize, nodes: &[u32]) -> Option<Vec<Vec<f64>>> {
    let axis = products.attributes().positions().position(|known| known == position);
    let Some(axis) = axis else { return Some(Vec::new()) };
    let count = nodes.iter().max().map_or(0, |last| *last as usize + 1);
    let reduced = |row: &Vec<f64>| {
        let mut weights = vec![None; count];
        for (weight, &node) in row.iter().zip(nodes) {
            match weights[node as usize] {
                None => weights[node as usize] = Some(*weight),
                Some(known) if known == *weight => {}
                Some(_) => return None,
            }
        }
        weights.into_iter().collect::<Option<Vec<f64>>>()
    };
    products.rows()[axis].iter().map(reduced).collect()
}

/// A marginal that answers terms of a query.
struct Source {
    set: AttributeSet,
    cells: Vec<f64>,
    /// The bounds of its errors with the rounding error of sums, if there are any.
    errors: Option<MarginalErrors>,
    /// Those that hold together with the bounds of other marginals.
    errors_together: Option<MarginalErrors>,
    is_extrapolated: bool,
}

impl Source {
    fn of(marginals: &StagedMarginals, set: AttributeSet, is_published: bool) -> Result<Self> {
        let schema = marginals.domain().schema();
        let count: f64 = set.select(&schema.sizes()).iter().map(|n| *n as f64).product();
        if !is_published && count > MAX_CELLS {
            let what = format!("query on {}, from the model", schema.names(set));
            let remedy = "name fewer attributes in the query";
            return Err(Error::too_large(what, "cells", MAX_CELLS, count, remedy));
        }
        let marginal = marginals.marginal(set)?;
        let rounding = rounding_of_sum(&marginal.cells);
        let with_rounding = |errors: MarginalErrors| errors.with_rounding(rounding);
        let index = marginal
            .of_published
            .and_then(|g| marginals.published().iter().position(|(known, _)| *known == g));
        let together = marginals.errors().zip(index).map(|(errors, k)| errors.together[k]);
        Ok(Source {
            set,
            errors: marginal.errors.map(with_rounding),
            errors_together: together.map(with_rounding),
            is_extrapolated: marginal.of_published.is_none(),
            cells: marginal.cells,
        })
    }

    /// Returns products as rows over all attributes and levels of the marginal.
    fn reduced(&self, domain: &LevelSchema, products: &ProductRows) -> ProductRows {
        let axis = |position: usize| {
            let nodes = domain.values_of(domain.attribute_of(position), position);
            let rows = of_nodes(products, domain.attribute_of(position), &nodes);
            let rows = rows.filter(|rows| !rows.is_empty());
            let ones = || vec![vec![1.0; domain.schema().attributes()[position].size]];
            (position, rows.unwrap_or_else(ones))
        };
        ProductRows::over(self.set.positions().map(axis).collect())
    }

    /// Describes why there is no bound.
    fn no_bound(&self) -> &'static str {
        if self.is_extrapolated { EXTRAPOLATED } else { NO_CERTIFICATE }
    }

    fn linear(
        &self,
        domain: &LevelSchema,
        query: &ResolvedQuery,
        terms: &[(f64, ProductRows)],
    ) -> Vec<Estimated> {
        let answers: Vec<Vec<f64>> =
            terms.iter().map(|(_, products)| products.answers(&self.cells)).collect();
        let estimated = |answer: usize| {
            let index = |k: usize| index(domain, query, &terms[k].1, answer, None);
            let found = terms.iter().zip(&answers).enumerate();
            let sum: f64 = found.map(|(k, ((sign, _), answers))| sign * answers[index(k)]).sum();
            let Some(errors) = self.errors else {
                let (estimate, interval) = (Some(sum), self.no_bound());
                return Estimated { estimate, interval, ..Estimated::default() };
            };
            let range = match terms {
                [(_, products)] => products.weight_range(index(0)),
                _ => {
                    let mut weights = vec![0.0; self.cells.len()];
                    for (k, (sign, products)) in terms.iter().enumerate() {
                        let of_term = products.weights(index(k));
                        weights.iter_mut().zip(of_term).for_each(|(sum, w)| *sum += sign * w);
                    }
                    WeightRange::of(weights)
                }
            };
            certified::linear(sum, errors.of_weights(range))
        };
        (0..query.count()).map(estimated).collect()
    }

    /// Returns the answers to a ratio or a quantile.
    fn other(
        &self,
        domain: &LevelSchema,
        query: &ResolvedQuery,
        quantity: &Quantity,
    ) -> Option<Vec<Estimated>> {
        let without = |estimated: Estimated| match self.errors {
            Some(_) => estimated,
            None => Estimated { low: None, high: None, interval: self.no_bound(), ..estimated },
        };
        let none = MarginalErrors { sum_alone: 0.0, sum: 0.0, total: 0.0 };
        let errors = self.errors.unwrap_or(none);
        match quantity {
            Quantity::Linear(_) => None,
            Quantity::Ratio { numerator, denominator, range } => {
                let [n, d] = [numerator, denominator].map(|p| self.reduced(domain, p));
                let [of_n, of_d] = [&n, &d].map(|products| products.answers(&self.cells));
                let estimated = |answer: usize| {
                    let [i, j] = [&n, &d].map(|p| index(domain, query, p, answer, None));
                    let ratio = Ratio {
                        numerator: of_n[i],
                        denominator: of_d[j],
                        values: *range,
                        counted: d.weight_range(j),
                    };
                    without(certified::ratio(ratio, &errors))
                };
                Some((0..query.count()).map(estimated).collect())
            }
            Quantity::Quantile(quantile) => {
                let products = self.reduced(domain, &quantile.excess);
                let answers = products.answers(&self.cells);
                // The weights of N_k − pN are −p, 1 − p, and 0 for records that do not count.
                let weights = WeightRange { low: -quantile.share, high: 1.0 - quantile.share };
                let lengths = vec![errors.of_weights(weights); quantile.cells.len()];
                let estimated = |answer: usize| {
                    let of_cell = |cell| {
                        let row = Some((quantile.position, cell));
                        answers[index(domain, query, &products, answer, row)]
                    };
                    let excess: Vec<f64> = (0..quantile.cells.len()).map(of_cell).collect();
                    without(woodruff::estimated(quantile, &excess, &lengths, CERTIFIED))
                };
                Some((0..query.count()).map(estimated).collect())
            }
        }
    }
}

/// Returns the index of the query of an answer. `row` is the row of an attribute that is not in
/// `by`.
fn index(
    domain: &LevelSchema,
    query: &ResolvedQuery,
    products: &ProductRows,
    answer: usize,
    row: Option<(usize, usize)>,
) -> usize {
    products.index(|position| {
        let attribute = domain.attribute_of(position);
        match row {
            Some((known, row)) if known == attribute => row,
            _ => query.value_of(answer, attribute).unwrap_or_default(),
        }
    })
}
