//! A schema: attributes with their codings.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::cell_box::{BoxEntry, CellBox, cell_box};
use super::coding::{AttributeCoding, Coder, Coding};
use super::entry::{self, AttributeEntry, Origin};
use super::text_file::read_text;
use super::value::ListedValue;
use crate::domain::{
    Attribute, AttributeKind, AttributeSet, check_attributes, numbered_attributes,
};
use crate::error::{Error, Result};

/// The attributes of a table, in order, with their codings.
///
/// Unlike a [`Domain`](crate::domain::Domain), a schema may have more than `usize::MAX` cells,
/// because planners work on marginals.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    attributes: Vec<Attribute>,
    codings: Vec<AttributeCoding>,
    impossible: Vec<CellBox>,
    public_counts: Vec<CellBox>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaFile {
    #[serde(default)]
    attribute: Vec<Spanned<AttributeEntry>>,
    #[serde(default)]
    impossible: Vec<Spanned<BoxEntry>>,
    #[serde(default)]
    public: Vec<Spanned<BoxEntry>>,
}

impl SchemaFile {
    fn of(text: &str, origin: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| {
            let expected = "a schema: [[attribute]] tables with name, kind = \"numeric\" | \
                            \"integer\" | \"categorical\", one of values = […], bins = { low, \
                            high, count }, edges = […] and size, and optional below, above, other, \
                            missing and levels; and optional [[impossible]] and [[public]] tables with where = \
                            { attribute = value }";
            Error::toml(origin, text, expected, &e)
        })
    }
}

impl Schema {
    /// Creates a schema whose data are coded as cell numbers.
    ///
    /// # Errors
    /// No attribute, more than 128 attributes, an empty or repeated name, or a size of zero.
    pub fn new(attributes: Vec<Attribute>) -> Result<Self> {
        let codings = vec![AttributeCoding::new(Coding::Index, false); attributes.len()];
        let what = |i: usize, a: &Attribute| format!("schema, attribute {} `{}`", i + 1, a.name);
        Self::with_codings(attributes, codings, what)
    }

