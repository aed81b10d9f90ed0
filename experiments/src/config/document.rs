//! TOML documents: typed values from text, and line numbers of keys.

use std::fmt::{self, Display};

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use toml::Value;
use toml::de::DeTable;

use crate::error::{ConfigProblem, Error, Result};

/// Reads a document. Errors have their key, and its line if the document has that key.
///
/// # Errors
/// Text that is not TOML; missing or mistyped keys, and unknown keys if `T` has
/// `deny_unknown_fields`.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    typed(&table(text)?).map_err(|error| error.on_line(|key| line_of(text, key)))
}

/// Reads a document without types.
///
/// # Errors
/// Text that is not TOML.
pub fn table(text: &str) -> Result<toml::Table> {
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| line_at(text, span.start));
        Error::at("", ConfigProblem::Syntax(error.message().to_owned())).on_line(|_| line)
    })
}

/// Converts a table in memory, such as a grid, into a type.
///
/// # Errors
/// As [`read`], with keys relative to the table and without lines.
pub fn typed<T: DeserializeOwned>(table: &toml::Table) -> Result<T> {
    serde_path_to_error::deserialize(Node(Value::Table(table.clone()))).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        let Fault(problem) = error.into_inner();
        match *problem {
            // The path ends with the table, or with the key itself if serde reached it.
            ConfigProblem::UnknownKey { ref key, .. } | ConfigProblem::MissingKey(ref key)
                if last_key(&path) != key =>
            {
                Error::at(key.clone(), *problem).under(&path)
            }
            problem => Error::at(path, problem),
        }
    })
}

/// Returns the line of a key such as `grid.parts[0].n`, from 1.
///
/// It is the line of its value, or of the innermost existing table above it; `None` if the first
/// part of the key does not exist.
#[must_use]
pub fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut offset = None;
    let mut table = Some(document.get_ref());
    for part in key.split('.') {
        let (name, indices) = part.split_once('[').unwrap_or((part, ""));
        let Some((key, value)) = table?.iter().find(|(key, _)| key.get_ref() == name) else {
            break;
        };
        offset = Some(key.span().start);
        let mut value = value;
        for index in
            indices.split('[').filter_map(|index| index.strip_suffix(']')?.parse::<usize>().ok())
        {
            let Some(element) = value.get_ref().get(index) else {
                break;
            };
            value = element;
            offset = Some(value.span().start);
        }
        table = value.get_ref().as_table();
        if table.is_none() {
            break;
        }
    }
    offset.map(|offset| line_at(text, offset))
}

/// Returns the line of a byte offset, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn last_key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// An error of serde, kept as its parts instead of a message.
#[derive(Debug)]
struct Fault(Box<ConfigProblem>);

impl Fault {
    fn mismatch(expected: &str, found: String) -> Self {
        let expected = plain_type(expected);
        let remedy = format!("write {expected}");
        Self(Box::new(ConfigProblem::Mismatch { expected, found, remedy }))
    }
}

impl serde::de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(ConfigProblem::Syntax(message.to_string())))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::mismatch(&expected.to_string(), found.to_string())
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::mismatch(&expected.to_string(), found.to_string())
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::mismatch(&expected.to_string(), format!("{found} elements"))
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        Self(Box::new(ConfigProblem::UnknownName {
            noun: "name",
            found: found.to_owned(),
            known: owned(known),
        }))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self(Box::new(ConfigProblem::UnknownKey { key: key.to_owned(), known: owned(known) }))
    }

    fn missing_field(key: &'static str) -> Self {
        Self(Box::new(ConfigProblem::MissingKey(key.to_owned())))
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Fault {}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the plain name of a Rust type.
fn plain_type(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, not negative",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "a nonzero usize" | "a nonzero u32" | "a nonzero u64" => "a positive whole number",
        "f32" | "f64" => "a number",
        "a string" => "a string in quotes",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        "a boolean" => "true or false",
        other => other,
    }
    .to_owned()
}

