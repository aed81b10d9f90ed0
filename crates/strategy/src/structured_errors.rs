//! Squared errors of all queries of a workload, from the structure of the workload.
//!
//! For a covariance Σ of the cells, the error of query w is `w Σ wᵀ`:
//!
//! | workload | algorithm | cost |
//! |---|---|---|
//! | product, and a factor of the strategy per family | errors of factors multiply | O(queries) |
//! | product of families | one family after the other | O(cells² + queries) for ranges |
//! | permuted | the permuted covariance | O(cells²), plus the inner workload |
//! | marginals | the covariance of each marginal | O(cells²) per marginal, plus the part |
//! | union | part by part | the sum of the parts |
//! | others | row by row ([`QueryErrors`]) | O(queries · cells²) |
//!
//! A query of a product is `u ⊗ v`, so its error is the error of v under the covariance
//! `Σ_ij(u) = Σ_ab u_a u_b Σ_(a,i)(b,j)`. For each pair (i, j) the values of all u are the errors
//! of the first family under a matrix, which is symmetric after (a, b) and (b, a) are averaged.

use ndarray::{Array2, ArrayView2};

use super::Strategy;
use crate::error::{Error, Result};
use crate::query_errors::{MAX_ENTRIES, QueryErrors, covariance};
use crate::workload::{Family, Structure, Workload, projected};

/// Returns the squared errors of all queries, `w_q (AᵀA)⁺ w_qᵀ`, in the order of the rows.
///
/// # Errors
/// Too many queries to list, or too many cells for a dense matrix.
pub(super) fn all(workload: &Workload, strategy: &Strategy) -> Result<Vec<f64>> {
    check_count(workload)?;
    let factors = strategy.factors();
    if let Structure::Product(families) = workload.structure()
        && families.len() == factors.len()
        && families.iter().zip(factors).all(|((_, sizes), f)| f.shape() == *sizes)
    {
        let mut products = vec![1.0];
        for ((family, sizes), factor) in families.iter().zip(factors) {
            let single = Workload::product(&[(*family, sizes.as_slice())])?;
            let errors = QueryErrors::of(&single)?.errors(factor.covariance()?.view())?;
            products = products.iter().flat_map(|x| errors.iter().map(move |e| x * e)).collect();
        }
        return Ok(products);
    }
    errors(workload, covariance(workload, strategy)?.view())
}

/// Checks that the errors of all queries fit into memory.
fn check_count(workload: &Workload) -> Result<()> {
    let queries = workload.count().as_f64();
    if queries <= MAX_ENTRIES {
        return Ok(());
    }
    let what = format!("errors of the queries of `{}`", workload.name());
    Err(Error::too_large(what, "queries", MAX_ENTRIES, queries, "use fewer queries"))
}

/// Returns the errors of all queries under a symmetric covariance of the cells.
fn errors(workload: &Workload, covariance: ArrayView2<'_, f64>) -> Result<Vec<f64>> {
    match workload.structure() {
        Structure::Product(families) => {
            let by_rows = || QueryErrors::of(workload)?.errors(covariance);
            product_errors(families, covariance)?.map_or_else(by_rows, Ok)
        }
        Structure::Permuted(inner, order) => {
            let mut original = Array2::zeros(covariance.dim());
            for ((k, l), &x) in covariance.indexed_iter() {
                original[[order[k], order[l]]] = x;
            }
            errors(inner, original.view())
        }
        Structure::Marginals(parts) => {
            let mut all = Vec::new();
            for (attributes, part) in parts {
                let index: Vec<usize> = (0..covariance.nrows())
                    .map(|cell| projected(workload.shape(), attributes.axes(), cell))
                    .collect();
                let mut marginal = Array2::zeros((part.cells(), part.cells()));
                for ((k, l), x) in covariance.indexed_iter() {
                    marginal[[index[k], index[l]]] += x;
                }
                all.extend(errors(part, marginal.view())?);
            }
            Ok(all)
        }
        Structure::Union(parts) => {
            let parts = parts.iter().map(|part| errors(part, covariance));
            Ok(parts.collect::<Result<Vec<_>>>()?.concat())
        }
        Structure::Listed => QueryErrors::of(workload)?.errors(covariance),
    }
}

