//! The options of Program 2.

use super::program2::Completion;
use super::weighting::WeightingOptions;
use crate::Call;
use crate::error::Result;

/// The options of Program 2.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Options {
    /// For Program 1. Default [`WeightingOptions::default`].
    pub weighting: WeightingOptions,
    /// Which columns are completed. Default [`Completion::Joint`].
    pub completion: Completion,
}

impl Options {
    /// Reads the options of a call.
    pub(super) fn of(call: &Call<'_>) -> Result<Self> {
        let mut options = Options::default();
        options.weighting.tolerance =
            call.option("tolerance")?.unwrap_or(options.weighting.tolerance);
        if let Some(written) = call.written("completion") {
            options.completion = Completion::named(written).ok_or_else(|| {
                call.refuse("`joint`, `factors` or `none` for `completion`", written)
            })?;
        }
        options.weighting.check()?;
        Ok(options)
    }
}
