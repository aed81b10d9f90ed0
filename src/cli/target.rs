//! The queries that a command answers on records, and whether they fit.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Result};
use crate::schema::{Schema, read_text};
use crate::workload::{Family, GroupFamily, GroupedWorkload, QueryGroup};

/// The queries to answer.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Target {
    /// Workload in TOML: [[queries]] tables with family and attributes or ways
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// All marginals on so many attributes, e.g. 1,2,3
    #[arg(long, value_delimiter = ',')]
    ways: Option<Vec<usize>>,
}

impl Target {
    /// The queries, and what a workload file with them says.
    ///
    /// # Errors
    /// A file that cannot be read or is no workload of the schema; `--ways` that the schema does
    /// not have; queries that do not fit.
    pub(super) fn read(&self, schema: &Schema) -> Result<(GroupedWorkload, String)> {
        match (&self.workload, &self.ways) {
            (Some(path), _) => of_file(schema, path),
            (None, ways) => {
                let ways = ways.as_deref().unwrap_or_default();
                let text = format!("[[queries]]\nfamily = \"identity\"\nways = {ways:?}");
                Ok((of_ways(schema, ways)?, text))
            }
        }
    }

    /// Where the queries come from, in errors about them.
    pub(super) fn origin(&self) -> String {
        self.workload.as_ref().map_or_else(|| "--ways".into(), |path| path.display().to_string())
    }
}

/// The largest marginal, and the most answers of a group: truth, estimate, measurement and what
/// they are made from took up to 37 bytes per cell when measured, which is 5 GiB here.
const LARGEST_MARGINAL: usize = 1 << 27;

/// The most residuals, Σ_γ 2^|γ|, that a workload may be made of: they are listed before anything
/// is measured.
const MOST_RESIDUALS: f64 = (1u64 << 26) as f64;

/// All marginals on the given numbers of attributes.
///
/// # Errors
/// Numbers that are not distinct and between 1 and the number of attributes, and marginals that do
/// not fit.
fn of_ways(schema: &Schema, ways: &[usize]) -> Result<GroupedWorkload> {
    let attributes = schema.attributes().len();
    // Before the sets are listed: they may be too many for that. There are none of more attributes
    // than the schema has.
    let possible = ways.iter().filter(|&&way| way <= attributes);
    check_residuals(possible.map(|&way| binomial(attributes, way) * (way as f64).exp2()).sum())?;
    let identity = GroupFamily::Product(Family::IDENTITY);
    let workload =
        GroupedWorkload::all_ways(schema.clone(), &identity, ways).map_err(|e| match e {
            Error::BadInput { expected, found, .. } => {
                let remedy = "write e.g. --ways 1,2 for all sets of one and of two attributes";
                Error::bad_input("--ways", expected, found, remedy)
            }
            other => other,
        })?;
    check_cells(&workload)?;
    Ok(workload)
}

/// The groups of a workload file, and its text.
///
/// # Errors
/// A file that is no workload of the schema, and groups that do not fit.
pub(super) fn of_file(schema: &Schema, path: &Path) -> Result<(GroupedWorkload, String)> {
    let text = read_text(path, "workload file")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let workload = GroupedWorkload::from_toml(schema, &text, &path.display().to_string(), folder)?;
    Ok((checked(workload)?, text))
}

/// The groups of a workload that is written in the statement of a release. Matrices that it names
/// are looked for in the current folder.
///
/// # Errors
/// As [`of_file`].
pub(super) fn of_text(schema: &Schema, text: &str) -> Result<GroupedWorkload> {
    checked(GroupedWorkload::from_toml(schema, text, "workload of the release", Path::new(""))?)
}

fn checked(workload: GroupedWorkload) -> Result<GroupedWorkload> {
    check_residuals(
        workload.groups().iter().map(|group| (group.attributes().len() as f64).exp2()).sum(),
    )?;
    check_cells(&workload)?;
    Ok(workload)
}

/// The number of sets with `size` elements of `of`.
fn binomial(of: usize, size: usize) -> f64 {
    (0..size).map(|k| (of as f64 - k as f64) / (k as f64 + 1.0)).product()
}

fn check_residuals(residuals: f64) -> Result<()> {
    if residuals <= MOST_RESIDUALS {
        return Ok(());
    }
    Err(Error::too_large(
        "workload of marginals, 2^k residuals for every one on k attributes",
        "residuals",
        MOST_RESIDUALS,
        residuals,
        "ask for marginals of fewer attributes, or list those that matter in a workload file",
    ))
}

fn check_cells(workload: &GroupedWorkload) -> Result<()> {
    let too_large = |group: &QueryGroup, what: &str, unit, found: f64| {
        Error::too_large(
            format!(
                "{what} on {} (the most that fit take 5 GiB)",
                workload.schema().names(group.attributes())
            ),
            unit,
            LARGEST_MARGINAL as f64,
            found,
            "ask for marginals of fewer attributes, or give the attributes fewer values (wider bins)",
        )
    };
    for group in workload.groups() {
        let cells: f64 = group.sizes().iter().map(|&n| n as f64).product();
        if cells > LARGEST_MARGINAL as f64 {
            return Err(too_large(group, "marginal", "cells", cells));
        }
        let queries = group.count().as_f64();
        if queries > LARGEST_MARGINAL as f64 {
            return Err(too_large(group, "queries", "answers", queries));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials_are_those_of_pascals_triangle() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(|k| binomial(5, k)), [1.0, 5.0, 10.0, 10.0, 5.0, 1.0]);
        assert_eq!(binomial(3, 5), 0.0);
    }
}