/// Returns the errors of a product of families under a symmetric covariance, or `None` if the
/// covariances that are left after the first family do not fit into memory.
fn product_errors(
    families: &[(Family, Vec<usize>)],
    covariance: ArrayView2<'_, f64>,
) -> Result<Option<Vec<f64>>> {
    let Some(((family, sizes), others)) = families.split_first() else {
        return Ok(Some(covariance.iter().copied().collect()));
    };
    let single = Workload::product(&[(*family, sizes.as_slice())])?;
    let queries = QueryErrors::of(&single)?;
    if others.is_empty() {
        return queries.errors(covariance).map(Some);
    }
    let cells = single.cells();
    let rest = covariance.nrows() / cells;
    let count = single.count().as_f64();
    if count * (cells as f64).max((rest * rest) as f64) > MAX_ENTRIES {
        return Ok(None);
    }
    let queries = queries.stored()?;
    let mut left = vec![Array2::zeros((rest, rest)); queries.count(cells)];
    let mut slice = Array2::zeros((cells, cells));
    for i in 0..rest {
        for j in 0..=i {
            for a in 0..cells {
                for b in 0..=a {
                    let (at, transposed) =
                        ([a * rest + i, b * rest + j], [b * rest + i, a * rest + j]);
                    let mean = (covariance[at] + covariance[transposed]) / 2.0;
                    slice[[a, b]] = mean;
                    slice[[b, a]] = mean;
                }
            }
            for (matrix, value) in left.iter_mut().zip(queries.errors(slice.view())?) {
                matrix[[i, j]] = value;
                matrix[[j, i]] = value;
            }
        }
    }
    let mut all = Vec::new();
    for matrix in left {
        match product_errors(others, matrix.view())? {
            Some(errors) => all.extend(errors),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use approx::assert_relative_eq;
    use matmech_linalg as linalg;

    use super::*;
    use crate::by_name;

    /// Returns `q Σ qᵀ` of every row.
    fn direct(workload: &Workload, covariance: ArrayView2<'_, f64>) -> Vec<f64> {
        let error = |row: Vec<f64>| {
            let row = ndarray::Array1::from(row);
            row.dot(&covariance.dot(&row))
        };
        workload.rows().unwrap().map(error).collect()
    }

    /// Oracle: the quadratic form of every row, under a covariance without structure.
    #[test]
    fn errors_match_the_quadratic_forms_of_the_rows() {
        for text in [
            "range:12",
            "permuted-range(seed=3):12",
            "cdf:9",
            "range:2x3x4",
            "prefix:3x4",
            "circular:3x4",
            "permuted-range(seed=2):3x4x2",
            "range-marginals(ways=1):3x4x2",
            "range-marginals(ways=1+2+3):3x4x2",
            "identity-marginals(ways=2):3x4x2",
            "permuted(range-marginals(ways=2):3x4x2; seed=3)",
            "union(range:3x4; permuted(prefix:3x4); affine:3x4)",
            "two-step-range-sample(queries=30):3x4x2",
            "predicate-sample(queries=9,p=0.3):2x3",
            "normalised(range:3x4)",
            "residual(range:3x2)",
        ] {
            check_without_structure(&Workload::parse(text).unwrap());
        }
        for factors in [
            [(Family::IDENTITY, &[3][..]), (Family::RANGE, &[4])],
            [(Family::PREDICATE, &[3]), (Family::RANGE, &[4])],
            [(Family::RANGE, &[3]), (Family::AFFINE, &[2, 3])],
            [(Family::AFFINE, &[2, 3]), (Family::PREFIX, &[4])],
        ] {
            check_without_structure(&Workload::product(&factors).unwrap());
        }
    }

    fn check_without_structure(workload: &Workload) {
        let cells = workload.cells();
        let entry = |(i, j): (usize, usize)| ((3 * i + 7 * j + i * j) as f64).sin();
        let covariance = linalg::gram_of(Array2::from_shape_fn((cells, cells), entry).view());
        let expected = direct(workload, covariance.view());
        let found = errors(workload, covariance.view()).unwrap();
        assert_eq!(found.len(), expected.len(), "{}", workload.name());
        for (x, y) in found.iter().zip(&expected) {
            // A residual query may be zero.
            assert_relative_eq!(*x, *y, max_relative = 1e-9, epsilon = 1e-12);
        }
    }

    /// Oracle: the quadratic form of every row. Strategies of several attributes have a factor per
    /// attribute or one for all.
    #[test]
    fn errors_of_strategies_match_the_quadratic_forms_of_the_rows() {
        let mut numbers_of_factors = BTreeSet::new();
        for text in [
            "range:4x3x5",
            "permuted-range(seed=1):128",
            "range-marginals(ways=2):4x3x5",
            "union(range:4x8; permuted(prefix:4x8))",
        ] {
            let workload = Workload::parse(text).unwrap();
            let gram = workload.gram().unwrap();
            for method in ["identity", "hierarchical", "wavelet", "eigen-design"] {
                let strategy = by_name(method).unwrap().select(&gram).unwrap().strategy;
                numbers_of_factors.insert((workload.shape().len(), strategy.factors().len()));
                let covariance = covariance(&workload, &strategy).unwrap();
                let expected = direct(&workload, covariance.view());
                let found = all(&workload, &strategy).unwrap();
                assert_eq!(found.len(), expected.len(), "{text} {method}");
                for (x, y) in found.iter().zip(&expected) {
                    assert_relative_eq!(*x, *y, max_relative = 1e-9);
                }
            }
        }
        assert!(numbers_of_factors.is_superset(&BTreeSet::from([(1, 1), (3, 1), (3, 3)])));
    }

    #[test]
    fn too_many_queries_are_refused() {
        let workload = Workload::parse("range:200x200x4").unwrap();
        let strategy = by_name("identity").unwrap().select(&workload.gram().unwrap()).unwrap();
        let message = all(&workload, &strategy.strategy).unwrap_err().to_string();
        assert!(message.contains("range:200x200x4") && message.contains("queries"), "{message}");
    }
}
