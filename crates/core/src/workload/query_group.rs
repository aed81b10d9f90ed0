//! A group of queries: a family on a set of attributes, with a weight.

use std::sync::Arc;

use super::joint::JointQueries;
use super::{Family, Lanes, QueryCount, WeightRange, format_shape};
use crate::counted::counted;
use crate::domain::{Attribute, AttributeKind, AttributeSet, coordinates};
use crate::error::{Error, Result};
use crate::schema::Schema;

/// The queries of a group.
#[derive(Debug, Clone)]
pub enum GroupQueries {
    /// The Kronecker product of one family per attribute.
    Product(Vec<Family>),
    /// Queries without product structure.
    Joint(Arc<JointQueries>),
}

/// Queries on one set of attributes, with a weight.
#[derive(Debug, Clone)]
pub struct QueryGroup {
    attributes: AttributeSet,
    sizes: Vec<usize>,
    family: &'static str,
    queries: GroupQueries,
    weight: f64,
}

impl QueryGroup {
    /// Creates a group of the Kronecker product of families, one per attribute in the order of the
    /// schema. On attributes with cells outside the order they are those of
    /// [`Family::with_extra_cells`].
    ///
    /// # Errors
    /// No attribute or one outside the schema, a family on pairs, an ordered family on a
    /// categorical attribute, or a weight that is not positive.
    pub fn product(
        schema: &Schema,
        attributes: AttributeSet,
        families: &[Family],
        weight: f64,
    ) -> Result<Self> {
        let chosen = checked(schema, attributes, weight)?;
        if families.len() != attributes.len() {
            return Err(refuse(
                &chosen,
                format!("{}, one per attribute", counted(attributes.len(), ["family", "families"])),
                families.len().to_string(),
            ));
        }
        check_nodes(schema, attributes, families, &chosen)?;
        let mut families = families.to_vec();
        for (position, family) in attributes.positions().zip(&mut families) {
            if family.arity() != 1 {
                return Err(refuse(
                    &chosen,
                    "families on single attributes".into(),
                    format!("`{}`, which needs two", family.name()),
                ));
            }
            let attribute = &schema.attributes()[position];
            let size = attribute.size;
            if family.query_weight(&[size]) != 1.0 {
                return Err(refuse(
                    &chosen,
                    "a family with queries of weight 1".into(),
                    format!("`{}` on {}", family.name(), counted(size, ["value", "values"])),
                ));
            }
            if family.needs_order() {
                check_ordered(attribute, family.name())?;
                *family = family.with_extra_cells(attribute.extra);
            }
        }
        let same = families.iter().all(|f| f.name() == families[0].name());
        Ok(QueryGroup {
            attributes,
            sizes: attributes.select(&schema.sizes()),
            family: if same { families[0].name() } else { "product" },
            queries: GroupQueries::Product(families),
            weight,
        })
    }

    /// Creates a group of queries without product structure, over the row-major cells in the order
    /// of the schema.
    ///
    /// # Errors
    /// As [`QueryGroup::product`], queries whose sizes are not those of the attributes, or a family
    /// that needs order on attributes with cells outside it.
    pub fn joint(
        schema: &Schema,
        attributes: AttributeSet,
        queries: Arc<JointQueries>,
        family: &'static str,
        weight: f64,
    ) -> Result<Self> {
        let chosen = checked(schema, attributes, weight)?;
        let sizes = attributes.select(&schema.sizes());
        if queries.sizes() != sizes {
            return Err(refuse(
                &chosen,
                format!("queries over sizes {}", format_shape(&sizes)),
                format!("queries over sizes {}", format_shape(queries.sizes())),
            ));
        }
        let mut known = attributes.positions().map(|position| &schema.attributes()[position]);
        if let (true, Some(attribute)) = (queries.needs_order(), known.find(|a| a.extra > 0)) {
            return Err(refuse(
                &chosen,
                format!("attributes without cells outside their order for `{family}`"),
                format!(
                    "`{}` with {}",
                    attribute.name,
                    counted(attribute.extra, ["such cell", "such cells"])
                ),
            ));
        }
        Ok(QueryGroup { attributes, sizes, family, queries: GroupQueries::Joint(queries), weight })
    }

