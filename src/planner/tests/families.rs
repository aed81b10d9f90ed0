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

/// Every planner on attributes with cells outside their order, against explicit matrices.
#[test]
fn cells_outside_the_order_are_planned() {
    let numeric = |size, extra| {
        let attribute = Attribute::new(format!("{size}+{extra}"), size, AttributeKind::Numeric);
        attribute.with_extra_cells(extra)
    };
    let schema = Schema::new(vec![numeric(2, 2), numeric(3, 1), numeric(4, 0)]).unwrap();
    for family in Family::ALL.iter().filter(|family| family.arity() == 1) {
        let group = |positions: &[usize], families: &[Family]| {
            QueryGroup::product(&schema, set(positions), families, 1.0).unwrap()
        };
        let groups = vec![
            group(&[0, 1], &[*family, Family::PREFIX]),
            group(&[1, 2], &[*family, Family::IDENTITY]),
            group(&[2], &[*family]),
            group(&[0], &[Family::RANGE]),
        ];
        assert_eq!(groups[3].count().to_string(), "5");
        let workload = GroupedWorkload::new(schema.clone(), groups).unwrap();
        for planner in planners() {
            let plan = planner.plan(&workload, cost(0.7)).unwrap();
            check_against_matrices(&plan, &workload);
        }
    }
}

/// The certified error of one attribute with cells outside its order is that of the optimal
/// strategy of the explicit Gram matrix.
#[test]
fn one_attribute_with_extra_cells_reaches_the_dense_optimum() {
    for (family, extra) in [(Family::PREFIX, 1), (Family::PREFIX, 2), (Family::RANGE, 1)] {
        let attribute = Attribute::new("a", 4, AttributeKind::Numeric).with_extra_cells(extra);
        let schema = Schema::new(vec![attribute]).unwrap();
        let group = QueryGroup::product(&schema, set(&[0]), &[family], 1.0).unwrap();
        let n = 4 + extra;
        let mut gram = Array2::<f64>::zeros((n, n));
        for (_, row) in rows(&group) {
            gram += &Array2::from_shape_fn((n, n), |(i, j)| row[i] * row[j]);
        }
        let gram = crate::workload::Gram::dense(&[n], gram).unwrap();
        let optimum = crate::strategy::by_name("optimal").unwrap().select(&gram).unwrap().error;
        let workload = GroupedWorkload::new(schema.clone(), vec![group]).unwrap();
        let reached = planners()
            .iter()
            .map(|planner| variance(planner.as_ref(), &workload))
            .fold(f64::INFINITY, f64::min);
        assert_relative_eq!(reached, optimum, max_relative = 1e-4);
    }
}

/// Returns the family if it spans one attribute, otherwise prefix sums.
fn as_factor(family: &Family) -> &Family {
    if family.arity() == 1 { family } else { &Family::PREFIX }
}
