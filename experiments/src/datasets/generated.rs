//! Generated tables: random networks, mixtures of latent classes, and ordinal attributes.
//!
//! # Definition
//! Attributes have independent sizes, uniform over a range. An attribute of n values has a base
//! distribution b ~ Dirichlet(1, …, 1).
//!
//! - [`Structure::Network`]: attribute i has k parents, k uniform on 0 … `parents` (at most all
//!   candidates), chosen without replacement from the `window` attributes before it. For each
//!   combination of the parents' values its distribution is Dirichlet(κ b), κ = `concentration`; b
//!   without parents. The tree width is at most `window`.
//! - [`Structure::Classes`]: a latent class has a distribution Dirichlet(1, …, 1). Given the class,
//!   attributes are independent, each with a distribution Dirichlet(κ b) per class.
//! - [`Structure::Ordinal`]: attribute i is a normal number cut into ordered values with the
//!   probabilities b. It is √s_i ⟨u_i, z⟩ + √(1 − s_i) e_i, where u_i is a uniform unit vector, s_i
//!   is uniform on [0, `share`], and z (the factors) and e_i are independent standard normal
//!   numbers of the record.
//! - `colliders`: the number of triples of binary attributes A, B, C before these: fair coins A, B,
//!   and C = A ∧ B, A ∨ B, A ⊕ B in turn. The pairs of a triple with ⊕ are independent.
//!
//! A random permutation of the attributes comes last, so that the order tells nothing.
//!
//! One ChaCha20 stream makes all choices, seeded (`seed_from_u64`) with the first 64 bits of the
//! SHA-256 of the table's name, in the order of the program. A table is the same on every machine.

use matmech::Result;
use matmech::data::{Column, Records};
use matmech::domain::AttributeKind;
use matmech::schema::Schema;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::draws::{below, cumulative, dirichlet, inverted, normal, permutation, uniform};
use super::network::{Network, Node};
use crate::files::first_bytes;

/// The revision of the definition, raised with every change of it, and of [`Network::sample`].
pub const REVISION: u32 = 1;

/// The parameters of a generated table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generator {
    /// The number of records.
    pub records: usize,
    /// The number of attributes, with those of colliders.
    pub attributes: usize,
    /// The smallest and the largest size of an attribute that is not part of a collider.
    pub sizes: (usize, usize),
    /// The number of triples A, B, C.
    pub colliders: usize,
    /// The distribution of the other attributes.
    pub structure: Structure,
}

/// A distribution over attributes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Structure {
    /// A random network.
    Network {
        /// Maximum number of parents.
        parents: usize,
        /// Number of preceding attributes from which parents are chosen; a bound on the tree width.
        window: usize,
        /// κ: the smaller, the stronger the dependence.
        concentration: f64,
    },
    /// A mixture of latent classes.
    Classes {
        /// Number of classes.
        classes: usize,
        /// κ: the smaller, the stronger the dependence.
        concentration: f64,
    },
    /// Ordinal attributes from latent normal numbers.
    Ordinal {
        /// Number of factors.
        factors: usize,
        /// Maximum share of the factors in an attribute's variance.
        share: f64,
    },
}

