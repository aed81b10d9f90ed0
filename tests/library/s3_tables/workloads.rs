//! The workloads of the tables of S3.

use std::sync::Arc;

use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;
use matmech::workload::{
    Family, GroupFamily, GroupedWorkload, JointQueries, QueryGroup, attribute_sets, groups_of,
};
use ndarray::Array2;

fn family(name: &str) -> GroupFamily {
    match name {
        "marginal" => GroupFamily::Product(Family::IDENTITY),
        "prefix" => GroupFamily::Product(Family::PREFIX),
        "range" => GroupFamily::Product(Family::RANGE),
        "circular" => GroupFamily::Product(Family::CIRCULAR),
        "affine" => GroupFamily::Pairs(Family::AFFINE),
        "abs" => GroupFamily::Pairs(Family::ABS),
        other => panic!("{other}"),
    }
}

/// Returns the groups of a query family on all sets of one or two of 40 attributes, weighted.
///
/// `random` is NumPy's `RandomState(42 + n).rand(3 c, c) < 0.3` on c = n cells, then on n² from the
/// same stream: MT19937, 53-bit doubles.
fn one_and_two_way_groups(n: usize, name: &str, weights: &[f64]) -> Vec<QueryGroup> {
    let schema = Schema::uniform(n, 40).unwrap();
    if name != "random" {
        let sets = attribute_sets(&schema, &[1, 2]).unwrap();
        return groups_of(&schema, &family(name), &sets, weights).unwrap();
    }
    let mut generator = rand_mt::Mt::new(42 + n as u32);
    let mut next_double = || {
        let (high, low) = (generator.next_u32() >> 5, generator.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    };
    let (singles, pairs) =
        if weights.len() == 1 { (weights, weights) } else { weights.split_at(40) };
    let mut groups = Vec::new();
    for (way, cells, weights) in [(1, n, singles), (2, n * n, pairs)] {
        let queries = Array2::from_shape_simple_fn((3 * cells, cells), || {
            f64::from(u8::from(next_double() < 0.3))
        });
        let sets = attribute_sets(&schema, &[way]).unwrap();
        let queries = GroupFamily::Matrix(Arc::new(queries));
        groups.extend(groups_of(&schema, &queries, &sets, weights).unwrap());
    }
    groups
}

/// Returns the workload of Table 4.
pub fn one_and_two_way(n: usize, name: &str) -> GroupedWorkload {
    let groups = one_and_two_way_groups(n, name, &[1.0]);
    GroupedWorkload::new(Schema::uniform(n, 40).unwrap(), groups).unwrap()
}

/// Returns the workload of Table 8, with weights 1 to 5 per marginal from NumPy's
/// `RandomState(42).randint(1, 6, …)`: masked rejection on 32-bit numbers.
pub fn weighted(n: usize, name: &str) -> GroupedWorkload {
    let schema = Schema::uniform(n, 40).unwrap();
    let sets = attribute_sets(&schema, &[1, 2]).unwrap();
    let mut generator = rand_mt::Mt::new(42);
    let weights: Vec<f64> = sets
        .iter()
        .map(|_| {
            loop {
                let draw = generator.next_u32() & 7;
                if draw <= 4 {
                    return f64::from(draw + 1);
                }
            }
        })
        .collect();
    GroupedWorkload::new(schema, one_and_two_way_groups(n, name, &weights)).unwrap()
}

/// Returns the workload of Tables 5 and 7: all 1-way ranges, 2-way affine queries and 3-way prefix
/// sums.
pub fn mixed(n: usize, d: usize) -> GroupedWorkload {
    let schema = Schema::uniform(n, d).unwrap();
    let mut groups = Vec::new();
    for (way, family) in [
        (1, GroupFamily::Product(Family::RANGE)),
        (2, GroupFamily::Pairs(Family::AFFINE)),
        (3, GroupFamily::Product(Family::PREFIX)),
    ] {
        groups.extend(
            groups_of(&schema, &family, &attribute_sets(&schema, &[way]).unwrap(), &[1.0]).unwrap(),
        );
    }
    GroupedWorkload::new(schema, groups).unwrap()
}

/// Returns the workload of Table 2: prefix on numeric attributes, identity on categorical ones.
pub fn hybrid(dataset: &str, ways: &str) -> GroupedWorkload {
    let (numeric, categorical): (&[usize], &[usize]) = match dataset {
        "Adult" => (&[100, 100, 100, 99, 85], &[42, 16, 15, 9, 7, 6, 5, 2, 2]),
        "CPS" => (&[50, 100], &[7, 4, 2]),
        "Loans" => (&[101, 101, 101, 101], &[3, 8, 36, 6, 51, 4, 5, 15]),
        other => panic!("{other}"),
    };
    let ways: &[usize] = match ways {
        "1-way" => &[1],
        "2-way" => &[2],
        "3-way" => &[3],
        "<=3-way" => &[1, 2, 3],
        other => panic!("{other}"),
    };
    let kinds = numeric.iter().map(|n| (n, AttributeKind::Numeric));
    let kinds = kinds.chain(categorical.iter().map(|n| (n, AttributeKind::Categorical)));
    let attributes = kinds
        .enumerate()
        .map(|(k, (&size, kind))| Attribute::new(format!("A{k}"), size, kind))
        .collect();
    GroupedWorkload::all_ways(Schema::new(attributes).unwrap(), &GroupFamily::Hybrid, ways).unwrap()
}

/// Returns the workload of Table 3: identity on single categorical attributes, and prefix sums on
/// pairs with more than 5000 residual cells.
pub fn pairs(dataset: &str, family: Family) -> GroupedWorkload {
    let singles = hybrid(dataset, "1-way");
    let schema = singles.schema().clone();
    let mut groups = singles.groups().to_vec();
    for set in attribute_sets(&schema, &[2]).unwrap() {
        let sizes = schema.shape_of(set).unwrap();
        groups.push(if (sizes[0] - 1) * (sizes[1] - 1) <= 5000 {
            let queries = Arc::new(JointQueries::family(family, &sizes).unwrap());
            QueryGroup::joint(&schema, set, queries, family.name(), 1.0).unwrap()
        } else {
            QueryGroup::product(&schema, set, &[Family::PREFIX; 2], 1.0).unwrap()
        });
    }
    GroupedWorkload::new(schema, groups).unwrap()
}
