//! Stand-ins: seeded synthetic tables that replace missing files.
//!
//! Loans and ACS, for example, are not redistributable (S4, App. G). A stand-in has the attribute
//! sizes and the number of records of the real table, and dependences between attributes. Nothing
//! else is real: errors of data-dependent mechanisms on it cannot be compared with published ones.
//!
//! # Definition
//! Zipf(k) is the distribution P(r) ∝ r^−1.1 on the ranks r = 1 … k. Choices are uniform unless a
//! distribution is given.
//!
//! 1. The attributes have a random order. The first is the root; the parent of each other attribute
//!    is a random earlier one (a random recursive tree).
//! 2. Every record belongs to one of five latent components, c ~ Zipf(5).
//! 3. An attribute of n values has a random permutation π_c of its values for every component c,
//!    and, unless it is the root, three different random values τ_v(1), τ_v(2), τ_v(3) for every
//!    value v of its parent (all of them if n < 3).
//! 4. The root of a record in component c is π_c(r), r ~ Zipf(n).
//! 5. A child whose parent has value v is, with probability 0.7, τ_v(r), r ~ Zipf(min(3, n)), and
//!    otherwise π_c(r), r ~ Zipf(n).
//!
//! So 70% of a child's values follow the tree, concentrated on three values for each value of the
//! parent. The other 30% have a Zipf distribution whose order depends on the latent component; no
//! tree over the attributes explains this dependence.
//!
//! One ChaCha20 stream makes all choices, seeded (`seed_from_u64`) with the first 64 bits of the
//! SHA-256 of the table's name. The order is: attribute order and parents, components, then for
//! each attribute its permutations, peaks and one 64-bit number per record. The lower half of that
//! number selects peak or component, the upper half the rank. Powers are computed by `libm`, so
//! that a table is the same on every machine.

use matmech::data::{Column, Records};
use matmech::domain::AttributeKind;
use matmech::schema::Schema;
use matmech::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::draws::{below, permutation};
use crate::files::first_bytes;

/// The revision of the definition, raised with every change of it.
///
/// Results on different revisions are results on different data.
pub const REVISION: u32 = 2;

const EXPONENT: f64 = 1.1;
const COMPONENTS: usize = 5;
const PEAKS: usize = 3;
/// 0.7 · 2³².
const FOLLOWS_PARENT: u32 = 3_006_477_107;

/// The definition of a stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandIn<'t> {
    /// The name of the real table, in lower case.
    pub name: &'t str,
    /// The number of records.
    pub records: usize,
    /// The sizes of the attributes.
    pub sizes: &'t [usize],
}

impl StandIn<'_> {
    /// Returns the seed: the first 64 bits of the SHA-256 of the name, big-endian.
    fn seed(&self) -> u64 {
        u64::from_be_bytes(first_bytes(self.name.as_bytes()))
    }

    /// Returns the schema: categorical attributes `A1, A2, …`, coded as cell numbers.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub fn schema(&self) -> Result<Schema> {
        Schema::of_sizes(self.sizes, AttributeKind::Categorical)
    }

    /// Generates the schema and the records.
    ///
    /// # Errors
    /// As [`generate`].
    pub fn generate(&self) -> Result<(Schema, Records)> {
        let schema = self.schema()?;
        let records = generate(&schema, self.records, self.seed())?;
        Ok((schema, records))
    }
}

/// Generates `count` records of a schema, by the definition of this module.
///
/// *Time*: O(count · attributes) random draws.
///
/// # Errors
/// Returns an error if an attribute has more than 2³² values.
pub fn generate(schema: &Schema, count: usize, seed: u64) -> Result<Records> {
    let sizes = schema.sizes();
    if let Some(attribute) = schema.attributes().iter().find(|a| u32::try_from(a.size).is_err()) {
        return Err(Error::too_large(
            format!("stand-in, attribute `{}`", attribute.name),
            "values",
            u32::MAX.into(),
            attribute.size as f64,
            "use fewer bins for the attribute",
        ));
    }
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let tree = Tree::random(sizes.len(), &mut rng);
    let mixture = Zipf::new(COMPONENTS);
    let components: Vec<u8> =
        (0..count).map(|_| mixture.draw((rng.next_u64() >> 32) as u32) as u8).collect();
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); sizes.len()];
    for &attribute in &tree.order {
        let n = sizes[attribute];
        let ranks = Zipf::new(n);
        let orders: Vec<Vec<u32>> = (0..COMPONENTS).map(|_| permutation(n, n, &mut rng)).collect();
        let by_component =
            |c: u8, number: u64| orders[usize::from(c)][ranks.draw((number >> 32) as u32)];
        columns[attribute] = match tree.parents[attribute] {
            None => components.iter().map(|&c| by_component(c, rng.next_u64())).collect(),
            Some(parent) => {
                let peak_ranks = Zipf::new(n.min(PEAKS));
                let peaks: Vec<Vec<u32>> =
                    (0..sizes[parent]).map(|_| permutation(n, n.min(PEAKS), &mut rng)).collect();
                let draw = |(&c, &v): (&u8, &u32)| {
                    let number = rng.next_u64();
                    if (number as u32) < FOLLOWS_PARENT {
                        peaks[v as usize][peak_ranks.draw((number >> 32) as u32)]
                    } else {
                        by_component(c, number)
                    }
                };
                components.iter().zip(&columns[parent]).map(draw).collect()
            }
        };
    }
    Records::new(schema, columns.into_iter().map(Column::from_iter).collect())
}

