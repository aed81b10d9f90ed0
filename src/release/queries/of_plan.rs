//! Answers from the measurements of a plan.

use super::answer::QueryAnswers;
use super::fieller::Ratio;
use super::sum::{Estimated, sum};
use super::woodruff;
use crate::error::Result;
use crate::release::answers::known;
use crate::release::estimates::{CANCELLED, Estimates};
use crate::release::reach::Reach;
use crate::workload::query::{ProductRows, Quantile, Quantity, ResolvedQuery};

/// Returns the answers to a query from the estimates of a plan.
///
/// # Errors
/// Attributes that were not measured together.
pub fn of_plan(estimates: &Estimates, query: &ResolvedQuery) -> Result<QueryAnswers> {
    let linear: Vec<(f64, &ProductRows)> = (query.terms.iter())
        .filter_map(|(sign, quantity)| match quantity {
            Quantity::Linear(products) => Some((*sign, products)),
            _ => None,
        })
        .collect();
    let others = query.terms.len() - linear.len();
    let parts = others + usize::from(!linear.is_empty());
    // Every part has an interval that misses with probability at most 5 %/parts.
    let z = Reach::of(parts as f64).simultaneous;
    let mut terms: Vec<Vec<(f64, Estimated)>> = vec![Vec::with_capacity(parts); query.count()];
    let mut add = |sign: f64, found: Vec<Estimated>| {
        terms.iter_mut().zip(found).for_each(|(terms, found)| terms.push((sign, found)));
    };
    if !linear.is_empty() {
        add(1.0, linear_answers(estimates, query, &linear, z)?);
    }
    for (sign, quantity) in &query.terms {
        match quantity {
            Quantity::Linear(_) => {}
            Quantity::Ratio { numerator, denominator, .. } => {
                add(*sign, ratios(estimates, query, [numerator, denominator], z)?);
            }
            Quantity::Quantile(quantile) => {
                add(*sign, quantiles(estimates, query, quantile, z)?);
            }
        }
    }
    Ok(QueryAnswers::new(query, terms.iter().map(|terms| (sum(terms), false)).collect()))
}

/// Returns the indices of the queries of products that belong to the answers, in order.
fn indices(query: &ResolvedQuery, products: &ProductRows) -> Vec<usize> {
    let index = |answer| products.index(|p| query.value_of(answer, p).unwrap_or_default());
    (0..query.count()).map(index).collect()
}

/// Returns the covariances of the answers to two products, in order.
fn covariances(
    estimates: &Estimates,
    (a, of_a): (&ProductRows, &[usize]),
    (b, of_b): (&ProductRows, &[usize]),
) -> Result<Vec<f64>> {
    let pairs: Vec<(usize, usize)> = of_a.iter().copied().zip(of_b.iter().copied()).collect();
    estimates.product_covariances(a, b, &pairs)
}

fn linear_answers(
    estimates: &Estimates,
    query: &ResolvedQuery,
    terms: &[(f64, &ProductRows)],
    z: f64,
) -> Result<Vec<Estimated>> {
    let of_terms: Vec<Vec<usize>> = terms.iter().map(|(_, rows)| indices(query, rows)).collect();
    let mut sums = vec![0.0; query.count()];
    let (mut variances, mut sizes) = (vec![0.0; query.count()], vec![0.0; query.count()]);
    for (k, (sign, products)) in terms.iter().enumerate() {
        let answers = estimates.product_answers(products)?;
        for (sum, index) in sums.iter_mut().zip(&of_terms[k]) {
            *sum += sign * answers[*index];
        }
        for (j, (other, others)) in terms[..=k].iter().enumerate() {
            let weight = sign * other * if j == k { 1.0 } else { 2.0 };
            let found = covariances(estimates, (products, &of_terms[k]), (others, &of_terms[j]))?;
            for ((sum, size), found) in variances.iter_mut().zip(&mut sizes).zip(found) {
                *sum += weight * found;
                *size += (weight * found).abs();
            }
        }
    }
    for (answer, variance) in variances.iter_mut().enumerate() {
        if *variance < CANCELLED * sizes[answer] {
            let of_answer = terms.iter().zip(&of_terms);
            *variance = estimates.variance_of_sum(
                of_answer.map(|((sign, products), indices)| (*sign, *products, indices[answer])),
            )?;
        }
    }
    let estimated = |(estimate, variance): (f64, f64)| {
        let error = variance.sqrt();
        let estimate = if error == 0.0 { known(estimate) } else { estimate };
        Estimated {
            estimate: Some(estimate),
            standard_error: Some(error),
            low: Some(estimate - z * error),
            high: Some(estimate + z * error),
            interval: "exact standard error",
        }
    };
    Ok(sums.into_iter().zip(variances).map(estimated).collect())
}

fn ratios(
    estimates: &Estimates,
    query: &ResolvedQuery,
    [numerator, denominator]: [&ProductRows; 2],
    z: f64,
) -> Result<Vec<Estimated>> {
    let (of_n, of_d) = (indices(query, numerator), indices(query, denominator));
    let (n, d) = (estimates.product_answers(numerator)?, estimates.product_answers(denominator)?);
    let (n_rows, d_rows) = ((numerator, &of_n[..]), (denominator, &of_d[..]));
    let of_numerator = covariances(estimates, n_rows, n_rows)?;
    let of_denominator = covariances(estimates, d_rows, d_rows)?;
    let common = covariances(estimates, n_rows, d_rows)?;
    let estimated = |k: usize| {
        let variances = [of_numerator[k], of_denominator[k]];
        let exact =
            |answer: f64, variance: f64| if variance == 0.0 { known(answer) } else { answer };
        let ratio = Ratio {
            numerator: exact(n[of_n[k]], variances[0]),
            denominator: exact(d[of_d[k]], variances[1]),
            variances,
            covariance: if variances.contains(&0.0) { 0.0 } else { common[k] },
        };
        ratio.estimated(z)
    };
    Ok((0..query.count()).map(estimated).collect())
}

fn quantiles(
    estimates: &Estimates,
    query: &ResolvedQuery,
    quantile: &Quantile,
    z: f64,
) -> Result<Vec<Estimated>> {
    let products = &quantile.excess;
    let answers = estimates.product_answers(products)?;
    let all: Vec<(usize, usize)> = (0..answers.len()).map(|k| (k, k)).collect();
    let variances = estimates.product_covariances(products, products, &all)?;
    let estimated = |answer: usize| {
        let of_cell = |cell: usize| {
            let row =
                |p| if p == quantile.position { Some(cell) } else { query.value_of(answer, p) };
            products.index(|p| row(p).unwrap_or_default())
        };
        let indices: Vec<usize> = (0..quantile.cells.len()).map(of_cell).collect();
        let excess: Vec<f64> = indices.iter().map(|k| answers[*k]).collect();
        let lengths: Vec<f64> = indices.iter().map(|k| z * variances[*k].sqrt()).collect();
        woodruff::estimated(quantile, &excess, &lengths, "Woodruff")
    };
    Ok((0..query.count()).map(estimated).collect())
}
