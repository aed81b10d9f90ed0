//! Workloads over many attributes: groups of queries on sets of attributes.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;

use super::joint::{JointQueries, RandomRows};
use super::matrices::Matrices;
use super::query_group::{QueryGroup, check_ordered, checked, refuse};
use super::{Family, QueryCount};
use crate::domain::{Attribute, AttributeKind, AttributeSet};
use crate::error::{Error, Result};
use crate::schema::Schema;

/// The families of query groups (`family = "…"` of a workload file).
#[derive(Debug, Clone, PartialEq)]
pub enum GroupFamily {
    /// Kronecker products of one family on single attributes; identity gives marginals.
    Product(Family),
    /// All nodes of the levels of an attribute, or of one level, and identity on the other
    /// attributes.
    Nodes(Option<String>),
    /// Prefix queries on numeric attributes, identity on categorical ones.
    Hybrid,
    /// A family on pairs ([`Family::AFFINE`], [`Family::ABS`]), and prefix queries on single
    /// attributes (S3, Sec. 8.1).
    Pairs(Family),
    /// Random counting queries, shared by groups of the same sizes.
    Random {
        /// The seed of the stream; new sizes draw from it in order of occurrence.
        seed: u32,
        /// The probability that a cell is in a query.
        probability: f64,
        /// Queries per cell of the group's box.
        queries_per_cell: usize,
    },
    /// Explicit queries, one per row, over the row-major cells of the group's box.
    Matrix(Arc<Array2<f64>>),
}

impl GroupFamily {
    /// Returns the name in workload files.
    pub fn name(&self) -> &'static str {
        match self {
            GroupFamily::Product(family) | GroupFamily::Pairs(family) => family.name(),
            GroupFamily::Nodes(None) => "nested",
            GroupFamily::Nodes(Some(_)) => "level",
            GroupFamily::Hybrid => "hybrid",
            GroupFamily::Random { .. } => "random",
            GroupFamily::Matrix(_) => "matrix",
        }
    }
}

/// A workload over many attributes: a schema and groups of queries.
#[derive(Debug, Clone)]
pub struct GroupedWorkload {
    schema: Schema,
    groups: Vec<QueryGroup>,
    /// The matrices that its file names.
    matrices: Matrices,
}

impl GroupedWorkload {
    /// Creates a workload from groups.
    ///
    /// # Errors
    /// No group.
    pub fn new(schema: Schema, groups: Vec<QueryGroup>) -> Result<Self> {
        if groups.is_empty() {
            return Err(Error::bad_input(
                "workload",
                "at least one group of queries",
                "none",
                "add a [[queries]] table with a family and `attributes` or `ways`",
            ));
        }
        Ok(GroupedWorkload { schema, groups, matrices: Matrices::default() })
    }

    /// Adds the matrices that its file names.
    #[must_use]
    pub(super) fn with_matrices(mut self, matrices: Matrices) -> Self {
        self.matrices = matrices;
        self
    }

    /// Returns the matrices that its file names.
    pub fn matrices(&self) -> &Matrices {
        &self.matrices
    }

