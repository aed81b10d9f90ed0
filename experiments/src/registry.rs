//! The kinds of experiments that configs can name. A new one is one file and one line here.

use crate::experiment::Experiment;
use crate::s1;
use crate::s3;
use crate::s4;

/// All kinds, in the order in which messages list them.
#[must_use]
pub fn experiments() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(s1::StrategyErrors),
        Box::new(s1::SampledBound),
        Box::new(s1::LaplaceComparison),
        Box::new(s1::CheckedClaims),
        Box::new(s1::LevelCap),
        Box::new(s1::CoveredRanges),
        Box::new(s1::SeparatedMarginals),
        Box::new(s1::SkewedRanges),
        Box::new(s3::PlanErrors),
        Box::new(s3::DatasetPlans),
        Box::new(s3::PlanScale),
        Box::new(s4::ResidualTiming),
    ]
}
