//! Options, parsed into validated types.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::config::Profile;
use crate::engine::{RunOptions, Shard};
use crate::error::EXIT_CODES;

/// Reproduces the tables and figures of the papers, and compares them with what was published.
#[derive(Clone, Debug, Parser)]
#[command(name = "reproduce", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Arguments {
    /// Folder that holds configs/, data/, results/ and figures/
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub root: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// List the experiments: what each reproduces, its cells, expected time and memory
    List {
        /// Profile whose cells and cost are listed
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Run some experiments; finished cells are taken from the store
    #[command(after_help = EXIT_CODES)]
    Run {
        /// Config files (configs/s1/fig2.toml) or experiment ids (s1/fig2)
        #[arg(required = true, value_name = "CONFIG")]
        configs: Vec<String>,
        /// How much of each experiment
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Only cells whose address contains KEY; may be repeated
        #[arg(long, value_name = "KEY")]
        only: Vec<String>,
        /// Only part I of N of each grid, such as 1/4; parts share results/cells, and none that
        /// overlaps another may run beside it
        #[arg(long, value_name = "I/N")]
        shard: Option<Shard>,
        /// Cells computed at the same time [default: number of cores]
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Compute the selected cells anew even if they are stored
        #[arg(long)]
        fresh: bool,
        /// Refuse stored cells that other sources than this program's computed, instead of warning
        /// of them
        #[arg(long)]
        same_code: bool,
        /// Refuse experiments on tables that are not here and cannot be fetched, instead of taking
        /// stand-ins
        #[arg(long)]
        no_stand_ins: bool,
    },
    /// Run every experiment, draw the figures and compare with the published values
    #[command(after_help = EXIT_CODES)]
    All {
        /// How much of each experiment
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
        /// Cells computed at the same time [default: number of cores]
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Compute every cell anew even if it is stored
        #[arg(long)]
        fresh: bool,
        /// Refuse stored cells that other sources than this program's computed, instead of warning
        /// of them
        #[arg(long)]
        same_code: bool,
        /// Refuse experiments on tables that are not here and cannot be fetched, instead of taking
        /// stand-ins; all others run
        #[arg(long)]
        no_stand_ins: bool,
    },
    /// Compare the results with the published values: one verdict for each
    #[command(after_help = EXIT_CODES)]
    Compare {
        /// Profile whose results are compared
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Draw the figures from the results
    Figures {
        /// Profile whose results are drawn
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Compare two folders of results: what is a function of config and seed bit by bit, times and
    /// memory not at all or within a factor
    #[command(after_help = EXIT_CODES)]
    Diff {
        /// A folder of results, such as results/ or results/quick/
        first: PathBuf,
        /// Another one
        second: PathBuf,
        /// Times, memory and ratios of times may differ by this factor [default: by any]
        #[arg(long, value_name = "FACTOR")]
        costs_within: Option<f64>,
    },
    /// Write the tables of README.md and docs/ that are made of results
    #[command(after_help = EXIT_CODES)]
    Pages,
    /// Check the results against their provenance: config, data, lock file, sources, columns, cells
    /// and certificates
    #[command(after_help = EXIT_CODES)]
    Verify {
        /// Profile whose results are checked
        #[arg(long, value_enum, default_value_t)]
        profile: Profile,
    },
    /// Find data sets in the folder $MATMECH_DATA or data/downloads, or fetch them, and check them
    Data {
        /// Data sets of data/manifest.toml [default: all]
        names: Vec<String>,
    },
}

/// Options of the engine; without `jobs`, all cores.
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
