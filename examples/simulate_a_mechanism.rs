//! Compares every mechanism's observed error on synthetic records with its expected error.
//!
//! The noise is seeded and errors are computed from the true answers: an experiment, not a private
//! release.
//!
//! ```sh
//! cargo run --release --example simulate_a_mechanism
//! ```

use std::error::Error;
use std::io::Write;

use matmech::{
    Family, GroupFamily, GroupedWorkload, Guarantee, PrivacyBudget, PrivateTable, Records, Schema,
    mechanisms,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

const TRIALS: u32 = 40;

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}

/// Writes the program's output to `out`, so that a test can read it.
pub fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // Five attributes of 8 values. A value is that of the previous attribute, or uniformly random
    // with probability 1/4.
    let schema = Schema::uniform(8, 5)?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut values = vec![0; 5000];
    let columns = [1.0, 0.25, 0.25, 0.25, 0.25].map(|probability| {
        for value in &mut values {
            *value = if rng.random_bool(probability) { rng.random_range(0..8) } else { *value };
        }
        values.iter().copied().collect()
    });
    let records = Records::new(&schema, columns.to_vec())?;

    let workload =
        GroupedWorkload::all_ways(schema, &GroupFamily::Product(Family::IDENTITY), &[1, 2, 3])?;
    let answers = workload.count().as_f64();
    let budget = PrivacyBudget::from(Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 });
    let rho = budget.rho()?;
    writeln!(out, "workload    {} marginals, {answers} cells", workload.groups().len())?;
    writeln!(out, "budget      {budget}")?;
    writeln!(out, "rho         {:.12}", rho.get())?;
    for mechanism in mechanisms() {
        let name = mechanism.name();
        if let Err(reason) = mechanism.accepts(&workload) {
            writeln!(out, "{name}: {reason}")?;
            continue;
        }
        let (mut squared, mut spent) = (0.0, 0.0);
        for trial in 0..TRIALS {
            let mut noise = ChaCha20Rng::seed_from_u64(trial.into());
            let mut table = PrivateTable::of_records(&records, rho, &mut noise)?;
            mechanism.run(&workload, &mut table, &mut |index, answers| {
                let truth = records.marginal(workload.groups()[index].attributes())?;
                squared +=
                    answers.iter().zip(truth).map(|(answer, x)| (answer - x).powi(2)).sum::<f64>();
                Ok(())
            })?;
            spent = f64::max(spent, table.accountant().spent());
        }
        let observed = (squared / f64::from(TRIALS) / answers).sqrt();
        // Errors that depend on the data have no closed form.
        let expected = match mechanism.expected(&workload, rho)?.squared_error {
            Some(squared) => format!("{:.6}", (squared / answers).sqrt()),
            None => "unknown before the run".to_owned(),
        };
        writeln!(out, "{name:<17} rmse {observed:.4}  expected {expected}  spent {spent:.12}")?;
    }
    Ok(())
}
