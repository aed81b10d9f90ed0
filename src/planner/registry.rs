//! The list of planners.

use super::{
    Anova, Hdmm, HdmmForm, NoiseDivision, Planner, QuerySmasher, ResidualPlanner,
    ResidualPlannerPlus, WeightedFourier,
};
use crate::call::{self, Call, named};
use crate::error::Result;

named!(Planner, |_| false);

/// Returns the planners, in the order of listings.
pub fn planners() -> Vec<Box<dyn Planner>> {
    vec![
        Box::new(ResidualPlanner),
        Box::new(ResidualPlannerPlus::dividing(NoiseDivision::Workload)),
        Box::new(ResidualPlannerPlus::dividing(NoiseDivision::Prefix)),
        Box::new(WeightedFourier),
        Box::new(Hdmm::default()),
        Box::new(Hdmm { form: HdmmForm::SingleKronecker }),
        Box::new(Hdmm { form: HdmmForm::UnionOfKroneckers }),
        Box::new(QuerySmasher::default()),
        Box::new(Anova::default()),
    ]
}

/// Returns the planner for a text of the form `NAME` or `NAME(key=value, …)`.
///
/// # Errors
/// No planner has the name (the message lists all names), or the planner does not have the options.
pub fn by_name(text: &str) -> Result<Box<dyn Planner>> {
    with_flags(text, &[])
}

/// [`by_name`] with the options of flags of the command line.
///
/// # Errors
/// As [`by_name`], or the text already has one of the options.
pub fn with_flags(text: &str, flags: &[(&str, Option<&str>)]) -> Result<Box<dyn Planner>> {
    const REMEDY: &str = "write e.g. query-smasher, anova, anova(measure=uniform)";
    let call = Call::parse("planner", text, REMEDY)?.with_flags(flags)?;
    call::choose(&call, planners(), |planner, call| planner.configured(call))
}

/// Returns the planners with their options, one per line.
pub fn listing() -> String {
    call::listing(&planners())
}
