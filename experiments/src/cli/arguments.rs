//! Command-line options, parsed into validated types.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::config::{Part, Profile};
use crate::engine::{RunOptions, Shard};
use crate::error::EXIT_CODES;

/// Reproduces the tables and figures of the papers and compares them with the published values.
#[derive(Clone, Debug, Parser)]
#[command(name = "reproduce", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Arguments {
    /// Folder with configs/, data/, results/ and figures/
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub root: PathBuf,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of `reproduce`.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// List the experiments with expected time and memory, and what they reproduce
    List {
        /// Profile whose cost is listed
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Print a known value: ours, the verdict, its command and its explanation
    #[command(after_help = EXIT_CODES)]
    Show {
        /// Id of the value, such as s3-table2/Adult/2-way/RP+/rmse; results/COMPARISON.md has all
        id: String,
        /// Profile whose results are compared
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Run experiments; finished cells are read from the store
    #[command(after_help = EXIT_CODES)]
    Run {
        /// Config files (configs/s1/fig2.toml) or experiment ids (s1/fig2)
        #[arg(required = true, value_name = "CONFIG")]
        configs: Vec<String>,
        /// How much of each experiment to run
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Run only cells whose address contains KEY (repeatable), and print their values with
        /// the published values and verdicts
        #[arg(long, value_name = "KEY")]
        only: Vec<String>,
        /// Run only part I of N of each grid, such as 1/4. Parts share results/cells; parts that
        /// overlap cannot run at the same time
        #[arg(long, value_name = "I/N")]
        shard: Option<Shard>,
        /// Number of cells computed in parallel [default: number of cores]
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Recompute the selected cells even if they are stored
        #[arg(long)]
        fresh: bool,
        /// Refuse stored cells that were computed from different source code, instead of warning
        /// about them
        #[arg(long)]
        same_code: bool,
        /// Refuse experiments on tables that are missing and cannot be downloaded, instead of
        /// using stand-ins
        #[arg(long)]
        no_stand_ins: bool,
    },
    /// Run every experiment, draw the figures and compare with the published values
    #[command(after_help = EXIT_CODES)]
    All {
        /// Run only this part [default: both]
        #[arg(long, value_enum)]
        part: Option<Part>,
        /// How much of each experiment to run
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Number of cells computed in parallel [default: number of cores]
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Recompute every cell even if it is stored
        #[arg(long)]
        fresh: bool,
        /// Refuse stored cells that were computed from different source code, instead of warning
        /// about them
        #[arg(long)]
        same_code: bool,
        /// Refuse experiments on tables that are missing and cannot be downloaded, instead of
        /// using stand-ins; all others run
        #[arg(long)]
        no_stand_ins: bool,
    },
    /// Compare the results with the published values, one verdict per value
    #[command(after_help = EXIT_CODES)]
    Compare {
        /// Profile whose results are compared
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Draw the figures from the results
    Figures {
        /// Experiment ids (s1/fig2) or figures (s1/ours-fig3b) [default: all]
        ids: Vec<String>,
        /// Profile whose results are drawn
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Compare two folders of results. Values that are determined by config and seed must be
    /// identical; times and memory are ignored or compared within a factor
    #[command(after_help = EXIT_CODES)]
    Diff {
        /// First folder of results, such as results/ or results/quick/
        first: PathBuf,
        /// Second folder of results
        second: PathBuf,
        /// Maximum factor between times, memory and ratios of times [default: unlimited]
        #[arg(long, value_name = "FACTOR")]
        costs_within: Option<f64>,
    },
    /// Write the tables of README.md, docs/ and results/*/README.md from the results
    #[command(after_help = EXIT_CODES)]
    Pages,
    /// Check the results against their provenance: config, data, lock file, sources, columns, cells
    /// and certificates
    #[command(after_help = EXIT_CODES)]
    Verify {
        /// Profile whose results are checked
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Also prove every lower bound again from the certificates next to the tables, without
        /// any solver
        #[arg(long)]
        proofs: bool,
        /// Check only pages and relations between values, for results of any version of the program
        #[arg(long, conflicts_with_all = ["proofs", "profile"])]
        pages: bool,
    },
    /// Find data sets in $MATMECH_DATA, data/tables or data/downloads, or download them, and check
    /// their SHA-256
    Data {
        /// Data sets of data/manifest.toml [default: all]
        names: Vec<String>,
    },
}

/// Returns the options of the engine. Without `jobs`, it uses all cores.
pub(super) fn run_options(
    jobs: Option<NonZeroUsize>,
    only: &[String],
    shard: Option<Shard>,
    fresh: bool,
    same_code: bool,
) -> RunOptions {
    let default = RunOptions::default();
    RunOptions { jobs: jobs.unwrap_or(default.jobs), only: only.to_vec(), shard, fresh, same_code }
}
