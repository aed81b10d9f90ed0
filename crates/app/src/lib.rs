//! What the commands of the program compute, without options and printing: shared with the Python
//! package, so that both have the same reports. Not a stable interface.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod answer;
pub mod budget;
pub mod certify;
pub mod check_data;
pub mod comparison;
pub mod data;
pub mod draft_schema;
pub mod error_target;
pub mod ledger;
pub mod plan;
pub mod privacy;
pub mod private_draft;
pub mod process;
pub mod query;
pub mod release;
pub mod simulate;
pub mod solve;
pub mod sql;
pub mod steps;
pub mod stream;
pub mod target;