/// A TOML value that serde reads with [`Fault`] as its error.
struct Node(Value);

impl<'de> IntoDeserializer<'de, Fault> for Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Fault> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(date) => Err(serde::de::Error::invalid_type(
                Unexpected::Other(&format!("the date or time {date}")),
                &visitor,
            )),
            Value::Array(elements) => {
                visitor.visit_seq(SeqDeserializer::new(elements.into_iter().map(Node)))
            }
            Value::Table(table) => visitor.visit_map(MapDeserializer::new(
                table.into_iter().map(|(key, value)| (key, Node(value))),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> std::result::Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Fault> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.into_deserializer()),
            Value::Table(table) => {
                let entries = table.into_iter().map(|(key, value)| (key, Node(value)));
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(entries)))
            }
            other => Node(other).deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        sizes: Vec<u32>,
        #[serde(default)]
        shape: Option<Shape>,
        #[serde(default)]
        parts: Vec<Part>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Shape {
        Line,
        Square { side: f64 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        name: String,
    }

    fn refused(text: &str) -> (String, String) {
        let error = read::<Sample>(text).unwrap_err();
        (error.key().to_owned(), error.to_string())
    }

    #[test]
    fn values_of_every_kind_are_read() {
        let read = |text: &str| read::<Sample>(text).unwrap();
        let parts = vec![Part { name: "a".to_owned() }, Part { name: "b".to_owned() }];
        let sample = Sample { sizes: vec![1, 2], shape: Some(Shape::Square { side: 2.0 }), parts };
        let text = "sizes = [1, 2]\nshape = { square = { side = 2 } }\n[[parts]]\nname = \
                    'a'\n[[parts]]\nname = 'b'\n";
        assert_eq!(read(text), sample);
        assert_eq!(read("sizes = []\nshape = 'line'").shape, Some(Shape::Line));
    }

    #[test]
    fn errors_have_key_and_line() {
        for (text, key, line, part) in [
            ("sizes = [1,\n 2, -3]", "sizes[2]", 2, "a whole number, not negative"),
            ("sizes = [1]\nsize = 3", "size", 2, "did you mean `sizes`?"),
            (
                "sizes = []\n\n[[parts]]\nname = 'a'\n[[parts]]\nnome = 'b'",
                "parts[1].nome",
                6,
                "did you mean `name`?",
            ),
            (
                "sizes = []\n[[parts]]\nname = 'a'\n[[parts]]\n",
                "parts[1].name",
                4,
                "add a line `name = …`",
            ),
            ("sizes = []\nparts = [{ name = 1 }]", "parts[0].name", 2, "integer `1`"),
            ("sizes = []\nshape = 'lime'", "shape", 2, "did you mean \"line\"?"),
            ("sizes = []\nshape = { square = { sid = 1 } }", "shape.square.side", 2, "this key"),
            ("sizes = 1979-05-27", "sizes", 1, "the date or time 1979-05-27"),
            ("sizes = []\nsizes = []", "", 2, "duplicate"),
            ("sizes = [", "", 1, "problem:"),
        ] {
            let (found, message) = refused(text);
            assert_eq!(found, key, "{message}");
            assert!(message.contains(&format!("line {line}\n")), "{line} in {message}");
            assert!(message.contains(part), "{part} in {message}");
        }
        let (key, message) = refused("");
        assert!(key == "sizes" && message.starts_with("config\n"), "{message}");
    }

    #[test]
    fn keys_have_lines() {
        let text = "a = 1\n[b]\nc = [\n  { d = 1 },\n  { d = 2 },\n]\n";
        for (key, line) in [
            ("a", 1),
            ("b", 2),
            ("b.c", 3),
            ("b.c[1]", 5),
            ("b.c[1].d", 5),
            ("b.c[9]", 3),
            ("b.x", 2),
        ] {
            assert_eq!(line_of(text, key), Some(line), "{key}");
        }
        assert_eq!(line_of(text, "x"), None);
    }
}