/// A random recursive tree over the attributes.
struct Tree {
    /// Parents before children.
    order: Vec<usize>,
    parents: Vec<Option<usize>>,
}

impl Tree {
    fn random(count: usize, rng: &mut ChaCha20Rng) -> Self {
        let order: Vec<usize> =
            permutation(count, count, rng).into_iter().map(|k| k as usize).collect();
        let mut parents = vec![None; count];
        for (position, &attribute) in order.iter().enumerate().skip(1) {
            parents[attribute] = Some(order[below(position, rng)]);
        }
        Tree { order, parents }
    }
}

/// Zipf(k) on the ranks 0 … k − 1, by inversion of the distribution function in units of 2⁻³².
struct Zipf(Vec<u32>);

impl Zipf {
    fn new(k: usize) -> Self {
        let weights: Vec<f64> = (1..=k).map(|r| libm::pow(r as f64, -EXPONENT)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let upper = weights.iter().take(k.saturating_sub(1)).map(|weight| {
            sum += weight;
            (sum / total * 4_294_967_296.0) as u32
        });
        Zipf(upper.collect())
    }

    /// Returns the rank for a uniform 32-bit number.
    fn draw(&self, number: u32) -> usize {
        self.0.partition_point(|&upper| upper <= number)
    }
}

#[cfg(test)]
mod tests {
    use matmech::domain::AttributeSet;

    use super::*;
    use crate::datasets::tables::{Definition, TABLES, definition};

    /// Returns the mutual information I(X; Y) of a table of counts, in nats.
    fn information(table: &[f64], rows: usize) -> f64 {
        let (columns, total) = (table.len() / rows, table.iter().sum::<f64>());
        let row = |i: usize| table[i * columns..][..columns].iter().sum::<f64>();
        let column = |j: usize| (0..rows).map(|i| table[i * columns + j]).sum::<f64>();
        let term = |i: usize, j: usize| {
            let n = table[i * columns + j];
            if n > 0.0 { n / total * (n * total / (row(i) * column(j))).ln() } else { 0.0 }
        };
        (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| term(i, j)).sum()
    }

    fn named(name: &str) -> StandIn<'_> {
        match definition(name) {
            Some(Definition::StandIn(records, sizes)) => StandIn { name, records, sizes },
            _ => panic!("{name}"),
        }
    }

    /// Compares with the first 64 bits of the SHA-256 of "adult", computed by sha256sum.
    #[test]
    fn the_seed_is_the_hash_of_the_name() {
        assert_eq!(named("adult").seed(), 0x7fdc_3e80_38e8_7ff5);
    }

    fn tree_of(stand_in: &StandIn<'_>) -> Tree {
        Tree::random(stand_in.sizes.len(), &mut ChaCha20Rng::seed_from_u64(stand_in.seed()))
    }

    #[test]
    fn every_stand_in_has_the_shape_of_its_table() {
        let is_stand_in = |name: &&str| matches!(definition(name), Some(Definition::StandIn(..)));
        let names = TABLES.iter().map(|table| table.name).filter(is_stand_in);
        for stand_in in names.map(named) {
            // At most the first 50,000 records.
            let (name, count) = (stand_in.name, stand_in.records.min(50_000));
            let records = generate(&stand_in.schema().unwrap(), count, stand_in.seed()).unwrap();
            assert_eq!((records.sizes(), records.len()), (stand_in.sizes, count), "{name}");
            for (p, &size) in stand_in.sizes.iter().enumerate() {
                assert!(
                    records.column(p).unwrap().all(|value| (value as usize) < size),
                    "{name}, attribute {p}"
                );
            }
        }
        let [loans, acs] = ["loans", "acs"].map(named);
        assert_eq!(
            (loans.sizes.len(), loans.records, acs.sizes.len(), acs.records),
            (43, 42_535, 66, 378_817)
        );
        let product: f64 = loans.sizes.iter().map(|&n| n as f64).product();
        assert_eq!(format!("{product:.2e}"), "1.54e63");
        assert_eq!(format!("{:.2}", acs.sizes.iter().sum::<usize>() as f64 / 66.0), "4.08");
    }

