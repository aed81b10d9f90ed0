//! The workloads of the tables of S3.

use std::sync::Arc;

use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;
use matmech::workload::{
    Family, GroupFamily, GroupedWorkload, JointQueries, QueryGroup, attribute_sets, groups_of,
};

fn family(name: &str, n: usize) -> GroupFamily {
    match name {
        "marginal" => GroupFamily::Product(Family::IDENTITY),
        "prefix" => GroupFamily::Product(Family::PREFIX),
        "range" => GroupFamily::Product(Family::RANGE),
        "circular" => GroupFamily::Product(Family::CIRCULAR),
        "affine" => GroupFamily::Pairs(Family::AFFINE),
        "abs" => GroupFamily::Pairs(Family::ABS),
        "random" => {
            GroupFamily::Random { seed: 42 + n as u32, probability: 0.3, queries_per_cell: 3 }
        }
        other => panic!("{other}"),
    }
}

/// Returns the workload of Table 4: a query family on all sets of one or two of 40 attributes.
pub fn one_and_two_way(n: usize, name: &str) -> GroupedWorkload {
    GroupedWorkload::all_ways(Schema::uniform(n, 40).unwrap(), &family(name, n), &[1, 2]).unwrap()
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
    let groups = groups_of(&schema, &family(name, n), &sets, &weights).unwrap();
    GroupedWorkload::new(schema, groups).unwrap()
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
        .map(|(k, (&size, kind))| Attribute { name: format!("A{k}"), size, kind })
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
