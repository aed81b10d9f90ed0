//! The planners of S3's tables: those of the library and those that only the tables need.

use matmech::planner::{self, NoiseDivision, Planner};

use super::published::PublishedResidualPlannerPlus;
use super::residual_bases::ResidualBasesEverywhere;
use crate::error::{Error, Result};

/// Returns all planners, in the order of messages.
pub(super) fn planners() -> Vec<Box<dyn Planner>> {
    let mut all = planner::planners();
    all.push(Box::new(ResidualBasesEverywhere));
    for division in [NoiseDivision::Workload, NoiseDivision::Prefix] {
        all.push(Box::new(PublishedResidualPlannerPlus::dividing(division)));
    }
    all
}

/// Returns the planner with a name.
///
/// # Errors
/// Returns an error under the config key `key` if no planner has that name.
pub(super) fn named(key: &str, name: &str) -> Result<Box<dyn Planner>> {
    let mut all = planners();
    match all.iter().position(|planner| planner.name() == name) {
        Some(index) => Ok(all.swap_remove(index)),
        None => {
            let known: Vec<&str> = all.iter().map(|planner| planner.name()).collect();
            Err(Error::unknown_name(key, "planner", name, &known))
        }
    }
}
