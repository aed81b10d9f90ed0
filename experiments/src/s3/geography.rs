//! A generated geography of five levels, and its workload with sex and age.

use matmech::domain::{Attribute, AttributeKind, AttributeSet, Hierarchy};
use matmech::schema::Schema;
use matmech::workload::{Family, GroupedWorkload, QueryGroup};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The levels, from the coarsest to the finest; the tracts are the values of the attribute `area`.
pub(super) const LEVELS: [&str; 5] = ["nation", "region", "county", "district", "tract"];

/// The name and position of every attribute: area, sex, age.
const NAMES: [&str; 3] = ["area", "sex", "age"];

/// The multiplier of [`Geography::tract_of`], 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A tree of areas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Geography {
    /// The name in result tables.
    pub name: String,
    /// The numbers of children of the nodes of each level above the tracts; a level repeats its
    /// list over its nodes.
    pub children: [Vec<usize>; LEVELS.len() - 1],
}

/// What the weights of the queries make equal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Weights {
    /// All queries have the weight 1.
    Queries,
    /// All levels have the same sum of weights; the mean weight of all queries is 1.
    Levels,
}

impl Weights {
    /// The name in configs and result tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Weights::Queries => "queries",
            Weights::Levels => "levels",
        }
    }

    /// Returns the weights of the queries of every level, from the numbers of nodes.
    fn of_levels(self, nodes: &[usize]) -> Vec<f64> {
        let all = nodes.iter().sum::<usize>() as f64;
        let of_level = |&nodes: &usize| match self {
            Weights::Queries => 1.0,
            Weights::Levels => all / (LEVELS.len() * nodes) as f64,
        };
        nodes.iter().map(of_level).collect()
    }
}

impl Geography {
    /// Refuses empty lists and zeros.
    pub(super) fn check(&self) -> Result<()> {
        for (k, counts) in self.children.iter().enumerate() {
            if counts.is_empty() || counts.contains(&0) {
                return Err(Error::config(
                    format!("children[{k}]"),
                    "positive numbers of children",
                    format!("{counts:?}"),
                    "write e.g. [4], or [2, 3, 5, 6]",
                ));
            }
        }
        Ok(())
    }

    /// Returns the hierarchy; its levels are those of [`LEVELS`] without the tracts.
    pub(super) fn hierarchy(&self) -> Result<Hierarchy> {
        let mut levels: Vec<Vec<usize>> = vec![vec![0]];
        for counts in &self.children {
            let nodes = levels.last().and_then(|level| level.iter().max()).map_or(0, |max| max + 1);
            // The node of every child, then the path of every child.
            let parents: Vec<usize> = (0..nodes)
                .flat_map(|node| std::iter::repeat_n(node, counts[node % counts.len()]))
                .collect();
            for level in &mut levels {
                *level = parents.iter().map(|&parent| level[parent]).collect();
            }
            levels.push((0..parents.len()).collect());
        }
        let named = |(name, nodes): (&str, &Vec<usize>)| {
            (name.to_owned(), nodes.iter().map(|node| (node + 1).to_string()).collect())
        };
        let levels = LEVELS[..LEVELS.len() - 1].iter().copied().zip(&levels).map(named).collect();
        Ok(Hierarchy::new(levels, |tract| format!("tract {}", tract + 1))?)
    }

    /// Returns the generated tract of a record, a hash of its row number: the upper 32 bits of
    /// (row + 1)·⌊2^64/φ⌋ mod 2^64, scaled to the number of tracts.
    pub(super) fn tract_of(row: usize, tracts: usize) -> usize {
        let hash = (row as u64 + 1).wrapping_mul(MULTIPLIER) >> 32;
        ((hash * tracts as u64) >> 32) as usize
    }
}

/// Returns the schema: area, sex and age.
pub(super) fn schema(hierarchy: &Hierarchy, sex: usize, age: usize) -> matmech::Result<Schema> {
    let [area_name, sex_name, age_name] = NAMES;
    let attribute = |name: &str, size| Attribute::new(name, size, AttributeKind::Categorical);
    Schema::new(vec![
        attribute(area_name, hierarchy.leaves()).with_hierarchy(hierarchy.clone()),
        attribute(sex_name, sex),
        attribute(age_name, age),
    ])
}

