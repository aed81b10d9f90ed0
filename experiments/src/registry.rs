//! The kinds of experiments and figures that configs can name.
//!
//! A new kind is one file and one line here.

use crate::datasets::Catalogue;
use crate::experiment::Experiment;
use crate::figures::{Bars, Dots, FigureKind, Lines, Matrices, TradeOff};
use crate::{s1, s2, s3, s4, streams};

/// The kinds that a config can name.
#[derive(Debug)]
pub struct Kinds {
    /// Kinds of experiments.
    pub experiments: Vec<Box<dyn Experiment>>,
    /// Kinds of figures.
    pub figures: Vec<Box<dyn FigureKind>>,
}

impl Kinds {
    /// Returns the kinds of this crate. Experiments read their tables from the catalogue.
    #[must_use]
    pub fn all(catalogue: &Catalogue) -> Self {
        Self { experiments: experiments(catalogue), figures: figures() }
    }
}

/// Returns the kinds of figures, in the order of messages.
#[must_use]
pub fn figures() -> Vec<Box<dyn FigureKind>> {
    vec![Box::new(Lines), Box::new(Bars), Box::new(Dots), Box::new(Matrices), Box::new(TradeOff)]
}

/// Returns the kinds of experiments, in the order of messages.
///
/// Kinds that run on tables hold a clone of the catalogue.
#[must_use]
pub fn experiments(catalogue: &Catalogue) -> Vec<Box<dyn Experiment>> {
    let selections = s2::Selections::default();
    vec![
        Box::new(s1::StrategyErrors::default()),
        Box::new(s1::SampledBound),
        Box::new(s1::LaplaceComparison),
        Box::new(s1::CheckedClaims),
        Box::new(s1::LevelCap),
        Box::new(s1::CoveredRanges),
        Box::new(s1::SeparatedMarginals),
        Box::new(s1::SkewedRanges),
        Box::new(s2::RelativeErrors::new(catalogue.clone())),
        Box::new(s2::RelativeChanges::new(catalogue.clone(), selections.clone())),
        Box::new(s2::ExampleMatrices),
        Box::new(s2::WorkedExample),
        Box::new(s2::EigenComparison { selections: selections.clone() }),
        Box::new(s2::EigenApproximations { selections: selections.clone() }),
        Box::new(s2::LaplaceDesigns),
        Box::new(s2::EigenClaims { selections }),
        Box::new(s3::PlanClaims),
        Box::new(s3::PlanErrors::default()),
        Box::new(s3::DatasetPlans::default()),
        Box::new(s3::PlanScale),
        Box::new(s3::ReferenceMeasures::default()),
        Box::new(s3::LevelErrors::new(catalogue.clone())),
        Box::new(s4::ResidualTiming::default()),
        Box::new(s4::WorkedExample),
        Box::new(s4::ResidualClaims),
        Box::new(s4::MeasurementAblation { catalogue: catalogue.clone() }),
        Box::new(s4::FixedMeasurements { catalogue: catalogue.clone() }),
        Box::new(s4::TableSchemas { catalogue: catalogue.clone() }),
        Box::new(s4::AdaptiveErrors { catalogue: catalogue.clone() }),
        Box::new(s4::ErrorParts { catalogue: catalogue.clone() }),
        Box::new(s4::RecordScores { catalogue: catalogue.clone() }),
        Box::new(streams::ProblemErrors),
        Box::new(streams::PrefixConstants),
        Box::new(streams::BudgetErrors),
        Box::new(streams::PrivateTraining { catalogue: catalogue.clone() }),
        Box::new(streams::StepErrors::default()),
    ]
}
