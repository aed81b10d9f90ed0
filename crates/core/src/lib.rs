//! Domains, schemas and workloads of the matrix mechanism, with the errors, files and grammar that
//! every other crate of matmech uses.
//!
//! | module | what |
//! |---|---|
//! | [`domain`] | attributes, boxes of cells, sets of attributes and axes |
//! | [`schema`] | attributes with codings, read from TOML or CSV |
//! | [`residual`] | in-axis operations for a reference measure |
//! | [`workload`] | query families with closed-form Gram matrices, products, groups, files |
//! | [`call`] | the grammar `NAME(key=value):OPERAND` |
//! | [`counted`] | numbers with nouns in messages |
//! | [`durable`], [`hash`], [`matrix_file`], [`named_file`] | files on disk, SHA-256, matrices, files that texts name |
//! | [`progress`] | progress and interruption of solvers |

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod call;
pub mod counted;
pub mod domain;
pub mod durable;
pub mod error;
pub mod hash;
pub mod matrix_file;
pub mod named_file;
pub mod progress;
pub mod residual;
pub mod schema;
#[cfg(test)]
mod test_support;
pub mod workload;

use matmech_privacy as privacy;
use matmech_privacy::decimal;

pub use error::{Error, Place, Result};
