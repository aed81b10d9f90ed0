//! Every planner on every query family.

use std::sync::Arc;

use super::*;

/// Plans for every family of [`Family::ALL`] against explicit matrices.
///
/// As a factor of a product or as joint queries.
#[test]
fn every_family_is_planned() {
    let schema = schema(&SIZES);
    for family in Family::ALL {
        let group = if family.arity() == 1 {
            QueryGroup::product(&schema, set(&[0, 2]), &[*family, Family::IDENTITY], 1.0).unwrap()
        } else {
            let queries = JointQueries::family(*family, &[3, 4]).unwrap();
            QueryGroup::joint(&schema, set(&[0, 2]), Arc::new(queries), family.name(), 1.0).unwrap()
        };
        // A product on the other attributes, which shares attribute 2 with the first group.
        let rest = QueryGroup::product(
            &schema,
            set(&[1, 2]),
            &[Family::IDENTITY, *as_factor(family)],
            0.5,
        )
        .unwrap();
        let workload = GroupedWorkload::new(schema.clone(), vec![group, rest]).unwrap();
        for planner in planners() {
            match planner.plan(&workload, cost(0.7)) {
                Ok(plan) => check_against_matrices(&plan, &workload),
                Err(error) => {
                    assert_eq!((planner.name(), family.arity()), ("hdmm-kronecker", 2), "{error}");
                }
            }
        }
    }
}

/// Returns the family if it spans one attribute, otherwise prefix sums.
fn as_factor(family: &Family) -> &Family {
    if family.arity() == 1 { family } else { &Family::PREFIX }
}
