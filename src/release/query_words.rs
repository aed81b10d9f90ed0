//! Descriptions of queries in words and as ranges of cells.

use crate::error::Result;
use crate::schema::{CellBox, Coding, Schema};
use crate::workload::{Family, GroupQueries, NodeName, QueryGroup};

/// Maximum number of values that are named; the others are counted.
const MAX_NAMED: usize = 6;

/// A query on one attribute: in words, and as the cells that it sums, first–last, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    words: String,
    bounds: String,
}

/// Descriptions of the queries of a group, in the order of the family's rows.
#[derive(Debug)]
pub(super) struct QueryWords {
    axes: Vec<Vec<Part>>,
    joint: Option<String>,
}

impl QueryWords {
    /// Returns the descriptions of a group's queries.
    ///
    /// # Errors
    /// The family cannot be enumerated.
    pub(super) fn of(schema: &Schema, group: &QueryGroup) -> Result<Self> {
        let positions: Vec<usize> = group.attributes().positions().collect();
        match group.queries() {
            GroupQueries::Joint(_) => {
                let name = |k: usize| schema.attributes()[positions[k]].name.as_str();
                let words = match group.family() {
                    family if family == Family::AFFINE.name() => {
                        format!("cell of {} + cell of {} at most", name(0), name(1))
                    }
                    family if family == Family::ABS.name() => {
                        format!("cells of {} and {} apart by at most", name(0), name(1))
                    }
                    family => format!("row of the {family} queries, from 0:"),
                };
                Ok(QueryWords { axes: Vec::new(), joint: Some(words) })
            }
            GroupQueries::Product(families) => {
                let axis = |(family, &position): (&Family, &usize)| {
                    let size = schema.attributes()[position].size;
                    if *family == Family::IDENTITY {
                        let cells = 0..size;
                        return Ok(cells
                            .map(|cell| cells_in_words(schema, position, cell, cell))
                            .collect());
                    }
                    let rows = family.rows(&[size])?.map(|row| part(schema, position, &row));
                    match family.nodes() {
                        Some(nodes) => Ok(rows.zip(nodes.names()).map(of_node).collect()),
                        None => Ok(rows.collect()),
                    }
                };
                Ok(QueryWords {
                    axes: families.iter().zip(&positions).map(axis).collect::<Result<_>>()?,
                    joint: None,
                })
            }
        }
    }

    /// Returns the words and the cells of query k.
    pub(super) fn of_query(&self, query: usize) -> (String, String) {
        if let Some(words) = &self.joint {
            return (format!("{words} {query}"), format!("row {query}"));
        }
        let mut left = query;
        let mut parts: Vec<&Part> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            parts.push(&axis[left % axis.len()]);
            left /= axis.len();
        }
        parts.reverse();
        let join = |of: fn(&Part) -> &str, by: &str| {
            parts.iter().map(|part| of(part)).collect::<Vec<_>>().join(by)
        };
        (join(|part| &part.words, " and "), join(|part| &part.bounds, "; "))
    }
}

/// Returns the condition of a box of cells in words, such as "age below 20 and sex = m"; empty for
/// all records.
pub(super) fn condition_in_words(schema: &Schema, cells: &CellBox) -> String {
    let parts = cells.attributes().positions().zip(cells.chosen());
    let words = parts.map(|(position, chosen)| {
        let row: Vec<f64> = chosen.iter().map(|is_in| f64::from(u8::from(*is_in))).collect();
        part(schema, position, &row).words
    });
    words.collect::<Vec<_>>().join(" and ")
}

fn part(schema: &Schema, position: usize, row: &[f64]) -> Part {
    let name = &schema.attributes()[position].name;
    let chosen: Vec<usize> =
        row.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(cell, _)| cell).collect();
    let is_set = chosen.iter().all(|&cell| row[cell] == 1.0);
    let (Some(&first), Some(&last), true) = (chosen.first(), chosen.last(), is_set) else {
        let weights = row.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(" ");
        return Part { words: format!("{name} weighted"), bounds: format!("weights {weights}") };
    };
    if last - first + 1 == chosen.len() {
        return cells_in_words(schema, position, first, last);
    }
    // The query is not one range of cells, such as a range that wraps around.
    let cells = chosen.iter().map(|cell| cell.to_string()).collect::<Vec<_>>().join(" ");
    let named: Vec<String> =
        chosen.iter().take(MAX_NAMED).map(|&cell| value(schema, position, cell)).collect();
    let more = chosen.len().saturating_sub(MAX_NAMED);
    let rest = if more > 0 { format!(" or {more} more") } else { String::new() };
    Part {
        words: format!("{name} one of {}{rest}", named.join(", ")),
        bounds: format!("cells {cells}"),
    }
}

