//! Every planner on every query family.

use std::sync::Arc;

use super::*;
use crate::domain::{Attribute, AttributeKind, Hierarchy};
use crate::planner::{Anova, BoundWeights, GlobalBound};

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

/// Returns attributes of equal size with three hierarchies, two of them equal, and one without.
fn nested_schema() -> Schema {
    let nested = |name: &str, groups: &[usize]| {
        let hierarchy = Hierarchy::groups(groups).unwrap();
        Attribute::new(name, 4, AttributeKind::Categorical).with_hierarchy(hierarchy)
    };
    Schema::new(vec![
        nested("A", &[2, 2]),
        nested("B", &[1, 3]),
        nested("C", &[2, 2]),
        Attribute::new("D", 3, AttributeKind::Numeric),
    ])
    .unwrap()
}

/// Plans of nested queries against explicit matrices. Attributes of equal size and kind with
/// different hierarchies are in the same roles.
#[test]
fn nested_families_are_planned() {
    let schema = nested_schema();
    let groups = |family: GroupFamily, sets: &[&[usize]], weight| {
        let sets: Vec<AttributeSet> = sets.iter().map(|positions| set(positions)).collect();
        crate::workload::groups_of(&schema, &family, &sets, &[weight]).unwrap()
    };
    let nested = || GroupFamily::Nodes(None);
    let level = GroupFamily::Nodes(Some("group".into()));
    let alike = groups(nested(), &[&[0, 3], &[1, 3], &[2, 3]], 1.0);
    let mut mixed = groups(nested(), &[&[0], &[1, 3]], 0.5);
    mixed.extend(groups(level, &[&[0, 3], &[1], &[2, 3]], 2.0));
    mixed.push({
        let family = Family::nested(schema.attributes()[1].hierarchy.as_ref().unwrap());
        let families = [Family::IDENTITY, family, Family::PREFIX];
        QueryGroup::product(&schema, set(&[0, 1, 3]), &families, 1.0).unwrap()
    });
    for groups in [alike, mixed] {
        let workload = GroupedWorkload::new(schema.clone(), groups).unwrap();
        let bound = QuerySmasher::default().plan(&workload, cost(1.0)).unwrap();
        let bound = bound.lower_bound().unwrap();
        for planner in planners() {
            let plan = planner.plan(&workload, cost(0.7)).unwrap();
            check_against_matrices(&plan, &workload);
            if planner.over_residual_subspaces() {
                let variance = variance(planner.as_ref(), &workload);
                assert!(variance >= bound * (1.0 - 1e-12), "{}", planner.name());
            }
        }
        let best = GlobalBound::of(&workload, &BoundWeights::Optimised, None).unwrap();
        let anova = variance(&Anova::default(), &workload);
        assert!(best.total_variance <= anova * (1.0 + 1e-9));
        assert!(best.total_variance >= 0.9 * anova, "{} {anova}", best.total_variance);
    }
}

#[test]
fn products_of_several_nested_families_are_refused() {
    let schema = nested_schema();
    let nested = |k: usize| {
        let hierarchy: Option<&Hierarchy> = schema.attributes()[k].hierarchy.as_ref();
        Family::nested(hierarchy.unwrap())
    };
    for (positions, families, part) in [
        (&[0, 1][..], vec![nested(0), nested(1)], "at most one attribute"),
        (&[0], vec![nested(1)], "another hierarchy"),
        (&[3], vec![nested(1)], "without levels"),
    ] {
        let group = QueryGroup::product(&schema, set(positions), &families, 1.0);
        let message = group.unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

/// Returns the family if it spans one attribute, otherwise prefix sums.
fn as_factor(family: &Family) -> &Family {
    if family.arity() == 1 { family } else { &Family::PREFIX }
}
