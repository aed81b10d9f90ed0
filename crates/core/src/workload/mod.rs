//! Workloads of linear queries: query families with closed-form Gram matrices, their Kronecker
//! products, permutations, residual parts, samples, unions and explicit matrices.
//!
//! ```
//! use matmech_core::workload::Workload;
//! let all_ranges = Workload::parse("range:32x32")?;
//! assert_eq!(all_ranges.count().to_string(), "278784");
//! assert_eq!(all_ranges.gram()?.cells(), 1024);
//! # Ok::<(), matmech_core::Error>(())
//! ```

mod answers;
mod count;
mod family;
mod gram;
mod group_file;
mod groups;
mod joint;
mod lanes;
mod marginal_gram;
mod marginals;
mod matrices;
mod normalised;
mod parse;
mod projection;
pub mod query;
mod query_group;
mod query_set;
mod recurrence;
mod rows;
mod sample;
mod shape;
mod sparse;
mod training;
mod union;
mod weight_range;
mod workload_gram;

pub use count::QueryCount;
pub use family::{Family, NodeName, Nodes, QueryFamily, Rows};
pub use gram::{Gram, GramFactor, MAX_DENSE_CELLS, MarginalGram, check_dense_size, sum_of_squares};
pub use groups::{GroupFamily, GroupedWorkload, attribute_sets, groups_of};
pub use joint::{JointQueries, RandomRows};
pub use lanes::Lanes;
pub use marginal_gram::check_terms;
pub use matrices::{Matrices, MatrixSource};
pub use projection::projected;
pub use query_group::{GroupQueries, QueryGroup};
pub use query_set::{Structure, Workload};
pub use recurrence::Recurrence;
pub use sample::{RangeSample, range_count};
pub use shape::format_shape;
pub use sparse::SparseRows;
pub use training::Training;
pub use weight_range::WeightRange;

#[cfg(test)]
mod tests;