impl Generator {
    /// Generates the schema (attributes `A1, A2, …`) and the records.
    ///
    /// *Time*: O(records · attributes) draws.
    ///
    /// # Errors
    /// As [`Network::new`], [`Schema::of_sizes`] and [`Records::new`].
    pub fn generate(&self, name: &str) -> Result<(Schema, Records)> {
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from_be_bytes(first_bytes(name.as_bytes())));
        let attributes = self.attributes(&mut rng)?;
        let order = permutation(attributes.len(), attributes.len(), &mut rng);
        let mut attributes: Vec<Option<(usize, Column)>> =
            attributes.into_iter().map(Some).collect();
        let (sizes, columns): (Vec<usize>, Vec<Column>) =
            order.iter().filter_map(|&k| attributes[k as usize].take()).unzip();
        let schema = Schema::of_sizes(&sizes, self.kind())?;
        let records = Records::new(&schema, columns)?;
        Ok((schema, records))
    }

    fn kind(&self) -> AttributeKind {
        match self.structure {
            Structure::Ordinal { .. } => AttributeKind::Numeric,
            _ => AttributeKind::Categorical,
        }
    }

    /// Returns the size and the column of each attribute, before the permutation.
    fn attributes(&self, rng: &mut ChaCha20Rng) -> Result<Vec<(usize, Column)>> {
        let colliders = Network::new(colliders(self.colliders))?;
        let others = self.attributes.saturating_sub(3 * self.colliders);
        let (low, high) = self.sizes;
        let sizes: Vec<usize> = (0..others).map(|_| low + below(high + 1 - low, rng)).collect();
        let mut columns = colliders.sample(self.records, rng);
        columns.extend(match self.structure {
            Structure::Network { parents, window, concentration } => {
                let nodes = network(&sizes, parents, window, concentration, rng);
                Network::new(nodes)?.sample(self.records, rng)
            }
            Structure::Classes { classes, concentration } => {
                let nodes = mixture(&sizes, classes, concentration, rng);
                Network::new(nodes)?.sample(self.records, rng).split_off(1)
            }
            Structure::Ordinal { factors, share } => {
                ordinal(self.records, &sizes, factors, share, rng)
            }
        });
        let sizes = std::iter::repeat_n(2, 3 * self.colliders).chain(sizes);
        Ok(sizes.zip(columns).collect())
    }
}

fn node(size: usize, parents: Vec<usize>, probabilities: Vec<f64>) -> Node {
    Node { name: String::from("generated"), size, parents, probabilities }
}

/// Returns triples A, B, C: fair coins A, B, and C = A ∧ B, A ∨ B, A ⊕ B in turn.
fn colliders(triples: usize) -> Vec<Node> {
    // P(C | A, B) of the four combinations.
    const AND: [f64; 8] = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    const OR: [f64; 8] = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
    const XOR: [f64; 8] = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    let coin = || node(2, Vec::new(), vec![0.5; 2]);
    let triple = |(k, table): (usize, &[f64; 8])| {
        [coin(), coin(), node(2, vec![3 * k, 3 * k + 1], table.to_vec())]
    };
    [AND, OR, XOR].iter().cycle().take(triples).enumerate().flat_map(triple).collect()
}

/// Returns `rows` distributions Dirichlet(κ b), one after the other.
fn distributions(base: &[f64], rows: usize, concentration: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    // A shape is positive: a base probability can be too small for an f64.
    let shapes: Vec<f64> =
        base.iter().map(|b| (concentration * b).max(f64::MIN_POSITIVE)).collect();
    (0..rows).flat_map(|_| dirichlet(&shapes, rng)).collect()
}

fn base(size: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    dirichlet(&vec![1.0; size], rng)
}

fn network(
    sizes: &[usize],
    parents: usize,
    window: usize,
    concentration: f64,
    rng: &mut ChaCha20Rng,
) -> Vec<Node> {
    let node = |(i, &size): (usize, &usize)| {
        let candidates = window.min(i);
        let count = below(parents + 1, rng).min(candidates);
        let chosen: Vec<usize> = permutation(candidates, count, rng)
            .into_iter()
            .map(|k| i - candidates + k as usize)
            .collect();
        let base = base(size, rng);
        let probabilities = if chosen.is_empty() {
            base
        } else {
            let rows = chosen.iter().map(|&parent| sizes[parent]).product();
            distributions(&base, rows, concentration, rng)
        };
        node(size, chosen, probabilities)
    };
    sizes.iter().enumerate().map(node).collect()
}

/// Returns a network whose first attribute is the latent class.
fn mixture(
    sizes: &[usize],
    classes: usize,
    concentration: f64,
    rng: &mut ChaCha20Rng,
) -> Vec<Node> {
    let mut nodes = vec![node(classes, Vec::new(), base(classes, rng))];
    nodes.extend(sizes.iter().map(|&size| {
        let base = base(size, rng);
        node(size, vec![0], distributions(&base, classes, concentration, rng))
    }));
    nodes
}