/// Returns the queries on all levels: every node, alone and by sex, by age, and by both.
///
/// Queries of equal weight are one family of nested nodes, others the groups of [`by_level`].
pub(super) fn all_levels(
    schema: &Schema,
    hierarchy: &Hierarchy,
    weights: Weights,
) -> matmech::Result<GroupedWorkload> {
    match weights {
        Weights::Queries => {
            let groups = groups(schema, Family::nested(hierarchy), 1.0)?;
            GroupedWorkload::new(schema.clone(), groups)
        }
        Weights::Levels => by_level(schema, hierarchy, weights),
    }
}

/// Returns the queries of [`all_levels`] in groups by level.
///
/// Every level of [`LEVELS`], in order, has a group without sex and age, one by sex, one by age,
/// and one by both, as far as the schema has these attributes.
pub(super) fn by_level(
    schema: &Schema,
    hierarchy: &Hierarchy,
    weights: Weights,
) -> matmech::Result<GroupedWorkload> {
    let mut families = Vec::new();
    let mut nodes = Vec::new();
    for level in hierarchy.levels() {
        families.push(Family::level(hierarchy, level.name())?);
        nodes.push(level.labels().len());
    }
    families.push(Family::IDENTITY);
    nodes.push(hierarchy.leaves());
    let mut all = Vec::new();
    for (family, weight) in families.into_iter().zip(weights.of_levels(&nodes)) {
        all.extend(groups(schema, family, weight)?);
    }
    GroupedWorkload::new(schema.clone(), all)
}

/// The groups of a level: its nodes alone, by sex, by age, and by both.
pub(super) const GROUPS: usize = 4;

fn groups(schema: &Schema, areas: Family, weight: f64) -> matmech::Result<Vec<QueryGroup>> {
    let sets: [&[usize]; GROUPS] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
    let known = schema.attributes().len();
    let group = |positions: &&[usize]| {
        let mut families = vec![Family::IDENTITY; positions.len()];
        families[0] = areas;
        QueryGroup::product(schema, AttributeSet::from_positions(positions)?, &families, weight)
    };
    sets.iter().filter(|set| set.iter().all(|&p| p < known)).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unequal() -> Geography {
        let cycle = vec![2, 3, 5, 6];
        let children = [vec![4], cycle.clone(), cycle.clone(), cycle];
        Geography { name: "unequal".into(), children }
    }

    #[test]
    fn levels_have_the_numbers_of_children() {
        let hierarchy = unequal().hierarchy().unwrap();
        let nodes: Vec<usize> =
            hierarchy.levels().iter().map(|level| level.labels().len()).collect();
        assert_eq!((nodes, hierarchy.leaves()), (vec![1, 4, 16, 64], 256));
        let regions = hierarchy.levels()[1].node_of();
        // The first region has 2 counties of 2 and 3 districts, and those 2, 3, 5, 6 and 2 tracts.
        assert_eq!(regions.iter().filter(|&&region| region == 0).count(), 18);
        let bad = Geography { name: String::new(), children: [vec![4], vec![], vec![1], vec![1]] };
        assert_eq!(bad.check().unwrap_err().key(), "children[1]");
    }

    #[test]
    fn both_workloads_have_the_same_queries() {
        let hierarchy = unequal().hierarchy().unwrap();
        let schema = schema(&hierarchy, 2, 3).unwrap();
        let all = all_levels(&schema, &hierarchy, Weights::Queries).unwrap();
        let levels = by_level(&schema, &hierarchy, Weights::Levels).unwrap();
        assert_eq!(all.count(), levels.count());
        assert_eq!(all.count().to_string(), (341 * 3 * 4).to_string());
        assert_eq!(levels.groups().len(), GROUPS * LEVELS.len());
        let sums: Vec<f64> = (levels.groups().chunks(GROUPS))
            .map(|level| level.iter().map(|g| g.weight() * g.count().as_f64()).sum())
            .collect();
        for sum in sums {
            approx::assert_relative_eq!(sum, 341.0 * 12.0 / 5.0, max_relative = 1e-12);
        }
    }

    #[test]
    fn tracts_are_spread_evenly() {
        let mut counts = [0; 8];
        (0..800).for_each(|row| counts[Geography::tract_of(row, 8)] += 1);
        assert!(counts.iter().all(|count| (95..=105).contains(count)), "{counts:?}");
    }
}
