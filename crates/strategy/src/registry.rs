//! The list of strategies.

use std::path::Path;

use super::lsa::Reading;
use super::stream::Streamed;
use super::{
    BandedForEpochs, BandedInverseSquareRoot, BandedSquareRoot, BinaryTree, BufferedToeplitz,
    Circulant, DataCube, EigenDesign, EigenSeparation, Fourier, FromFile, Hierarchical, Identity,
    Lsa, LsaGeneralized, LsaSeparated, Objective, Optimal, Participation, PrincipalVectors,
    Problem, Selection, SquareRoot, StrategySelector, VariableAgnostic, Wavelet, WorkloadItself,
};
use crate::call::{self, Call, named};
use crate::error::{Error, Result};
use crate::workload::Workload;

const REMEDY: &str =
    "write e.g. optimal, eigen-design:wavelet, eigen-separation(group=16), matrix:FILE.npy";

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
        Box::new(SquareRoot),
        Box::new(BandedSquareRoot::default()),
        Box::new(BandedInverseSquareRoot::default()),
        Box::new(BandedForEpochs::default()),
        Box::new(BufferedToeplitz::default()),
        Box::new(Circulant),
        Box::new(BinaryTree::default()),
        Box::new(Streamed::recurrence()),
        Box::new(Streamed::chains()),
        Box::new(Streamed::truncated()),
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
    named_by(&Call::parse("strategy", text, REMEDY)?)
}

/// A strategy and what it is selected for: `wavelet(objective=max, participation=epochs:4)`.
///
/// Every strategy takes the options `objective` and `participation`, next to its other options; with
/// random allocation also `epsilon` and `delta`.
#[derive(Debug)]
pub struct Request {
    /// The strategy.
    pub selector: Box<dyn StrategySelector>,
    /// The objective; `mean` by default.
    pub objective: Objective,
    /// The participation; `single` by default.
    pub participation: Participation,
}

impl Request {
    /// Parses a text.
    ///
    /// # Errors
    /// As [`by_name`], or the objective or the participation is invalid.
    pub fn parse(text: &str) -> Result<Self> {
        Self::with_flags(text, &[])
    }

    /// [`Request::parse`] with the options of flags of the command line.
    ///
    /// # Errors
    /// As [`Request::parse`], or the text already has one of the options.
    pub fn with_flags(text: &str, flags: &[(&str, Option<&str>)]) -> Result<Self> {
        let mut call = Call::parse("strategy", text, REMEDY)?.with_flags(flags)?;
        let objective = call.take("objective").map(str::parse).transpose()?.unwrap_or_default();
        let participation =
            call.take("participation").map(str::parse).transpose()?.unwrap_or_default();
        let [epsilon, delta] = ["epsilon", "delta"].map(|key| {
            let refused = |text: &str| {
                let (found, remedy) = (format!("`{text}`"), "write e.g. epsilon=1, delta=1e-6");
                Error::bad_input(format!("strategy option `{key}`"), "a number", found, remedy)
            };
            let number = |text: &str| text.trim().parse::<f64>().map_err(|_| refused(text));
            call.take(key).map(number).transpose()
        });
        let (epsilon, delta) = (epsilon?, delta?);
        let participation: Participation = participation;
        let participation = participation.at(epsilon, delta)?;
        Ok(Request { selector: named_by(&call)?, objective, participation })
    }

    /// Returns the problem of a workload.
    pub fn problem<'a>(&self, workload: &'a Workload) -> Problem<'a> {
        Problem { workload, objective: self.objective, participation: self.participation }
    }

    /// Selects a strategy for a workload.
    ///
    /// # Errors
    /// As [`StrategySelector::select_for`].
    pub fn select(&self, workload: &Workload) -> Result<Selection> {
        self.selector.select_for(&self.problem(workload))
    }
}

/// Returns the strategy of a parsed text.
fn named_by(call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
    if let ("matrix", Some(path)) = (call.name(), call.operand()) {
        call.allow(&[])?;
        return Ok(Box::new(FromFile::read(Path::new(path))?));
    }
    call::choose(call, strategies(), |selector, call| selector.configured(call))
}

/// Returns the strategies with their options, one per line.
pub fn listing() -> String {
    call::listing(&strategies())
}
