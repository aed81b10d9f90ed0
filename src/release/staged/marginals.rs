//! Published marginals: rounded estimates, their error bounds, and estimates beyond them.

use std::cell::OnceCell;
use std::path::Path;

use super::certificate::{CertifiedErrors, ErrorBounds, distance, in_units};
use super::marginal_errors::MarginalErrors;
use super::measurements::StagedMeasurements;
use super::plan::StagedPlan;
use crate::data::{self, Records};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::{MarginalEstimates, impossible};
use crate::mechanism::StagedEstimates;
use crate::release::records::{self, RecordCount, RecordErrors, SyntheticRecords};
use crate::schema::{LevelSchema, Schema};

/// The published marginals of a release, and its estimates of all others.
#[derive(Debug)]
pub struct StagedMarginals {
    plan: StagedPlan,
    published: Vec<(AttributeSet, Vec<i64>)>,
    bounds: Option<ErrorBounds>,
    errors: Option<CertifiedErrors>,
    /// The measurements, from which the model is fitted when it is needed.
    measured: StagedMeasurements,
    estimates: OnceCell<StagedEstimates>,
}

/// An estimated marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct StagedMarginal {
    /// The cells, row-major: exact multiples of 2^−bits.
    pub cells: Vec<f64>,
    /// The bounds of its errors at 95 %, if there is a certificate.
    pub errors: Option<MarginalErrors>,
    /// The published marginal that it is summed from, and that the bounds are for. `None` if no
    /// published marginal determines it: then it is taken from the model.
    pub of_published: Option<AttributeSet>,
}

impl StagedMarginals {
    /// Returns the published marginals of measurements.
    ///
    /// With a certificate they are the marginals that it certifies. Otherwise the estimates are
    /// computed again from the noisy integers.
    ///
    /// # Errors
    /// Measurements that do not fit the workload of their statement.
    pub fn of(measured: StagedMeasurements) -> Result<Self> {
        let plan = measured.plan()?;
        let estimates = OnceCell::new();
        let certified = measured.certificate.as_ref();
        let bounds = certified.map(|certificate| certificate.bounds(measured.total()));
        let errors = certified.map(|certificate| certificate.errors(measured.total()));
        let published = match certified {
            Some(certificate) => certificate.marginals.clone(),
            None => {
                let fitted = measured.estimates(&plan)?;
                let published = plan.published(&fitted)?;
                // The cell is empty, so this always succeeds.
                let _ = estimates.set(fitted);
                published
            }
        };
        Ok(StagedMarginals { plan, published, bounds, errors, measured, estimates })
    }

    /// Returns the published marginals in units of 2^−bits, in the order of the workload.
    pub fn published(&self) -> &[(AttributeSet, Vec<i64>)] {
        &self.published
    }

    /// Returns the number of bits after the binary point.
    pub fn bits(&self) -> u32 {
        self.plan.bits()
    }

    /// Returns the error bounds, if there is a certificate.
    pub fn bounds(&self) -> Option<&ErrorBounds> {
        self.bounds.as_ref()
    }

    /// Returns the bounds of the errors of sums, if there is a certificate.
    pub fn errors(&self) -> Option<&CertifiedErrors> {
        self.errors.as_ref()
    }

    /// Returns the schema with the levels of its attributes.
    pub fn domain(&self) -> &LevelSchema {
        self.plan.domain()
    }

    /// Returns the measurements.
    pub fn measured(&self) -> &StagedMeasurements {
        &self.measured
    }

    /// Returns the estimates before rounding.
    ///
    /// # Errors
    /// As [`StagedMarginals::of`].
    pub(crate) fn estimates(&self) -> Result<&StagedEstimates> {
        if let Some(estimates) = self.estimates.get() {
            return Ok(estimates);
        }
        let fitted = self.measured.estimates(&self.plan)?;
        Ok(self.estimates.get_or_init(|| fitted))
    }

