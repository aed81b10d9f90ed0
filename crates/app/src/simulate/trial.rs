//! One run of a mechanism, compared with the true answers.

use std::time::Instant;

use rand_chacha::ChaCha20Rng;

use matmech::access::PrivateTable;
use matmech::data::{MarginalCounter, Records};
use matmech::error::{Error, Result};
use matmech::mechanism::{MarginalErrors, Mechanism, RunReport};
use matmech::privacy::Rho;
use matmech::schema::LevelSchema;
use matmech::workload::GroupedWorkload;

/// The input that all runs share.
pub(crate) struct Setting<'a> {
    pub(super) workload: &'a GroupedWorkload,
    pub(super) rho: Rho,
    records: &'a Records,
    counter: MarginalCounter<'a>,
}

/// The result of one run.
pub(crate) struct Trial {
    pub(crate) errors: MarginalErrors,
    /// The L1 error per record of every group of the workload.
    pub(super) l1: Vec<f64>,
    /// Whether no answer is negative.
    pub(super) nonnegative: bool,
    /// The ρ spent, by the accountant.
    pub(super) spent: f64,
    pub(super) report: RunReport,
    pub(super) seconds: f64,
}

impl<'a> Setting<'a> {
    pub(crate) fn new(
        workload: &'a GroupedWorkload,
        records: &'a Records,
        rho: Rho,
    ) -> Result<Self> {
        Ok(Setting { workload, rho, records, counter: MarginalCounter::new(records)? })
    }

    /// Runs the mechanism and compares the answers of every group of the workload with the true
    /// ones.
    pub(crate) fn run(&self, mechanism: &dyn Mechanism, rng: &mut ChaCha20Rng) -> Result<Trial> {
        let started = Instant::now();
        let mut errors = MarginalErrors::of_records(self.records.len());
        let (mut l1, mut counts) = (Vec::new(), Vec::new());
        let mut nonnegative = true;
        // As a release, `staged` measures levels too.
        let domain = LevelSchema::new(self.workload.schema())?;
        let records = match mechanism.as_staged() {
            Some(_) if domain.has_levels() => &self.records.with_levels(&domain)?,
            _ => self.records,
        };
        let mut table = PrivateTable::of_records(records, self.rho, rng)?;
        let report = mechanism.run(self.workload, &mut table, &mut |index, answers| {
            let group = &self.workload.groups()[index];
            self.counter.count_into(group.attributes(), &mut counts)?;
            let truth = group.answers(&counts)?;
            nonnegative &= answers.iter().all(|answer| *answer >= 0.0);
            l1.push(errors.add(answers.iter().zip(&truth).map(|(answer, truth)| answer - truth)));
            Ok(())
        })?;
        let spent = table.accountant().spent();
        if spent > self.rho.get() {
            return Err(Error::bug("simulation", format!("at most {} spent", self.rho), spent));
        }
        Ok(Trial {
            errors,
            l1,
            nonnegative,
            spent,
            report,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}