    /// Returns the attributes.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }

    /// Returns the sizes of the attributes, in the order of the schema.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the name of the family; `product` for different families.
    pub fn family(&self) -> &'static str {
        self.family
    }

    /// Returns the queries.
    pub fn queries(&self) -> &GroupQueries {
        &self.queries
    }

    /// Returns the weight of the variance of each query in the objective.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Returns the number of queries.
    pub fn count(&self) -> QueryCount {
        match &self.queries {
            GroupQueries::Product(families) => families
                .iter()
                .zip(&self.sizes)
                .map(|(family, &n)| family.count(&[n]).unwrap_or(QueryCount::exact(0)))
                .fold(QueryCount::exact(1), QueryCount::times),
            GroupQueries::Joint(joint) => QueryCount::exact(joint.count() as u128),
        }
    }

    /// Answers the queries on the marginal of the group's attributes, in the order of
    /// [`QueryGroup::rows`].
    ///
    /// O(answers) for products of ranges, prefixes and identity, as for
    /// [`Workload::answers`](super::Workload::answers).
    ///
    /// # Errors
    /// A marginal with the wrong number of cells, or a family that cannot be enumerated.
    pub fn answers(&self, marginal: &[f64]) -> Result<Vec<f64>> {
        let cells: usize = self.sizes.iter().product();
        if marginal.len() != cells {
            return Err(Error::bad_input(
                format!("marginal of a group on attributes {:?}", self.attributes),
                format!("{cells} cells"),
                marginal.len().to_string(),
                "use the marginal on the group's attributes",
            ));
        }
        match &self.queries {
            GroupQueries::Joint(joint) => Ok(joint
                .rows()?
                .map(|row| row.iter().zip(marginal).map(|(q, x)| q * x).sum())
                .collect()),
            GroupQueries::Product(families) => {
                let (mut values, mut inner) = (marginal.to_vec(), cells);
                for (family, &size) in families.iter().zip(&self.sizes) {
                    inner /= size;
                    values = family.answers(&[size], Lanes::new(&values, size, inner))?;
                }
                Ok(values)
            }
        }
    }

    /// Returns the range of the weights of every query, and whether all weights of all queries are
    /// −1, 0 or 1. O(queries) for products, otherwise O(queries · cells).
    ///
    /// # Errors
    /// A family that cannot be enumerated.
    pub fn weight_ranges(&self) -> Result<(Vec<WeightRange>, bool)> {
        let mut are_signs = true;
        let mut range = |row: Vec<f64>| {
            are_signs &= row.iter().all(|x| [-1.0, 0.0, 1.0].contains(x));
            WeightRange::of(row)
        };
        let ranges = match &self.queries {
            GroupQueries::Joint(joint) => joint.rows()?.map(range).collect(),
            GroupQueries::Product(families) => {
                let mut products = vec![WeightRange::ONES];
                for (family, size) in families.iter().zip(&self.sizes) {
                    let of_axis: Vec<WeightRange> = match (*family == Family::IDENTITY, size) {
                        (true, 1) => vec![WeightRange::ONES],
                        (true, _) => vec![WeightRange::COUNT; *size],
                        (false, _) => family.rows(&[*size])?.map(&mut range).collect(),
                    };
                    let product = |a: &WeightRange| {
                        let a = *a;
                        of_axis.iter().map(move |b| a.times(*b)).collect::<Vec<_>>()
                    };
                    products = products.iter().flat_map(product).collect();
                }
                products
            }
        };
        Ok((ranges, are_signs))
    }

    /// Iterates over the queries, each over the row-major cells of the group's attributes.
    ///
    /// For products the queries of the last attribute vary fastest. Memory: the queries of every
    /// single attribute.
    ///
    /// # Errors
    /// A family that cannot be enumerated.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        match &self.queries {
            GroupQueries::Joint(joint) => joint.rows(),
            GroupQueries::Product(families) => {
                let rows = families
                    .iter()
                    .zip(&self.sizes)
                    .map(|(family, n)| Ok(family.rows(&[*n])?.collect()));
                let rows: Vec<Vec<Vec<f64>>> = rows.collect::<Result<_>>()?;
                let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
                let count: usize = counts.iter().product();
                let row = move |query| {
                    let chosen = coordinates(&counts, query).into_iter().zip(&rows);
                    chosen.fold(vec![1.0], |row, (k, factor)| {
                        row.iter().flat_map(|x| factor[k].iter().map(move |y| x * y)).collect()
                    })
                };
                Ok(Box::new((0..count).map(row)))
            }
        }
    }

    /// Renames the family of the group.
    pub fn named(self, family: &'static str) -> Self {
        QueryGroup { family, ..self }
    }

    /// Replaces the weight, which must be positive.
    pub fn with_weight(&self, weight: f64) -> Self {
        QueryGroup { weight, ..self.clone() }
    }

    /// Replaces every ordered family by `family`. ResidualPlanner+ can allocate its noise by the
    /// coefficients of this workload.
    pub fn with_ordered_as(&self, family: Family) -> Self {
        let ordered = |known: &Family| match known.needs_order() {
            true => family.with_extra_cells(known.extra_cells()),
            false => *known,
        };
        let families = match &self.queries {
            GroupQueries::Product(families) => families.iter().map(ordered).collect(),
            GroupQueries::Joint(_) => vec![family; self.sizes.len()],
        };
        QueryGroup {
            queries: GroupQueries::Product(families),
            family: family.name(),
            ..self.clone()
        }
    }
}

