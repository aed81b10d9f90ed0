//! The groups of a workload as queries on marginals of levels.
//!
//! `level(NAME)` is answered from the marginal on the level in place of its attribute, and `nested`
//! from one marginal per level; the root is summed from the coarsest level. Other families are
//! answered from the marginal on their attributes.

use std::ops::Range;

use crate::domain::AttributeSet;
use crate::error::Result;
use crate::schema::LevelSchema;
use crate::workload::{GroupQueries, NodeName, QueryGroup};

/// The marginals that answer a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LevelQueries {
    /// The sets of attributes and levels, with their nodes among those of the group.
    parts: Vec<(AttributeSet, Range<usize>)>,
    /// The number of nodes.
    nodes: usize,
    /// The number of queries per node and combination of earlier queries.
    inner: usize,
}

impl LevelQueries {
    /// Returns the marginals of a group; those of its attributes if `domain` has no levels.
    pub(crate) fn of(group: &QueryGroup, domain: &LevelSchema) -> Self {
        let set = group.attributes();
        let mut queries = LevelQueries { parts: vec![(set, 0..1)], nodes: 1, inner: 1 };
        let GroupQueries::Product(families) = group.queries() else { return queries };
        let Some(axis) = families.iter().position(|family| family.nodes().is_some()) else {
            return queries;
        };
        let (Some(nodes), true) = (families[axis].nodes(), domain.has_levels()) else {
            return queries;
        };
        let attribute = set.positions().nth(axis).unwrap_or_default();
        let levels = nodes.hierarchy().levels();
        let depth = |node: &NodeName<'_>| match node {
            NodeName::Total => 0,
            NodeName::Node(name, _) => {
                levels.iter().position(|level| level.name() == *name).unwrap_or(levels.len())
            }
            NodeName::Leaf(_) => levels.len(),
        };
        queries.parts.clear();
        queries.nodes = 0;
        for node in nodes.names() {
            let set = domain.at_level(set, attribute, depth(&node));
            let end = queries.nodes + 1;
            match queries.parts.last_mut() {
                Some((last, range)) if *last == set => range.end = end,
                _ => queries.parts.push((set, queries.nodes..end)),
            }
            queries.nodes = end;
        }
        let later = families.iter().zip(group.sizes()).skip(axis + 1);
        let count = later.map(|(f, n)| f.count(&[*n]).map_or(1.0, |count| count.as_f64()));
        queries.inner = count.product::<f64>() as usize;
        queries
    }

    /// Returns the sets of attributes and levels.
    pub(crate) fn sets(&self) -> impl Iterator<Item = AttributeSet> + '_ {
        self.parts.iter().map(|(set, _)| *set)
    }

    /// Answers the group from the marginals of its parts, in their order.
    ///
    /// Returns the answers with the index of their part.
    ///
    /// # Errors
    /// Queries that cannot be enumerated.
    pub(crate) fn answers(
        &self,
        group: &QueryGroup,
        domain: &LevelSchema,
        marginals: &[&[f64]],
    ) -> Result<Vec<(f64, usize)>> {
        let mut answers = Vec::new();
        for (index, ((set, nodes), marginal)) in self.parts.iter().zip(marginals).enumerate() {
            let found = match *set == group.attributes() {
                true => group.answers(marginal)?,
                // Only the sums over nodes enter the answers that are used.
                false => group.answers(&domain.spread(*set, marginal))?,
            };
            answers.resize(found.len(), (0.0, 0));
            for (query, answer) in found.into_iter().enumerate() {
                if nodes.contains(&(query / self.inner.max(1) % self.nodes.max(1))) {
                    answers[query] = (answer, index);
                }
            }
        }
        Ok(answers)
    }
}
