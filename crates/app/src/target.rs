//! The queries that a command answers on records, and their size limits.

use std::path::{Path, PathBuf};

use matmech::error::{Error, Result};
use matmech::release::Inputs;
use matmech::schema::{Schema, read_text};
use matmech::workload::{Family, GroupFamily, GroupedWorkload, QueryGroup};

/// The source of the queries to answer.
#[derive(Debug, Clone)]
pub enum Source {
    /// A workload file.
    File(PathBuf),
    /// The text of a workload file.
    Text(String),
    /// All marginals on these numbers of attributes.
    Ways(Vec<usize>),
}

impl Source {
    /// Returns the workload and its text as a workload file.
    ///
    /// # Errors
    /// A file that cannot be read or is not a workload over the schema, invalid `--ways`, or
    /// queries above the size limits.
    pub fn read(&self, schema: &Schema) -> Result<(GroupedWorkload, String)> {
        match self {
            Source::File(path) => from_file(schema, path),
            Source::Text(text) => {
                let workload =
                    GroupedWorkload::from_toml(schema, text, &self.origin(), Path::new(""))?;
                Ok((checked(workload)?, text.clone()))
            }
            Source::Ways(ways) => {
                let text = format!("[[queries]]\nfamily = \"identity\"\nways = {ways:?}");
                let workload = from_ways(schema, ways)?;
                check_cells(&workload)?;
                Ok((workload, text))
            }
        }
    }

    /// Returns the workload to plan for, without the limits on answers.
    ///
    /// # Errors
    /// A file that cannot be read or is not a workload over the schema, or invalid `--ways`.
    pub fn read_to_plan(&self, schema: &Schema) -> Result<GroupedWorkload> {
        match self {
            Source::File(path) => GroupedWorkload::read(schema, path),
            Source::Text(text) => {
                GroupedWorkload::from_toml(schema, text, &self.origin(), Path::new(""))
            }
            Source::Ways(ways) => from_ways(schema, ways),
        }
    }

    /// Returns the source of the queries for error messages.
    pub fn origin(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Text(_) => "workload".into(),
            Source::Ways(_) => "--ways".into(),
        }
    }
}

/// Maximum cells of a marginal and maximum answers of a group. Truth, estimate, measurement and
/// intermediate values take up to 37 bytes per cell (measured): 5 GiB.
const MAX_CELLS: usize = 1 << 27;

/// Maximum residuals of a workload, Σ_γ 2^|γ|: they are listed before anything is measured.
const MAX_RESIDUALS: f64 = (1u64 << 26) as f64;

/// Returns all marginals on the given numbers of attributes.
///
/// # Errors
/// Numbers that are not distinct or not between 1 and the number of attributes, or too many
/// residuals.
fn from_ways(schema: &Schema, ways: &[usize]) -> Result<GroupedWorkload> {
    let attributes = schema.attributes().len();
    // Checked before the sets are listed, because there may be too many to list.
    let possible = ways.iter().filter(|&&way| way <= attributes);
    check_residuals(possible.map(|&way| binomial(attributes, way) * (way as f64).exp2()).sum())?;
    let identity = GroupFamily::Product(Family::IDENTITY);
    GroupedWorkload::all_ways(schema.clone(), &identity, ways).map_err(|e| match e {
        Error::BadInput { expected, found, .. } => {
            let remedy = "write e.g. --ways 1,2 for all sets of one and of two attributes";
            Error::bad_input("--ways", expected, found, remedy)
        }
        error => error,
    })
}

/// Returns the workload of a file, and the file's text.
///
/// # Errors
/// A file that is not a workload over the schema, or groups above the size limits.
pub fn from_file(schema: &Schema, path: &Path) -> Result<(GroupedWorkload, String)> {
    let text = read_text(path, "workload file")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let workload = GroupedWorkload::from_toml(schema, &text, &path.display().to_string(), folder)?;
    Ok((checked(workload)?, text))
}

/// Returns the workload in the statement of a release, with the matrices stored with it.
///
/// # Errors
/// As [`from_file`].
pub fn from_release(schema: &Schema, text: &str, inputs: &Inputs) -> Result<GroupedWorkload> {
    let (origin, source) = ("workload of the release", inputs.matrices());
    checked(GroupedWorkload::from_toml_with(schema, text, origin, &source)?)
}

fn checked(workload: GroupedWorkload) -> Result<GroupedWorkload> {
    check_residuals(
        workload.groups().iter().map(|group| (group.attributes().len() as f64).exp2()).sum(),
    )?;
    check_cells(&workload)?;
    Ok(workload)
}

/// Returns the binomial coefficient C(n, k).
fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n as f64 - i as f64) / (i as f64 + 1.0)).product()
}

fn check_residuals(residuals: f64) -> Result<()> {
    if residuals <= MAX_RESIDUALS {
        return Ok(());
    }
    Err(Error::too_large(
        "workload of marginals, with 2^k residuals per marginal on k attributes",
        "residuals",
        MAX_RESIDUALS,
        residuals,
        "use marginals of fewer attributes, or list the ones you need in a workload file",
    ))
}

fn check_cells(workload: &GroupedWorkload) -> Result<()> {
    let too_large = |group: &QueryGroup, what: &str, unit, found: f64| {
        Error::too_large(
            format!(
                "{what} on {} (the maximum takes 5 GiB)",
                workload.schema().names(group.attributes())
            ),
            unit,
            MAX_CELLS as f64,
            found,
            "use marginals of fewer attributes, or give the attributes fewer values (wider bins)",
        )
    };
    for group in workload.groups() {
        let cells: f64 = group.sizes().iter().map(|&n| n as f64).product();
        if cells > MAX_CELLS as f64 {
            return Err(too_large(group, "marginal", "cells", cells));
        }
        let queries = group.count().as_f64();
        if queries > MAX_CELLS as f64 {
            return Err(too_large(group, "queries", "answers", queries));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials_match_pascals_triangle() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(|k| binomial(5, k)), [1.0, 5.0, 10.0, 10.0, 5.0, 1.0]);
        assert_eq!(binomial(3, 5), 0.0);
    }
}
