//! Compression of joint queries: fewer queries with the same Gram.

use std::sync::Arc;

use crate::error::Result;
use crate::workload::{GroupQueries, GroupedWorkload, JointQueries, QueryGroup};
use matmech_linalg::{self as linalg, Semidefinite};

/// Replaces every group of more joint queries than cells by one query per cell.
///
/// The Gram is the same, and errors depend on nothing else. O(queries · cells² + cells³) time once;
/// otherwise every evaluation of the search would enumerate all queries.
///
/// # Errors
/// A group has too many cells, or the eigensolver fails.
pub(super) fn compressed(workload: &GroupedWorkload) -> Result<GroupedWorkload> {
    let mut known: Vec<(Arc<JointQueries>, Arc<JointQueries>)> = Vec::new();
    let mut groups = Vec::with_capacity(workload.groups().len());
    for group in workload.groups() {
        let GroupQueries::Joint(queries) = group.queries() else {
            groups.push(group.clone());
            continue;
        };
        let cells: usize = queries.sizes().iter().product();
        if queries.count() <= cells {
            groups.push(group.clone());
            continue;
        }
        let smaller = match known.iter().find(|(k, _)| Arc::ptr_eq(k, queries)) {
            Some((_, smaller)) => smaller.clone(),
            None => {
                let gram = queries.gram()?;
                let root = match linalg::full_rank_cholesky(gram.view())? {
                    Some(factor) => factor.t().as_standard_layout().into_owned(),
                    None => Semidefinite::of(gram.view())?.root(),
                };
                let smaller = Arc::new(JointQueries::matrix(queries.sizes(), Arc::new(root))?);
                known.push((queries.clone(), smaller.clone()));
                smaller
            }
        };
        let (schema, attributes) = (workload.schema(), group.attributes());
        groups.push(QueryGroup::joint(
            schema,
            attributes,
            smaller,
            group.family(),
            group.weight(),
        )?);
    }
    GroupedWorkload::new(workload.schema().clone(), groups)
}
