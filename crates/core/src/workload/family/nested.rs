//! Sums over the nodes of a hierarchy.

use std::sync::{Mutex, PoisonError};

use ndarray::Array2;

use super::entries::{by_entries, indicator};
use super::families::Family;
use super::nodes::Nodes;
use super::query_family::{QueryFamily, Rows};
use crate::domain::{Hierarchy, Level};
use crate::error::{Error, Result};
use crate::workload::{Lanes, QueryCount};

impl QueryFamily for Nodes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs_order(&self) -> bool {
        false
    }

    fn nodes(&self) -> Option<&Nodes> {
        Some(self)
    }

    fn count(&self, _sizes: &[usize]) -> QueryCount {
        QueryCount::exact(self.names().count() as u128)
    }

    /// The sum of the block indicators of the levels.
    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        let mut gram =
            Array2::from_elem((sizes[0], sizes[0]), f64::from(u8::from(self.has_root())));
        for nodes in self.levels().iter().map(Level::node_of) {
            gram.indexed_iter_mut()
                .filter(|((i, j), _)| nodes[*i] == nodes[*j])
                .for_each(|(_, entry)| *entry += 1.0);
        }
        if self.is_nested() {
            gram.diag_mut().map_inplace(|entry| *entry += 1.0);
        }
        gram
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        let of_level = |level: &Level| {
            let (nodes, count) = (level.node_of().to_vec(), level.labels().len());
            (0..count as u32).map(move |node| indicator(n, |cell| nodes[cell] == node))
        };
        let levels: Vec<_> = self.levels().iter().map(of_level).collect();
        let root = self.has_root().then(|| vec![1.0; n]);
        let leaves = if self.is_nested() { n } else { 0 };
        let leaves = (0..leaves).map(move |leaf| indicator(n, |cell| cell == leaf));
        Ok(Box::new(root.into_iter().chain(levels.into_iter().flatten()).chain(leaves)))
    }

    /// Sums every level in one pass over the cells.
    fn answers(&self, sizes: &[usize], lanes: Lanes<'_>) -> Result<Vec<f64>> {
        let inner = lanes.inner();
        let mut out = Vec::new();
        for block in lanes.blocks() {
            let mut sum = |count: usize, node_of: &dyn Fn(usize) -> usize| {
                let start = out.len();
                out.resize(start + count * inner, 0.0);
                for (cell, values) in block.chunks_exact(inner.max(1)).enumerate() {
                    let sums = &mut out[start + node_of(cell) * inner..][..inner];
                    sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
                }
            };
            if self.has_root() {
                sum(1, &|_| 0);
            }
            for level in self.levels() {
                sum(level.labels().len(), &|cell| level.node_of()[cell] as usize);
            }
            if self.is_nested() {
                sum(sizes[0], &|cell| cell);
            }
        }
        Ok(out)
    }

    fn normalised_gram(&self, sizes: &[usize]) -> Result<Array2<f64>> {
        let n = sizes[0];
        let root = if self.has_root() { 1.0 / n as f64 } else { 0.0 };
        let mut gram = by_entries(n, |i, j| root + f64::from(u8::from(self.is_nested() && i == j)));
        for level in self.levels() {
            let nodes = level.node_of();
            let mut counts = vec![0.0; level.labels().len()];
            nodes.iter().for_each(|&node| counts[node as usize] += 1.0);
            gram.indexed_iter_mut()
                .filter(|((i, j), _)| nodes[*i] == nodes[*j])
                .for_each(|((i, _), entry)| *entry += 1.0 / counts[nodes[i] as usize]);
        }
        Ok(gram)
    }
}

/// The families of hierarchies. Each is created once and kept to the end of the process, because
/// [`Family`] has a static reference.
static KNOWN: Mutex<Vec<&'static Nodes>> = Mutex::new(Vec::new());

fn family(hierarchy: &Hierarchy, level: Option<usize>) -> Family {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let equal = |nodes: &&&Nodes| nodes.level == level && nodes.hierarchy == *hierarchy;
    if let Some(nodes) = known.iter().find(equal) {
        return Family::of(*nodes);
    }
    let name: &'static str = match level {
        None => "nested",
        Some(k) => Box::leak(format!("level({})", hierarchy.levels()[k].name()).into_boxed_str()),
    };
    let nodes = Box::leak(Box::new(Nodes { name, hierarchy: hierarchy.clone(), level }));
    known.push(nodes);
    Family::of(nodes)
}

