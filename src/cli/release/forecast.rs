//! The time and memory that a release will take, from the schema and the workload alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::domain::AttributeSet;
use crate::privacy::OperatingSystemNoise;
use crate::release::IntegerPlan;
use crate::workload::{GroupQueries, GroupedWorkload, QueryCount, QueryGroup};

/// Noise that is drawn to learn how long drawing takes.
const SAMPLE: usize = 2000;

/// Seconds to estimate and write the answer to a query.
const SECONDS_PER_QUERY: f64 = 4e-6;

/// What every process has.
const BASE_MB: f64 = 15.0;

/// Per entry of a strategy's matrix: integers, doubles, covariance, and what they are written from.
const BYTES_PER_ENTRY: f64 = 48.0;

/// A noisy integer, its text, and its estimate.
const BYTES_PER_INTEGER: f64 = 40.0;

/// An answer with its errors.
const BYTES_PER_ANSWER: f64 = 56.0;

/// A query on one attribute, in words.
const BYTES_PER_NAME: f64 = 130.0;

#[derive(Debug)]
pub(super) struct Forecast {
    pub seconds: f64,
    pub mb: f64,
    /// Memory on top for every record.
    pub bytes_per_record: usize,
}

impl Forecast {
    /// Before any data is opened: the time and the memory of planning are known by now.
    pub(super) fn of(
        plan: &IntegerPlan,
        workload: &GroupedWorkload,
        planning: Duration,
    ) -> crate::Result<Self> {
        let queries = plan.plan().queries().as_f64();
        let seconds = 2.0 * planning.as_secs_f64() + drawing(plan)? + SECONDS_PER_QUERY * queries;
        let measured = plan
            .measurements()
            .iter()
            .fold(AttributeSet::EMPTY, |all, own| all.union(own.attributes));
        let sizes = plan.plan().schema().sizes();
        let bytes = |p: usize| match sizes[p] {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        let bytes_per_record = measured.positions().map(bytes).sum();
        let mb = memory_mb(plan, workload);
        Ok(Forecast { seconds, mb, bytes_per_record })
    }
}

/// Seconds that the plan's noise will take, from a sample of it that is thrown away.
fn drawing(plan: &IntegerPlan) -> crate::Result<f64> {
    let Some(largest) = plan.measurements().iter().max_by_key(|own| own.strategy.rows()) else {
        return Ok(0.0);
    };
    let started = Instant::now();
    OperatingSystemNoise::new().add(&mut [0; SAMPLE], largest.deviation)?;
    Ok(started.elapsed().as_secs_f64() / SAMPLE as f64 * plan.answers() as f64)
}

/// The larger of the memory of planning, which the system tells, and that of the answers.
fn memory_mb(plan: &IntegerPlan, workload: &GroupedWorkload) -> f64 {
    let mut factors = HashMap::new();
    for factor in plan.measurements().iter().flat_map(|own| own.strategy.factors()) {
        factors.insert(Arc::as_ptr(factor), factor.rows().ncols() as f64);
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
    let answers =
        BASE_MB + (strategies + BYTES_PER_INTEGER * plan.answers() as f64 + largest) / 1e6;
    answers.max(crate::process::peak_mb().unwrap_or(0.0))
}
