//! `plan`, `simulate`, `release`, `answer` and the ledger.

use std::path::{Path, PathBuf};

use matmech::data::table::FieldCounts;
use matmech::data::{OutOfDomain, PersonLimit, read_table, write_csv};
use matmech::privacy::{Neighbours, PrivacyUnit};
use matmech::release::{Ledger, LockWait, Persons};
use matmech::schema::SchemaSource;
use matmech::{Error, Result};
use matmech_app::answer::Answer;
use matmech_app::budget::Budget;
use matmech_app::check_data::check_data as check_table;
use matmech_app::comparison::{Axes, compare as compare_plans};
use matmech_app::error_target::{Limit, Target};
use matmech_app::ledger::LedgerReport;
use matmech_app::plan::{plan as plan_measurements, plan_for_target};
use matmech_app::release::{DELTA, Files, Guess, Release};
use matmech_app::simulate::{Task, mechanism_of, simulate as run_simulation};
use matmech_app::target::Source;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::mechanism::{Chosen, Custom, Raised};
use crate::solve::{Flags, borrowed, json};
use crate::table::{self, Records};
use crate::work::{self, Outcome};

/// ε, δ, ρ, μ and β, of which those of one notion are given.
pub(crate) type Parameters = (Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

pub(crate) fn budget_of((epsilon, delta, rho, mu, privacy_cost): Parameters) -> Budget {
    Budget { privacy_cost, epsilon, delta, rho, mu }
}

/// A schema: a path, or a text if `is_text`.
type Text = (String, bool);

fn schema_of((text, is_text): Text) -> SchemaSource {
    match is_text {
        true => SchemaSource::Text(text),
        false => SchemaSource::File(text.into()),
    }
}

/// Queries: a path, a text, or numbers of attributes.
type Queries = (Option<Text>, Vec<usize>);

fn source_of((text, ways): Queries) -> Source {
    match text {
        None => Source::Ways(ways),
        Some((text, true)) => Source::Text(text),
        Some((path, false)) => Source::File(path.into()),
    }
}

/// The limit of the error and whether it is of 95 % intervals, δ, and the records per person.
type TargetNumbers = (f64, bool, f64, u32);

fn target_of((limit, is_interval, delta, unit_rows): TargetNumbers) -> Target {
    let limit = if is_interval { Limit::Interval(limit) } else { Limit::Rmse(limit) };
    Target { limit, delta, unit_rows }
}

/// `matmech plan`: the report as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn plan(
    py: Python<'_>,
    schema: Text,
    queries: Queries,
    planner: String,
    flags: Flags,
    budget: Parameters,
    target: Option<TargetNumbers>,
    global_bound: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String,)>> {
    work::run(py, progress, move || {
        let budget = budget_of(budget);
        if target.is_none() {
            budget.budget()?.privacy_cost()?;
        }
        let (schema, _) = schema_of(schema).read()?;
        let workload = source_of(queries).read_to_plan(&schema)?;
        let planner = matmech::planner::with_flags(&planner, &borrowed(&flags))?;
        let planner = planner.as_ref();
        let report = match target {
            None => plan_measurements(planner, &workload, &budget.budget()?, global_bound)?,
            Some(target) => plan_for_target(planner, &workload, &target_of(target), global_bound)?,
        };
        Ok((json(&report)?,))
    })
}

/// `matmech plan --compare`: the report as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn compare(
    py: Python<'_>,
    schema: Text,
    queries: Queries,
    planners: Vec<String>,
    flags: Flags,
    budget: Parameters,
    values: (Vec<f64>, Vec<f64>, Vec<f64>),
    unit_rows: Vec<u32>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String,)>> {
    work::run(py, progress, move || {
        let (epsilon, delta, rho) = values;
        let axes = Axes { epsilon, delta, rho, unit_rows, planners };
        let budgets = axes.budgets(budget_of(budget), DELTA)?;
        let planners = axes.planners("query-smasher", &borrowed(&flags))?;
        let (schema, _) = schema_of(schema).read()?;
        let workload = source_of(queries).read_to_plan(&schema)?;
        Ok((json(&compare_plans(&workload, &axes, &planners, &budgets)?)?,))
    })
}