/// Replaces the words of a node of a level by the names of the level and of the node.
fn of_node((part, name): (Part, NodeName<'_>)) -> Part {
    match name {
        NodeName::Node(level, label) => Part { words: format!("{level} = {label}"), ..part },
        NodeName::Total | NodeName::Leaf(_) => part,
    }
}

/// Describes the query that sums the cells `first` to `last`.
fn cells_in_words(schema: &Schema, position: usize, first: usize, last: usize) -> Part {
    let attribute = &schema.attributes()[position];
    let words = match last + 1 - first == attribute.size {
        true => format!("any {}", attribute.name),
        false => between(schema, position, &attribute.name, first, last),
    };
    Part { words, bounds: format!("{first}-{last}") }
}

fn between(schema: &Schema, position: usize, name: &str, first: usize, last: usize) -> String {
    if let Some(Coding::Bins(bins)) = schema.coding(position)
        && last < bins.count()
    {
        return format!("{name} {}", bins.in_words(first, last));
    }
    let value = |cell| value(schema, position, cell);
    if first == last {
        format!("{name} = {}", value(first))
    } else {
        format!("{name} from {} to {}", value(first), value(last))
    }
}

fn value(schema: &Schema, position: usize, cell: usize) -> String {
    if let Some(label) = schema.label(position, cell) {
        return label.to_string();
    }
    match schema.coding(position) {
        Some(Coding::Values(values)) => {
            values.get(cell).map(ToString::to_string).unwrap_or_default()
        }
        Some(Coding::Bins(bins)) => bins.in_words(cell, cell),
        _ => cell.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::test_support::set;

    #[test]
    fn queries_are_described_with_the_schemas_values() {
        let schema = Schema::from_toml(
            "[[attribute]]\nname = \"age\"\nsize = 4\nkind = \"numeric\"\n\
             bins = { low = 10, high = 50, count = 4 }\n\
             [[attribute]]\nname = \"sex\"\nsize = 2\nkind = \"categorical\"\n\
             values = [\"f\", \"m\"]\n\
             [[attribute]]\nname = \"code\"\nsize = 4\nkind = \"numeric\"\n\
             [[attribute]]\nname = \"town\"\nkind = \"categorical\"\nvalues = [\"x\", \"y\", \"z\"]\n\
             levels = { county = [\"A\", \"B\", \"A\"] }\n",
            "S.toml",
        )
        .unwrap();
        let words = |p: &[usize], families: &[Family], k| {
            QueryWords::of(&schema, &QueryGroup::product(&schema, set(p), families, 1.0).unwrap())
                .unwrap()
                .of_query(k)
        };
        let both = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let pair = [Family::PREFIX, Family::IDENTITY];
        assert_eq!(
            words(&[0, 1], &pair, 3),
            both("age from 10 to below 30 and sex = m", "0-1; 1-1")
        );
        assert_eq!(words(&[0, 1], &pair, 6), both("any age and sex = f", "0-3; 0-0"));
        assert_eq!(words(&[2], &[Family::RANGE], 5), both("code from 1 to 2", "1-2"));
        let circular: Vec<_> = (0..16).map(|k| words(&[2], &[Family::CIRCULAR], k)).collect();
        assert!(circular.contains(&both("code one of 0, 3", "cells 0 3")), "{circular:?}");
        let nested = Family::nested(schema.attributes()[3].hierarchy.as_ref().unwrap());
        let named: Vec<_> = (0..6).map(|k| words(&[3], &[nested], k)).collect();
        let expected = [("any town", "0-2"), ("county = A", "cells 0 2"), ("county = B", "1-1")];
        assert_eq!(named[..3], expected.map(|(words, cells)| both(words, cells)));
        assert_eq!(named[3], both("town = x", "0-0"));
        let joint = std::sync::Arc::new(
            crate::workload::JointQueries::family(Family::AFFINE, &[4, 4]).unwrap(),
        );
        let group = QueryGroup::joint(&schema, set(&[0, 2]), joint, "affine", 1.0).unwrap();
        let affine = QueryWords::of(&schema, &group).unwrap().of_query(2);
        assert_eq!(affine, both("cell of age + cell of code at most 2", "row 2"));
    }

    #[test]
    fn added_cells_and_open_ends_have_words() {
        let schema = Schema::from_toml(
            "[[attribute]]\nname = \"age\"\nkind = \"integer\"\nbelow = true\nabove = true\n\
             missing = \"unknown\"\nbins = { low = 0, high = 20, count = 2 }\n\
             [[attribute]]\nname = \"pay\"\nkind = \"numeric\"\nbelow = true\nabove = true\n\
             edges = [0, 0.5, 2]\nother = \"?\"",
            "S.toml",
        )
        .unwrap();
        let words = |position: usize, family: Family| {
            let group = QueryGroup::product(&schema, set(&[position]), &[family], 1.0).unwrap();
            let words = QueryWords::of(&schema, &group).unwrap();
            let count = group.rows().unwrap().count();
            (0..count).map(|k| words.of_query(k).0).collect::<Vec<_>>()
        };
        assert_eq!(
            words(0, Family::PREFIX),
            ["age below 0", "age below 10", "age up to 20", "age is any number", "age = unknown"]
        );
        assert_eq!(
            words(0, Family::IDENTITY),
            ["age below 0", "age from 0 to 9", "age from 10 to 20", "age from 21", "age = unknown"]
        );
        assert_eq!(
            words(1, Family::RANGE)[4..],
            [
                "pay from 0 to below 0.5",
                "pay from 0 to 2",
                "pay from 0",
                "pay from 0.5 to 2",
                "pay from 0.5",
                "pay above 2",
                "pay = ?"
            ]
        );
    }
}
