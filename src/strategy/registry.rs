//! The list of strategies.

use std::path::Path;

use super::lsa::Reading;
use super::{
    DataCube, EigenDesign, EigenSeparation, Fourier, FromFile, Hierarchical, Identity, Lsa,
    LsaGeneralized, LsaSeparated, Optimal, PrincipalVectors, StrategySelector, VariableAgnostic,
    Wavelet, WorkloadItself,
};
use crate::call::{self, named};
use crate::error::Result;

named!(StrategySelector, |selector| selector.takes_operand());

/// The strategies, in the order of listings.
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

/// The strategy that a text names: `NAME`, `NAME(key=value, …)`, `NAME:OPERAND`, or `matrix:FILE`
/// for [`FromFile`].
///
/// # Errors
/// No strategy has the name, and the message lists those that exist; it lacks the options; or the
/// file holds no matrix.
pub fn by_name(text: &str) -> Result<Box<dyn StrategySelector>> {
    if let Some(path) = text.strip_prefix("matrix:") {
        return Ok(Box::new(FromFile::read(Path::new(path))?));
    }
    const REMEDY: &str =
        "write e.g. optimal, eigen-design:wavelet, eigen-separation(group=16), matrix:FILE.npy";
    call::choose(("strategy", REMEDY), text, strategies(), |selector, call| {
        selector.configured(call)
    })
}

/// The strategies with their options, one per line.
pub fn listing() -> String {
    call::listing(&strategies())
}
