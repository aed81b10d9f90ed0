//! The command line of `reproduce` and its commands.

mod arguments;
mod execute;
mod list;
mod run;
mod show;
mod steps;

pub use arguments::{Arguments, Command};
pub use execute::execute;
pub use steps::report_error;
