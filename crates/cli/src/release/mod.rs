//! `matmech release`: private answers from a table.
//!
//! With `matmech answer`, the only command whose output about private data may be published.

mod command;
mod report;
pub(super) mod steps;
mod unit;

pub(super) use self::unit::{DistinctArgument, UnitArguments};
pub(super) use command::{ReleaseCommand, WaitingArguments};
