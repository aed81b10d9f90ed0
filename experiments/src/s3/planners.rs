//! The planners that S3's tables compare: the library's, and those that only the tables need.

use matmech::planner::{self, NoiseDivision, Planner};

use super::published::PublishedResidualPlannerPlus;
use super::residual_bases::ResidualBasesEverywhere;
use crate::error::{Error, Result};

/// All of them, in the order of listings.
pub(super) fn planners() -> Vec<Box<dyn Planner>> {
    let mut all = planner::planners();
    all.push(Box::new(ResidualBasesEverywhere));
    for division in [NoiseDivision::Own, NoiseDivision::Prefix] {
        all.push(Box::new(PublishedResidualPlannerPlus::dividing(division)));
    }
    all
}

/// The planner with a name; refused under the config's `key`.
pub(super) fn named(key: &str, name: &str) -> Result<Box<dyn Planner>> {
    let mut all = planners();
    match all.iter().position(|planner| planner.name() == name) {
        Some(place) => Ok(all.swap_remove(place)),
        None => {
            let known: Vec<&str> = all.iter().map(|planner| planner.name()).collect();
            Err(Error::unknown_name(key, "planner", name, &known))
        }
    }
}
