//! The list of strategies.

use std::path::Path;

use super::lsa::Reading;
use super::{
    DataCube, EigenDesign, EigenSeparation, Fourier, FromFile, Hierarchical, Identity, Lsa,
    LsaGeneralized, LsaSeparated, Optimal, PrincipalVectors, StrategySelector, VariableAgnostic,
    Wavelet, WorkloadItself,
};
use crate::call::{self, Call, named};
use crate::error::Result;

named!(StrategySelector, |selector| selector.takes_operand());

/// Returns the strategies, in the order of listings.
pub fn strategies() -> Vec<Box<dyn StrategySelector>> {
    vec![
        Box::new(Identity),
        Box::new(WorkloadItself),
        Box::new(Hierarchical),
        Box::new(Wavelet),
        Box::new(Fourier),
        Box::new(DataCube),
        Box::new(VariableAgnostic),
        Box::new(Lsa::reading(Reading::JointSweep)),
        Box::new(Lsa::reading(Reading::Sequential)),
        Box::new(Lsa::reading(Reading::BestFirst)),
        Box::new(Lsa::reading(Reading::Forced)),
        Box::new(LsaSeparated::default()),
        Box::new(LsaGeneralized::default()),
        Box::new(EigenDesign::default()),
        Box::new(EigenSeparation::default()),
        Box::new(PrincipalVectors::default()),
        Box::new(Optimal::default()),
    ]
}

/// Returns the strategy with a name.
///
/// The text is `NAME`, `NAME(key=value, …)` or `NAME:OPERAND`; `matrix:FILE` is [`FromFile`].
///
/// # Errors
/// No strategy has the name (the message lists the existing ones), the strategy does not have the
/// options, or the file does not contain a matrix.
pub fn by_name(text: &str) -> Result<Box<dyn StrategySelector>> {
    with_flags(text, &[])
}

/// [`by_name`] with the options of flags of the command line.
pub(crate) fn with_flags(
    text: &str,
    flags: &[(&str, Option<&str>)],
) -> Result<Box<dyn StrategySelector>> {
    const REMEDY: &str =
        "write e.g. optimal, eigen-design:wavelet, eigen-separation(group=16), matrix:FILE.npy";
    let call = Call::parse("strategy", text, REMEDY)?.with_flags(flags)?;
    if let ("matrix", Some(path)) = (call.name(), call.operand()) {
        call.allow(&[])?;
        return Ok(Box::new(FromFile::read(Path::new(path))?));
    }
    call::choose(&call, strategies(), |selector, call| selector.configured(call))
}

/// Returns the strategies with their options, one per line.
pub fn listing() -> String {
    call::listing(&strategies())
}