    #[test]
    fn records_are_determined_by_schema_count_and_seed() {
        let schema = named("titanic").schema().unwrap();
        let columns = |seed| -> Vec<Vec<u32>> {
            let records = generate(&schema, 500, seed).unwrap();
            (0..9).map(|p| records.column(p).unwrap().collect()).collect()
        };
        assert_eq!(columns(1), columns(1));
        assert_ne!(columns(1), columns(2));
        // A change of these values is a change of the definition and must raise REVISION.
        let first: Vec<u32> = columns(1).iter().map(|column| column[0]).collect();
        assert_eq!(first, FIRST_OF_TITANIC);
    }

    const FIRST_OF_TITANIC: [u32; 9] = [2, 0, 16, 5, 6, 8, 2, 2, 0];

    #[test]
    fn ranks_have_a_zipf_distribution() {
        let ranks = Zipf::new(4);
        let weights: Vec<f64> = (1..=4).map(|r| f64::from(r).powf(-1.1)).collect();
        let total: f64 = weights.iter().sum();
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let mut counts = [0.0; 4];
        for _ in 0..100_000 {
            counts[ranks.draw(rng.next_u32())] += 1.0;
        }
        // A chi-squared variable with 3 degrees of freedom exceeds 21.1 with probability 1e-4.
        let chi: f64 = counts
            .iter()
            .zip(&weights)
            .map(|(n, w)| (n - 1e5 * w / total).powi(2) / (1e5 * w / total))
            .sum();
        assert!(chi < 21.1, "{chi}");
        assert_eq!(
            (Zipf::new(1).draw(u32::MAX), Zipf::new(4).draw(u32::MAX), Zipf::new(4).draw(0)),
            (0, 3, 0)
        );
    }

    #[test]
    fn children_depend_on_their_parents() {
        let stand_in = named("adult");
        let (_, records) = stand_in.generate().unwrap();
        let tree = tree_of(&stand_in);
        let mut edges = 0;
        for (child, parent) in
            tree.parents.iter().enumerate().filter_map(|(child, p)| p.map(|p| (child, p)))
        {
            let (rows, columns) = (stand_in.sizes[parent], stand_in.sizes[child]);
            let found = information(
                &records.marginal(AttributeSet::from_positions(&[parent, child]).unwrap()).unwrap(),
                rows,
            );
            // For independent columns, 2N·I is approximately chi-squared, so that I has the mean
            // (rows − 1)(columns − 1)/(2N).
            let independent = ((rows - 1) * (columns - 1)) as f64 / (2.0 * records.len() as f64);
            assert!(found > 3.0 * independent, "{parent} → {child}: {found} against {independent}");
            edges += 1;
        }
        assert_eq!(edges, 14);
    }

    #[test]
    fn a_tree_does_not_explain_the_records() {
        // In a tree two children of a parent are independent given the parent. Here they depend on
        // the shared latent component.
        let stand_in = named("adult");
        let (_, records) = stand_in.generate().unwrap();
        let tree = tree_of(&stand_in);
        let siblings: Vec<(usize, usize, usize)> = (0..15)
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .filter(|&(a, b)| tree.parents[a] == tree.parents[b])
            .filter_map(|(a, b)| tree.parents[a].map(|parent| (parent, a, b)))
            .collect();
        assert!(!siblings.is_empty());
        let mut exceeding = 0;
        for &(parent, a, b) in &siblings {
            let marginal =
                records.marginal(AttributeSet::from_positions(&[parent, a, b]).unwrap()).unwrap();
            let (rows, columns) = (stand_in.sizes[a], stand_in.sizes[b]);
            // Under independence given the parent, 2N·I(A; B | parent) is about chi-squared.
            let (mut statistic, mut freedom) = (0.0, 0.0);
            for slice in marginal.chunks_exact(rows * columns) {
                statistic += 2.0 * slice.iter().sum::<f64>() * information(slice, rows).max(0.0);
                freedom += ((rows - 1) * (columns - 1)) as f64;
            }
            let standard_deviations = (statistic - freedom) / (2.0f64 * freedom).sqrt();
            exceeding += usize::from(standard_deviations > 6.0);
        }
        assert!(2 * exceeding > siblings.len(), "{exceeding} of {}", siblings.len());
    }
}
