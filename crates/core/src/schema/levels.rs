//! The key `levels`: the hierarchy above the values of a categorical attribute.
//!
//! ```toml
//! levels = { county = ["A", "A", "B"], region = ["N", "N", "S"] }    # in the order of `values`
//! levels = { file = "areas.csv", leaf = "municipality", order = ["region", "county"] }
//! ```
//!
//! The levels of lists are ordered by their numbers of nodes; `order` is from the coarsest to the
//! finest. A path is relative to the schema; a text with line breaks is the content of the file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::coding::{AttributeCoding, Coded, Coder, Coding};
use super::value::{ListedValue, Value};
use crate::domain::{Attribute, AttributeKind, Hierarchy};
use crate::error::{Error, Result};

/// The key `levels`.
#[derive(Deserialize)]
pub(super) struct LevelsEntry {
    /// The path of a CSV file, or its content.
    file: Option<Spanned<String>>,
    /// The column of the values; by default the name of the attribute.
    leaf: Option<String>,
    /// The columns of the levels, from the coarsest to the finest.
    order: Option<Vec<String>>,
    /// The parent of every value, by level.
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<Label>>,
}

/// The name of a node in a schema file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a node: a text or an integer")]
enum Label {
    Text(String),
    Number(i64),
}

impl Label {
    fn text(&self) -> String {
        match self {
            Label::Text(text) => text.trim().to_owned(),
            Label::Number(number) => number.to_string(),
        }
    }
}

/// The levels of an attribute, before its values are known.
pub(super) struct Levels {
    what: String,
    form: Form,
}

enum Form {
    /// The parents of every value, by level.
    Lists(Vec<(String, Vec<String>)>),
    /// The lines of a file.
    File { order: Vec<String>, lines: Vec<Line> },
}

/// A line of a file: a value and its node of every level.
struct Line {
    number: u64,
    leaf: String,
    nodes: Vec<String>,
}

impl LevelsEntry {
    /// Reads the levels of an attribute; paths are relative to the folder of `origin`.
    ///
    /// # Errors
    /// Keys that do not fit, or a file that cannot be read.
    pub(super) fn read(&self, attribute: &str, origin: &str) -> Result<Levels> {
        let what = format!("{origin}, attribute `{attribute}`, key `levels`");
        let refuse = |expected: &str, found: &str| {
            let remedy = "use levels = { county = […], region = […] }, or levels = { file = \
                          \"areas.csv\", leaf = \"municipality\", order = [\"region\", \"county\"] }";
            Err(Error::bad_input(&what, expected, found, remedy))
        };
        let form = match (&self.file, &self.order) {
            (None, None) if self.leaf.is_none() => {
                let texts = |labels: &Vec<Label>| labels.iter().map(Label::text).collect();
                let lists = self.lists.iter().map(|(name, labels)| (name.clone(), texts(labels)));
                Form::Lists(lists.collect())
            }
            (None, _) => return refuse("`file` with `leaf` and `order`", "no `file`"),
            (Some(_), None) => {
                return refuse("`order`, the levels from the coarsest to the finest", "none");
            }
            (Some(_), Some(_)) if !self.lists.is_empty() => {
                return refuse("either lists or `file`", "both");
            }
            (Some(file), Some(order)) => {
                let leaf = self.leaf.as_deref().unwrap_or(attribute);
                let (text, source) = content(file.get_ref(), origin, &what)?;
                let lines = lines(&text, leaf, order, &source)?;
                Form::File { order: order.clone(), lines }
            }
        };
        Ok(Levels { what, form })
    }

    /// Returns whether a file has the values.
    pub(super) fn has_values(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the bytes of `file` in the schema, and the content in place of a path.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(super) fn content(&self, origin: &str) -> Result<Option<(Range<usize>, String)>> {
        let Some(file) = self.file.as_ref().filter(|file| !is_content(file.get_ref())) else {
            return Ok(None);
        };
        Ok(Some((file.span(), content(file.get_ref(), origin, "key `levels`")?.0)))
    }
}

fn is_content(file: &str) -> bool {
    file.contains('\n')
}

/// Returns the content of a file, and its name in messages.
fn content(file: &str, origin: &str, what: &str) -> Result<(String, String)> {
    if is_content(file) {
        return Ok((file.to_owned(), what.to_owned()));
    }
    let path = Path::new(origin).parent().unwrap_or(Path::new("")).join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| {
        let remedy = "give the path of a CSV file of the levels, relative to the schema";
        Error::io(&path, "reading", e, remedy)
    })?;
    Ok((text, path.display().to_string()))
}

