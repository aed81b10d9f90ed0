//! The search of the Level Selection Algorithm, level by level.

use ndarray::Array2;

use super::acceptance::Acceptance;
use super::boxes::BoxQueries;
use super::inverse::{Inverse, check_gram};
use super::options::{LsaOptions, Reading};
use super::outcome::{AcceptedLevel, LsaOutcome};
use super::sweep::Grower;
use crate::error::Result;
use crate::workload::Gram;

/// Runs the Level Selection Algorithm on a workload. O(k n³) time, O(n²) memory.
///
/// # Errors
/// Invalid options, a workload without a query, a Gram matrix that is not positive semidefinite, or
/// too many cells.
pub fn run(gram: &Gram, reading: Reading, options: &LsaOptions) -> Result<LsaOutcome> {
    options.check()?;
    let dense = gram.to_dense()?;
    check_gram(reading.name(), &dense)?;
    run_dense(&gram.shape(), dense, reading, options)
}

/// Runs the algorithm on a checked Gram matrix.
pub(super) fn run_dense(
    shape: &[usize],
    gram: Array2<f64>,
    reading: Reading,
    options: &LsaOptions,
) -> Result<LsaOutcome> {
    let nothing = Given { v: Array2::zeros(gram.dim()), levels: 0 };
    run_given(shape, gram, &nothing, reading, options)
}

/// Queries that are measured in any case.
pub(super) struct Given {
    /// Their Gram matrix over the cells.
    pub(super) v: Array2<f64>,
    /// Their squared column norm, equal for all columns.
    pub(super) levels: usize,
}

/// Runs the algorithm on top of given queries.
///
/// The search starts from `V = I + V_given` with s = 1 + s_given levels. The errors of the outcome
/// are those of all queries together. Its queries, its levels and `max_levels` exclude the given
/// queries.
pub(super) fn run_given(
    shape: &[usize],
    gram: Array2<f64>,
    given: &Given,
    reading: Reading,
    options: &LsaOptions,
) -> Result<LsaOutcome> {
    let mut grower = Grower { reading, tolerance: options.tolerance, candidates: 0 };
    let cells = gram.nrows();
    let mut inverse = Inverse::new(gram, Array2::eye(cells) + &given.v)?;
    let error = (given.levels + 1) as f64 * inverse.trace();
    let mut acceptance = Acceptance::new(AcceptedLevel { queries: cells, error });
    let mut capped = true;
    while acceptance.count() < options.max_levels {
        let level = grower.grow(&inverse, shape)?;
        let error = (given.levels + acceptance.count() + 1) as f64 * level.trace();
        if !acceptance.accept(error, level.parts().iter().map(|part| part.query.clone()).collect())
        {
            capped = false;
            break;
        }
        inverse.accept(&level)?;
    }
    let mut queries = BoxQueries::identity(shape);
    let levels = acceptance.finish(&mut queries);
    Ok(LsaOutcome { levels, capped, candidates: grower.candidates, v: queries.gram(), queries })
}