    /// Writes synthetic records drawn from the model, synced to the disk.
    ///
    /// They have the names and values of the schema, as [`data::write_csv`] writes them. With a
    /// certificate, the result has bounds of the errors of their marginals.
    ///
    /// # Errors
    /// An attribute of the schema without measurements, or the file cannot be written.
    pub fn write_records(
        &self,
        path: &Path,
        schema: &Schema,
        count: RecordCount,
    ) -> Result<SyntheticRecords> {
        let (records, synthetic) = records::draw(schema, &self.estimates()?.fit, count)?;
        data::write_csv(path, schema, &records)?;
        Ok(synthetic.with_errors(self.errors_of_records(&records)?))
    }

    /// Returns bounds of the L1 errors of the marginals of records, if there is a certificate.
    ///
    /// By the triangle inequality: the error of a published marginal plus its exact distance to
    /// the marginal of the records. The distance is public, so it costs no privacy.
    ///
    /// # Errors
    /// Records without an attribute of the workload.
    pub(super) fn errors_of_records(&self, records: &Records) -> Result<Option<RecordErrors>> {
        let Some(certificate) = &self.measured.certificate else { return Ok(None) };
        let mut counts = Vec::new();
        let mut distances = Vec::with_capacity(self.published.len());
        for (set, units) in &self.published {
            let leaves = self.domain().leaves_of(*set);
            records.count_into(leaves, &mut counts)?;
            if leaves != *set {
                counts = self.domain().summed(leaves, &counts, *set);
            }
            distances.push(distance(&counts, units, certificate.noise.bits));
        }
        let marginals = distances.len();
        let mean_distance = distances.iter().sum::<f64>() / marginals.max(1) as f64;
        let bounds = certificate.bounds_plus(self.measured.total(), &distances).summary();
        Ok(Some(RecordErrors { marginals, mean_distance, bounds }))
    }

    /// Refuses attributes that were not measured.
    ///
    /// # Errors
    /// An attribute outside the workload of the release.
    pub fn check(&self, set: AttributeSet) -> Result<()> {
        let known = self.plan.estimated();
        if set.is_subset(known) {
            return Ok(());
        }
        let names = |set| self.domain().schema().names(set);
        Err(Error::bad_input(
            format!("queries on {}", names(set)),
            format!("attributes of the workload of the release: {}", names(known)),
            format!("{}, not measured", names(set.without(known))),
            "use other queries, or add these to the workload of another release",
        ))
    }

    /// Returns the marginal on a set of attributes and levels.
    ///
    /// It is the sum of the smallest published marginal that determines the set, whose error bounds
    /// hold for it as well; otherwise it is taken from the model.
    ///
    /// # Errors
    /// As [`StagedMarginals::check`].
    pub fn marginal(&self, set: AttributeSet) -> Result<StagedMarginal> {
        self.check(set)?;
        let unit = (-f64::from(self.bits())).exp2();
        let in_records = |units: &[i64]| units.iter().map(|t| *t as f64 * unit).collect::<Vec<_>>();
        let is_sum = |g: AttributeSet| self.domain().determines(g, set);
        let containing = self.published.iter().enumerate().filter(|(_, (g, _))| is_sum(*g));
        if let Some((index, (g, units))) = containing.min_by_key(|(_, (_, units))| units.len()) {
            let cells = match *g == set {
                true => in_records(units),
                false => self.domain().summed(*g, &in_records(units), set),
            };
            let errors = self.errors.as_ref().map(|errors| errors.each[index]);
            return Ok(StagedMarginal { cells, errors, of_published: Some(*g) });
        }
        let mut estimate = self.estimates()?.fit.marginal(set)?;
        impossible::clear(self.domain().schema(), set, &mut estimate);
        let cells = in_records(&in_units(&estimate, self.bits()));
        Ok(StagedMarginal { cells, errors: None, of_published: None })
    }
}