/// Returns the lines of a CSV text.
///
/// # Errors
/// Text that is no CSV, or a column that it does not have.
fn lines(text: &str, leaf: &str, order: &[String], source: &str) -> Result<Vec<Line>> {
    let remedy = "give one line per value with its node of every level, after a line of names";
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let invalid = |e: csv::Error| Error::csv(Path::new(source), e, remedy);
    let header = reader.headers().map_err(invalid)?.clone();
    let names: Vec<&str> = header.iter().collect();
    let column = |name: &str| {
        let found: Vec<usize> = (0..names.len()).filter(|&k| names[k] == name).collect();
        match found[..] {
            [column] => Ok(column),
            [] => Err(Error::unknown_name(
                "column",
                name,
                &names,
                "name a column of the file in `leaf` and `order`",
            )
            .located(source)),
            _ => Err(Error::bad_input(
                format!("{source}, column `{name}`"),
                "one column of this name",
                found.len().to_string(),
                "rename one of them",
            )),
        }
    };
    let leaf = column(leaf)?;
    let columns = order.iter().map(|name| column(name)).collect::<Result<Vec<usize>>>()?;
    let line = |record: csv::Result<csv::StringRecord>| {
        let record = record.map_err(invalid)?;
        let field = |column: usize| record.get(column).unwrap_or_default().to_owned();
        Ok(Line {
            number: record.position().map_or(0, |position| position.line()),
            leaf: field(leaf),
            nodes: columns.iter().map(|&column| field(column)).collect(),
        })
    };
    reader.records().map(line).collect()
}

impl Levels {
    /// Returns the values of the file, in the order of its lines.
    pub(super) fn values(&self) -> Option<Vec<ListedValue>> {
        match &self.form {
            Form::Lists(_) => None,
            Form::File { lines, .. } => {
                Some(lines.iter().map(|line| ListedValue::Text(line.leaf.clone())).collect())
            }
        }
    }

