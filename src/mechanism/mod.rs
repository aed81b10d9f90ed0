//! Mechanisms: data in, private estimates out.
//!
//! The random generator is the caller's. A seeded one makes an experiment repeatable and its output **not private**;
//! nothing here is meant for a real release.

pub mod aim_grem;
mod marginal_errors;
mod matrix_mechanism;
mod measure_residual;
mod measured_sequence;
mod planned;
mod residual_planner;

pub use marginal_errors::MarginalErrors;
pub use matrix_mechanism::{MatrixMechanism, Measurement};
pub use measure_residual::{ResidualNoise, measure_residual};
pub use measured_sequence::{
    MarginalNoise, MarginalSequence, MarginalUpdates, MeasuredMarginal, SequenceOutcome, measure_sequence,
};
pub use planned::run_plan;
pub use residual_planner::BatchMarginals;

use rand::Rng;

use crate::error::Result;
use crate::privacy::PrivacyBudget;
use crate::workload::Workload;

/// Estimates a data vector for a workload under a privacy budget.
pub trait Mechanism {
    /// The name used on the command line and in configs.
    fn name(&self) -> &'static str;

    /// Spends the budget on `data` and returns an estimate of every cell; answers of workload queries are read off it and
    /// so are consistent with each other.
    ///
    /// # Errors
    /// Data of the wrong length, a workload the mechanism cannot answer, or a budget without meaning.
    fn estimate(
        &self,
        data: &[f64],
        workload: &Workload,
        budget: &PrivacyBudget,
        rng: &mut dyn Rng,
    ) -> Result<Vec<f64>>;
}

/// The answers of a workload's queries on a (true or estimated) data vector. O(queries · cells) time, O(queries) memory.
///
/// # Errors
/// A data vector of the wrong length, or AllPredicate over too many cells to enumerate.
pub fn answer(workload: &Workload, data: &[f64]) -> Result<Vec<f64>> {
    check_length(data, workload.cells())?;
    Ok(workload.rows()?.map(|row| row.iter().zip(data).map(|(q, x)| q * x).sum()).collect())
}

fn check_length(data: &[f64], cells: usize) -> Result<()> {
    if data.len() != cells || data.iter().any(|x| !x.is_finite()) {
        return Err(crate::Error::invalid(
            "data vector",
            format!("{cells} finite numbers, one per cell"),
            format!("{} numbers", data.len()),
            "count the records of every cell in row-major order",
        ));
    }
    Ok(())
}
