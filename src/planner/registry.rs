//! The list of planners.

use super::{
    Anova, Hdmm, HdmmForm, NoiseDivision, Planner, QuerySmasher, ResidualPlanner,
    ResidualPlannerPlus, WeightedFourier,
};
use crate::call::{self, named};
use crate::error::Result;

named!(Planner, |_| false);

/// The planners, in the order of listings.
pub fn planners() -> Vec<Box<dyn Planner>> {
    vec![
        Box::new(ResidualPlanner),
        Box::new(ResidualPlannerPlus::dividing(NoiseDivision::Own)),
        Box::new(ResidualPlannerPlus::dividing(NoiseDivision::Prefix)),
        Box::new(WeightedFourier),
        Box::new(Hdmm::default()),
        Box::new(Hdmm { form: HdmmForm::SingleKronecker }),
        Box::new(Hdmm { form: HdmmForm::UnionOfKroneckers }),
        Box::new(QuerySmasher::default()),
        Box::new(Anova::default()),
    ]
}

/// The planner that a text names: `NAME` or `NAME(key=value, …)`.
///
/// # Errors
/// No planner has the name, and the message lists those that exist; or it lacks the options.
pub fn by_name(text: &str) -> Result<Box<dyn Planner>> {
    const REMEDY: &str = "write e.g. query-smasher, anova, anova(measure=uniform)";
    call::choose(("planner", REMEDY), text, planners(), |planner, call| planner.configured(call))
}

/// The planners with their options, one per line.
pub fn listing() -> String {
    call::listing(&planners())
}
