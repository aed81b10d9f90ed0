//! Which marginals a simulation answers, and whether they fit.

use std::collections::HashSet;
use std::path::Path;

use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup, attribute_sets};

/// The largest marginal: truth, estimate, measurement and what they are made from took up to 37 bytes per cell when
/// measured, which is 5 GiB here.
const LARGEST_MARGINAL: usize = 1 << 27;

/// The most residuals, Σ_γ 2^|γ|, that a workload may be made of: they are listed before anything is measured.
const MOST_RESIDUALS: f64 = (1u64 << 26) as f64;

/// All marginals on the given numbers of attributes, as ascending positions of the schema.
///
/// # Errors
/// Numbers that are not distinct and between 1 and the number of attributes, and marginals that do not fit.
pub(super) fn of_ways(schema: &Schema, ways: &[usize]) -> Result<Vec<Vec<usize>>> {
    let attributes = schema.attributes().len();
    // Before the sets are listed: they may be too many for that. There are none of more attributes than the schema has.
    let possible = ways.iter().filter(|&&way| way <= attributes);
    check_residuals(possible.map(|&way| binomial(attributes, way) * (way as f64).exp2()).sum())?;
    let marginals = attribute_sets(schema, ways).map_err(|e| match e {
        Error::Invalid { expected, found, .. } => {
            Error::invalid("--ways", expected, found, "write e.g. --ways 1,2 for all sets of one and of two attributes")
        }
        other => other,
    })?;
    check_cells(schema, &marginals)?;
    Ok(marginals)
}

/// The marginals of a workload file.
///
/// # Errors
/// A file that is no workload of the schema, a group that is no marginal, has a weight or comes twice, and marginals that
/// do not fit.
pub(super) fn of_file(schema: &Schema, path: &Path) -> Result<Vec<Vec<usize>>> {
    let workload = GroupedWorkload::read(schema, path)?;
    let mut seen = HashSet::new();
    for (k, group) in workload.groups().iter().enumerate() {
        let refuse = |expected: &str, found: String, remedy: &str| {
            let what = format!(
                "{}, group {} ({} on {})",
                path.display(),
                k + 1,
                group.family(),
                names(schema, group.positions())
            );
            Err(Error::invalid(what, expected, found, remedy))
        };
        if !is_marginal(group) {
            return refuse(
                "queries of the family identity: this command answers marginals only",
                format!("the family {}", group.family()),
                "write family = \"identity\", or use `matmech plan`, which knows every family",
            );
        }
        if group.weight() != 1.0 {
            let remedy = "leave the weight out: these mechanisms treat all marginals alike";
            return refuse("a marginal of weight 1", format!("weight {}", group.weight()), remedy);
        }
        if !seen.insert(group.attributes()) {
            return refuse("every marginal once", "it a second time".into(), "remove one of the two");
        }
    }
    let marginals: Vec<Vec<usize>> = workload.groups().iter().map(|group| group.positions().to_vec()).collect();
    check_residuals(marginals.iter().map(|positions| (positions.len() as f64).exp2()).sum())?;
    check_cells(schema, &marginals)?;
    Ok(marginals)
}

/// The names of some attributes.
pub(super) fn names(schema: &Schema, positions: &[usize]) -> String {
    positions.iter().map(|&p| schema.attributes()[p].name.as_str()).collect::<Vec<_>>().join(", ")
}

fn is_marginal(group: &QueryGroup) -> bool {
    matches!(group.queries(), GroupQueries::Product(families) if families.iter().all(|f| *f == Family::Identity))
}

/// The number of sets with `size` elements of `of`.
fn binomial(of: usize, size: usize) -> f64 {
    (0..size).map(|k| (of as f64 - k as f64) / (k as f64 + 1.0)).product()
}

fn check_residuals(residuals: f64) -> Result<()> {
    if residuals <= MOST_RESIDUALS {
        return Ok(());
    }
    Err(Error::TooLarge {
        what: "workload of marginals".into(),
        limit: format!("{MOST_RESIDUALS} residuals, 2^k for every marginal on k attributes"),
        found: format!("{residuals:.3e}"),
        remedy: "ask for marginals of fewer attributes, or list those that matter in a workload file".into(),
    })
}

fn check_cells(schema: &Schema, marginals: &[Vec<usize>]) -> Result<()> {
    for positions in marginals {
        let sizes = positions.iter().map(|&p| schema.attributes()[p].size);
        let cells = sizes.clone().try_fold(1usize, usize::checked_mul);
        if cells.is_none_or(|cells| cells > LARGEST_MARGINAL) {
            return Err(Error::TooLarge {
                what: format!("marginal on {}", names(schema, positions)),
                limit: format!("{LARGEST_MARGINAL} cells, which take about 5 GiB of memory"),
                found: format!("{:.4e} cells", sizes.map(|n| n as f64).product::<f64>()),
                remedy: "ask for marginals of fewer attributes, or give the attributes fewer values (wider bins)"
                    .into(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials_are_those_of_pascal() {
        let mut row = vec![1.0];
        for n in 0..12 {
            for (k, &expected) in row.iter().enumerate() {
                assert!((binomial(n, k) / expected - 1.0).abs() < 1e-12);
            }
            assert_eq!(binomial(n, n + 1), 0.0);
            row = (0..n + 2).map(|k| row.get(k).unwrap_or(&0.0) + if k > 0 { row[k - 1] } else { 0.0 }).collect();
        }
    }

    #[test]
    fn too_many_sets_are_refused_before_they_are_listed() {
        let schema = Schema::uniform(2, 60).unwrap();
        let message = of_ways(&schema, &[20]).unwrap_err().to_string();
        assert!(message.contains("4.395e21") && message.contains("remedy"), "{message}");
        assert_eq!(of_ways(&schema, &[2, 1]).unwrap().len(), 60 * 59 / 2 + 60);
    }
}
