//! `matmech draft-schema`: drafts a schema from a table. **Not private** without `--private`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::output;
use crate::release::steps::Bars;
use crate::release::{UnitArguments, WaitingArguments};
use matmech::release::shortest;
use matmech_app::budget::Budget;
use matmech_app::data::Data;
use matmech_app::draft_schema::{MAX_VALUES, draft_schema};
use matmech_app::private_draft::{BINS, PrivateDraft, PrivateDraftReport, rho_of};
use matmech_app::release::Files;

/// Arguments of `matmech draft-schema`.
#[derive(Debug, Args)]
pub(super) struct DraftSchemaCommand {
    /// Records: CSV with a header, or Parquet
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    data: Option<PathBuf>,
    /// Maximum distinct values of a column that are listed; columns with more texts are left out
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_VALUES as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    max_values: u32,
    /// File to write; must not exist [default: standard output]
    #[arg(long, value_name = "FILE", conflicts_with = "private")]
    output: Option<PathBuf>,
    /// PRIVATE: draft bins for --column and values for --open from noisy counts, charged to a ledger
    ///
    /// Two releases are made per --column, one per --open. No record is dropped: all other values are
    /// in cells of their own.
    #[arg(long)]
    private: bool,
    /// Column of numbers that gets bins; repeat it for more
    #[arg(long, value_name = "COLUMN", requires = "private")]
    column: Vec<String>,
    /// Column of texts whose values are listed if enough records have them; repeat it for more
    #[arg(long, value_name = "COLUMN", requires = "private", requires = "new_delta")]
    open: Vec<String>,
    /// Part of δ for --open: probability that any value is listed that only one person's records have
    #[arg(long, value_name = "DELTA", requires = "open", allow_negative_numbers = true)]
    new_delta: Option<f64>,
    /// Maximum bins of a column
    #[arg(long, value_name = "N", default_value_t = BINS, requires = "private",
        value_parser = clap::value_parser!(u32).range(2..=500))]
    bins: u32,
    /// Ledger to charge
    #[arg(long, value_name = "FILE", requires = "private")]
    ledger: Option<PathBuf>,
    /// Folder to write with --private: schema.toml and the releases; must not exist
    #[arg(long, value_name = "DIR", requires = "private")]
    out: Option<PathBuf>,
    /// ε of (ε, δ)-differential privacy, for all columns together
    #[arg(long, allow_negative_numbers = true, requires = "private")]
    epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy, with --new-delta as a part
    #[arg(long, allow_negative_numbers = true, requires = "private")]
    delta: Option<f64>,
    /// ρ of ρ-zero-concentrated differential privacy, for all columns together
    #[arg(long, allow_negative_numbers = true, requires = "private")]
    rho: Option<f64>,
    #[command(flatten)]
    unit: UnitArguments,
    #[command(flatten)]
    waiting: WaitingArguments,
    /// Print the cost of --private; read no data, charge no ledger, write nothing
    #[arg(long, requires = "private")]
    dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long, requires = "private")]
    json: bool,
}

impl DraftSchemaCommand {
    /// Returns whether nothing may depend on the records except through noise.
    pub(super) fn is_private(&self) -> bool {
        self.private
    }

    pub(super) fn run(&self) -> anyhow::Result<()> {
        if self.private {
            return self.run_private();
        }
        let Some(data) = &self.data else { anyhow::bail!("give --data") };
        let data = Data::File(data.clone());
        let text = draft_schema(&data, self.max_values as usize, self.output.as_deref())?;
        output::to_standard_output("the schema", |out| match &self.output {
            None => out.write_all(text.as_bytes()),
            Some(path) => writeln!(out, "written       {}   NOT PRIVATE", path.display()),
        })
    }

    fn run_private(&self) -> anyhow::Result<()> {
        let files = match (self.dry_run, &self.data, &self.ledger, &self.out) {
            (true, ..) => None,
            (false, Some(data), Some(ledger), Some(out)) => Some(Files {
                data: Data::File(data.clone()),
                ledger: ledger.clone(),
                out: out.clone(),
            }),
            _ => anyhow::bail!("give --data, --ledger and --out, or --dry-run"),
        };
        let DraftSchemaCommand { epsilon, delta, rho, new_delta, .. } = *self;
        let budget = Budget { privacy_cost: None, epsilon, delta, rho, mu: None };
        let draft = PrivateDraft {
            columns: self.column.clone(),
            open: self.open.clone(),
            bins: self.bins,
            rho: rho_of(budget, new_delta)?,
            delta,
            new_delta,
            unit: self.unit.unit(),
            person: self.unit.person(),
            waiting: self.waiting.waiting(),
            files,
        };
        output::write(&draft.run(&Bars::default())?, self.json, print)
    }
}

fn print(out: &mut dyn Write, report: &PrivateDraftReport) -> std::io::Result<()> {
    let [rho, each, epsilon, delta] =
        [report.rho, report.rho_of_release, report.epsilon, report.delta].map(shortest);
    writeln!(out, "privacy       epsilon {epsilon} at delta {delta}; rho {rho}")?;
    if report.new_delta > 0.0 {
        let new_delta = shortest(report.new_delta);
        writeln!(out, "              delta' {new_delta} of delta for values that are not public")?;
    }
    writeln!(out, "releases      {} of rho {each} each", report.releases)?;
    match &report.schema {
        None => writeln!(out, "dry run       no data read, nothing spent or written"),
        Some(path) => writeln!(out, "written       {path}"),
    }
}
