//! The queries that a command answers on records.

use std::path::PathBuf;

use clap::Args;

use matmech_app::target::Source;

/// The queries to answer.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Target {
    /// Workload file (TOML): [[queries]] tables with family and attributes or ways
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// All k-way marginals for each k in a list, e.g. 1,2,3
    #[arg(long, value_delimiter = ',')]
    ways: Option<Vec<usize>>,
}

impl Target {
    /// Returns the source of the queries.
    pub(super) fn source(&self) -> Source {
        match (&self.workload, &self.ways) {
            (Some(path), _) => Source::File(path.clone()),
            (None, ways) => Source::Ways(ways.clone().unwrap_or_default()),
        }
    }
}
