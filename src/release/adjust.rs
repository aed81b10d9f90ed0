//! Nonnegative answers from the same measurements, by local maximum entropy.
//!
//! The reconstruction is that of the mechanism `planned`. It costs no privacy. The answers are
//! biased, their errors depend on the data, and the standard errors of the release do not apply to
//! them. If the noise is larger than the counts, they are much closer to the truth.

use std::path::Path;

use super::answers;
use super::estimates::Estimates;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::soft_ipf::LearnedFit;
use crate::estimation::{MarginalEstimates, ResidualEstimates, impossible};
use crate::planner::SubspaceStrategy;
use crate::workload::{GroupedWorkload, QueryGroup};

/// The description of adjusted answers in a statement.
pub const DESCRIPTION: &str = "adjusted.csv has nonnegative integer answers by local maximum \
     entropy from the same measurements. They are biased, and the standard errors do not apply to \
     them. Queries on one set of attributes agree with each other; those on different sets need \
     not, unless one set of the workload contains all others.";

/// The variance assigned to noiseless measurements, in records².
const MIN_VARIANCE: f64 = 1e-12;

/// How far the adjusted answers agree with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consistency {
    /// All answers are sums of the integers of one marginal.
    OneMarginal,
    /// The answers on each set of attributes are sums of one marginal; marginals of different sets
    /// may disagree on their common attributes.
    EachMarginal,
}

/// Refuses measurements that cannot be adjusted.
///
/// # Errors
/// The reference measure is not uniform, which the reconstruction requires.
pub fn check(uniform: bool) -> Result<()> {
    if uniform {
        return Ok(());
    }
    Err(Error::bad_input(
        "option --adjust",
        "measurements for the uniform reference measure",
        "another measure",
        "use --planner query-smasher, or omit --adjust",
    ))
}

/// Writes nonnegative integer answers to all queries of a workload.
///
/// Every estimated marginal is rounded to integers whose sum is the estimated number of records, by
/// largest remainders, and queries are answered from it. If one set of attributes of the workload
/// contains all others, all queries are answered from its marginal. *Cost*: O(k cells) per
/// marginal.
///
/// # Errors
/// As [`check`]; or the file cannot be written.
pub fn write(
    path: &Path,
    estimates: &Estimates,
    workload: &GroupedWorkload,
    progress: &mut dyn FnMut(usize),
) -> Result<Consistency> {
    check(estimates.measure().is_uniform())?;
    let mut residuals = ResidualEstimates::new(estimates.schema());
    let sets = estimates.sets();
    // The number of records is estimated from the measured total only.
    if estimates.part(AttributeSet::EMPTY).is_none() {
        let remedy = "add queries whose sum counts all records, such as family = \"total\"";
        return Err(Error::bad_input(
            "option --adjust",
            "a measured number of records",
            "none",
            remedy,
        ));
    }
    for &set in &sets {
        let Some((estimate, noise, strategy)) = estimates.part(set) else { continue };
        // A public number of records is known without noise, but estimates require a variance.
        let variance = (noise * mean_eigenvalue(strategy, estimate.len())?).max(MIN_VARIANCE);
        residuals.update(set, estimate, variance)?;
    }
    let used = workload
        .groups()
        .iter()
        .fold(AttributeSet::EMPTY, |all, group| all.union(group.attributes()));
    let (fitted, _) = LearnedFit::default().fit(residuals, used, &[], &[])?;
    let total = fitted.total().round().max(0.0);
    let whole = workload.groups().iter().map(QueryGroup::attributes).find(|set| *set == used);
    let consistency =
        if whole.is_some() { Consistency::OneMarginal } else { Consistency::EachMarginal };
    let mut known: Option<(AttributeSet, Vec<f64>)> = None;
    let schema = estimates.schema();
    answers::write_adjusted(path, workload, progress, &mut |group| {
        let source = whole.unwrap_or(group.attributes());
        let marginal = match known.take().filter(|(set, _)| *set == source) {
            Some((_, marginal)) => marginal,
            None => {
                let mut marginal = fitted.marginal(source)?;
                impossible::clear(schema, source, &mut marginal);
                rounded_to(total, marginal)
            }
        };
        let axes = source.axes_in(group.attributes());
        let counts = crate::residual::summed(&schema.shape_of(source)?, axes, &marginal);
        known = Some((source, marginal));
        group.answers(&counts)
    })?;
    Ok(consistency)
}

/// Returns tr(V⁺)/rank, the variance of a centred cell if the noise is equal in all directions.
///
/// It is equal for `V = (I − J/n)·n/(n − 1)`.
fn mean_eigenvalue(strategy: &SubspaceStrategy, cells: usize) -> Result<f64> {
    let SubspaceStrategy::Kronecker(factors) = strategy else {
        return Err(Error::bug(
            "adjusted answers",
            "Kronecker strategies",
            format!("one over {cells} cells"),
        ));
    };
    factors.iter().try_fold(1.0, |product, factor| {
        let rank: usize = factor.shape().iter().map(|n| n - 1).product();
        Ok(product * factor.covariance()?.diag().sum() / rank.max(1) as f64)
    })
}

/// Returns nonnegative integers near the values, with the given sum.
fn rounded_to(total: f64, values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().map(|x| x.max(0.0)).sum();
    let scale = if sum > 0.0 { total / sum } else { 0.0 };
    let scaled: Vec<f64> = values.iter().map(|x| x.max(0.0) * scale).collect();
    let mut rounded: Vec<f64> = scaled.iter().map(|x| x.floor()).collect();
    let missing = (total - rounded.iter().sum::<f64>()).max(0.0) as usize;
    let mut order: Vec<usize> = (0..scaled.len()).collect();
    order.sort_by(|&a, &b| {
        (scaled[b] - rounded[b]).total_cmp(&(scaled[a] - rounded[a])).then(a.cmp(&b))
    });
    for index in order.into_iter().cycle().take(if scaled.is_empty() { 0 } else { missing }) {
        rounded[index] += 1.0;
    }
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_preserves_the_sum_by_largest_remainders() {
        assert_eq!(rounded_to(10.0, vec![2.5, 2.4, -1.0, 5.1]), [3.0, 2.0, 0.0, 5.0]);
        assert_eq!(rounded_to(3.0, vec![0.0, 0.0]), [2.0, 1.0]);
        assert_eq!(rounded_to(0.0, vec![1.0, 2.0]), [0.0, 0.0]);
        assert!(rounded_to(5.0, Vec::new()).is_empty());
    }
}
