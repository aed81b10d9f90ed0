//! One group of queries: a family on a set of attributes, with a weight.

use std::sync::Arc;

use super::joint::JointQueries;
use super::{Family, Lanes, QueryCount, by_x};
use crate::domain::{Attribute, AttributeKind, AttributeSet, coordinates};
use crate::error::{Error, Result};
use crate::schema::Schema;

/// What the queries of a group are.
#[derive(Debug, Clone)]
pub enum GroupQueries {
    /// The Kronecker product of one family per attribute.
    Product(Vec<Family>),
    /// Queries over all attributes of the group jointly.
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
    /// The Kronecker product of families, one per attribute in the order of the schema.
    ///
    /// # Errors
    /// No attribute or one that the schema lacks, a family that spans two attributes or needs an
    /// order that a categorical attribute lacks, or a weight that is not positive.
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
                format!("{} families, one per attribute", attributes.len()),
                families.len().to_string(),
            ));
        }
        for (position, family) in attributes.positions().zip(families) {
            if family.arity() != 1 {
                return Err(refuse(
                    &chosen,
                    "a family of one attribute as factor of a product".into(),
                    format!("`{}`, which spans two", family.name()),
                ));
            }
            let size = schema.attributes()[position].size;
            if family.query_weight(&[size]) != 1.0 {
                return Err(refuse(
                    &chosen,
                    "a family whose queries all weigh 1".into(),
                    format!("`{}` on {size} values", family.name()),
                ));
            }
            if family.needs_order() {
                check_ordered(&schema.attributes()[position], family.name())?;
            }
        }
        let same = families.iter().all(|f| *f == families[0]);
        Ok(QueryGroup {
            attributes,
            sizes: attributes.items(&schema.sizes()),
            family: if same { families[0].name() } else { "product" },
            queries: GroupQueries::Product(families.to_vec()),
            weight,
        })
    }

    /// Queries over several attributes jointly; their cells are row-major in the order of the
    /// schema.
    ///
    /// # Errors
    /// As [`QueryGroup::product`], or queries over other sizes.
    pub fn joint(
        schema: &Schema,
        attributes: AttributeSet,
        queries: Arc<JointQueries>,
        family: &'static str,
        weight: f64,
    ) -> Result<Self> {
        let chosen = checked(schema, attributes, weight)?;
        let sizes = attributes.items(&schema.sizes());
        if queries.sizes() != sizes {
            return Err(refuse(
                &chosen,
                format!("queries over sizes {}", by_x(&sizes)),
                format!("queries over sizes {}", by_x(queries.sizes())),
            ));
        }
        Ok(QueryGroup { attributes, sizes, family, queries: GroupQueries::Joint(queries), weight })
    }

    /// The attributes.
    pub fn attributes(&self) -> AttributeSet {
        self.attributes
    }

    /// The attributes' sizes, in the order of the schema.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The name of the family, `product` for a mixture.
    pub fn family(&self) -> &'static str {
        self.family
    }

    /// The queries.
    pub fn queries(&self) -> &GroupQueries {
        &self.queries
    }

    /// The weight of every query's variance in the objective.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The number of queries.
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

    /// The answers on the marginal of the group's attributes, in the order of the rows: for
    /// products the last attribute's queries vary fastest. As for
    /// [`Workload::answers`](super::Workload::answers), O(answers) for products of ranges, prefixes
    /// and cells.
    ///
    /// # Errors
    /// A marginal of another length, or a family that cannot be enumerated.
    pub fn answers(&self, marginal: &[f64]) -> Result<Vec<f64>> {
        let cells: usize = self.sizes.iter().product();
        if marginal.len() != cells {
            return Err(Error::bad_input(
                format!("marginal of a group on attributes {:?}", self.attributes),
                format!("{cells} cells"),
                marginal.len().to_string(),
                "pass the marginal on the group's attributes",
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

    /// The queries one by one, each over the row-major cells of the group's attributes, in the
    /// order of [`QueryGroup::answers`]. Memory: the queries of every attribute alone.
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
                    chosen.fold(vec![1.0], |row, (k, own)| {
                        row.iter().flat_map(|x| own[k].iter().map(move |y| x * y)).collect()
                    })
                };
                Ok(Box::new((0..count).map(row)))
            }
        }
    }

    /// The same group under another family name.
    pub(super) fn named(self, family: &'static str) -> Self {
        QueryGroup { family, ..self }
    }

    /// The same queries with every ordered family replaced by `family`: the workload whose
    /// coefficients ResidualPlanner+ may allocate its noise by.
    pub(crate) fn with_ordered_as(&self, family: Family) -> Self {
        let families = match &self.queries {
            GroupQueries::Product(families) => {
                families.iter().map(|f| if f.needs_order() { family } else { *f }).collect()
            }
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
        "correct the group's attributes, family or weight in the workload",
    )
}

/// The names of a group's attributes, if they are a set of the schema's and the weight is positive.
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

pub(super) fn check_ordered(attribute: &Attribute, family: &str) -> Result<()> {
    if attribute.kind == AttributeKind::Numeric {
        return Ok(());
    }
    Err(Error::bad_input(
        format!("family `{family}` on attribute `{}`", attribute.name),
        "a numeric attribute: its values must have an order",
        "kind = \"categorical\"",
        "use hybrid (identity on categorical attributes) or identity, or declare the attribute numeric",
    ))
}
