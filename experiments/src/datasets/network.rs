//! Bayesian networks over discrete attributes, and records drawn from them.
//!
//! Every attribute has a distribution for each combination of its parents' values:
//!
//! P(x) = Π_i P(x_i | x_j, j ∈ parents(i)).

use matmech::data::Column;
use matmech::{Error, Result};
use rand_chacha::ChaCha20Rng;

use super::draws::{cumulative, inverted, uniform};

/// Maximum distance from 1 of the sum of a distribution. Published tables are rounded.
const MAX_DEVIATION: f64 = 1e-6;

/// An attribute of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The name.
    pub name: String,
    /// The number of values.
    pub size: usize,
    /// The indices of the parents.
    pub parents: Vec<usize>,
    /// P(value | values of the parents): one distribution of `size` numbers for every combination
    /// of the parents' values, in row-major order, the first parent slowest.
    pub probabilities: Vec<f64>,
}

/// A Bayesian network.
#[derive(Debug, Clone)]
pub struct Network {
    nodes: Vec<Node>,
    /// Parents before children.
    order: Vec<usize>,
}

impl Network {
    /// Creates a network. Distributions are divided by their sums.
    ///
    /// # Errors
    /// Returns an error if an attribute has no values, a parent is missing or named twice, the
    /// number of probabilities is wrong, a probability is negative or not finite, a distribution
    /// differs from 1 by more than 1e-6 in sum, or the parents have a cycle.
    pub fn new(nodes: Vec<Node>) -> Result<Self> {
        for node in &nodes {
            check(node, &nodes)?;
        }
        let order = order(&nodes)?;
        Ok(Network { nodes, order })
    }

    /// Returns the attributes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Draws records by ancestral sampling. Returns a column per attribute.
    ///
    /// Attributes are drawn one after the other, parents first, with one 64-bit number per record.
    ///
    /// *Time*: O(count · Σ_i (|parents(i)| + ln n_i)).
    #[must_use]
    pub fn sample(&self, count: usize, rng: &mut ChaCha20Rng) -> Vec<Column> {
        let mut columns: Vec<Column> = vec![Column::default(); self.nodes.len()];
        for &index in &self.order {
            let node = &self.nodes[index];
            let bounds: Vec<f64> =
                node.probabilities.chunks_exact(node.size).flat_map(cumulative).collect();
            let mut rows = vec![0; count];
            for &parent in &node.parents {
                let size = self.nodes[parent].size;
                for (row, value) in rows.iter_mut().zip(columns[parent].iter()) {
                    *row = *row * size + value as usize;
                }
            }
            let draw = |row: usize| {
                inverted(&bounds[row * node.size..(row + 1) * node.size], uniform(rng))
            };
            columns[index] = rows.into_iter().map(draw).collect();
        }
        columns
    }
}

fn check(node: &Node, nodes: &[Node]) -> Result<()> {
    let refused = |expected: &str, found: String| {
        let what = format!("attribute `{}` of a network", node.name);
        Err(Error::bad_input(what, expected, found, "correct the table of this attribute"))
    };
    if node.size == 0 {
        return refused("at least one value", "none".into());
    }
    let mut rows = Some(1usize);
    for (i, &parent) in node.parents.iter().enumerate() {
        let Some(attribute) = nodes.get(parent) else {
            return refused("parents in the network", format!("number {parent}"));
        };
        if node.parents[..i].contains(&parent) {
            return refused("different parents", format!("`{}` twice", attribute.name));
        }
        rows = rows.and_then(|rows| rows.checked_mul(attribute.size));
    }
    let found = node.probabilities.len();
    let expected = rows.and_then(|rows| rows.checked_mul(node.size));
    if expected != Some(found) {
        let expected = expected.map_or("fewer".into(), |number| number.to_string());
        return refused(&format!("{expected} probabilities"), found.to_string());
    }
    if let Some(wrong) = node.probabilities.iter().find(|p| !(p.is_finite() && **p >= 0.0)) {
        return refused("finite probabilities of at least 0", wrong.to_string());
    }
    for (row, distribution) in node.probabilities.chunks_exact(node.size).enumerate() {
        let sum: f64 = distribution.iter().sum();
        if (sum - 1.0).abs() > MAX_DEVIATION {
            let found = format!("{sum} in distribution {}", row + 1);
            return refused("distributions with the sum 1", found);
        }
    }
    Ok(())
}

/// Returns the indices of the attributes, parents before children.
fn order(nodes: &[Node]) -> Result<Vec<usize>> {
    let mut order = Vec::with_capacity(nodes.len());
    let mut placed = vec![false; nodes.len()];
    while order.len() < nodes.len() {
        let before = order.len();
        for (index, node) in nodes.iter().enumerate() {
            if !placed[index] && node.parents.iter().all(|&parent| placed[parent]) {
                placed[index] = true;
                order.push(index);
            }
        }
        if order.len() == before {
            let found = placed.iter().position(|placed| !placed).map_or("", |i| &nodes[i].name);
            return Err(Error::bad_input(
                "network",
                "parents without a cycle",
                format!("a cycle at or above `{found}`"),
                "remove a parent",
            ));
        }
    }
    Ok(order)
}

