//! Reference measures in TOML files.

use std::path::Path;

use serde::Deserialize;

use super::{Measure, ReferenceMeasure};
use crate::error::{Error, Result};
use crate::schema::{Schema, read_text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    attribute: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    measure: Vec<f64>,
}

impl ReferenceMeasure {
    /// Reads a measure from a TOML file.
    ///
    /// The file has `[[attribute]]` tables with `name` and `measure`, one number per value.
    /// Attributes that are not listed get the uniform measure.
    ///
    /// # Errors
    /// The file cannot be read or has another format, an attribute is not in the schema or is
    /// listed twice, or the numbers are not a measure on the attribute's values.
    pub fn read(schema: &Schema, path: &Path) -> Result<Self> {
        Self::from_toml(schema, &read_text(path, "measure file")?, &path.display().to_string())
    }

    /// Reads a measure from TOML text.
    ///
    /// `origin` is its name in error messages.
    ///
    /// # Errors
    /// As [`ReferenceMeasure::read`].
    pub fn from_toml(schema: &Schema, text: &str, origin: &str) -> Result<Self> {
        let expected = "[[attribute]] tables with name and measure = [numbers]";
        let document: Document =
            toml::from_str(text).map_err(|e| Error::toml(origin, text, expected, &e))?;
        let attributes = schema.attributes();
        let mut measures: Vec<Measure> =
            attributes.iter().map(|a| Measure::uniform(a.size)).collect();
        let mut listed = vec![false; attributes.len()];
        for entry in document.attribute {
            let Some(position) = attributes.iter().position(|a| a.name == entry.name) else {
                let known: Vec<&str> = attributes.iter().map(|a| a.name.as_str()).collect();
                return Err(Error::bad_input(
                    format!("{origin}: attribute"),
                    format!("one of {}", known.join(", ")),
                    format!("`{}`", entry.name),
                    "name attributes of the schema",
                ));
            };
            let what = format!("{origin}: measure of `{}`", entry.name);
            let (size, found) = (attributes[position].size, entry.measure.len());
            if std::mem::replace(&mut listed[position], true) {
                return Err(Error::bad_input(
                    what,
                    "every attribute once",
                    "the attribute twice",
                    "drop one of the tables",
                ));
            }
            if found != size {
                return Err(Error::bad_input(
                    what,
                    format!("{size} numbers, one per value"),
                    format!("{found}"),
                    "list the measure of every value, in their order",
                ));
            }
            measures[position] = Measure::named(&what, entry.measure)?;
        }
        Ok(ReferenceMeasure::new(measures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_read_and_errors_name_the_file() {
        let schema = Schema::uniform(3, 2).unwrap();
        let names: Vec<&str> = schema.attributes().iter().map(|a| a.name.as_str()).collect();
        let table = |name: &str, measure: &str| {
            format!("[[attribute]]\nname = \"{name}\"\nmeasure = {measure}\n")
        };
        let read = |text: &str| ReferenceMeasure::from_toml(&schema, text, "M.toml");
        let measure = read(&table(names[1], "[0.25, 0.5, 0.25]")).unwrap();
        assert!(measure.of_attribute(0).is_uniform());
        assert_eq!(measure.of_attribute(1).to_vec(), [0.25, 0.5, 0.25]);
        for (text, expected) in [
            (table(names[0], "[0.5, 0.5]"), "3 numbers"),
            (table(names[0], "[0.5, 0.5, 0.0]"), "0 for value 2"),
            (table(names[0], "[0.5, 0.9, -0.4]"), "-0.4 for value 2"),
            (table(names[0], "[0.5, 0.5, 0.5]"), "sum to 1.5"),
            (table("nobody", "[1.0]"), "nobody"),
            (format!("{0}{0}", table(names[0], "[0.25, 0.5, 0.25]")), "twice"),
            ("[[attribut]]".to_owned(), "attribut"),
        ] {
            let message = read(&text).unwrap_err().to_string();
            assert!(message.contains(expected) && message.contains("M.toml"), "{message}");
        }
    }
}
