//! Expected time and memory of a release, from the schema and the workload alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use matmech::data::counting_bytes;
use matmech::domain::AttributeSet;
use matmech::privacy::OperatingSystemNoise;
use matmech::release::IntegerPlan;
use matmech::release::records::RecordCount;
use matmech::release::staged::StagedPlan;
use matmech::workload::{GroupQueries, GroupedWorkload, QueryCount, QueryGroup};

/// Noise samples that are drawn to time the sampler.
const SAMPLES: usize = 2000;

/// Seconds to estimate and write the answer to a query.
const SECONDS_PER_QUERY: f64 = 4e-6;

/// Memory of an idle process.
const BASE_MB: f64 = 15.0;

/// Memory per entry of a strategy matrix: integers, doubles, covariance and output text.
const BYTES_PER_ENTRY: f64 = 48.0;

/// Memory per noisy integer, with its text and its estimate.
const BYTES_PER_INTEGER: f64 = 40.0;

/// Memory per answer with its standard errors.
const BYTES_PER_ANSWER: f64 = 56.0;

/// Memory per description of a query on one attribute.
const BYTES_PER_NAME: f64 = 130.0;

/// Memory of a staged release (measured): of an idle process, per cell of a published marginal, per
/// noisy integer, per question, and of the model per MB (2²⁰ bytes) of its cliques.
const STAGED_BASE_MB: f64 = 20.0;
const BYTES_PER_PUBLISHED_CELL: f64 = 60.0;
const BYTES_PER_STAGED_INTEGER: f64 = 8.0;
const BYTES_PER_QUESTION: f64 = 800.0;
const MB_PER_MB_OF_MODEL: f64 = 4.5;

/// Refuses a release that needs more memory than the machine has.
///
/// # Errors
/// An expected peak above the memory of the machine.
pub(super) fn check_memory(expected_mb: f64) -> matmech::error::Result<()> {
    let Some(available) = crate::process::memory_mb() else { return Ok(()) };
    if expected_mb <= available {
        return Ok(());
    }
    Err(matmech::error::Error::too_large(
        "release",
        "MB of memory",
        available.floor(),
        expected_mb.ceil(),
        "use marginals of fewer attributes, give the attributes fewer values (wider bins), use a \
         smaller model (max-mb) or fewer --records, or a machine with more memory; nothing was \
         read or spent",
    ))
}

/// The expected time and memory of a release of unbiased answers.
#[derive(Debug)]
pub(super) struct Forecast {
    /// Expected time in seconds, without reading the records.
    pub seconds: f64,
    /// Expected peak memory.
    pub memory: Memory,
}

/// The expected memory of a release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    /// Expected peak memory in MB (10⁶ bytes), without the records.
    pub mb: f64,
    /// Additional memory per record.
    pub bytes_per_record: usize,
}

impl Forecast {
    /// Forecasts a release after planning took `planning`, before data is opened.
    pub(super) fn of(
        plan: &IntegerPlan,
        workload: &GroupedWorkload,
        planning: Duration,
    ) -> matmech::error::Result<Self> {
        let queries = plan.plan().queries().as_f64();
        let seconds = 2.0 * planning.as_secs_f64() + drawing(plan)? + SECONDS_PER_QUERY * queries;
        let measured = plan
            .measurements()
            .iter()
            .fold(AttributeSet::EMPTY, |all, measurement| all.union(measurement.attributes));
        let sizes = plan.plan().schema().sizes();
        let cells = |attributes: AttributeSet| {
            attributes.select(&sizes).iter().map(|size| *size as f64).product::<f64>()
        };
        let cells = plan.measurements().iter().map(|m| cells(m.attributes)).sum();
        let mb = memory_mb(plan, workload, counting_bytes(&sizes, measured, cells) / 1e6);
        let bytes_per_record = bytes_per_record(&sizes, measured);
        Ok(Forecast { seconds, memory: Memory { mb, bytes_per_record } })
    }
}

/// Returns the memory of the values of some attributes of one record.
fn bytes_per_record(sizes: &[usize], attributes: AttributeSet) -> usize {
    let bytes = |p: usize| match sizes[p] {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    attributes.positions().map(bytes).sum()
}

impl Memory {
    /// Returns an upper estimate for a staged release, whatever the records.
    pub(super) fn of_staged(plan: &StagedPlan, records: Option<RecordCount>) -> Self {
        let (max_questions, max_integers) = plan.max_measured();
        let bytes = BYTES_PER_PUBLISHED_CELL * plan.published_cells()
            + BYTES_PER_STAGED_INTEGER * max_integers
            + BYTES_PER_QUESTION * max_questions as f64
            + records.map_or(0, |count| count.bytes(plan.schema())) as f64;
        let sizes = plan.schema().sizes();
        let counting = counting_bytes(&sizes, plan.attributes(), plan.published_cells());
        Memory {
            mb: STAGED_BASE_MB + (bytes + counting) / 1e6 + MB_PER_MB_OF_MODEL * plan.model_mb(),
            bytes_per_record: bytes_per_record(&sizes, plan.attributes()),
        }
    }
}

/// Returns the expected seconds to draw the plan's noise, from timing a discarded sample.
fn drawing(plan: &IntegerPlan) -> matmech::error::Result<f64> {
    let Some(largest) = plan.measurements().iter().max_by_key(|m| m.strategy.rows()) else {
        return Ok(0.0);
    };
    let started = Instant::now();
    OperatingSystemNoise::new().add(&mut [0; SAMPLES], largest.deviation)?;
    Ok(started.elapsed().as_secs_f64() / SAMPLES as f64 * plan.answers() as f64)
}

/// Returns the larger of the peak memory of planning and the expected memory of the answers, in MB,
/// with that of counting.
fn memory_mb(plan: &IntegerPlan, workload: &GroupedWorkload, counting_mb: f64) -> f64 {
    let mut factors = HashMap::new();
    for factor in plan.measurements().iter().flat_map(|m| m.strategy.factors()) {
        factors.insert(Arc::as_ptr(factor), factor.cells() as f64);
    }
    let strategies: f64 = factors.values().map(|cells| BYTES_PER_ENTRY * cells * cells).sum();
    let words = |group: &QueryGroup| match group.queries() {
        GroupQueries::Joint(_) => 0.0,
        GroupQueries::Product(families) => {
            let rows = families
                .iter()
                .zip(group.sizes())
                .map(|(family, n)| family.count(&[*n]).map_or(0.0, QueryCount::as_f64));
            BYTES_PER_NAME * rows.sum::<f64>()
        }
    };
    let group = |group: &QueryGroup| BYTES_PER_ANSWER * group.count().as_f64() + words(group);
    let largest = workload.groups().iter().map(group).fold(0.0, f64::max);
    let answers = BASE_MB
        + counting_mb
        + (strategies + BYTES_PER_INTEGER * plan.answers() as f64 + largest) / 1e6;
    answers.max(crate::process::peak_mb().unwrap_or(0.0))
}