impl Family {
    /// Returns the sums over all nodes of a hierarchy: the root, the levels, and the leaves.
    pub fn nested(hierarchy: &Hierarchy) -> Self {
        family(hierarchy, None)
    }

    /// Returns the sums over the nodes of one level.
    ///
    /// # Errors
    /// The hierarchy has no level of this name.
    pub fn level(hierarchy: &Hierarchy, name: &str) -> Result<Self> {
        let levels = hierarchy.levels();
        let index = levels.iter().position(|level| level.name() == name).ok_or_else(|| {
            let known: Vec<&str> = levels.iter().map(Level::name).collect();
            let remedy = "use identity for the leaves, or nested for all levels";
            Error::unknown_name("level", name, &known, remedy)
        })?;
        Ok(family(hierarchy, Some(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::NodeName;

    fn tree() -> Hierarchy {
        let labels = |text: &str| text.chars().map(String::from).collect();
        let levels = vec![("region".into(), labels("NSNSSN")), ("county".into(), labels("ABCBDA"))];
        Hierarchy::new(levels, |leaf| leaf.to_string()).unwrap()
    }

    #[test]
    fn families_are_equal_by_hierarchy_and_level() {
        let other = Hierarchy::groups(&[3, 3]).unwrap();
        assert_eq!(Family::nested(&tree()), Family::nested(&tree()));
        assert_ne!(Family::nested(&tree()), Family::nested(&other));
        assert_ne!(
            Family::level(&tree(), "region").unwrap(),
            Family::level(&tree(), "county").unwrap()
        );
        assert!(Family::level(&tree(), "countty").unwrap_err().to_string().contains("`county`"));
        assert!(Family::nested(&tree()).gram(&[5]).is_err());
    }

    #[test]
    fn nodes_are_named_in_the_order_of_the_queries() {
        let family = Family::nested(&tree());
        let names: Vec<_> = family.nodes().unwrap().names().collect();
        assert_eq!(names.len(), 1 + 2 + 4 + 6);
        assert_eq!(
            names[..3],
            [NodeName::Total, NodeName::Node("region", "N"), NodeName::Node("region", "S")]
        );
        assert_eq!(names[6..8], [NodeName::Node("county", "D"), NodeName::Leaf(0)]);
        let rows: Vec<_> = family.rows(&[6]).unwrap().collect();
        assert_eq!(rows.len(), names.len());
        assert_eq!(rows[4], [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    }

    /// Gram matrices and answers compared with the rows, alone and in a product.
    #[test]
    fn closed_forms_are_those_of_the_rows() {
        let one = Hierarchy::groups(&[4]).unwrap();
        let level = |name| Family::level(&tree(), name).unwrap();
        for (family, n, count) in [
            (Family::nested(&tree()), 6, 13),
            (level("region"), 6, 2),
            (level("county"), 6, 4),
            (Family::nested(&one), 4, 5),
        ] {
            let rows: Vec<Vec<f64>> = family.rows(&[n]).unwrap().collect();
            assert_eq!(
                (rows.len(), family.count(&[n]).unwrap()),
                (count, QueryCount::exact(count as u128))
            );
            let w = Array2::from_shape_fn((count, n), |(q, cell)| rows[q][cell]);
            assert_eq!(family.gram(&[n]).unwrap(), w.t().dot(&w));
            let mut unit = w.clone();
            for mut row in unit.rows_mut() {
                let norm = row.dot(&row).sqrt();
                row /= norm;
            }
            let difference = family.normalised_gram(&[n]).unwrap() - unit.t().dot(&unit);
            assert!(difference.iter().all(|x| x.abs() < 1e-14));
            let values: Vec<f64> = (0..2 * n * 3).map(|k| ((k * k) % 17) as f64).collect();
            let lanes = || Lanes::new(&values, n, 3);
            let expected = lanes().by_rows(family.rows(&[n]).unwrap());
            assert_eq!(family.answers(&[n], lanes()).unwrap(), expected);
        }
    }
}