/// `matmech simulate`: the report as JSON; synthetic records go to a CSV file.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn simulate(
    py: Python<'_>,
    schema: Text,
    records: Records<'_>,
    queries: Queries,
    mechanism: Chosen,
    flags: Flags,
    budget: Parameters,
    trials: usize,
    seed: u64,
    out_of_domain: String,
    synthetic: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String,)>> {
    let data = table::data_of(py, records)?;
    let raised = Raised::default();
    let of_mechanism = raised.clone();
    let outcome = work::run(py, progress, move || {
        let data = table::required(data)?;
        let mechanism = match mechanism {
            Chosen::Named(text) => mechanism_of(&text, &borrowed(&flags), synthetic.is_some())?,
            Chosen::Custom((name, function)) => Box::new(Custom::new(name, function, of_mechanism)),
        };
        let budget = budget_of(budget).budget()?;
        let (schema, _) = schema_of(schema).read()?;
        let source = source_of(queries);
        let (workload, _) = source.read(&schema)?;
        let rule = OutOfDomain::of_name(&out_of_domain)?;
        let origin = source.origin();
        let task = Task {
            mechanism: mechanism.as_ref(),
            workload: &workload,
            origin: &origin,
            budget,
            trials,
            seed,
            synthetic: synthetic.is_some(),
        };
        let (report, records) =
            run_simulation(&task, || read_table(data.open(FieldCounts::Equal)?, &schema, rule))?;
        if let (Some(path), Some(records)) = (&synthetic, &records) {
            write_csv(path, &schema, records)?;
        }
        Ok((json(&report)?,))
    });
    // The exception of the mechanism, instead of the error that it became.
    match raised.lock().ok().and_then(|mut raised| raised.take()) {
        Some(exception) => Err(exception),
        None => outcome,
    }
}

/// Reads an option of a dictionary; the interface has set all of them.
pub(crate) fn option<'py, T: FromPyObjectOwned<'py>>(
    options: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let value = options.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
    value.extract().map_err(Into::into)
}

pub(crate) fn unit_of(neighbours: &str, rows: u32) -> Result<PrivacyUnit> {
    let neighbours = match neighbours {
        "add-remove" => Neighbours::AddOrRemoveOneRecord,
        "replace" => Neighbours::ReplaceOneRecord,
        other => {
            return Err(Error::bad_input(
                "neighbours",
                "add-remove or replace",
                format!("`{other}`"),
                "leave it out for add-remove",
            ));
        }
    };
    if !(1..=1_000_000).contains(&rows) {
        return Err(Error::bad_input(
            "unit_rows",
            "a number of records from 1 to 1000000",
            rows.to_string(),
            "give the maximum number of records per person",
        ));
    }
    Ok(PrivacyUnit { neighbours, rows, distinct: None })
}

pub(crate) fn waiting(seconds: u32) -> LockWait {
    LockWait { limit: std::time::Duration::from_secs(seconds.into()), ..LockWait::default() }
}

/// `matmech release`: the report as JSON. Noise is from the operating system; there is no seed.
#[pyfunction]
pub(crate) fn release(
    py: Python<'_>,
    schema: Text,
    queries: Queries,
    records: Records<'_>,
    budget: Parameters,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String,)>> {
    let neighbours: String = option(options, "neighbours")?;
    let unit_rows: u32 = option(options, "unit_rows")?;
    let out_of_domain: String = option(options, "out_of_domain")?;
    let synthetic: Option<String> = option(options, "records")?;
    let rest: bool = option(options, "rest")?;
    let reference: Option<PathBuf> = option(options, "reference")?;
    let ledger: Option<PathBuf> = option(options, "ledger")?;
    let out: Option<PathBuf> = option(options, "out")?;
    let files = match (table::data_of(py, records)?, ledger, out) {
        (Some(data), Some(ledger), Some(out)) => Some(Files { data, ledger, out }),
        _ => None,
    };
    let budget = budget_of(budget);
    let prepared = || -> Result<_> {
        Ok((
            budget.release_rho(rest)?,
            unit_of(&neighbours, unit_rows)?,
            OutOfDomain::of_name_for_private(&out_of_domain)?,
            synthetic.as_deref().map(str::parse).transpose()?,
        ))
    };
    let (rho, unit, rule, records) = prepared().map_err(|error| errors::exception(py, &error))?;
    let release = Release {
        schema: schema_of(schema),
        target: source_of(queries),
        rho,
        delta: budget.delta,
        unit,
        person: option(options, "person")?,
        distinct: option(options, "distinct")?,
        after: option(options, "after")?,
        planner: option(options, "planner")?,
        objective: option(options, "objective")?,
        mechanism: option(options, "mechanism")?,
        certificate: option(options, "certificate")?,
        out_of_domain: rule,
        waiting: waiting(option(options, "wait")?),
        adjust: option(options, "adjust")?,
        records,
        guess: option::<Option<u32>>(options, "records_guess")?
            .map(|records| Guess { records, reference }),
        files,
    };
    work::run_release(py, progress, move |steps| Ok((json(&release.run(steps)?)?,)))
}

