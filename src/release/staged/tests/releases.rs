//! Staged releases with noise of a deterministic stream, and what they must have.

use super::*;
use crate::schema::Schema;

/// A plan with the texts of its schema and workload.
pub(super) struct Planned {
    pub(super) plan: StagedPlan,
    pub(super) statement: StagedStatement,
    pub(super) schema_text: String,
}

/// Returns the plan of a mechanism on numeric attributes of these sizes.
pub(super) fn planned(
    sizes: &[usize],
    workload: &str,
    mechanism: &str,
    budget: f64,
    unit: PrivacyUnit,
    share: f64,
) -> Planned {
    planned_over(&schema(sizes), schema_text(sizes), workload, mechanism, budget, unit, share)
}

/// Returns the plan of a mechanism on a schema with its text.
pub(super) fn planned_over(
    schema: &Schema,
    text: String,
    workload: &str,
    mechanism: &str,
    budget: f64,
    unit: PrivacyUnit,
    share: f64,
) -> Planned {
    let origin = std::path::Path::new("");
    let parsed = GroupedWorkload::from_toml(schema, workload, "W.toml", origin).unwrap();
    let settings = crate::mechanism::by_name(mechanism).unwrap().as_staged().unwrap();
    let rho = rho(budget);
    let plan = StagedPlan::of(settings, &parsed, rho, unit, share).unwrap();
    let terms = Terms { rho, delta: 1e-9, rule: OutOfDomain::Drop, person: None };
    let queries = parsed.count().to_string();
    let statement = StagedStatement::of(&plan, terms, queries, &text, workload).unwrap();
    Planned { plan, statement, schema_text: text }
}

/// Returns a release without file and ledger, with the noise of a deterministic stream.
pub(super) fn released(
    planned: &Planned,
    records: &dyn crate::access::CountSource,
    seed: u64,
) -> StagedMeasurements {
    let Planned { plan, statement, schema_text } = planned;
    let mut measured = empty(plan, statement.clone(), sources(schema_text));
    let reservation = Reservation::unwritten(plan.rho(), plan.unit());
    let noise = ReleaseNoise::of_counter(seed);
    measure(plan, &mut measured, records, &reservation, noise, &mut |_| Ok(())).unwrap();
    measured
}

/// Returns the cells of a marginal.
pub(super) fn counts(records: &Records, set: crate::domain::AttributeSet) -> Vec<u32> {
    records.marginal(set).unwrap().iter().map(|x| *x as u32).collect()
}

/// Returns Σ |2^bits x − t| by the definition.
pub(super) fn distance(
    records: &Records,
    set: crate::domain::AttributeSet,
    t: &[i64],
    bits: u32,
) -> i128 {
    let cells = counts(records, set).into_iter().zip(t);
    cells.map(|(x, t)| (i128::from(x) * (1 << bits) - i128::from(*t)).abs()).sum()
}

/// Returns whether every stage asks what the plan asks after the written answers of earlier stages.
///
/// A plan that used anything but written integers would ask something else.
pub(super) fn is_replayed(plan: &StagedPlan, measured: &StagedMeasurements) -> bool {
    let mut residuals = plan.residuals();
    let mut left = plan.budget_of_stages().unwrap();
    let mut stages = measured.stages.iter();
    let mut is_same = true;
    let _ = plan.stages().run(&mut |_, list| {
        let ended = || crate::Error::bug("replay", "another stage", "none");
        let stage = stages.next().ok_or_else(ended)?;
        let expected = residuals.measurements(list, &plan.share_of(list, &left)?)?;
        let questions: Vec<_> = expected.iter().map(IntegerMeasurement::question).collect();
        let cost = crate::access::IntegerQuestion::joint_cost(&questions, plan.unit())?.rho;
        left = left.minus(&cost).unwrap();
        let agrees = |(a, (b, _)): (&IntegerMeasurement, &(IntegerMeasurement, Vec<i128>))| {
            let rows = |m: &IntegerMeasurement| -> Vec<_> {
                m.strategy.factors().iter().map(|factor| factor.rows().into_owned()).collect()
            };
            (a.attributes, a.deviation, rows(a)) == (b.attributes, b.deviation, rows(b))
        };
        is_same &= expected.len() == stage.len() && expected.iter().zip(stage).all(agrees);
        if !is_same {
            return Err(ended());
        }
        Ok(measurements::answers_of(stage))
    });
    is_same && stages.next().is_none()
}

/// Returns whether the noisy distances are those of the published marginals, with the noise that
/// follows the noise of the stages in the deterministic stream.
pub(super) fn is_exact(records: &Records, measured: &StagedMeasurements, seed: u64) -> bool {
    let mut noise = ReleaseNoise::of_counter(seed);
    for (measurement, noisy) in measured.stages.iter().flatten() {
        noise.add(&mut vec![0; noisy.len()], measurement.deviation).unwrap();
    }
    let certificate = measured.certificate.as_ref().unwrap();
    let bits = certificate.noise.bits;
    let exact: Vec<i128> =
        certificate.marginals.iter().map(|(set, t)| distance(records, *set, t, bits)).collect();
    let (mut distances, mut sum) = (exact.clone(), [exact.iter().sum::<i128>()]);
    noise.add(&mut distances, certificate.noise.each).unwrap();
    noise.add(&mut sum, certificate.noise.sum).unwrap();
    distances == certificate.distances && sum[0] == certificate.sum_of_distances
}

/// All marginals on one and two attributes.
pub(super) const PAIRS: &str = "[[queries]]\nfamily = \"identity\"\nways = [1, 2]\n";
