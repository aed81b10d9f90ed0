//! Unions of workloads over the same cells.

use super::query_set::{Queries, Workload};
use super::shape::format_shape;
use crate::error::{Error, Result};

impl Workload {
    /// Creates the union of workloads. Queries of several parts occur several times.
    ///
    /// # Errors
    /// No part, parts over different boxes, or a part with a [`Workload::query_weight`] other than
    /// 1.
    pub fn union(parts: Vec<Workload>) -> Result<Self> {
        let refuse = |expected: &str, found: String| {
            Err(Error::bad_input(
                "union of workloads",
                expected,
                found,
                "write e.g. union(range:64; permuted-cdf:64)",
            ))
        };
        let Some(first) = parts.first() else {
            return refuse("at least one workload", "none".into());
        };
        let shape = first.shape.clone();
        if let Some(other) = parts.iter().find(|part| part.shape != shape) {
            return refuse(
                &format!("workloads over {}", format_shape(&shape)),
                format!("`{}`", other.name),
            );
        }
        if let Some(weighted) = parts.iter().find(|part| part.query_weight() != 1.0) {
            return refuse("queries of weight 1", format!("`{}`", weighted.name));
        }
        let name =
            format!("union({})", parts.iter().map(Workload::name).collect::<Vec<_>>().join("; "));
        Ok(Workload { name, shape, queries: Queries::Union(parts) })
    }
}