    /// Returns the hierarchy over the cells of an attribute.
    ///
    /// # Errors
    /// An attribute that is not categorical, a value without a line or with two, or levels that are
    /// not nested.
    pub(super) fn hierarchy(
        self,
        coding: &AttributeCoding,
        attribute: &Attribute,
    ) -> Result<Hierarchy> {
        let size = attribute.size;
        if attribute.kind != AttributeKind::Categorical {
            let remedy = "use kind = \"categorical\", or drop the key";
            return Err(Error::bad_input(
                self.what,
                "kind = \"categorical\"",
                "\"numeric\"",
                remedy,
            ));
        }
        let value = |cell: usize| match &coding.coding {
            Coding::Values(values) => values.get(cell).map(ToString::to_string),
            _ => Some(cell.to_string()),
        };
        let shown = |cell: usize| format!("`{}`", value(cell).unwrap_or_default());
        let refuse = |expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input(&self.what, expected, found, remedy))
        };
        match self.form {
            Form::Lists(mut levels) => {
                let nodes = |labels: &[String]| {
                    labels.iter().collect::<std::collections::BTreeSet<_>>().len()
                };
                levels.sort_by_key(|(_, labels)| nodes(labels));
                if let Some((name, labels)) = levels.iter().find(|(_, l)| l.len() != size) {
                    let expected = format!("{size} parents on each level, one per value");
                    let found = format!("{} for `{name}`", labels.len());
                    let remedy = "list the parent of every value, in the order of `values`";
                    return refuse(&expected, found, remedy);
                }
                let leaf = |k: usize| format!("value {}, {}", k + 1, shown(k));
                Hierarchy::new(levels, leaf).map_err(|e| e.located(&self.what))
            }
            Form::File { order, lines } => {
                let coder = Coder::new(coding, attribute);
                let mut line_of: Vec<Option<&Line>> = vec![None; size];
                for line in &lines {
                    let Coded::Cell(cell) = coder.code(Value::Text(&line.leaf)) else {
                        let found = format!("`{}` in line {}", line.leaf, line.number);
                        let remedy = "add the value to `values`, or omit `values`";
                        return refuse("values of the attribute", found, remedy);
                    };
                    if let Some(first) = line_of[cell as usize].replace(line) {
                        let (first, second) = (first.number, line.number);
                        let found = format!("`{}` in lines {first} and {second}", line.leaf);
                        return refuse("one line per value", found, "drop one of the lines");
                    }
                }
                if let Some(cell) = line_of.iter().position(Option::is_none) {
                    let missing = line_of.iter().filter(|line| line.is_none()).count();
                    let more = match missing {
                        1 => String::new(),
                        _ => format!(" and for {} more", missing - 1),
                    };
                    let found = format!("none for {}{more}", shown(cell));
                    return refuse("a line for every value", found, "add the missing lines");
                }
                let found: Vec<&Line> = line_of.into_iter().flatten().collect();
                let of_level = |(k, name): (usize, &String)| {
                    let nodes = found.iter().map(|line| line.nodes[k].clone()).collect();
                    (name.clone(), nodes)
                };
                let leaf = |k: usize| format!("line {}, {}", found[k].number, shown(k));
                Hierarchy::new(order.iter().enumerate().map(of_level).collect(), leaf)
                    .map_err(|e| e.located(&self.what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Schema, SchemaSource};

    fn keys(keys: &str) -> Result<Schema> {
        let text = format!("[[attribute]]\nname = \"area\"\nkind = \"categorical\"\n{keys}\n");
        Schema::from_toml(&text, "S.toml")
    }

    fn parents(schema: &Schema) -> Vec<(String, Vec<u32>)> {
        let hierarchy = schema.attributes()[0].hierarchy.as_ref().unwrap();
        let level =
            |level: &crate::domain::Level| (level.name().to_owned(), level.node_of().to_vec());
        hierarchy.levels().iter().map(level).collect()
    }

    #[test]
    fn levels_are_read_from_lists() {
        let levels = "levels = { county = [\"A\", \"A\", \"B\", 7], region = [1, 1, 2, 2] }";
        for values in ["values = [\"a\", \"b\", \"c\", \"d\"]", "size = 4"] {
            let expected =
                [("region".to_owned(), vec![0, 0, 1, 1]), ("county".to_owned(), vec![0, 0, 1, 2])];
            assert_eq!(parents(&keys(&format!("{values}\n{levels}")).unwrap()), expected);
        }
        let table = "size = 2\n[attribute.levels]\nregion = [\"N\", \"N\"]";
        assert_eq!(parents(&keys(table).unwrap()), [("region".to_owned(), vec![0, 0])]);
    }

    /// The cell of missing values is a leaf in a node of its own on every level.
    #[test]
    fn added_cells_are_leaves() {
        let text = "size = 3\nmissing = \"unknown\"\nother = \"unknown\"\n\
                    levels = { county = [\"A\", \"A\", \"B\"], region = [\"N\", \"N\", \"N\"] }";
        let schema = keys(text).unwrap();
        assert_eq!(schema.sizes(), [4]);
        let hierarchy = schema.attributes()[0].hierarchy.as_ref().unwrap();
        assert_eq!(hierarchy.leaves(), 4);
        let expected =
            [("region".to_owned(), vec![0, 0, 0, 1]), ("county".to_owned(), vec![0, 0, 1, 2])];
        assert_eq!(parents(&schema), expected);
        assert_eq!(hierarchy.levels()[0].labels(), ["N", "unknown"]);
    }

    #[test]
    fn levels_are_read_from_a_file_next_to_the_schema() {
        let folder = tempfile::tempdir().unwrap();
        let csv = "region,county,area,other\nN, A,02139,x\nN,B,\"b,\"\"c\",y\nS,C,é,z\n";
        std::fs::write(folder.path().join("areas.csv"), csv).unwrap();
        let text = "# é\n[[attribute]]\nname = \"area\"\nkind = \"categorical\"\nlevels = { file = \
                    'areas.csv', order = [\"region\", \"county\"] }\n";
        let path = folder.path().join("S.toml");
        std::fs::write(&path, text).unwrap();
        let schema = Schema::read(&path).unwrap();
        let expected = [("region".to_owned(), vec![0, 0, 1]), ("county".to_owned(), vec![0, 1, 2])];
        assert_eq!(parents(&schema), expected);
        assert_eq!(schema.sizes(), [3]);
        let listed: Vec<ListedValue> =
            ["02139", "b,\"c", "é"].map(|text| ListedValue::Text(text.into())).to_vec();
        assert_eq!(schema.coding(0), Some(&Coding::Values(listed)));
        // The text that is stored with a release has the content of the file.
        let (read, stored) = SchemaSource::File(path).read().unwrap();
        assert_eq!(read, schema);
        assert!(!stored.contains("areas.csv") && stored.contains("# é"), "{stored}");
        std::fs::remove_file(folder.path().join("areas.csv")).unwrap();
        assert_eq!(Schema::from_toml(&stored, "elsewhere/S.toml").unwrap(), schema);
        assert_eq!(SchemaSource::Text(stored.clone()).read().unwrap(), (schema, stored));
    }

    #[test]
    fn listed_values_may_be_in_another_order_than_the_file() {
        let file = "file = \"area,region\\n3,S\\n1,N\\n2,N\\n\", order = [\"region\"]";
        let schema = keys(&format!("values = [1, 2, 3]\nlevels = {{ {file} }}")).unwrap();
        assert_eq!(parents(&schema), [("region".to_owned(), vec![0, 0, 1])]);
    }

    #[test]
    fn invalid_levels_are_refused_with_names_and_positions() {
        let file = |lines: &str, rest: &str| {
            format!("levels = {{ file = \"area,county,region\\n{lines}\", {rest} }}")
        };
        let order = "order = [\"region\", \"county\"]";
        for (text, parts) in [
            (
                "size = 3\nlevels = { county = [\"A\", \"A\", \"B\"], region = [1, 2, 2] }".into(),
                &["region `2`", "value 2", "value 3"][..],
            ),
            ("size = 3\nlevels = { county = [\"A\", \"A\"] }".into(), &["3 parents", "county"]),
            ("size = 1\nlevels = { }".into(), &["at least one level"]),
            ("size = 1\nlevels = { leaf = \"x\" }".into(), &["no `file`"]),
            (file("a,A,N\\n", "leaf = \"area\""), &["`order`"]),
            (file("a,A,N\\n", "county = [\"A\"], order = [\"region\"]"), &["both"]),
            (file("a,A,N\\nb,A,S\\n", order), &["county `A`", "line 2", "line 3", "`N`", "`S`"]),
            (file("a,A,N\\na,A,N\\n", order), &["`a` in lines 2 and 3"]),
            (file("a,A,N\\nb,,N\\n", order), &["line 3", "none"]),
            (file("a,A\\n", order), &["line"]),
            (file("a,A,N\\n", "order = [\"regoin\"]"), &["regoin", "region"]),
            (file("a,A,N\\n", "leaf = \"town\", order = [\"region\"]"), &["town", "area"]),
            (
                format!("values = [\"a\", \"b\"]\n{}", file("a,A,N\\na,A,N\\n", order)),
                &["`a` in lines 2 and 3"],
            ),
            (
                format!("values = [\"a\", \"b\"]\n{}", file("a,A,N\\nc,A,N\\n", order)),
                &["`c` in line 3"],
            ),
            (
                format!("values = [\"a\", \"b\", \"c\"]\n{}", file("a,A,N\\n", order)),
                &["none for `b` and for 1 more"],
            ),
            ("levels = { file = \"nowhere.csv\", order = [\"r\"] }".into(), &["nowhere.csv"]),
        ] {
            let message = keys(&text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{text}: {message}");
        }
        let numeric = "[[attribute]]\nname = \"a\"\nkind = \"numeric\"\nsize = 2\n\
                       levels = { r = [1, 1] }\n";
        let message = Schema::from_toml(numeric, "S.toml").unwrap_err().to_string();
        assert!(message.contains("categorical"), "{message}");
    }
}
