//! Classes of attributes that share a measure: attributes in the same role in a workload.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::AttributeKind;
use crate::workload::{Family, GroupQueries, GroupedWorkload, JointQueries};

/// The maximum number of classes of the fine partition.
///
/// Beyond, only sizes, kinds and families count.
const MAX_CLASSES: usize = 16;

/// The maximum for joint queries, whose problems are solved per pair of classes.
const MAX_CLASSES_JOINT: usize = 4;

/// A partition of the attributes.
///
/// Classes are numbered in the order of their first attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::planner) struct Classes {
    /// The class of every attribute.
    pub of: Vec<usize>,
    /// The number of values of every class's attributes.
    pub sizes: Vec<usize>,
    /// Whether the class's attributes have joint queries.
    pub joint: Vec<bool>,
}

impl Classes {
    /// Computes the classes of a workload.
    ///
    /// Attributes of one class have equal size, kind and cells outside the order. Their groups have
    /// equal families, equal weights, and other attributes of equal classes. A coarser partition
    /// also gives valid plans, so weights and positions are ignored if the fine partition has too
    /// many classes.
    /// O(attributes · groups · way) time per refinement.
    pub fn of(workload: &GroupedWorkload) -> Self {
        let joint =
            workload.groups().iter().any(|group| matches!(group.queries(), GroupQueries::Joint(_)));
        let fine = refined(workload, true);
        let count = fine.iter().max().map_or(0, |top| top + 1);
        let of = if count <= if joint { MAX_CLASSES_JOINT } else { MAX_CLASSES } {
            fine
        } else {
            refined(workload, false)
        };
        let sizes = workload.schema().sizes();
        let count = of.iter().max().map_or(0, |top| top + 1);
        let first = |class: usize| of.iter().position(|&c| c == class).unwrap_or(0);
        let asked_jointly = |class: usize| {
            workload.groups().iter().any(|group| {
                matches!(group.queries(), GroupQueries::Joint(_))
                    && group.attributes().len() > 1
                    && group.attributes().positions().any(|p| of[p] == class)
            })
        };
        Classes {
            sizes: (0..count).map(|class| sizes[first(class)]).collect(),
            joint: (0..count).map(asked_jointly).collect(),
            of,
        }
    }

    /// Returns the number of cells of the distinct joint problems, one per multiset of classes.
    ///
    /// O(groups · way) time.
    pub fn joint_cells(&self, workload: &GroupedWorkload) -> usize {
        let mut seen: BTreeSet<Vec<usize>> = BTreeSet::new();
        for group in
            workload.groups().iter().filter(|g| matches!(g.queries(), GroupQueries::Joint(_)))
        {
            let mut group_classes: Vec<usize> =
                group.attributes().positions().map(|position| self.of[position]).collect();
            group_classes.sort_unstable();
            seen.insert(group_classes);
        }
        seen.iter().map(|set| set.iter().map(|&class| self.sizes[class]).product::<usize>()).sum()
    }
}

/// The queries of a group on one attribute, and those on the other attributes with their colours.
type Role = (Vec<u64>, Vec<(usize, Vec<u64>)>);

/// Partitions the attributes by colour refinement.
///
/// The first colours are by size, cells outside the order, and kind. Each round refines them by the
/// attributes' groups and the colours there, until no class splits. `all` includes weights,
/// positions and the other attributes of groups.
fn refined(workload: &GroupedWorkload, all: bool) -> Vec<usize> {
    let attributes = workload.schema().attributes();
    let mut colours = numbered(
        attributes
            .iter()
            .map(|a| (a.size, a.extra, a.kind == AttributeKind::Numeric))
            .collect::<Vec<_>>()
            .as_slice(),
    );
    let mut known: Vec<Arc<JointQueries>> = Vec::new();
    loop {
        let mut roles: Vec<Vec<Role>> = vec![Vec::new(); attributes.len()];
        for group in workload.groups() {
            let way = group.attributes().len();
            // The queries on the attribute at each axis: a family, or an axis of joint queries.
            let asked: Vec<Vec<u64>> = match group.queries() {
                GroupQueries::Product(families) => {
                    let asked = |f: &Family| {
                        let hierarchy = std::iter::once(f.key() as u64);
                        hierarchy.chain(f.name().bytes().map(u64::from)).collect()
                    };
                    families.iter().map(asked).collect()
                }
                GroupQueries::Joint(queries) => {
                    let index = known.iter().position(|k| Arc::ptr_eq(k, queries) || k == queries);
                    let index = index.unwrap_or_else(|| {
                        known.push(queries.clone());
                        known.len() - 1
                    });
                    (0..way)
                        .map(
                            |axis| {
                                if all { vec![index as u64, axis as u64] } else { vec![way as u64] }
                            },
                        )
                        .collect()
                }
            };
            for (axis, position) in group.attributes().positions().enumerate() {
                let mut role = asked[axis].clone();
                role.push(way as u64);
                let mut others = Vec::new();
                if all {
                    role.push(group.weight().to_bits());
                    let pairs = group.attributes().positions().zip(&asked).enumerate();
                    others = pairs
                        .filter(|(k, _)| *k != axis)
                        .map(|(_, (p, a))| (colours[p], a.clone()))
                        .collect();
                    others.sort();
                }
                roles[position].push((role, others));
            }
        }
        for role in &mut roles {
            role.sort();
            if !all {
                role.dedup();
            }
        }
        let keys: Vec<_> = colours.iter().copied().zip(roles).collect();
        let next = numbered(&keys);
        if next == colours {
            return colours;
        }
        colours = next;
    }
}

