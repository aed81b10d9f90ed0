//! The expected error of a staged release, simulated on made-up records.
//!
//! The records are drawn from a public distribution with a fixed seed, so nothing depends on data.

use std::path::PathBuf;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

use crate::simulate::Setting;
use matmech::Records;
use matmech::data::Column;
use matmech::error::{Error, Result};
use matmech::release::staged::StagedPlan;
use matmech::residual::ReferenceMeasure;
use matmech::schema::Schema;
use matmech::workload::{Family, GroupedWorkload, QueryGroup};

/// The seed of the records and of the noise.
const SEED: u64 = 1;

/// The number of simulated runs.
const RUNS: u32 = 3;

/// Maximum draws of a record until it has no impossible combination of values.
const MAX_DRAWS: usize = 10_000;

/// Made-up records with independent attributes.
#[derive(Debug, Clone)]
pub struct Guess {
    /// The number of records.
    pub records: u32,
    /// A file with the distributions of the attributes; those that are not listed are uniform.
    pub reference: Option<PathBuf>,
}

/// The error of a staged release on made-up records.
#[derive(Debug, Serialize)]
pub struct StagedForecast {
    /// The number of made-up records.
    pub records: u32,
    /// Their distribution: `uniform`, or a file.
    pub reference: String,
    /// The number of simulated runs.
    pub runs: u32,
    /// The seed of the records and of the noise.
    pub seed: u64,
    /// The mean L1 error of a marginal, in records: the mean of the runs.
    pub mean_l1_error: f64,
    /// The same per made-up record.
    pub mean_l1_error_per_record: f64,
}

impl Guess {
    /// Simulates the mechanism on made-up records, with the budget of the plan's stages.
    ///
    /// # Errors
    /// A file that is not a distribution over the schema, or one whose records are impossible.
    pub(super) fn forecast(
        &self,
        plan: &StagedPlan,
        workload: &GroupedWorkload,
    ) -> Result<StagedForecast> {
        let schema = workload.schema();
        let reference = match &self.reference {
            Some(path) => ReferenceMeasure::read(schema, path)?,
            None => ReferenceMeasure::uniform(&schema.sizes()),
        };
        let marginals = marginals_of(plan, workload)?;
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        let records = self.draw(schema, &reference, &mut rng)?;
        let setting = Setting::new(&marginals, &records, plan.rho_of_stages()?)?;
        let mut sum = 0.0;
        for _ in 0..RUNS {
            let mut noise = ChaCha20Rng::from_rng(&mut rng);
            sum += setting.run(&plan.settings(), &mut noise)?.errors.mean_l1();
        }
        let per_record = sum / f64::from(RUNS);
        Ok(StagedForecast {
            records: self.records,
            reference: match &self.reference {
                Some(path) => path.display().to_string(),
                None => "uniform".to_owned(),
            },
            runs: RUNS,
            seed: SEED,
            mean_l1_error: per_record * f64::from(self.records),
            mean_l1_error_per_record: per_record,
        })
    }

    /// Draws the records; those with impossible combinations of values are drawn again.
    fn draw(
        &self,
        schema: &Schema,
        reference: &ReferenceMeasure,
        rng: &mut ChaCha20Rng,
    ) -> Result<Records> {
        let sums: Vec<Vec<f64>> = (reference.measures().iter())
            .map(|measure| {
                let sum = |sum: &mut f64, weight: f64| {
                    *sum += weight;
                    Some(*sum)
                };
                measure.to_vec().into_iter().scan(0.0, sum).collect()
            })
            .collect();
        let mut columns: Vec<Column> = schema.sizes().into_iter().map(Column::for_size).collect();
        let mut record = vec![0_usize; columns.len()];
        for _ in 0..self.records {
            let mut draws = 0;
            loop {
                for (value, sums) in record.iter_mut().zip(&sums) {
                    let point = rng.random::<f64>() * sums.last().copied().unwrap_or(1.0);
                    *value = sums.partition_point(|sum| *sum <= point).min(sums.len() - 1);
                }
                if !schema.impossible().iter().any(|cells| cells.contains(|p| record[p])) {
                    break;
                }
                draws += 1;
                if draws == MAX_DRAWS {
                    return Err(Error::bad_input(
                        "made-up records of --records-guess",
                        "a distribution with possible combinations of values",
                        format!("{MAX_DRAWS} impossible records in sequence"),
                        "give a file with --reference in which possible values are more likely",
                    ));
                }
            }
            for (column, value) in columns.iter_mut().zip(&record) {
                column.push(*value as u32);
            }
        }
        Records::new(schema, columns)
    }
}

/// Returns the marginals that a release publishes, as a workload; with levels, its queries.
fn marginals_of(plan: &StagedPlan, workload: &GroupedWorkload) -> Result<GroupedWorkload> {
    if plan.domain().has_levels() {
        return Ok(workload.clone());
    }
    let schema = workload.schema();
    let identity = |set: &matmech::AttributeSet| {
        QueryGroup::product(schema, *set, &vec![Family::IDENTITY; set.len()], 1.0)
    };
    let groups = plan.marginals().iter().map(identity).collect::<Result<Vec<_>>>()?;
    GroupedWorkload::new(schema.clone(), groups)
}