/// `matmech answer`: the report as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn answer(
    py: Python<'_>,
    measurements: PathBuf,
    queries: Option<Queries>,
    out: PathBuf,
    adjust: bool,
    statement: bool,
    report: bool,
    records: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String,)>> {
    let records = records.as_deref().map(str::parse).transpose();
    let answer = Answer {
        measurements,
        workload: queries.map(source_of),
        out,
        adjust,
        statement,
        report,
        records: records.map_err(|error| errors::exception(py, &error))?,
    };
    work::run_release(py, progress, move |steps| Ok((json(&answer.run(steps)?)?,)))
}

/// Returns the names of the columns that a schema and the person need.
#[pyfunction]
pub(crate) fn column_names(
    py: Python<'_>,
    schema: Text,
    person: Option<String>,
) -> PyResult<Vec<String>> {
    let read = schema_of(schema).read().map_err(|error| errors::exception(py, &error));
    Ok(table::names(&read?.0, person))
}

/// Returns the names of the columns of records with the values that each can have.
#[pyfunction]
pub(crate) fn column_values<'py>(
    py: Python<'py>,
    schema: Text,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let read = schema_of(schema).read().map_err(|error| errors::exception(py, &error));
    table::values(py, &read?.0)
}

/// `matmech check-data`: the report as JSON.
#[pyfunction]
pub(crate) fn check_data(
    py: Python<'_>,
    schema: Text,
    records: Records<'_>,
    out_of_domain: &str,
    person: Option<String>,
    rows: u32,
    distinct: Option<String>,
) -> PyResult<String> {
    let data = table::data_of(py, records)?;
    let check = || {
        let (schema, _) = schema_of(schema).read()?;
        let rule = OutOfDomain::of_name(out_of_domain)?.unwrap_or(OutOfDomain::Drop);
        let person = person.map(|column| PersonLimit { column, rows, distinct });
        json(&check_table(&table::required(data)?, &schema, rule, person)?)
    };
    work::guarded(py, || py.detach(check).map_err(|error| errors::exception(py, &error)))
}

/// `matmech ledger create`: the balance as JSON.
#[pyfunction]
pub(crate) fn create_ledger(
    py: Python<'_>,
    path: PathBuf,
    budget: Parameters,
    neighbours: &str,
    unit_rows: u32,
    person: Option<String>,
    distinct: Option<String>,
) -> PyResult<String> {
    let budget = budget_of(budget);
    let create = || {
        let unit = unit_of(neighbours, unit_rows)?;
        let persons = Persons { column: person.as_deref(), distinct: distinct.as_deref() };
        let ledger = Ledger::create_for(&path, (budget.rho()?, budget.delta), unit, persons)?;
        json(&LedgerReport::of(&ledger, None)?)
    };
    create().map_err(|error| errors::exception(py, &error))
}

/// `matmech ledger show`: the balance as JSON.
#[pyfunction]
pub(crate) fn show_ledger(
    py: Python<'_>,
    path: PathBuf,
    delta: Option<f64>,
    wait: u32,
    release: Option<PathBuf>,
) -> PyResult<String> {
    let show = |path: &Path| {
        let ledger = Ledger::open(path, waiting(wait))?;
        let report = LedgerReport::of(&ledger, delta)?;
        json(&match &release {
            None => report,
            Some(folder) => report.with_release(&ledger, folder)?,
        })
    };
    py.detach(|| show(&path)).map_err(|error| errors::exception(py, &error))
}