#[cfg(test)]
pub mod tests {
    use matmech::data::Records;
    use matmech::domain::{AttributeKind, AttributeSet};
    use matmech::schema::Schema;
    use rand::SeedableRng;

    use super::*;

    fn node(name: &str, size: usize, parents: &[usize], probabilities: &[f64]) -> Node {
        let (name, parents) = (name.to_owned(), parents.to_vec());
        Node { name, size, parents, probabilities: probabilities.to_vec() }
    }

    /// A child before its parents, two parents of different sizes, and zero probabilities.
    fn small() -> Vec<Node> {
        vec![
            node("c", 2, &[2, 1], &[0.9, 0.1, 0.2, 0.8, 1.0, 0.0, 0.5, 0.5, 0.3, 0.7, 0.0, 1.0]),
            node("b", 2, &[2], &[0.6, 0.4, 0.1, 0.9, 0.5, 0.5]),
            node("a", 3, &[], &[0.2, 0.5, 0.3]),
            node("d", 3, &[0], &[0.1, 0.0, 0.9, 0.25, 0.5, 0.25]),
        ]
    }

    /// Returns P(x) of all combinations of values, in row-major order, by multiplication.
    pub fn joint(nodes: &[Node]) -> Vec<f64> {
        let sizes: Vec<usize> = nodes.iter().map(|node| node.size).collect();
        let probability = |mut cell: usize| {
            let mut x = vec![0; sizes.len()];
            for i in (0..sizes.len()).rev() {
                x[i] = cell % sizes[i];
                cell /= sizes[i];
            }
            let factor = |(i, node): (usize, &Node)| {
                let row = node.parents.iter().fold(0, |row, &p| row * sizes[p] + x[p]);
                node.probabilities[row * node.size + x[i]]
            };
            nodes.iter().enumerate().map(factor).product()
        };
        (0..sizes.iter().product()).map(probability).collect()
    }

    /// Sums the joint distribution to a marginal, in row-major order.
    fn marginal(joint: &[f64], sizes: &[usize], positions: &[usize]) -> Vec<f64> {
        let mut sums = vec![0.0; positions.iter().map(|&p| sizes[p]).product()];
        for (cell, p) in joint.iter().enumerate() {
            let value = |i: usize| cell / sizes[i + 1..].iter().product::<usize>() % sizes[i];
            sums[positions.iter().fold(0, |row, &i| row * sizes[i] + value(i))] += p;
        }
        sums
    }

    /// Every cell of every marginal is within 5.6 standard deviations of N p (two-sided probability
    /// 2e-8, below 1e-5 for all cells together), plus 1 for cells with few expected records; cells
    /// of probability 0 are empty.
    #[test]
    fn marginals_of_samples_are_those_of_the_network() {
        let nodes = small();
        let sizes = [2, 2, 3, 3];
        let network = Network::new(nodes.clone()).unwrap();
        let count = 200_000;
        let columns = network.sample(count, &mut ChaCha20Rng::seed_from_u64(11));
        let schema = Schema::of_sizes(&sizes, AttributeKind::Categorical).unwrap();
        let records = Records::new(&schema, columns).unwrap();
        let joint = joint(&nodes);
        assert!((joint.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut cells = 0;
        for set in 1..16usize {
            let positions: Vec<usize> = (0..4).filter(|i| set >> i & 1 == 1).collect();
            let exact = marginal(&joint, &sizes, &positions);
            let found =
                records.marginal(AttributeSet::from_positions(&positions).unwrap()).unwrap();
            for (n, p) in found.iter().zip(&exact) {
                let mean = count as f64 * p;
                let bound = 5.6 * (mean * (1.0 - p)).sqrt() + if *p > 0.0 { 1.0 } else { 0.0 };
                assert!((n - mean).abs() <= bound, "{positions:?}: {n}, {mean}");
                cells += 1;
            }
        }
        assert_eq!(cells, 3 * 3 * 4 * 4 - 1);
    }

    #[test]
    fn invalid_networks_are_refused() {
        let changed = |index: usize, change: &dyn Fn(&mut Node)| {
            let mut nodes = small();
            change(&mut nodes[index]);
            Network::new(nodes).unwrap_err().to_string()
        };
        for (message, parts) in [
            (changed(3, &|node| node.size = 0), ["`d`", "at least one value"]),
            (changed(2, &|node| node.parents = vec![3]), ["`a`", "9 probabilities"]),
            (changed(1, &|node| node.parents = vec![4]), ["`b`", "parents in the network"]),
            (changed(0, &|node| node.parents = vec![2, 2]), ["`c`", "`a` twice"]),
            (changed(1, &|node| node.probabilities[0] = 0.7), ["`b`", "in distribution 1"]),
            (changed(1, &|node| node.probabilities[3] = -0.9), ["`b`", "at least 0"]),
            (changed(1, &|node| node.probabilities[3] = f64::NAN), ["`b`", "NaN"]),
            (
                changed(2, &|node| *node = self::node("a", 3, &[3], &[1.0 / 3.0; 9])),
                ["cycle", "`c`"],
            ),
        ] {
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
        let own_parent = vec![node("a", 2, &[0], &[0.5; 4])];
        assert!(Network::new(own_parent).unwrap_err().to_string().contains("cycle"));
    }
}
