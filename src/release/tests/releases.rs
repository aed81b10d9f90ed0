//! Releases of plans with noise of a deterministic stream.

use super::*;

/// Returns a plan on a schema of numeric attributes with these sizes, for a workload in TOML.
///
/// Its cost is checked against the written integers.
pub(super) fn plan_of(
    planner: &str,
    sizes: &[usize],
    workload: &str,
    budget: f64,
    unit: PrivacyUnit,
) -> (GroupedWorkload, IntegerPlan) {
    plan_over(planner, &schema(sizes), workload, budget, unit)
}

/// Returns a plan on a schema, as [`plan_of`].
pub(super) fn plan_over(
    planner: &str,
    schema: &Schema,
    workload: &str,
    budget: f64,
    unit: PrivacyUnit,
) -> (GroupedWorkload, IntegerPlan) {
    let sizes = &schema.sizes();
    let workload =
        GroupedWorkload::from_toml(schema, workload, "W.toml", std::path::Path::new("")).unwrap();
    let rho = rho(budget);
    let plan =
        crate::planner::by_name(planner).unwrap().plan(&workload, rho.privacy_cost()).unwrap();
    let plan = IntegerPlan::of(&plan, &workload, rho, unit).unwrap();
    let written =
        cost::strategies_of(&released(&plan, &records_of(workload.schema(), &rows(sizes)), 1));
    assert!(
        cost::agrees(plan.cost(), &cost::recomputed(&written, unit), plan.is_attained()),
        "{planner} on {sizes:?}"
    );
    (workload, plan)
}

/// Returns sources without input files.
pub(in crate::release) fn sources(schema: &str) -> Sources<'_> {
    static NONE: std::sync::LazyLock<Inputs> = std::sync::LazyLock::new(Inputs::default);
    Sources { schema, inputs: &NONE }
}

/// Returns the text of a schema with these sizes.
pub(in crate::release) fn schema_text(sizes: &[usize]) -> String {
    let entry = |(k, n): (usize, &usize)| {
        format!("[[attribute]]\nname = \"A{}\"\nsize = {n}\nkind = \"numeric\"\n", k + 1)
    };
    sizes.iter().enumerate().map(entry).collect()
}

/// Records with these values.
pub(in crate::release) fn records_of(schema: &Schema, rows: &[Vec<u32>]) -> Records {
    let column = |p: usize| rows.iter().map(|row| row[p]).collect::<Column>();
    Records::new(schema, (0..schema.attributes().len()).map(column).collect()).unwrap()
}

/// Returns ten records of dependent attributes.
pub(in crate::release) fn rows(sizes: &[usize]) -> Vec<Vec<u32>> {
    (0..10usize)
        .map(|k| sizes.iter().enumerate().map(|(p, n)| ((k * k + p * k) % n) as u32).collect())
        .collect()
}

/// Returns a release without file and ledger, with the noise of a deterministic stream.
pub(super) fn released(plan: &IntegerPlan, records: &Records, seed: u64) -> Measurements {
    let sizes = plan.plan().schema().sizes();
    // Tests reserve the cost of the plan, rounded up to a double.
    let reservation = Reservation::unwritten(plan.cost().rounded_up().unwrap(), plan.unit());
    let noise = ReleaseNoise::of_counter(seed);
    run::measure(
        plan,
        statement_of(plan),
        sources(&schema_text(&sizes)),
        records,
        &reservation,
        noise,
    )
    .unwrap()
}

/// Returns a statement without ledger, made once; the measurements do not depend on its plan.
pub(super) fn statement_of(plan: &IntegerPlan) -> Statement {
    static STATEMENT: std::sync::OnceLock<Statement> = std::sync::OnceLock::new();
    let of_plan = || {
        let rho = plan.cost().rounded_up().unwrap();
        let terms = Terms { rho, delta: 1e-9, rule: OutOfDomain::Drop, person: None };
        Statement::of(plan, terms, "", "", None).unwrap()
    };
    STATEMENT.get_or_init(of_plan).clone()
}

/// Prefix queries on one attribute and identity queries on another.
pub(super) const PREFIX_AND_IDENTITY: &str = "[[queries]]\nfamily = \"prefix\"\nattributes = [\"A1\"]\n\
                                   [[queries]]\nfamily = \"identity\"\nattributes = [\"A2\"]\n";

/// The workload of the tests of distributions: total, a rounded strategy, a strategy without
/// rounding, and a product of both.
pub(super) const SMALL: &str = "[[queries]]\nfamily = \"prefix\"\nattributes = [\"A1\"]\n\
                     [[queries]]\nfamily = \"identity\"\nattributes = [\"A2\"]\n\
                     [[queries]]\nfamily = \"range\"\nattributes = [\"A1\", \"A2\"]\n";
