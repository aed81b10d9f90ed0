//! The cells of a term, by attribute.

use super::chosen::{Target, cell_name, chosen};
use super::mistake::Mistake;
use super::product_rows::ProductRows;
use super::syntax::{Measure, Name, Term};
use crate::schema::Schema;

/// Maximum number of weights in the rows of an attribute: 128 MiB.
const MAX_WEIGHTS: usize = 1 << 24;

/// Refuses an attribute with too many rows.
pub(super) fn check_size(name: &Name, rows: usize, size: usize) -> Result<(), Mistake> {
    if rows.saturating_mul(size) <= MAX_WEIGHTS {
        return Ok(());
    }
    Err(Mistake::new(
        name.at(),
        format!("at most {MAX_WEIGHTS} weights, one per value and cell"),
        format!("{rows} × {size} for `{name}`"),
        "use a level of the attribute, or give it fewer values (wider bins)",
    ))
}

/// An attribute or level of the combinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// The name.
    pub name: String,
    /// The position of the attribute.
    pub position: usize,
    /// The names of the values.
    pub values: Vec<String>,
}

/// The cells of a term by attribute.
#[derive(Default)]
pub(super) struct Rows {
    /// The cells that meet the conditions.
    pub masks: Vec<(usize, Vec<bool>)>,
    /// The cells of every value of the combinations, which meet the conditions.
    pub by: Vec<(By, Vec<Vec<bool>>)>,
    /// The cells that meet the conditions of a share.
    pub part: Vec<(usize, Vec<bool>)>,
}

impl Rows {
    pub(super) fn restrict(&mut self, position: usize, cells: Vec<bool>) {
        Self::add(&mut self.masks, position, cells);
    }

    /// Adds a condition to others.
    pub(super) fn add(masks: &mut Vec<(usize, Vec<bool>)>, position: usize, cells: Vec<bool>) {
        match masks.iter_mut().find(|(known, _)| *known == position) {
            Some((_, mask)) => mask.iter_mut().zip(cells).for_each(|(mask, is)| *mask &= is),
            None => masks.push((position, cells)),
        }
    }

    /// Returns the cells of an attribute that meet the conditions, if there are conditions on it.
    pub(super) fn mask(&self, position: usize) -> Option<&Vec<bool>> {
        self.masks.iter().find(|(known, _)| *known == position).map(|(_, mask)| mask)
    }

    /// Returns the products of the cells, with `factors` multiplied into the rows of an attribute.
    pub(super) fn products(
        &self,
        schema: &Schema,
        factors: &[(usize, Vec<Vec<f64>>)],
    ) -> ProductRows {
        let mut axes: Vec<(usize, Vec<Vec<f64>>)> = Vec::new();
        let weights = |cells: &Vec<bool>| cells.iter().map(|is| f64::from(u8::from(*is))).collect();
        for (by, cells) in &self.by {
            axes.push((by.position, cells.iter().map(weights).collect()));
        }
        for (position, mask) in &self.masks {
            if axes.iter().all(|(known, _)| known != position) {
                axes.push((*position, vec![weights(mask)]));
            }
        }
        for (position, factor) in factors {
            let times = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
                let product = |row: &Vec<f64>, factor: &Vec<f64>| -> Vec<f64> {
                    row.iter().zip(factor).map(|(x, y)| x * y).collect()
                };
                rows.iter().flat_map(|row| factor.iter().map(move |f| product(row, f))).collect()
            };
            match axes.iter_mut().find(|(known, _)| known == position) {
                Some((_, rows)) => *rows = times(rows),
                None => {
                    let ones = vec![1.0; schema.attributes()[*position].size];
                    axes.push((*position, times(&[ones])));
                }
            }
        }
        ProductRows::new(axes)
    }

    /// Returns the cells that meet the conditions of a term, and those of its combinations. `end`
    /// is the number of bytes of the query.
    pub(super) fn of(term: &Term, end: usize, schema: &Schema) -> Result<Self, Mistake> {
        let mut rows = Rows::default();
        for condition in &term.conditions {
            let (position, cells) = chosen(schema, condition)?;
            rows.restrict(position, cells);
        }
        if let Some((position, _)) = rows.masks.iter().find(|(_, mask)| !mask.contains(&true)) {
            let of_attribute = term.conditions.iter().rev();
            let mut of_attribute = of_attribute
                .filter(|c| Target::of(schema, &c.name).is_ok_and(|t| t.position == *position));
            let at = of_attribute.next().map_or(0..end, |condition| condition.name.at());
            return Err(Mistake::new(
                at,
                "conditions that a record can meet together",
                format!("conditions on `{}` that exclude each other", {
                    &schema.attributes()[*position].name
                }),
                "correct the conditions; use `in` for one of several values",
            ));
        }
        if let Measure::Share(conditions) = &term.measure {
            for condition in conditions {
                let (position, cells) = chosen(schema, condition)?;
                Rows::add(&mut rows.part, position, cells);
            }
        }
        for name in &term.by {
            let target = Target::of(schema, name)?;
            if rows.by.iter().any(|(by, _)| by.position == target.position) {
                let found = format!("`{}` twice", schema.attributes()[target.position].name);
                let remedy = "name an attribute, or one of its levels, once";
                return Err(Mistake::new(name.at(), "each attribute once in `by`", found, remedy));
            }
            let size = schema.attributes()[target.position].size;
            let count = target.nodes(schema).map_or(size, |(labels, _)| labels.len());
            check_size(name, count, size)?;
            let all: Vec<(String, Vec<bool>)> = match target.nodes(schema) {
                Some((labels, node_of)) => (labels.iter().enumerate())
                    .map(|(k, label)| {
                        let of_node = node_of.iter().map(|node| *node as usize == k).collect();
                        (label.clone(), of_node)
                    })
                    .collect(),
                None => (0..size)
                    .map(|cell| {
                        let name = cell_name(schema, target.position, cell);
                        (name, (0..size).map(|k| k == cell).collect())
                    })
                    .collect(),
            };
            let mask = rows.mask(target.position).cloned();
            let (mut values, mut cells) = (Vec::new(), Vec::new());
            for (value, mut of_value) in all {
                if let Some(mask) = &mask {
                    of_value.iter_mut().zip(mask).for_each(|(is, mask)| *is &= mask);
                }
                if of_value.contains(&true) {
                    values.push(value);
                    cells.push(of_value);
                }
            }
            let name = match &name.level {
                Some(level) => format!("{} of {}", level.text, name.word.text),
                None => name.word.text.clone(),
            };
            let by = By { name, position: target.position, values };
            rows.by.push((by, cells));
        }
        Ok(rows)
    }
}