fn ordinal(
    count: usize,
    sizes: &[usize],
    factors: usize,
    share: f64,
    rng: &mut ChaCha20Rng,
) -> Vec<Column> {
    let values: Vec<f64> = (0..count * factors).map(|_| normal(rng)).collect();
    let column = |&size: &usize| {
        let bounds: Vec<f64> = cumulative(&base(size, rng)).collect();
        let direction: Vec<f64> = (0..factors).map(|_| normal(rng)).collect();
        let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        let share = share * uniform(rng);
        let (common, rest) = (share.sqrt() / length, (1.0 - share).sqrt());
        let draw = |z: &[f64]| {
            let along: f64 = z.iter().zip(&direction).map(|(z, d)| z * d).sum();
            let x = common * along + rest * normal(rng);
            // Φ(x), uniform on [0, 1].
            inverted(&bounds, 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2))
        };
        values.chunks_exact(factors).map(draw).collect()
    };
    sizes.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use matmech::domain::AttributeSet;

    use super::*;
    use crate::datasets::tables::{Definition, TABLES};

    fn generated() -> impl Iterator<Item = (&'static str, Generator)> {
        TABLES.iter().filter_map(|table| match table.definition {
            Definition::Generated(generator) => Some((table.name, generator)),
            Definition::StandIn(..) => None,
        })
    }

    fn columns(records: &Records) -> Vec<Vec<u32>> {
        (0..records.sizes().len()).map(|p| records.column(p).unwrap().collect()).collect()
    }

    #[test]
    fn every_table_has_its_shape() {
        assert_eq!(generated().count(), 20);
        for (name, generator) in generated() {
            let Generator { attributes, sizes: (low, high), colliders, .. } = generator;
            assert!((8..=40).contains(&attributes) && 3 * colliders <= attributes, "{name}");
            assert!((5_000..=500_000).contains(&generator.records), "{name}");
            // At most 5,000 records. [`Records::new`] checks the values.
            let generator = Generator { records: 5_000, ..generator };
            let (schema, records) = generator.generate(name).unwrap();
            let sizes = schema.sizes();
            assert_eq!((sizes.len(), records.len()), (attributes, 5_000), "{name}");
            let outside = sizes.iter().filter(|n| !(low..=high).contains(n)).count();
            assert!(outside <= 3 * colliders && sizes.iter().all(|&n| n <= 12), "{name}");
        }
    }

    /// A change of these values is a change of the definition and must raise [`REVISION`].
    #[test]
    fn records_are_determined_by_the_name() {
        let firsts = |name: &str, generator: Generator| -> [u32; 8] {
            let (_, records) = Generator { records: 3, ..generator }.generate(name).unwrap();
            let columns = columns(&records);
            std::array::from_fn(|p| columns[p][0])
        };
        let of = |name: &str| generated().find(|(known, _)| *known == name).unwrap().1;
        assert_eq!(FIRSTS.map(|(name, _)| (name, firsts(name, of(name)))), FIRSTS);
        for (name, first) in FIRSTS {
            assert_ne!(firsts("another seed", of(name)), first, "{name}");
        }
    }

    const FIRSTS: [(&str, [u32; 8]); 4] = [
        ("generated-03", [1, 0, 4, 1, 1, 2, 1, 3]),
        ("generated-06", [2, 1, 1, 4, 2, 4, 2, 2]),
        ("generated-08", [7, 3, 0, 7, 2, 10, 6, 0]),
        ("held-out-10", [2, 1, 1, 1, 0, 0, 1, 1]),
    ];

    /// Every record of a triple satisfies its equation, and pairs with ⊕ are independent: a cell of
    /// A × C has N/4 records within 4.9 standard deviations.
    #[test]
    fn colliders_are_and_or_and_xor_of_coins() {
        let structure = Structure::Network { parents: 0, window: 0, concentration: 1.0 };
        let generator =
            Generator { records: 40_000, attributes: 14, sizes: (2, 2), colliders: 4, structure };
        let table = generator.attributes(&mut ChaCha20Rng::seed_from_u64(9)).unwrap();
        assert_eq!(table.len(), 14);
        let columns: Vec<Vec<u32>> =
            table.iter().map(|(_, column)| column.iter().collect()).collect();
        let operations: [fn(u32, u32) -> u32; 4] =
            [|a, b| a & b, |a, b| a | b, |a, b| a ^ b, |a, b| a & b];
        for (triple, operation) in columns.chunks_exact(3).zip(operations) {
            assert!((0..40_000).all(|r| triple[2][r] == operation(triple[0][r], triple[1][r])));
        }
        let deviation = (40_000.0f64 * 0.25 * 0.75).sqrt();
        for (a, c) in [(0, 1), (6, 8), (7, 8), (0, 3)] {
            let both = (0..40_000).filter(|&r| columns[a][r] == 1 && columns[c][r] == 1).count();
            assert!((both as f64 - 10_000.0).abs() < 4.9 * deviation, "{a}, {c}: {both}");
        }
    }

    /// Returns the mean over pairs of χ²/(freedom): about 1 for independent attributes.
    fn dependence(generator: Generator, seed: &str) -> f64 {
        let (_, records) = generator.generate(seed).unwrap();
        let sizes = records.sizes().to_vec();
        let (mut sum, mut pairs) = (0.0, 0.0);
        for b in 0..sizes.len() {
            for a in 0..b {
                let set = AttributeSet::from_positions(&[a, b]).unwrap();
                let counts = records.marginal(set).unwrap();
                let row = |i: usize| counts[i * sizes[b]..][..sizes[b]].iter().sum::<f64>();
                let column =
                    |j: usize| (0..sizes[a]).map(|i| counts[i * sizes[b] + j]).sum::<f64>();
                let mut chi = 0.0;
                for (cell, n) in counts.iter().enumerate() {
                    let mean =
                        row(cell / sizes[b]) * column(cell % sizes[b]) / records.len() as f64;
                    chi += if mean > 0.0 { (n - mean).powi(2) / mean } else { 0.0 };
                }
                sum += chi / ((sizes[a] - 1) * (sizes[b] - 1)) as f64;
                pairs += 1.0;
            }
        }
        sum / pairs
    }

    /// Without dependence the mean of χ²/(freedom) is 1; each of the parameters of strength raises
    /// it.
    #[test]
    fn parameters_decide_the_strength_of_dependence() {
        let table = |structure| Generator {
            records: 5_000,
            attributes: 12,
            sizes: (2, 4),
            colliders: 0,
            structure,
        };
        let network = |parents, concentration| {
            table(Structure::Network { parents, window: 4, concentration })
        };
        let classes = |classes, concentration| table(Structure::Classes { classes, concentration });
        let ordinal = |share| table(Structure::Ordinal { factors: 2, share });
        for (weak, strong) in [
            (network(0, 1.0), network(2, 100.0)),
            (network(2, 100.0), network(2, 1.0)),
            (classes(1, 100.0), classes(4, 30.0)),
            (classes(4, 30.0), classes(4, 1.0)),
            (ordinal(0.0), ordinal(0.3)),
            (ordinal(0.3), ordinal(0.95)),
        ] {
            let [low, high] = [weak, strong].map(|generator| dependence(generator, "a"));
            assert!(high > 1.5 * low, "{weak:?}: {low}, {strong:?}: {high}");
        }
        for independent in [network(0, 1.0), classes(1, 100.0), ordinal(0.0)] {
            let found = dependence(independent, "b");
            assert!((0.7..1.4).contains(&found), "{independent:?}: {found}");
        }
    }

    /// Parents are within the window, at most as many as allowed, and some are used.
    #[test]
    fn networks_respect_density_and_window() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let nodes = network(&[3; 200], 3, 5, 2.0, &mut rng);
        let mut counts = [0; 4];
        for (i, node) in nodes.iter().enumerate() {
            counts[node.parents.len()] += 1;
            assert!(node.parents.iter().all(|&parent| parent < i && i - parent <= 5));
        }
        // Each number is binomial(200, 1/4) but for the first attributes: mean 50, deviation 6.1.
        assert!(counts.iter().all(|count| (20..80).contains(count)), "{counts:?}");
    }
}
