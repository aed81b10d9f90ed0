//! Hierarchies: levels of nodes above the values of an attribute.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One level of a [`Hierarchy`]: a partition of the leaves into nodes with names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    name: String,
    labels: Vec<String>,
    node_of: Vec<u32>,
}

impl Level {
    /// Returns the name of the level.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the nodes, in the order of their first leaves.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the node of every leaf.
    pub fn node_of(&self) -> &[u32] {
        &self.node_of
    }

    /// Creates a level from the name of every leaf's node.
    fn of_labels(name: String, of_leaf: Vec<String>) -> Self {
        let (mut labels, mut known) = (Vec::new(), HashMap::new());
        let node = |label: String| {
            *known.entry(label).or_insert_with_key(|label: &String| {
                labels.push(label.clone());
                labels.len() as u32 - 1
            })
        };
        let node_of = of_leaf.into_iter().map(node).collect();
        Level { name, labels, node_of }
    }
}

/// The levels above the values of an attribute, from the coarsest to the finest.
///
/// The values are the leaves, and every node of a level is inside one node of each coarser level.
/// The levels do not include the leaves. Clones share the levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<Level>", try_from = "Vec<Level>")]
pub struct Hierarchy(Arc<Vec<Level>>);

impl From<Hierarchy> for Vec<Level> {
    fn from(Hierarchy(levels): Hierarchy) -> Self {
        levels.as_ref().clone()
    }
}

impl TryFrom<Vec<Level>> for Hierarchy {
    type Error = Error;

    fn try_from(levels: Vec<Level>) -> Result<Self> {
        let labels = levels.into_iter().map(|level| {
            let label = |node: &u32| level.labels.get(*node as usize).cloned().unwrap_or_default();
            let of_leaf = level.node_of.iter().map(label).collect();
            (level.name, of_leaf)
        });
        Self::new(labels.collect(), |leaf| format!("leaf {}", leaf + 1))
    }
}