    /// Creates the groups of one family on all k-way sets of attributes, for each k in `ways`, with
    /// weight 1.
    ///
    /// # Errors
    /// As [`groups_of`].
    pub fn all_ways(schema: Schema, family: &GroupFamily, ways: &[usize]) -> Result<Self> {
        let groups = groups_of(&schema, family, &attribute_sets(&schema, ways)?, &[1.0])?;
        Self::new(schema, groups)
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the groups, in order.
    pub fn groups(&self) -> &[QueryGroup] {
        &self.groups
    }

    /// Returns the number of queries of all groups.
    pub fn count(&self) -> QueryCount {
        self.groups.iter().map(QueryGroup::count).fold(QueryCount::exact(0), QueryCount::plus)
    }
}

/// Lists all k-way sets of attributes for each k in `ways`, in the order of `ways`, then
/// lexicographically.
///
/// # Errors
/// Empty `ways`, or numbers that are not distinct or not between 1 and the number of attributes.
pub fn attribute_sets(schema: &Schema, ways: &[usize]) -> Result<Vec<AttributeSet>> {
    let count = schema.attributes().len();
    if !are_distinct_ways(ways, count) {
        return Err(Error::bad_input(
            "`ways` of a query group",
            format!("distinct numbers of attributes between 1 and {count}"),
            if ways.is_empty() { "none".to_owned() } else { format!("{ways:?}") },
            "use e.g. ways = [1, 2] for all sets of one and of two attributes",
        ));
    }
    Ok(ways.iter().flat_map(|&way| AttributeSet::first(count).of_size(way)).collect())
}

/// Returns whether `ways` are distinct numbers from 1 to the number of attributes, at least one.
pub(super) fn are_distinct_ways(ways: &[usize], attributes: usize) -> bool {
    let is_new =
        |(k, way): (usize, &usize)| (1..=attributes).contains(way) && !ways[..k].contains(way);
    !ways.is_empty() && ways.iter().enumerate().all(is_new)
}

/// Creates the groups of one family on the given attribute sets, with one weight for all groups or
/// one per group.
///
/// # Errors
/// A family that does not fit the attributes, a set with attributes outside the schema, or weights
/// that are missing or not positive.
pub fn groups_of(
    schema: &Schema,
    family: &GroupFamily,
    sets: &[AttributeSet],
    weights: &[f64],
) -> Result<Vec<QueryGroup>> {
    if weights.len() != 1 && weights.len() != sets.len() {
        return Err(Error::bad_input(
            format!("weights of `{}` queries", family.name()),
            format!("one weight for all, or {}: one per group", sets.len()),
            weights.len().to_string(),
            "list the weights in the order of the groups: by number of attributes, then \
             lexicographically",
        ));
    }
    if let GroupFamily::Nodes(level) = family {
        check_levels(schema, level.as_deref(), sets)?;
    }
    let mut shared: HashMap<Vec<usize>, Arc<JointQueries>> = HashMap::new();
    let mut numbers_drawn = 0;
    let mut groups = Vec::with_capacity(sets.len());
    for (k, &set) in sets.iter().enumerate() {
        let weight = weights.get(k).or(weights.first()).copied().unwrap_or(1.0);
        let chosen = checked(schema, set, weight)?;
        let attributes: Vec<&Attribute> =
            set.positions().map(|p| &schema.attributes()[p]).collect();
        let sizes: Vec<usize> = attributes.iter().map(|a| a.size).collect();
        let mut joint = |queries: &mut dyn FnMut() -> Result<JointQueries>| -> Result<QueryGroup> {
            let queries = match shared.get(&sizes) {
                Some(queries) => queries.clone(),
                None => {
                    let queries = Arc::new(queries()?);
                    shared.insert(sizes.clone(), queries.clone());
                    queries
                }
            };
            QueryGroup::joint(schema, set, queries, family.name(), weight)
        };
        groups.push(match family {
            GroupFamily::Product(f) => {
                QueryGroup::product(schema, set, &vec![*f; set.len()], weight)?
            }
            GroupFamily::Nodes(level) => {
                let of = |a: &&Attribute| nodes_of(a, level.as_deref());
                let nodes: Vec<Option<Family>> = attributes.iter().map(of).collect();
                let name = nodes.iter().flatten().next().map_or(family.name(), |f| f.name());
                let families: Vec<Family> =
                    nodes.iter().map(|f| f.unwrap_or(Family::IDENTITY)).collect();
                QueryGroup::product(schema, set, &families, weight)?.named(name)
            }
            GroupFamily::Hybrid => {
                let by_kind = |a: &&Attribute| match a.kind {
                    AttributeKind::Numeric => Family::PREFIX,
                    AttributeKind::Categorical => Family::IDENTITY,
                };
                let families: Vec<Family> = attributes.iter().map(by_kind).collect();
                QueryGroup::product(schema, set, &families, weight)?.named("hybrid")
            }
            GroupFamily::Pairs(pair) => {
                for attribute in &attributes {
                    check_ordered(attribute, family.name())?;
                }
                match set.len() {
                    1 => QueryGroup::product(schema, set, &[Family::PREFIX], weight)?,
                    2 => joint(&mut || JointQueries::family(*pair, &sizes))?,
                    more => {
                        let expected = format!("one or two attributes for `{}`", family.name());
                        return Err(refuse(&chosen, expected, more.to_string()));
                    }
                }
            }
            GroupFamily::Random { seed, probability, queries_per_cell } => joint(&mut || {
                let cells: usize = sizes.iter().product();
                let queries = queries_per_cell * cells;
                let rows = RandomRows {
                    seed: *seed,
                    skip: numbers_drawn,
                    queries,
                    probability: *probability,
                };
                numbers_drawn += queries * cells;
                JointQueries::random(&sizes, rows)
            })?,
            GroupFamily::Matrix(rows) => joint(&mut || JointQueries::matrix(&sizes, rows.clone()))?,
        });
    }
    Ok(groups)
}

/// Returns the nodes of an attribute's levels, or of the level of this name, if it has such.
fn nodes_of(attribute: &Attribute, level: Option<&str>) -> Option<Family> {
    let hierarchy = attribute.hierarchy.as_ref()?;
    match level {
        Some(name) => Family::level(hierarchy, name).ok(),
        None => Some(Family::nested(hierarchy)),
    }
}

/// Checks that a set has an attribute with levels, or with the level of this name.
fn check_levels(schema: &Schema, level: Option<&str>, sets: &[AttributeSet]) -> Result<()> {
    let attributes = schema.attributes();
    let has = |p: usize| attributes.get(p).is_some_and(|a| nodes_of(a, level).is_some());
    if sets.iter().any(|set| set.positions().any(has)) {
        return Ok(());
    }
    let known = attributes.iter().filter_map(|a| Some((a, a.hierarchy.as_ref()?)));
    let known: Vec<String> = known
        .map(|(a, hierarchy)| {
            let names: Vec<&str> = hierarchy.levels().iter().map(|level| level.name()).collect();
            format!("`{}` with {}", a.name, names.join(", "))
        })
        .collect();
    let found = match known.is_empty() {
        true => "none in the schema".to_owned(),
        false => format!("only {} in the schema", known.join(" and ")),
    };
    Err(Error::bad_input(
        match level {
            Some(name) => format!("queries on the level `{name}`"),
            None => "nested queries".to_owned(),
        },
        "an attribute with the level, or with any levels for `nested`",
        found,
        "ask about the attribute with levels, or give it `levels` in the schema",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{all_ways, set};

    fn count(n: usize, d: usize, family: GroupFamily, ways: &[usize]) -> String {
        all_ways(n, d, family, ways).count().to_string()
    }

    /// Compared with the #Queries columns of S3, Table 4.
    #[test]
    fn query_counts_match_table_4() {
        let random =
            |n: u32| GroupFamily::Random { seed: 42 + n, probability: 0.3, queries_per_cell: 3 };
        for (n, family, expected) in [
            (10, GroupFamily::Product(Family::IDENTITY), "78400"),
            (10, GroupFamily::Product(Family::RANGE), "2361700"),
            (20, GroupFamily::Product(Family::CIRCULAR), "124816000"),
            (20, GroupFamily::Pairs(Family::AFFINE), "31220"),
            (30, GroupFamily::Pairs(Family::ABS), "24600"),
            (40, random(40), "3748800"),
            (50, GroupFamily::Product(Family::PREFIX), "1952000"),
        ] {
            assert_eq!(count(n, 40, family, &[1, 2]), expected);
        }
    }

    #[test]
    fn attribute_sets_are_complete_and_ordered() {
        let schema = Schema::uniform(2, 4).unwrap();
        let sets = attribute_sets(&schema, &[1, 3]).unwrap();
        assert_eq!(format!("{:?}", &sets[..5]), "[[0], [1], [2], [3], [0, 1, 2]]");
        assert_eq!(sets.len(), 8);
        for bad in [&[][..], &[0], &[5], &[2, 2]] {
            assert!(attribute_sets(&schema, bad).is_err());
        }
        assert_eq!(attribute_sets(&Schema::uniform(2, 40).unwrap(), &[3]).unwrap().len(), 9880);
    }

    #[test]
    fn groups_that_do_not_fit_are_refused() {
        let attribute = |name: &str, kind| Attribute::new(name, 3, kind);
        let schema = Schema::new(vec![
            attribute("age", AttributeKind::Numeric),
            attribute("job", AttributeKind::Categorical),
            attribute("pay", AttributeKind::Numeric),
        ])
        .unwrap();
        let of = |family: GroupFamily, positions: &[usize], weights: &[f64]| {
            groups_of(&schema, &family, &[set(positions)], weights)
                .map(|g| g.len())
                .map_err(|e| e.to_string())
        };
        assert_eq!(of(GroupFamily::Hybrid, &[2, 1, 0], &[1.0]), Ok(1));
        assert!(
            of(GroupFamily::Product(Family::RANGE), &[0, 1], &[1.0]).unwrap_err().contains("job")
        );
        assert!(
            of(GroupFamily::Pairs(Family::AFFINE), &[0, 1], &[1.0]).unwrap_err().contains("hybrid")
        );
        assert!(of(GroupFamily::Pairs(Family::ABS), &[0, 2, 1], &[1.0]).is_err());
        assert!(of(GroupFamily::Hybrid, &[3], &[1.0]).unwrap_err().contains("below 3"));
        assert!(of(GroupFamily::Hybrid, &[], &[1.0]).is_err());
        assert!(of(GroupFamily::Hybrid, &[0], &[]).unwrap_err().contains("one weight"));
        for weight in [0.0, -1.0, f64::NAN] {
            assert!(of(GroupFamily::Hybrid, &[0], &[weight]).unwrap_err().contains("weight"));
        }
        let with_extra = Schema::new(vec![
            attribute("age", AttributeKind::Numeric).with_extra_cells(1),
            attribute("pay", AttributeKind::Numeric),
        ])
        .unwrap();
        let pairs = |sets: &[AttributeSet]| {
            groups_of(&with_extra, &GroupFamily::Pairs(Family::AFFINE), sets, &[1.0])
        };
        assert!(pairs(&[set(&[0, 1])]).unwrap_err().to_string().contains("outside their order"));
        let alone = pairs(&[set(&[0]), set(&[1])]).unwrap();
        assert_eq!(alone[0].count(), alone[1].count().plus(QueryCount::exact(1)));
        let eye = GroupFamily::Matrix(Arc::new(Array2::eye(9)));
        assert_eq!(of(eye.clone(), &[0, 2], &[1.0]), Ok(1));
        assert!(of(eye, &[0], &[1.0]).unwrap_err().contains("9 x 9"));
        assert!(GroupedWorkload::new(schema.clone(), Vec::new()).is_err());
        let pair = set(&[0, 2]);
        assert!(
            QueryGroup::product(&schema, pair, &[Family::AFFINE, Family::PREFIX], 1.0).is_err()
        );
    }
}
