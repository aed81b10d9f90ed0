//! The command line of `reproduce` and its commands.

mod arguments;
mod data;
mod diff;
mod execute;
mod list;
mod output;
mod pages;
mod run;
mod steps;
mod verify;

pub use arguments::{Arguments, Command};
pub use execute::execute;
pub use output::report_error;
