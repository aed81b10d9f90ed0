//! The answers of one group of queries on a marginal, true or estimated.

use ndarray::Array2;

use super::is_marginal;
use crate::error::{Error, Result};
use crate::linalg;
use crate::workload::{Family, GroupQueries, QueryGroup};

/// The answers of a group's queries on its marginal, in the order of the rows (for products the last attribute's queries
/// vary fastest). O(answers · Σ sizes) for products; the marginal itself if that is what is asked.
///
/// # Errors
/// A marginal of another length, or a family that cannot be enumerated.
pub fn group_answers(group: &QueryGroup, marginal: &[f64]) -> Result<Vec<f64>> {
    let cells: usize = group.sizes().iter().product();
    if marginal.len() != cells {
        return Err(Error::bad_input(
            format!("marginal of a group on attributes {:?}", group.attributes()),
            format!("{cells} cells"),
            marginal.len().to_string(),
            "pass the marginal on the group's attributes",
        ));
    }
    match group.queries() {
        _ if is_marginal(group) => Ok(marginal.to_vec()),
        GroupQueries::Joint(joint) => {
            Ok(joint.rows()?.map(|row| row.iter().zip(marginal).map(|(q, x)| q * x).sum()).collect())
        }
        GroupQueries::Product(families) => {
            let mut made: Vec<(Family, usize, Array2<f64>)> = Vec::new();
            for (&family, &n) in families.iter().zip(group.sizes()) {
                if made.iter().all(|(f, size, _)| (*f, *size) != (family, n)) {
                    let rows: Vec<f64> = family.rows(&[n])?.flatten().collect();
                    let weight = family.query_weight(&[n]);
                    let matrix = Array2::from_shape_vec((rows.len() / n, n), rows)
                        .map_err(|e| Error::bug("query matrix", "one value per cell", e))?;
                    made.push((family, n, matrix * weight));
                }
            }
            let views: Vec<_> = families
                .iter()
                .zip(group.sizes())
                .filter_map(|(f, n)| made.iter().find(|(family, size, _)| (family, size) == (f, n)))
                .map(|(.., matrix)| matrix.view())
                .collect();
            Ok(linalg::kron_apply(&views, marginal)?)
        }
    }
}
