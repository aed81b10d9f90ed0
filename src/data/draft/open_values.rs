//! Attributes of texts from published values: post-processing only.

use super::literal;

/// The labels of the cells of missing and of all other values. They do not depend on the records: a
/// text that equals a label is never a published value, and is in the cell of the label.
pub const LABELS: [&str; 2] = ["unknown", "other"];

/// Returns an attribute of a schema, in TOML, with published values and cells for all other values.
/// Without any value it is a comment: an attribute has values.
pub fn attribute<'a>(column: &str, values: impl Iterator<Item = &'a str>) -> String {
    let name = literal::text(column);
    let values: Vec<String> = values.map(literal::text).collect();
    if values.is_empty() {
        return format!("# {name}: no value had enough records\n");
    }
    let [missing, other] = LABELS;
    format!(
        "[[attribute]]\nname = {name}\nkind = \"categorical\"\n{}missing = \"{missing}\"\n\
         other = \"{other}\"\n",
        literal::list("values", &values)
    )
}

/// Returns a schema, in TOML, of a column before its values are published. The listed value has no
/// meaning.
pub fn template(column: &str) -> String {
    attribute(column, ["value"].into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::OutOfDomain;
    use crate::schema::{Coded, Schema, Value};

    /// Every published value has a cell of its own, labels and missing values have theirs, and no
    /// value is without a cell.
    #[test]
    fn attributes_have_a_cell_for_every_value() {
        let values = ["#", "7", "7.0", "TRUE", "a\"\\\nb", "a, b", "true", "é", "x\0y\u{2028}"];
        let text = attribute("a\"b", values.into_iter());
        let schema = Schema::from_toml(&text, "S.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
        OutOfDomain::Other.check(&schema).unwrap();
        assert_eq!(schema.sizes(), [values.len() + 2]);
        let coder = schema.coder(0);
        for (cell, value) in (0..).zip(values) {
            assert_eq!(coder.code(Value::Text(value)), Coded::Cell(cell), "{value}");
        }
        let [missing, other] = [schema.missing(0).unwrap(), schema.other(0).unwrap()];
        assert_ne!(missing, other);
        let of_labels = LABELS.map(|label| coder.code(Value::Text(label)));
        assert_eq!(of_labels, [missing, other].map(Coded::Cell));
        assert_eq!(coder.code(Value::Text(" ")), Coded::Missing);
        assert_eq!(coder.code(Value::Text("A")), Coded::Outside);
        assert!(Schema::from_toml(&template("a"), "S.toml").is_ok());
        assert_eq!(attribute("a", [].into_iter()), "# \"a\": no value had enough records\n");
    }
}