pub(super) fn refuse(attributes: &str, expected: String, found: String) -> Error {
    Error::bad_input(
        format!("query group on {attributes}"),
        expected,
        found,
        "change the attributes, the family or the weight of the group",
    )
}

/// Checks the attributes and the weight of a group and returns the names of the attributes.
pub(super) fn checked(schema: &Schema, attributes: AttributeSet, weight: f64) -> Result<String> {
    let known = schema.attributes();
    let name = |p: usize| known.get(p).map_or_else(|| format!("#{p}"), |a| a.name.clone());
    let chosen = format!("[{}]", attributes.positions().map(name).collect::<Vec<_>>().join(", "));
    if attributes.end() > known.len() {
        return Err(refuse(
            &chosen,
            format!("positions below {}", known.len()),
            format!("{attributes:?}"),
        ));
    }
    if attributes.is_empty() {
        return Err(refuse(&chosen, "at least one attribute".into(), "none".into()));
    }
    if !(weight > 0.0 && weight.is_finite()) {
        return Err(refuse(&chosen, "a positive finite weight".into(), weight.to_string()));
    }
    Ok(chosen)
}

/// Checks that at most one family is that of a hierarchy, which is the attribute's.
fn check_nodes(
    schema: &Schema,
    attributes: AttributeSet,
    families: &[Family],
    chosen: &str,
) -> Result<()> {
    let nested = attributes.positions().zip(families).filter_map(|(p, f)| Some((p, f.nodes()?)));
    let nested: Vec<_> = nested.collect();
    if nested.len() > 1 {
        let expected = "nested queries on at most one attribute, the others with other families";
        return Err(refuse(chosen, expected.into(), format!("{} attributes", nested.len())));
    }
    for (position, nodes) in nested {
        let attribute = &schema.attributes()[position];
        if attribute.hierarchy.as_ref() != Some(nodes.hierarchy()) {
            let found = match attribute.hierarchy {
                Some(_) => "another hierarchy",
                None => "an attribute without levels",
            };
            let expected = format!("the hierarchy of attribute `{}`", attribute.name);
            return Err(refuse(chosen, expected, found.into()));
        }
    }
    Ok(())
}

/// Checks that an attribute is numeric, for a family that needs ordered values.
pub(super) fn check_ordered(attribute: &Attribute, family: &str) -> Result<()> {
    if attribute.kind == AttributeKind::Numeric {
        return Ok(());
    }
    Err(Error::bad_input(
        format!("family `{family}` on attribute `{}`", attribute.name),
        "a numeric attribute, whose values are ordered",
        "kind = \"categorical\"",
        "use hybrid (identity on categorical attributes) or identity, or declare the attribute \
         numeric",
    ))
}
