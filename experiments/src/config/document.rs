//! TOML documents: typed values from text, and line numbers of keys.

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::error::{ConfigProblem, Error, Result};

/// Reads a document.
///
/// # Errors
/// Text that is not TOML; missing or mistyped keys, and unknown keys if `T` has
/// `deny_unknown_fields`. The message of the parser shows the line.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        if let Some(several) = text.parse().ok().and_then(|table| several_missing::<T>(&table)) {
            return several;
        }
        let line = error.span().map(|span| line_at(text, span.start));
        Error::at("", ConfigProblem::Toml(error)).on_line(|_| line)
    })
}

/// Converts a table in memory, such as a grid, into a type.
///
/// # Errors
/// As [`read`], with the key relative to the table, as far as it is known, and without a line.
pub fn typed<T: DeserializeOwned>(table: &toml::Table) -> Result<T> {
    table.clone().try_into().map_err(|error: toml::de::Error| {
        if let Some(several) = several_missing::<T>(table) {
            return several;
        }
        let text = error.to_string();
        let of_value = text.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`'));
        let named = ["unknown field `", "missing field `"]
            .iter()
            .find_map(|words| error.message().strip_prefix(words)?.split('`').next());
        let key = of_value.into_iter().chain(named);
        Error::at(key.collect::<Vec<_>>().join("."), ConfigProblem::Toml(error))
    })
}

/// Returns the error of a table without two or more keys that it must have.
fn several_missing<T: DeserializeOwned>(table: &toml::Table) -> Option<Error> {
    let missing = missing_keys::<T>(table);
    let names: Vec<String> = missing.iter().map(|key| format!("`{key}`")).collect();
    let expected = format!("the keys {}", names.join(", "));
    let remedy = "add them; docs/writing-an-experiment.md describes them";
    (missing.len() > 1).then(|| Error::config("", expected, "none of them", remedy))
}

/// Returns the missing keys of a table, without those of tables in it.
///
/// serde reports the first missing key. It gets a value of the first type with which the parser
/// reports another missing key or none, until all keys are there.
fn missing_keys<T: DeserializeOwned>(table: &toml::Table) -> Vec<String> {
    let first_missing = |table: &toml::Table| match table.clone().try_into::<T>() {
        Ok(_) => Ok(None),
        Err(error) if error.to_string().contains("\nin `") => Err(error),
        Err(error) => match error.message().strip_prefix("missing field `") {
            Some(rest) => Ok(rest.split('`').next().map(str::to_owned)),
            None => Err(error),
        },
    };
    let (mut table, mut missing) = (table.clone(), Vec::new());
    while let Ok(Some(key)) = first_missing(&table) {
        missing.push(key.clone());
        let filled = samples().into_iter().find_map(|value| {
            let mut filled = table.clone();
            filled.insert(key.clone(), value);
            matches!(first_missing(&filled), Ok(next) if next.as_ref() != Some(&key))
                .then_some(filled)
        });
        let Some(filled) = filled else { break };
        table = filled;
    }
    missing
}

/// Returns a value of every type of TOML but dates.
fn samples() -> [toml::Value; 6] {
    use toml::Value::{Array, Boolean, Float, Integer, String, Table};
    [
        String(std::string::String::new()),
        Integer(1),
        Float(1.0),
        Boolean(false),
        Array(Vec::new()),
        Table(toml::Table::new()),
    ]
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
    fn errors_of_a_text_show_its_line() {
        for (text, line, part) in [
            ("sizes = [1,\n 2, -3]", 2, "integer `-3`, expected u32"),
            ("sizes = [1]\nsize = 3", 2, "did you mean `sizes`?"),
            ("sizes = []\n[[parts]]\nnome = 'b'", 3, "did you mean `name`?"),
            ("sizes = []\n[[parts]]\n", 2, "missing field `name`"),
            ("sizes = []\nshape = 'lime'", 2, "did you mean `line`?"),
            ("sizes = []\nsizes = []", 2, "duplicate"),
            ("sizes = [", 1, "unclosed"),
        ] {
            let message = read::<Sample>(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("config, line {line}\n")), "{message}");
            assert!(message.contains(part), "{part} in {message}");
        }
    }

    #[test]
    fn errors_of_a_table_have_its_key() {
        for (text, key) in [
            ("sizes = [1, -3]", "sizes"),
            ("sizes = [1]\nsize = 3", "size"),
            ("sizes = []\nparts = [{ nome = 'b' }]", "parts.nome"),
            ("sizes = []\nshape = { square = { side = 'b' } }", "shape.side"),
            ("", "sizes"),
        ] {
            let error = typed::<Sample>(&text.parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
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
