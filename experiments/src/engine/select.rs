//! Selects the cells that a run computes: `--only` and `--shard`.

use std::fmt;
use std::str::FromStr;

use super::experiment_plan::ExperimentPlan;
use crate::error::{Error, Result, near};

/// A shard of every experiment: the cells whose position in the grid, from 1, is `index` modulo
/// `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to `count`.
    pub index: usize,
    /// Number of shards, at least 1.
    pub count: usize,
}

impl Shard {
    /// Returns whether the cell at `position` of the full grid, from 0, belongs to this shard.
    #[must_use]
    pub fn contains(self, position: usize) -> bool {
        position % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        text.split_once('/')
            .and_then(|(index, count)| {
                let (index, count) = (index.parse().ok()?, count.parse().ok()?);
                (1 <= index && index <= count).then_some(Self { index, count })
            })
            .ok_or_else(|| format!("expected i/N with 1 <= i <= N, such as 1/4, found \"{text}\""))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Returns for each plan which of its cells are selected; an empty `only` selects all.
///
/// # Errors
/// A key of `only` that no address contains; the message lists similar addresses.
pub(super) fn select(
    plans: &[ExperimentPlan<'_>],
    only: &[String],
    shard: Option<Shard>,
) -> Result<Vec<Vec<bool>>> {
    let all: Vec<&str> =
        plans.iter().flat_map(|plan| plan.cells.iter().map(|cell| cell.address.as_str())).collect();
    for key in only {
        if !all.iter().any(|address| address.contains(key)) {
            let near = near(key, &all, 5);
            return Err(Error::Usage {
                option: "--only",
                expected: format!(
                    "a part of the address of at least one of the {} cells",
                    all.len()
                ),
                found: format!("\"{key}\", which no address contains"),
                remedy: format!(
                    "write a part of an address; similar addresses are\n            {}",
                    near.join("\n            ")
                ),
            });
        }
    }
    let selected = plans.iter().map(|plan| {
        plan.cells
            .iter()
            .enumerate()
            .map(|(position, cell)| {
                let named = only.is_empty() || only.iter().any(|key| cell.address.contains(key));
                named && shard.is_none_or(|shard| shard.contains(position))
            })
            .collect()
    });
    Ok(selected.collect())
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn shards_partition_every_grid() {
        for count in 1..6 {
            for position in 0..40 {
                let owners =
                    (1..=count).filter(|&index| Shard { index, count }.contains(position)).count();
                assert_eq!(owners, 1, "position {position} of {count} shards");
            }
        }
    }

    #[test]
    fn invalid_shards_are_refused() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", ""] {
            let message = wrong.parse::<Shard>().err().unwrap_or_default();
            assert!(
                message.contains("1 <= i <= N") && message.contains(wrong),
                "{wrong}: {message}"
            );
        }
    }
}
