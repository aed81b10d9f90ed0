//! The list of mechanisms.

use super::{
    AimGrem, AimHybrid, AimPgm, Mechanism, PlannedResiduals, QuerySmasherMechanism,
    ResidualPlannerMechanism, Staged,
};
use crate::call::{self, Call, named};
use crate::error::Result;

named!(Mechanism, |_| false);

/// Returns the mechanisms, in the order of listings.
pub fn mechanisms() -> Vec<Box<dyn Mechanism>> {
    vec![
        Box::new(ResidualPlannerMechanism),
        Box::new(QuerySmasherMechanism::default()),
        Box::new(PlannedResiduals::default()),
        Box::new(AimGrem::default()),
        Box::new(AimPgm::default()),
        Box::new(AimHybrid::default()),
        Box::new(Staged::default()),
    ]
}

/// Returns the mechanism that a text names: `NAME` or `NAME(key=value, …)`.
///
/// Examples: `aim-pgm(max-mb=5)`, `aim-grem(reconstruction=independence)`.
///
/// # Errors
/// An unknown name (the message lists the known ones), or options that the mechanism lacks.
pub fn by_name(text: &str) -> Result<Box<dyn Mechanism>> {
    with_flags(text, &[])
}

/// [`by_name`] with the options of flags of the command line.
///
/// # Errors
/// As [`by_name`], or the text already has one of the options.
pub fn with_flags(text: &str, flags: &[(&str, Option<&str>)]) -> Result<Box<dyn Mechanism>> {
    const REMEDY: &str =
        "write e.g. aim-hybrid, aim-pgm(max-mb=5), aim-grem(reconstruction=independence)";
    let call = Call::parse("mechanism", text, REMEDY)?.with_flags(flags)?;
    call::choose(&call, mechanisms(), |mechanism, call| mechanism.configured(call))
}

/// Lists the mechanisms with their options, one per line.
pub fn listing() -> String {
    call::listing(&mechanisms())
}
