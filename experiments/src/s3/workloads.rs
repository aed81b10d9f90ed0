//! The workloads of S3's tables, by their names in the published files.

use std::collections::HashMap;
use std::sync::Arc;

use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;
use matmech::workload::{
    Family, GroupFamily, GroupedWorkload, JointQueries, QueryGroup, attribute_sets, groups_of,
};
use ndarray::Array2;
use rand_mt::Mt;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Names of the workloads over `[n]^d`.
pub(super) const UNIFORM: [&str; 8] =
    ["marginal", "prefix", "range", "circular", "affine", "abs", "random", "mixed"];

/// Maximum size of attributes with random queries; those on pairs take 980 MB.
const MAX_RANDOM_SIZE: u32 = 80;

/// Returns the numbers of attributes of the queries of a workload over `[n]^d`.
pub(super) fn ways(name: &str) -> &'static [usize] {
    if name == "mixed" { &[1, 2, 3] } else { &[1, 2] }
}

/// Returns a workload over `[n]^d`.
///
/// It has all 1- and 2-way queries of one family, or is `mixed`: 1-way ranges, 2-way affine queries
/// and 3-way prefix sums. The 1-way queries of `affine` and `abs` are prefix sums. Random queries
/// have the seed 42 + n (S3, Sec. 8).
///
/// With `weight_seed`, every marginal has a random weight in 1..=5.
pub(super) fn uniform(
    n: usize,
    d: usize,
    name: &str,
    weight_seed: Option<u32>,
) -> Result<GroupedWorkload> {
    let schema = Schema::uniform(n, d)?;
    if name == "mixed" {
        let parts = [
            GroupFamily::Product(Family::RANGE),
            GroupFamily::Pairs(Family::AFFINE),
            GroupFamily::Product(Family::PREFIX),
        ];
        let mut groups = Vec::new();
        for (way, family) in (1..).zip(parts) {
            groups.extend(groups_of(&schema, &family, &attribute_sets(&schema, &[way])?, &[1.0])?);
        }
        return Ok(GroupedWorkload::new(schema, groups)?);
    }
    let sets = attribute_sets(&schema, ways(name))?;
    let weights = weight_seed
        .map_or_else(|| vec![1.0], |seed| RandomState::new(seed).one_to_five(sets.len()));
    if name == "random" {
        let groups = random_groups(&schema, n, |way| match (weights.len(), way) {
            (1, _) => weights.clone(),
            (_, 1) => weights[..d].to_vec(),
            _ => weights[d..].to_vec(),
        })?;
        return Ok(GroupedWorkload::new(schema, groups)?);
    }
    let family = match name {
        "marginal" => GroupFamily::Product(Family::IDENTITY),
        "prefix" => GroupFamily::Product(Family::PREFIX),
        "range" => GroupFamily::Product(Family::RANGE),
        "circular" => GroupFamily::Product(Family::CIRCULAR),
        "affine" => GroupFamily::Pairs(Family::AFFINE),
        "abs" => GroupFamily::Pairs(Family::ABS),
        unknown => return Err(Error::unknown_name("workloads", "workload", unknown, &UNIFORM)),
    };
    let groups = groups_of(&schema, &family, &sets, &weights)?;
    Ok(GroupedWorkload::new(schema, groups)?)
}

/// Returns the random queries over `[n]^d`: 3 per cell, on single attributes, then on pairs; equal for
/// sets of one size. The stream has the seed 42 + n.
fn random_groups(
    schema: &Schema,
    n: usize,
    weight: impl Fn(usize) -> Vec<f64>,
) -> Result<Vec<QueryGroup>> {
    let seed = u32::try_from(n).ok().filter(|&n| n <= MAX_RANDOM_SIZE).ok_or_else(|| {
        Error::config(
            "n",
            format!("attributes of at most {MAX_RANDOM_SIZE} values for random queries"),
            n.to_string(),
            "choose a smaller size",
        )
    })?;
    let mut state = RandomState::new(42 + seed);
    let mut groups = Vec::new();
    for (way, cells) in [(1, n), (2, n * n)] {
        let queries = Arc::new(state.indicators(3 * cells, cells, 0.3));
        let sets = attribute_sets(schema, &[way])?;
        let family = GroupFamily::Matrix(queries);
        groups.extend(groups_of(schema, &family, &sets, &weight(way))?);
    }
    Ok(groups)
}

/// The attribute sizes of a data set, numeric attributes first. The tables need no records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DatasetSizes {
    /// Name in the tables.
    pub name: String,
    /// Sizes of the numeric attributes.
    pub numeric: Vec<usize>,
    /// Sizes of the categorical attributes.
    pub categorical: Vec<usize>,
}

impl DatasetSizes {
    /// Returns the schema, with attributes `A1, A2, …`.
    pub fn schema(&self) -> matmech::Result<Schema> {
        let numeric = self.numeric.iter().map(|&size| (size, AttributeKind::Numeric));
        let categorical = self.categorical.iter().map(|&size| (size, AttributeKind::Categorical));
        let named = |(k, (size, kind))| Attribute::new(format!("A{}", k + 1), size, kind);
        Schema::new(numeric.chain(categorical).enumerate().map(named).collect())
    }
}

