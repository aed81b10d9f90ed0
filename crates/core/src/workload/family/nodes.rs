//! The nodes of a hierarchy that are the queries of a family.

use std::fmt;

use crate::domain::{Hierarchy, Level};

/// The name of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeName<'a> {
    /// The root: all leaves.
    Total,
    /// A node of a level: the names of the level and of the node.
    Node(&'a str, &'a str),
    /// A leaf.
    Leaf(usize),
}

/// Nodes of a hierarchy: the queries of [`Family::nested`] or [`Family::level`].
///
/// [`Family::nested`]: super::Family::nested
/// [`Family::level`]: super::Family::level
pub struct Nodes {
    pub(super) name: &'static str,
    pub(super) hierarchy: Hierarchy,
    /// The index of the level; all levels, the root and the leaves if absent.
    pub(super) level: Option<usize>,
}

impl Nodes {
    /// Returns the hierarchy.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Returns whether these are all nodes, with the root and the leaves.
    pub fn is_nested(&self) -> bool {
        self.level.is_none()
    }

    /// Returns the levels of the nodes, without the root and the leaves.
    pub(super) fn levels(&self) -> &[Level] {
        let levels = self.hierarchy.levels();
        self.level.map_or(levels, |k| &levels[k..=k])
    }

    /// Returns whether the root is a query. If the coarsest level has one node, it is the root.
    pub fn has_root(&self) -> bool {
        self.is_nested() && self.levels()[0].labels().len() > 1
    }

    /// Iterates over the names of the nodes, in the order of the queries: the root, the levels from
    /// the coarsest to the finest, and the leaves.
    pub fn names(&self) -> impl Iterator<Item = NodeName<'_>> {
        let root = self.has_root().then_some(NodeName::Total);
        let leaves = if self.is_nested() { self.hierarchy.leaves() } else { 0 };
        root.into_iter()
            .chain(self.levels().iter().flat_map(|level| {
                level.labels().iter().map(|label| NodeName::Node(level.name(), label))
            }))
            .chain((0..leaves).map(NodeName::Leaf))
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} leaves", self.name, self.hierarchy.leaves())
    }
}
