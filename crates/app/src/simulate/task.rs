//! The task of a simulation, and its run.

use super::report::SimulateReport;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::trial::Setting;
use matmech::data::{CodedTable, Records};
use matmech::error::{Error, Result};
use matmech::mechanism::{self, Mechanism};
use matmech::privacy::PrivacyBudget;
use matmech::workload::GroupedWorkload;

/// Returns the mechanism of a text with the options of flags. Synthetic records need a run that
/// ends with a model; for `aim-hybrid`, this turns off the switch to ResidualPlanner.
///
/// # Errors
/// An unknown mechanism or option, or a mechanism without a model if `synthetic`.
pub fn mechanism_of(
    text: &str,
    flags: &[(&str, Option<&str>)],
    synthetic: bool,
) -> Result<Box<dyn Mechanism>> {
    let mechanism = mechanism::with_flags(text, flags)?;
    if !synthetic || mechanism.ends_with_model() {
        return Ok(mechanism);
    }
    let found = format!("`{text}`");
    if !mechanism.options().contains(&"switch") {
        let expected = "a mechanism that fits a model: staged, aim-hybrid or aim-pgm";
        let remedy = "use one of these, or drop --synthetic";
        return Err(Error::bad_input("--synthetic", expected, found, remedy));
    }
    let mut flags = flags.to_vec();
    flags.push(("switch", Some("0")));
    mechanism::with_flags(text, &flags).map_err(|_| {
        let expected = "no option `switch`, or `switch=0`: runs without a model have no synthetic \
                        records";
        let remedy = "drop the option `switch`, or drop --synthetic";
        Error::bad_input("--synthetic", expected, found, remedy)
    })
}

/// What is simulated.
#[derive(Debug)]
pub struct Task<'a> {
    /// The mechanism.
    pub mechanism: &'a dyn Mechanism,
    /// The queries.
    pub workload: &'a GroupedWorkload,
    /// The source of the queries, for error messages.
    pub origin: &'a str,
    /// The budget of a run.
    pub budget: PrivacyBudget,
    /// The number of runs.
    pub trials: usize,
    /// The seed of the noise.
    pub seed: u64,
    /// Whether to draw synthetic records from the model of the last run.
    pub synthetic: bool,
}

/// Runs the mechanism on a table, which is read after everything else is checked.
///
/// The synthetic records are as many as the model's estimated total.
///
/// # Errors
/// An invalid budget, no trial, a mechanism that does not accept the workload, or a table that
/// cannot be read.
pub fn simulate(
    task: &Task<'_>,
    read: impl FnOnce() -> Result<CodedTable>,
) -> Result<(SimulateReport, Option<Records>)> {
    let Task { mechanism, workload, .. } = *task;
    let rho = task.budget.rho()?;
    if task.trials == 0 {
        let remedy = "drop the option for a single run";
        return Err(Error::bad_input("--trials", "at least 1", "0", remedy));
    }
    mechanism.accepts(workload).map_err(|error| error.located(task.origin))?;
    let expected = mechanism.expected(workload, rho)?;
    let table = read()?;
    let setting = Setting::new(workload, &table.records, rho)?;
    let mut rng = ChaCha20Rng::seed_from_u64(task.seed);
    let (mut trials, mut model) = (Vec::new(), None);
    for _ in 0..task.trials {
        let mut trial = setting.run(mechanism, &mut ChaCha20Rng::from_rng(&mut rng))?;
        // Only the last model is used, and a model can be large.
        model = trial.report.model.take();
        trials.push(trial);
    }
    let records = match (task.synthetic, &model) {
        (false, _) => None,
        (true, None) => {
            return Err(Error::bug("--synthetic", "a run that ends with a model", "none"));
        }
        (true, Some(model)) => {
            let count = model.total().round().max(1.0) as usize;
            Some(model.records(workload.schema(), count, &mut rng)?)
        }
    };
    let neighbours = task.budget.neighbours;
    let report = SimulateReport::new(
        mechanism.name(),
        neighbours,
        &table,
        &setting,
        &expected,
        &trials,
        task.seed,
    );
    Ok((report, records))
}
