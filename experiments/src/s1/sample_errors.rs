//! Errors of strategies on sampled workloads, averaged over samples shared by all methods.

use matmech::strategy::{self, svd_bound};
use matmech::workload::{Gram, RangeSample};

use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, Row};
use crate::proved::GramBounds;
use crate::statistics::Sample;
use crate::strategies::SVD_BOUND;

/// Returns the rows of a method over the Gram matrices of samples.
///
/// The rows are `ratio_to_svdb` (the mean, with the mean of the lower bounds), its extremes and
/// standard deviation, and the mean of every detail of the selections.
pub fn over_samples(method: &str, grams: &[Gram]) -> Result<Vec<Row>> {
    if grams.is_empty() {
        return Err(Error::bug("an average over samples", "at least one sample", "none"));
    }
    let (mut ratios, mut lower) = (Sample::default(), Sample::default());
    let mut certificate = CellCertificate::default();
    let mut details: Vec<(String, Sample)> = Vec::new();
    for (k, gram) in grams.iter().enumerate() {
        let bound = svd_bound(gram)?;
        if method == SVD_BOUND {
            ratios.push(1.0);
            lower.push(1.0);
            continue;
        }
        let selection = strategy::by_name(method)?.select(gram);
        let selection =
            selection.map_err(|error| Error::library(format!("strategy {method}"), error))?;
        if let Some(proof) = &selection.proof {
            certificate.insert_proof(&sample_prefix(k), proof);
        }
        ratios.push(selection.error / bound);
        lower.push(
            (selection.certificate.map_or(bound, |c| c.lower_bound.max(bound)) / bound)
                .min(selection.error / bound),
        );
        for (name, value) in selection.details {
            match details.iter_mut().find(|(known, _)| known == name) {
                Some((_, values)) => values.push(value),
                None => details.push((name.to_owned(), Sample::from_iter([value]))),
            }
        }
    }
    let (mean, mean_lower) = (ratios.mean(), lower.mean());
    let mut rows = vec![
        Row {
            certificate: (!certificate.is_empty()).then_some(certificate),
            ..Row::certified("ratio_to_svdb", mean, mean_lower, mean / mean_lower - 1.0)
        },
        Row::new("ratio_to_svdb_min", ratios.smallest()),
        Row::new("ratio_to_svdb_max", ratios.largest()),
    ];
    rows.extend(
        ratios
            .standard_error()
            .map(|error| Row::new("ratio_to_svdb_deviation", error * (ratios.len() as f64).sqrt())),
    );
    rows.extend(details.into_iter().map(|(name, values)| Row::new(name, values.mean())));
    Ok(rows)
}

/// Returns the prefix of the arrays of a sample.
fn sample_prefix(sample: usize) -> String {
    format!("sample.{sample}.")
}

/// Returns the proved row of the mean ratio over samples; see
/// [`Experiment::prove`](crate::experiment::Experiment::prove).
pub fn proved_over_samples(grams: &[Gram], certificate: &CellCertificate) -> Result<Vec<Row>> {
    let (mut ratios, mut lower) = (Sample::default(), Sample::default());
    for (k, gram) in grams.iter().enumerate() {
        let proof = certificate.proof(&sample_prefix(k))?;
        let Some(proof) = proof else {
            // The SVD bound is 1 as a ratio.
            lower.push(1.0);
            continue;
        };
        let bounds = GramBounds::of_gram(gram, Some(&proof))?;
        lower.push(bounds.lower / bounds.svd_bound);
        bounds.error.into_iter().for_each(|error| ratios.push(error / bounds.svd_bound));
    }
    let value = (ratios.len() == grams.len()).then(|| ratios.mean());
    Ok(vec![Row::proved("ratio_to_svdb", lower.mean(), value)])
}

/// Returns the Gram matrix of a sample.
pub fn gram_of(sample: &RangeSample) -> matmech::Result<Gram> {
    Gram::dense(sample.shape(), sample.gram())
}
