//! The groups of a workload that measure a query.

use super::product_rows::ProductRows;
use super::quantity::Quantity;
use super::resolved::ResolvedQuery;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::schema::Schema;
use crate::workload::{Family, QueryGroup};

impl ResolvedQuery {
    /// Returns groups from which the query is answered: counts and sums of every combination. For a
    /// quantile they are the counts of all cells up to each.
    ///
    /// The values of a sum are divided by the largest of them, so that all queries are in records
    /// and sums of large numbers count as much as counts in the objective.
    ///
    /// # Errors
    /// A weight that is not positive and finite.
    pub fn groups(&self, schema: &Schema, weight: f64) -> Result<Vec<QueryGroup>> {
        let mut groups = Vec::new();
        let mut known: Vec<ProductRows> = Vec::new();
        for (_, quantity) in &self.terms {
            for products in parts_of(quantity) {
                if !known.contains(&products) {
                    groups.push(group(schema, &products, weight)?);
                    known.push(products);
                }
            }
        }
        Ok(groups)
    }
}

/// Returns the linear queries of a quantity.
fn parts_of(quantity: &Quantity) -> Vec<ProductRows> {
    match quantity {
        Quantity::Linear(products) => vec![products.clone()],
        Quantity::Ratio { numerator, denominator, .. } => {
            vec![numerator.clone(), denominator.clone()]
        }
        Quantity::Quantile(quantile) => {
            let axes = quantile.excess.attributes().positions().zip(quantile.excess.rows());
            // Rows of the excess are positive in the cells up to one, and otherwise not.
            let counted = |row: &Vec<f64>| -> Vec<f64> {
                row.iter().map(|x| f64::from(u8::from(*x > 0.0))).collect()
            };
            let axis = |(position, rows): (usize, &Vec<Vec<f64>>)| {
                let rows = rows.iter().map(counted).collect();
                (position, rows)
            };
            vec![ProductRows::new(axes.map(axis).collect())]
        }
    }
}

fn group(schema: &Schema, products: &ProductRows, weight: f64) -> Result<QueryGroup> {
    if products.attributes().is_empty() {
        let first = AttributeSet::single(0);
        return QueryGroup::product(schema, first, &[Family::TOTAL], weight);
    }
    let axes = products.attributes().positions().zip(products.rows());
    let families = axes.map(|(position, rows)| {
        let largest = rows.iter().flatten().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let divisor = if largest > 0.0 { largest } else { 1.0 };
        let divided = |row: &Vec<f64>| row.iter().map(|x| x / divisor).collect();
        family(schema, position, &rows.iter().map(divided).collect::<Vec<Vec<f64>>>())
    });
    let families = families.collect::<Result<Vec<Family>>>()?;
    QueryGroup::product(schema, products.attributes(), &families, weight)
}

/// Returns the family with these rows, or one that contains them.
fn family(schema: &Schema, position: usize, rows: &[Vec<f64>]) -> Result<Family> {
    let attribute = &schema.attributes()[position];
    let mut known = vec![Family::IDENTITY];
    if let Some(hierarchy) = &attribute.hierarchy {
        for level in hierarchy.levels() {
            known.push(Family::level(hierarchy, level.name())?);
        }
    }
    if attribute.kind == crate::domain::AttributeKind::Numeric {
        known.push(Family::PREFIX.with_extra_cells(attribute.extra));
    }
    for family in known {
        let count = family.count(&[attribute.size])?.as_f64();
        let extra = family.extra_cells() as f64;
        if count - extra == rows.len() as f64
            && family.rows(&[attribute.size])?.zip(rows).all(|(known, row)| known == *row)
        {
            return Ok(family);
        }
    }
    Ok(Family::given(rows.to_vec()))
}