/// Numbers items in the order of their first occurrences.
///
/// Equal items get equal numbers.
fn numbered<T: Ord>(items: &[T]) -> Vec<usize> {
    let mut numbers: BTreeMap<&T, usize> = BTreeMap::new();
    items
        .iter()
        .map(|item| {
            let next = numbers.len();
            *numbers.entry(item).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::domain::{Attribute, Hierarchy};
    use crate::schema::Schema;
    use crate::test_support::{all_ways, set};
    use crate::workload::{GroupFamily, QueryGroup};

    #[test]
    fn attributes_in_the_same_role_share_a_class() {
        let pairs = |family, n, d| all_ways(n, d, family, &[1, 2]);
        assert_eq!(Classes::of(&pairs(GroupFamily::Product(Family::PREFIX), 5, 6)).of, [0; 6]);
        let affine = Classes::of(&pairs(GroupFamily::Pairs(Family::AFFINE), 5, 6));
        assert_eq!((affine.of, affine.sizes, affine.joint), (vec![0; 6], vec![5], vec![true]));
    }

    #[test]
    fn attributes_of_different_hierarchies_are_in_different_classes() {
        let attribute = |name: &str, groups: &[usize]| {
            let hierarchy = Hierarchy::groups(groups).unwrap();
            Attribute::new(name, 4, AttributeKind::Categorical).with_hierarchy(hierarchy)
        };
        let schema = [("a", [2, 2]), ("b", [1, 3]), ("c", [2, 2])];
        let schema = schema.map(|(name, groups)| attribute(name, &groups)).to_vec();
        let schema = Schema::new(schema).unwrap();
        let all_ways = |family: &GroupFamily| {
            let workload = GroupedWorkload::all_ways(schema.clone(), family, &[1]);
            Classes::of(&workload.unwrap()).of
        };
        assert_eq!(all_ways(&GroupFamily::Nodes(None)), [0, 1, 0]);
        assert_eq!(all_ways(&GroupFamily::Nodes(Some("group".into()))), [0, 1, 0]);
        assert_eq!(all_ways(&GroupFamily::Product(Family::IDENTITY)), [0; 3]);
    }

    /// A path of three pairs: its ends share a class, and so do its middle attributes.
    ///
    /// A weight on one end separates all attributes.
    #[test]
    fn classes_depend_on_the_other_attributes_of_pairs() {
        let schema = Schema::uniform(4, 4).unwrap();
        let group = |positions: &[usize], weight| {
            let families = vec![Family::PREFIX; positions.len()];
            QueryGroup::product(&schema, set(positions), &families, weight).unwrap()
        };
        let mut groups = vec![group(&[0, 1], 1.0), group(&[1, 2], 1.0), group(&[2, 3], 1.0)];
        let classes = |groups: &[QueryGroup]| {
            Classes::of(&GroupedWorkload::new(schema.clone(), groups.to_vec()).unwrap())
        };
        assert_eq!(classes(&groups).of, [0, 1, 1, 0]);
        groups.push(group(&[3], 2.0));
        assert_eq!(classes(&groups).of, [0, 1, 2, 3]);
    }
}