    /// Adds attributes of listed texts, their values in order.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub(super) fn with_listed(&self, added: Vec<(Attribute, Vec<String>)>) -> Result<Self> {
        let (mut attributes, mut codings) = (self.attributes.clone(), self.codings.clone());
        for (attribute, values) in added {
            let values = values.into_iter().map(ListedValue::Text).collect();
            codings.push(AttributeCoding::new(Coding::Values(values), false));
            attributes.push(attribute);
        }
        let what = |_: usize, a: &Attribute| format!("schema with levels, attribute `{}`", a.name);
        let (impossible, public_counts) = (self.impossible.clone(), self.public_counts.clone());
        let schema = Self::with_codings(attributes, codings, what)?;
        Ok(Schema { impossible, public_counts, ..schema })
    }

    /// Creates a schema of attributes `A1, A2, …` with the given sizes, all of one kind.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub fn of_sizes(sizes: &[usize], kind: AttributeKind) -> Result<Self> {
        Self::new(numbered_attributes(sizes, kind))
    }

    /// Creates a schema of `count` numeric attributes `A1, A2, …` of the same size.
    ///
    /// This is `[n]^d` of S3.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub fn uniform(size: usize, count: usize) -> Result<Self> {
        Self::of_sizes(&vec![size; count], AttributeKind::Numeric)
    }

    fn with_codings(
        attributes: Vec<Attribute>,
        codings: Vec<AttributeCoding>,
        what: impl Fn(usize, &Attribute) -> String,
    ) -> Result<Self> {
        if attributes.is_empty() || attributes.len() > AttributeSet::CAPACITY {
            return Err(Error::bad_input(
                "schema",
                format!("1 to {} attributes", AttributeSet::CAPACITY),
                attributes.len().to_string(),
                "write one [[attribute]] table per attribute, with name, size and kind",
            ));
        }
        if let Some(i) = attributes.iter().position(|a| a.name.is_empty()) {
            let what = what(i, &attributes[i]);
            return Err(Error::bad_input(what, "a name", "an empty name", "give `name`"));
        }
        check_attributes(&attributes, what)?;
        Ok(Schema { attributes, codings, impossible: Vec::new(), public_counts: Vec::new() })
    }

    /// Reads a schema from TOML text.
    ///
    /// `origin` (the file name) appears in error messages.
    ///
    /// # Errors
    /// Invalid TOML, unknown keys, or an invalid attribute.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self> {
        let file = SchemaFile::of(text, origin)?;
        let name = origin;
        let origin = Origin { name, text };
        entry::check_keys(&file.attribute, origin)?;
        let coded = file.attribute.iter().map(|entry| entry::attribute(entry.get_ref(), origin));
        let (attributes, codings) = coded.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let what = |i: usize, attribute: &Attribute| {
            let place = file.attribute.get(i).map(|entry| origin.of_table(entry));
            format!("{}, attribute {} `{}`", place.unwrap_or_default(), i + 1, attribute.name)
        };
        let schema = Self::with_codings(attributes, codings, what).map_err(|e| e.located(name))?;
        schema.with_boxes(&file, origin)
    }

    /// Adds the cells that cannot occur and the public counts.
    fn with_boxes(mut self, file: &SchemaFile, origin: Origin<'_>) -> Result<Self> {
        for entry in &file.impossible {
            let what = format!("{}, table [[impossible]]", origin.of_table(entry));
            let cells = cell_box(entry.get_ref(), &self.attributes, &self.codings, &what)?;
            if cells.chosen().iter().all(|chosen| !chosen.contains(&false)) {
                let expected = "at least one condition, on some of the values of an attribute";
                let remedy = "write where = { attribute = value, … }";
                return Err(Error::bad_input(what, expected, "every record", remedy));
            }
            self.impossible.push(cells);
        }
        for entry in &file.public {
            let what = format!("{}, table [[public]]", origin.of_table(entry));
            let cells = cell_box(entry.get_ref(), &self.attributes, &self.codings, &what)?;
            if self.public_counts.contains(&cells) {
                let remedy = "remove one of the two";
                return Err(Error::bad_input(what, "a count given once", "it twice", remedy));
            }
            if self.impossible.iter().any(|impossible| cells.is_within(impossible)) {
                let expected = "a count of records that [[impossible]] allows";
                let found = "records that cannot occur: their number is 0";
                return Err(Error::bad_input(what, expected, found, "remove one of the two"));
            }
            self.public_counts.push(cells);
        }
        Ok(self)
    }

    /// Returns a schema's text with the content of the files of levels in place of their paths.
    ///
    /// # Errors
    /// Invalid TOML, or a file that cannot be read.
    pub(super) fn text_with_files(text: &str, origin: &str) -> Result<String> {
        let file = SchemaFile::of(text, origin)?;
        let mut contents = Vec::new();
        for levels in file.attribute.iter().filter_map(|entry| entry.get_ref().levels.as_ref()) {
            contents.extend(levels.content(origin)?);
        }
        let mut out = text.to_owned();
        contents.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        for (span, content) in contents {
            // JSON escapes all that TOML does, except for the character U+007F.
            let quoted = serde_json::json!(content).to_string().replace('\u{7f}', "\\u007f");
            out.replace_range(span, &quoted);
        }
        Ok(out)
    }

    /// Reads a schema file.
    ///
    /// # Errors
    /// As [`Schema::from_toml`], or the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        Self::from_toml(&read_text(path, "schema file")?, &path.display().to_string())
    }

    /// Returns the attributes, in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Returns the sizes of all attributes, in order.
    pub fn sizes(&self) -> Vec<usize> {
        self.attributes.iter().map(|a| a.size).collect()
    }

    /// Returns the shape of the marginal on some attributes.
    ///
    /// These are the attributes' sizes, in ascending order of position.
    ///
    /// # Errors
    /// An attribute that is not in the schema.
    pub fn shape_of(&self, attributes: AttributeSet) -> Result<Vec<usize>> {
        if attributes.end() > self.attributes.len() {
            return Err(Error::bad_input(
                format!("marginal on attributes {attributes:?}"),
                format!("positions below {}", self.attributes.len()),
                format!("{attributes:?}"),
                "use positions of the schema",
            ));
        }
        Ok(attributes.select(&self.sizes()))
    }

    /// Returns the names of some attributes, separated by commas.
    pub fn names(&self, attributes: AttributeSet) -> String {
        let name =
            |p: usize| self.attributes.get(p).map_or_else(|| format!("#{p}"), |a| a.name.clone());
        attributes.positions().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the coding of the attribute at a position.
    pub fn coding(&self, position: usize) -> Option<&Coding> {
        self.codings.get(position).map(|attribute| &attribute.coding)
    }

    /// Returns whether numbers that are not integers are outside the attribute at a position, except
    /// listed ones.
    pub fn is_integer(&self, position: usize) -> bool {
        self.codings.get(position).is_some_and(|attribute| attribute.is_integer)
    }

    /// Returns the labels of the cells that `other` and `missing` add to an attribute. They are its
    /// last cells.
    pub fn labels(&self, position: usize) -> &[ListedValue] {
        self.codings.get(position).map_or(&[], |attribute| &attribute.labels)
    }

    /// Returns the label of a cell that `other` or `missing` adds to an attribute; `None` for a cell
    /// of its coding.
    pub fn label(&self, position: usize, cell: usize) -> Option<&ListedValue> {
        let labels = self.labels(position);
        labels.get(cell.checked_sub(self.attributes.get(position)?.size - labels.len())?)
    }

    /// Returns the cell of values outside the attribute at a position, if the schema declares one.
    pub fn other(&self, position: usize) -> Option<u32> {
        self.codings.get(position)?.other
    }

    /// Returns the cell of missing values of the attribute at a position, if the schema declares
    /// one. Otherwise a missing value is outside the attribute.
    pub fn missing(&self, position: usize) -> Option<u32> {
        self.codings.get(position)?.missing
    }

    /// Returns the combinations of values that cannot occur.
    pub fn impossible(&self) -> &[CellBox] {
        &self.impossible
    }

    /// Returns the counts of records that are public.
    pub fn public_counts(&self) -> &[CellBox] {
        &self.public_counts
    }

    /// Returns whether every attribute has a cell for values outside it.
    ///
    /// Then no record is outside the schema.
    pub fn has_cells_for_all_values(&self) -> bool {
        self.codings.iter().all(|attribute| attribute.other.is_some())
    }

    /// Returns the coder of the attribute at a position.
    pub fn coder(&self, position: usize) -> Coder<'_> {
        Coder::new(&self.codings[position], &self.attributes[position])
    }

    /// Returns the position of the attribute with the given name.
    ///
    /// # Errors
    /// No attribute has this name. The message lists the attributes of the schema.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.attributes.iter().position(|a| a.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.attributes.iter().map(|a| a.name.as_str()).collect();
            Error::bad_input(
                format!("attribute `{name}`"),
                format!("an attribute of the schema: {}", known.join(", ")),
                format!("`{name}`"),
                "check the spelling, or add the attribute to the schema",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bins, ListedValue};

    const GOOD: &str = r#"
        [[attribute]]
        name = "age"
        size = 10
        kind = "numeric"
        bins = { low = 0, high = 100, count = 10 }
        [[attribute]]
        name = "sex"
        size = 2
        kind = "categorical"
        values = ["f", "m"]
        [[attribute]]
        name = "code"
        size = 3
        kind = "categorical"
    "#;

    #[test]
    fn schemas_are_read_with_their_codings() {
        let schema = Schema::from_toml(GOOD, "S.toml").unwrap();
        assert_eq!(schema.attributes().len(), 3);
        let bins = Bins::new(0i64.into(), 100i64.into(), 10).unwrap();
        assert_eq!(schema.coding(0), Some(&Coding::Bins(bins)));
        assert_eq!(
            schema.coding(1),
            Some(&Coding::Values(["f", "m"].map(|text| ListedValue::Text(text.into())).to_vec()))
        );
        assert_eq!(schema.coding(2), Some(&Coding::Index));
        assert_eq!(schema.position("code").unwrap(), 2);
        assert!(schema.position("cod").unwrap_err().to_string().contains("age, sex, code"));
        assert_eq!(Schema::uniform(40, 50).unwrap().attributes().len(), 50);
    }

    #[test]
    fn errors_name_the_file_and_the_key() {
        for (from, to, part) in [
            ("size = 10", "size = 0", "age"),
            ("count = 10", "count = 9", "line 4, column 9, attribute `age`, key `size`"),
            ("high = 100", "high = -1", "low < high"),
            ("\"f\", \"m\"", "\"f\", \"f\"", "2 distinct values"),
            ("\"f\", \"m\"", "\"f\"", "1, the number of values"),
            ("name = \"sex\"", "name = \"age\"", "S.toml, line 7, column 9, attribute 2 `age`"),
            ("name = \"sex\"", "name = \"\"", "name"),
            ("kind = \"numeric\"", "kind = \"ordinal\"", "ordinal"),
            ("kind = \"numeric\"", "kind = \"categorical\"", "numeric"),
            ("size = 2", "size = 2\nsiez = 3", "siez"),
            ("size = 3", "", "size"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD);
            let message = Schema::from_toml(&text, "S.toml").unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("remedy"), "{to}: {message}");
        }
        assert!(Schema::from_toml("", "S.toml").is_err());
        assert!(Schema::uniform(2, 129).is_err());
        assert!(
            Schema::read(Path::new("nowhere.toml"))
                .unwrap_err()
                .to_string()
                .contains("nowhere.toml")
        );
    }
}