impl Hierarchy {
    /// Creates a hierarchy from levels, the coarsest first: a name, and the name of the node of
    /// every leaf.
    ///
    /// `leaf` describes a leaf in messages.
    ///
    /// # Errors
    /// No level, a name without text or used twice, levels of different lengths, or a node in two
    /// nodes of a coarser level.
    pub fn new(levels: Vec<(String, Vec<String>)>, leaf: impl Fn(usize) -> String) -> Result<Self> {
        let refuse = |what: String, expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input(what, expected, found, remedy))
        };
        let Some(leaves) = levels.first().map(|(_, of_leaf)| of_leaf.len()) else {
            let remedy = "name at least one level, or drop the key";
            return refuse("levels".into(), "at least one level", "none".into(), remedy);
        };
        for (k, (name, of_leaf)) in levels.iter().enumerate() {
            let what = format!("level `{name}`");
            if name.is_empty() || levels[..k].iter().any(|(known, _)| known == name) {
                let remedy = "give every level a different name";
                return refuse(what, "a name used once", format!("`{name}`"), remedy);
            }
            if of_leaf.len() != leaves || leaves == 0 {
                let expected = format!("{} parents, one per value", leaves.max(1));
                let remedy = "list the parent of every value, in the order of `values`";
                return refuse(what, &expected, of_leaf.len().to_string(), remedy);
            }
            if let Some(k) = of_leaf.iter().position(|label| label.trim().is_empty()) {
                let remedy = "name the parent of every value";
                return refuse(what, "a parent of every value", leaf(k) + " has none", remedy);
            }
        }
        let level = |(name, of_leaf)| Level::of_labels(name, of_leaf);
        let hierarchy = Hierarchy(Arc::new(levels.into_iter().map(level).collect()));
        hierarchy.check_nested(leaf)?;
        Ok(hierarchy)
    }

    /// Checks that every node is in one node of the next coarser level.
    fn check_nested(&self, leaf: impl Fn(usize) -> String) -> Result<()> {
        for (coarse, fine) in self.0.iter().zip(self.0.iter().skip(1)) {
            let mut first: Vec<Option<usize>> = vec![None; fine.labels.len()];
            for (k, &node) in fine.node_of.iter().enumerate() {
                let earlier = *first[node as usize].get_or_insert(k);
                if coarse.node_of[earlier] != coarse.node_of[k] {
                    let parent = |k: usize| {
                        let label = &coarse.labels[coarse.node_of[k] as usize];
                        format!("`{label}` ({})", leaf(k))
                    };
                    return Err(Error::bad_input(
                        format!("{} `{}`", fine.name, fine.labels[node as usize]),
                        format!("one {}", coarse.name),
                        format!("{} and {}", parent(earlier), parent(k)),
                        "give different nodes different names, and order levels from the coarsest \
                         to the finest",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Creates the hierarchy in which every node has the same number of children as the others of
    /// its level: `[4, 8]` is 4 groups of 8 leaves. The levels are `level 1`, `level 2`, ….
    ///
    /// # Errors
    /// Fewer than two numbers, a zero, or too many leaves.
    pub fn balanced(children: &[usize]) -> Result<Self> {
        let product = children.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n));
        let leaves = product.filter(|&n| n > 0 && n <= u32::MAX as usize);
        let (Some(leaves), true) = (leaves, children.len() >= 2) else {
            return Err(Error::bad_input(
                "balanced hierarchy",
                "two or more positive numbers of children, with at most 2^32 leaves",
                format!("{children:?}"),
                "give the numbers of children from the root to the leaves, e.g. 4x8",
            ));
        };
        let mut nodes = 1;
        let mut levels = Vec::with_capacity(children.len() - 1);
        for (k, count) in children[..children.len() - 1].iter().enumerate() {
            nodes *= count;
            let node_of = (0..leaves).map(|leaf| (leaf / (leaves / nodes)) as u32).collect();
            let labels = (1..=nodes).map(|node| node.to_string()).collect();
            levels.push(Level { name: format!("level {}", k + 1), labels, node_of });
        }
        Ok(Hierarchy(Arc::new(levels)))
    }

    /// Creates the hierarchy of one level `group` with groups of these numbers of leaves.
    ///
    /// # Errors
    /// No group, a group without leaves, or too many leaves.
    pub fn groups(sizes: &[usize]) -> Result<Self> {
        let leaves = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if leaves.is_none_or(|n| n > u32::MAX as usize) || sizes.contains(&0) {
            return Err(Error::bad_input(
                "groups of a hierarchy",
                "positive numbers of leaves, at most 2^32 together",
                format!("{sizes:?}"),
                "give the number of leaves of every group, e.g. 3+5+7",
            ));
        }
        let group = |(k, &size): (usize, &usize)| std::iter::repeat_n((k + 1).to_string(), size);
        let of_leaf = sizes.iter().enumerate().flat_map(group).collect();
        Self::new(vec![("group".to_owned(), of_leaf)], |leaf| format!("leaf {}", leaf + 1))
    }

    /// Returns the hierarchy with one more leaf, in a node of its own name on every level.
    ///
    /// # Errors
    /// A level has the node already, within one of another name.
    pub fn with_leaf(&self, label: &str) -> Result<Self> {
        let of_leaf = |level: &Level| {
            let labels = level.node_of().iter().map(|&node| level.labels()[node as usize].clone());
            (level.name().to_owned(), labels.chain([label.to_owned()]).collect())
        };
        Self::new(self.0.iter().map(of_leaf).collect(), |leaf| format!("leaf {}", leaf + 1))
    }

    /// Returns the levels, from the coarsest to the finest, without the leaves.
    pub fn levels(&self) -> &[Level] {
        &self.0
    }

    /// Returns the number of leaves.
    pub fn leaves(&self) -> usize {
        self.0.first().map_or(0, |level| level.node_of.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(levels: &[(&str, &[&str])]) -> std::result::Result<Hierarchy, String> {
        let owned = |(name, labels): &(&str, &[&str])| {
            (name.to_string(), labels.iter().map(|label| label.to_string()).collect())
        };
        let levels = levels.iter().map(owned).collect();
        Hierarchy::new(levels, |leaf| format!("value {}", leaf + 1)).map_err(|e| e.to_string())
    }

    #[test]
    fn levels_are_nested() {
        let region: (&str, &[&str]) = ("region", &["N", "S", "N", "S"]);
        let good = of(&[region, ("county", &["A", "B", "C", "B"])]).unwrap();
        assert_eq!((good.leaves(), good.levels()[1].node_of()), (4, &[0, 1, 2, 1][..]));
        assert_eq!(good.levels()[1].labels(), ["A", "B", "C"]);
        let text = serde_json::to_string(&good).unwrap();
        assert_eq!(serde_json::from_str::<Hierarchy>(&text).unwrap(), good);
        for (levels, part) in [
            (&[region, ("county", &["A", "B", "B", "B"])][..], "`S` (value 2) and `N` (value 3)"),
            (&[region, ("county", &["A", "B", "C"])], "4 parents"),
            (&[region, ("region", &["A", "B", "C", "B"])], "used once"),
            (&[region, ("county", &["A", " ", "C", "B"])], "value 2 has none"),
            (&[], "at least one level"),
        ] {
            let message = of(levels).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn balanced_hierarchies_have_equal_nodes() {
        let tree = Hierarchy::balanced(&[2, 3, 2]).unwrap();
        assert_eq!((tree.leaves(), tree.levels().len()), (12, 2));
        assert_eq!(tree.levels()[0].node_of()[..7], [0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(tree.levels()[1].node_of()[..5], [0, 0, 1, 1, 2]);
        assert_eq!(Hierarchy::groups(&[3, 5, 7]).unwrap().leaves(), 15);
        assert!(Hierarchy::balanced(&[4]).is_err() && Hierarchy::balanced(&[4, 0]).is_err());
        assert!(Hierarchy::groups(&[]).is_err() && Hierarchy::groups(&[2, 0]).is_err());
    }
}
