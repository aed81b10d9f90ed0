//! `matmech plan`: plans measurements for a workload over many attributes and prints the expected
//! errors. Does not read data.

mod choice;
mod command;
mod report;

pub(crate) use command::PlanCommand;