/// Names of the workloads over a data set.
pub(super) const OVER_DATASETS: [&str; 6] =
    ["1-way", "2-way", "3-way", "<=3-way", "affine", "abs_diff"];

/// Returns a workload over a data set.
///
/// - `k-way` (Table 2): prefix sums on numeric attributes, the identity on categorical ones.
/// - `affine`, `abs_diff` (Table 3): the same on single attributes, and joint queries on all pairs
///   of attributes. Pairs of sizes a, b with (a − 1)(b − 1) > `product_above` have prefix ⊗ prefix
///   instead, as in the published code; the paper does not mention this.
pub(super) fn over_dataset(
    dataset: &DatasetSizes,
    name: &str,
    product_above: usize,
) -> Result<GroupedWorkload> {
    let schema = dataset.schema()?;
    let hybrid =
        |ways: &[usize]| GroupedWorkload::all_ways(schema.clone(), &GroupFamily::Hybrid, ways);
    let family = match name {
        "1-way" => return Ok(hybrid(&[1])?),
        "2-way" => return Ok(hybrid(&[2])?),
        "3-way" => return Ok(hybrid(&[3])?),
        "<=3-way" => return Ok(hybrid(&[1, 2, 3])?),
        "affine" => Family::AFFINE,
        "abs_diff" => Family::ABS,
        unknown => {
            return Err(Error::unknown_name("workloads", "workload", unknown, &OVER_DATASETS));
        }
    };
    let mut groups = hybrid(&[1])?.groups().to_vec();
    let mut shared: HashMap<Vec<usize>, Arc<JointQueries>> = HashMap::new();
    for pair in attribute_sets(&schema, &[2])? {
        let sizes = schema.shape_of(pair)?;
        let residual_cells: usize = sizes.iter().map(|n| n - 1).product();
        groups.push(if residual_cells > product_above {
            QueryGroup::product(&schema, pair, &[Family::PREFIX; 2], 1.0)?
        } else {
            let queries = match shared.get(&sizes) {
                Some(queries) => queries.clone(),
                None => {
                    let queries = Arc::new(JointQueries::family(family, &sizes)?);
                    shared.insert(sizes, queries.clone());
                    queries
                }
            };
            // The paper orders the values of categorical attributes too.
            QueryGroup::joint(&schema, pair, queries, family.name(), 1.0)?
        });
    }
    Ok(GroupedWorkload::new(schema, groups)?)
}

/// A stream of random numbers.
pub(super) struct RandomState(Mt);

impl RandomState {
    /// Starts the stream of a seed.
    pub fn new(seed: u32) -> Self {
        RandomState(Mt::new(seed))
    }

    /// Draws a double in [0, 1) from two 32-bit numbers (`genrand_res53`).
    fn next_double(&mut self) -> f64 {
        let (high, low) = (f64::from(self.0.next_u32() >> 5), f64::from(self.0.next_u32() >> 6));
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// Returns `rand(rows, columns) < probability`, with entries 0 and 1.
    pub fn indicators(&mut self, rows: usize, columns: usize, probability: f64) -> Array2<f64> {
        Array2::from_shape_simple_fn((rows, columns), || {
            f64::from(u8::from(self.next_double() < probability))
        })
    }

    /// Returns `randint(1, 6, count)`: 3-bit numbers plus 1; numbers above 4 are rejected.
    pub fn one_to_five(&mut self, count: usize) -> Vec<f64> {
        std::iter::repeat_with(|| self.0.next_u32() & 7)
            .filter(|&draw| draw < 5)
            .take(count)
            .map(|draw| f64::from(draw + 1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the column #Queries of Table 3, which determines the reading of the workloads.
    #[test]
    fn query_counts_of_table_3() {
        let adult = DatasetSizes {
            name: "Adult".into(),
            numeric: vec![100, 100, 100, 99, 85],
            categorical: vec![42, 16, 15, 9, 7, 6, 5, 2, 2],
        };
        let count = |name| over_dataset(&adult, name, 5000).unwrap().count().to_string();
        assert_eq!((count("affine"), count("abs_diff")), ("99830".to_owned(), "99200".to_owned()));
        assert!(over_dataset(&adult, "4-way", 5000).is_err());
    }

    /// Compared with the reference generator of Matsumoto and Nishimura (2002), whose first doubles
    /// with seed 5489 are 0.814723686393179 and 0.905791937075619.
    #[test]
    fn doubles_are_those_of_the_reference_generator() {
        let mut state = RandomState::new(5489);
        assert!((state.next_double() - 0.814_723_686_393_179).abs() < 1e-15);
        assert!((state.next_double() - 0.905_791_937_075_619).abs() < 1e-15);
        let ones = RandomState::new(5489).indicators(1, 2, 0.85);
        assert_eq!(ones, ndarray::array![[1.0, 0.0]]);
    }

    /// Compared with `numpy.random.RandomState(42).randint(1, 6, 10)`.
    #[test]
    fn integers_are_those_of_numpy() {
        let expected = [4.0, 5.0, 3.0, 5.0, 5.0, 2.0, 3.0, 3.0, 3.0, 5.0];
        assert_eq!(RandomState::new(42).one_to_five(10), expected);
    }
}
