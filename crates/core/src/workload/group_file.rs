//! Workload files: `[[queries]]` tables that expand to groups of queries.
//!
//! ```toml
//! [[queries]]
//! family = "prefix"            # a family of `Family::ALL`, nested, level(NAME), random, hybrid or
//!                              # matrix
//! ways = [1, 2]                # all sets of 1 and of 2 attributes; or attributes = ["age", "pay"]
//! weight = 2.0                 # optional; or weights = […], one per group
//! query_weights = [1.0, 3.0]   # optional, one per query; for affine, abs, random and matrix
//! # only for random: seed = 52, probability = 0.3, queries_per_cell = 3
//! # only for matrix: file = "W.npy"
//!
//! [[queries]]
//! query = "mean(income) by region"    # in words, in place of a family; only with `weight`
//! ```

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::groups::{GroupFamily, GroupedWorkload, attribute_sets, groups_of};
use super::matrices::{Matrices, MatrixSource};
use super::query::ResolvedQuery;
use super::query_group::{GroupQueries, QueryGroup};
use super::{Family, QueryCount};
use crate::counted::counted;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::{Schema, read_text};

/// The noun of weights in messages.
const WEIGHTS: [&str; 2] = ["weight", "weights"];

/// The names of group families other than [`Family::ALL`].
const OTHER_FAMILIES: [&str; 5] = ["nested", "level(NAME)", "random", "hybrid", "matrix"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    #[serde(default)]
    queries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    query: Option<String>,
    family: Option<String>,
    attributes: Option<Vec<String>>,
    ways: Option<Vec<usize>>,
    weight: Option<f64>,
    weights: Option<Vec<f64>>,
    query_weights: Option<Vec<f64>>,
    seed: Option<u32>,
    probability: Option<f64>,
    queries_per_cell: Option<usize>,
    file: Option<String>,
}

impl GroupedWorkload {
    /// Reads a workload from TOML text. Paths in the text are relative to `folder`; `origin` is the
    /// file name in error messages.
    ///
    /// # Errors
    /// Invalid TOML, unknown keys or families, or groups that do not fit the schema.
    pub fn from_toml(schema: &Schema, text: &str, origin: &str, folder: &Path) -> Result<Self> {
        Self::from_toml_with(schema, text, origin, &MatrixSource::folder(folder))
    }

    /// [`GroupedWorkload::from_toml`] with the matrices of a source.
    ///
    /// # Errors
    /// As [`GroupedWorkload::from_toml`].
    pub fn from_toml_with(
        schema: &Schema,
        text: &str,
        origin: &str,
        source: &MatrixSource<'_>,
    ) -> Result<Self> {
        let file: WorkloadFile = toml::from_str(text).map_err(|e| {
            let expected = "a workload: [[queries]] tables with a family and either \
                            attributes = […] or ways = […], or with a query";
            Error::toml(origin, text, expected, &e)
        })?;
        let (mut groups, mut matrices) = (Vec::new(), Matrices::default());
        for (k, entry) in file.queries.iter().enumerate() {
            let what = format!("{origin}, [[queries]] number {}", k + 1);
            let expanded = entry.groups(schema, &what, source, &mut matrices);
            groups.extend(expanded.map_err(|e| e.located(&what))?);
        }
        let workload = Self::new(schema.clone(), groups).map_err(|e| e.located(origin))?;
        Ok(workload.with_matrices(matrices))
    }

    /// Reads a workload file.
    ///
    /// # Errors
    /// A file that cannot be read, and as [`GroupedWorkload::from_toml`].
    pub fn read(schema: &Schema, path: &Path) -> Result<Self> {
        let text = read_text(path, "workload file")?;
        Self::from_toml(
            schema,
            &text,
            &path.display().to_string(),
            path.parent().unwrap_or(Path::new("")),
        )
    }
}

impl Entry {
    /// Expands the entry to groups; adds its matrix.
    fn groups(
        &self,
        schema: &Schema,
        what: &str,
        source: &MatrixSource<'_>,
        matrices: &mut Matrices,
    ) -> Result<Vec<QueryGroup>> {
        let refuse = |expected: &str, found: &str, remedy: &str| {
            Err(Error::bad_input(what, expected, found, remedy))
        };
        if let Some(query) = &self.query {
            return self.of_query(query, schema, what);
        }
        if self.family.is_none() {
            let remedy = "add e.g. family = \"identity\", or query = \"mean(income) by region\"";
            return refuse("a `family` or a `query`", "neither", remedy);
        }
        let sets = match (&self.attributes, &self.ways) {
            (Some(names), None) => {
                vec![self.named(schema, names, what)?]
            }
            (None, Some(ways)) => attribute_sets(schema, ways)?,
            (found, _) => {
                return refuse(
                    "either `attributes` or `ways`",
                    if found.is_some() { "both" } else { "neither" },
                    "list the attributes of one group, or use e.g. ways = [1, 2] for all sets of 1 \
                     and of 2 attributes",
                );
            }
        };
        let weights = match (self.weight, &self.weights) {
            (Some(_), Some(_)) => {
                return refuse("either `weight` or `weights`", "both", "drop one of the two");
            }
            (_, Some(weights)) if weights.len() != sets.len() => {
                return refuse(
                    &format!("{}, one per group", counted(sets.len(), WEIGHTS)),
                    &weights.len().to_string(),
                    "list the weights by number of attributes, then lexicographically; or use one \
                     `weight` for all groups",
                );
            }
            (_, Some(weights)) => weights.clone(),
            (weight, None) => vec![weight.unwrap_or(1.0)],
        };
        let family = self.family(what, source)?;
        if let (GroupFamily::Matrix(matrix), Some(name)) = (&family, &self.file) {
            matrices.insert(name.clone(), matrix.clone());
        }
        let groups = groups_of(schema, &family, &sets, &weights)?;
        match &self.query_weights {
            None => Ok(groups),
            Some(query_weights) => groups
                .into_iter()
                .map(|group| weighted(schema, group, query_weights, what))
                .collect(),
        }
    }

    /// Returns the groups of a query in words.
    fn of_query(&self, query: &str, schema: &Schema, what: &str) -> Result<Vec<QueryGroup>> {
        let others = [
            ("family", self.family.is_some()),
            ("attributes", self.attributes.is_some()),
            ("ways", self.ways.is_some()),
            ("weights", self.weights.is_some()),
            ("query_weights", self.query_weights.is_some()),
            ("seed", self.seed.is_some()),
            ("probability", self.probability.is_some()),
            ("queries_per_cell", self.queries_per_cell.is_some()),
            ("file", self.file.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Error::bad_input(
                format!("{what}, key `{key}`"),
                "only `weight` next to `query`",
                format!("`{key}`"),
                "drop the key; conditions and `by` are part of the query",
            ));
        }
        let resolved = ResolvedQuery::parse(query, schema).map_err(|e| match e {
            Error::Parse { origin, place, expected, found, remedy } => {
                let origin = format!("{what}, {origin}");
                Error::Parse { origin, place, expected, found, remedy }
            }
            error => error,
        })?;
        resolved.groups(schema, self.weight.unwrap_or(1.0))
    }

    /// Returns the name of the family.
    fn family_name(&self) -> &str {
        self.family.as_deref().unwrap_or_default()
    }

    /// Returns the set of the attributes with these names.
    fn named(&self, schema: &Schema, names: &[String], what: &str) -> Result<AttributeSet> {
        let positions =
            names.iter().map(|name| schema.position(name)).collect::<Result<Vec<usize>>>()?;
        let refuse = |expected: &str, found: String, remedy: &str| {
            Err(Error::bad_input(format!("{what}, key `attributes`"), expected, found, remedy))
        };
        if let Some(k) = (0..positions.len()).find(|&k| positions[..k].contains(&positions[k])) {
            return refuse(
                "each attribute once",
                format!("`{}` twice", names[k]),
                "drop one of the two",
            );
        }
        if self.family_name() == "matrix" && !positions.is_sorted() {
            let remedy = "use the order of the schema, which is also that of the matrix columns";
            return refuse("attributes in the order of the schema", names.join(", "), remedy);
        }
        AttributeSet::from_positions(&positions)
    }

    fn family(&self, what: &str, source: &MatrixSource<'_>) -> Result<GroupFamily> {
        let random_keys =
            self.seed.is_some() || self.probability.is_some() || self.queries_per_cell.is_some();
        let misplaced = |key: &str, family: &str| {
            Err(Error::bad_input(
                format!("{what}, key `{key}`"),
                format!("this key only with family = \"{family}\""),
                format!("family = \"{}\"", self.family_name()),
                "drop the key or change the family",
            ))
        };
        if random_keys && self.family_name() != "random" {
            return misplaced("seed, probability or queries_per_cell", "random");
        }
        if self.file.is_some() && self.family_name() != "matrix" {
            return misplaced("file", "matrix");
        }
        Ok(match self.family_name() {
            "hybrid" => GroupFamily::Hybrid,
            "nested" => GroupFamily::Nodes(None),
            "random" => GroupFamily::Random {
                seed: self.seed.unwrap_or(0),
                probability: self.probability.unwrap_or(0.3),
                queries_per_cell: self.queries_per_cell.unwrap_or(3),
            },
            "matrix" => {
                let Some(file) = &self.file else {
                    return Err(Error::bad_input(
                        what,
                        "the key `file` with the matrix of the queries",
                        "none",
                        "add file = \"W.npy\" (or .csv), one row per query",
                    ));
                };
                GroupFamily::Matrix(source.matrix(file)?)
            }
            name => match Family::named(name) {
                Some(family) if family.arity() == 1 => GroupFamily::Product(family),
                Some(family) => GroupFamily::Pairs(family),
                None if level_of(name).is_some() => {
                    GroupFamily::Nodes(level_of(name).map(str::to_owned))
                }
                None => {
                    let known: Vec<&str> = Family::ALL
                        .iter()
                        .map(|family| family.name())
                        .chain(OTHER_FAMILIES)
                        .collect();
                    return Err(Error::bad_input(
                        format!("{what}, key `family`"),
                        format!("one of {}", known.join(", ")),
                        format!("`{name}`"),
                        "check the spelling",
                    ));
                }
            },
        })
    }
}

/// Returns NAME of `level(NAME)`.
fn level_of(family: &str) -> Option<&str> {
    Some(family.strip_prefix("level(")?.strip_suffix(')')?.trim())
}

/// Returns a group with one weight per query.
fn weighted(
    schema: &Schema,
    group: QueryGroup,
    query_weights: &[f64],
    what: &str,
) -> Result<QueryGroup> {
    let GroupQueries::Joint(joint) = group.queries() else {
        return Err(Error::bad_input(
            format!("{what}, key `query_weights`"),
            "a family of joint queries: affine, abs or random on pairs, or matrix",
            format!(
                "`{}` on {}, a product",
                group.family(),
                counted(group.attributes().len(), ["attribute", "attributes"])
            ),
            "use family = \"matrix\", or one `weight` per group",
        ));
    };
    if group.count() != QueryCount::exact(query_weights.len() as u128) {
        return Err(Error::bad_input(
            format!("{what}, key `query_weights`"),
            format!("{}, one per query of the group", counted(group.count(), WEIGHTS)),
            query_weights.len().to_string(),
            "give one weight per query",
        ));
    }
    let joint = Arc::new(joint.as_ref().clone().with_weights(query_weights.to_vec())?);
    QueryGroup::joint(schema, group.attributes(), joint, group.family(), group.weight())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema::uniform(3, 4).unwrap()
    }

    fn read(text: &str) -> std::result::Result<GroupedWorkload, String> {
        GroupedWorkload::from_toml(&schema(), text, "W.toml", Path::new(""))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn every_family_is_read() {
        let workload = read(
            r#"
            [[queries]]
            family = "range"
            ways = [1]
            [[queries]]
            family = "affine"
            ways = [1, 2]
            weight = 2
            [[queries]]
            family = "random"
            attributes = ["A3", "A1"]
            seed = 52
            [[queries]]
            family = "abs"
            attributes = ["A1", "A2"]
            query_weights = [1.0, 2.0, 3.0]
            [[queries]]
            family = "hybrid"
            ways = [3]
            weights = [1.0, 2.0, 3.0, 4.0]
            "#,
        )
        .unwrap();
        assert_eq!(workload.groups().len(), 4 + 10 + 1 + 1 + 4);
        assert_eq!(
            workload.count().to_string(),
            (4 * 6 + 4 * 3 + 6 * 5 + 27 + 3 + 4 * 27).to_string()
        );
        let families: Vec<&str> = workload.groups().iter().map(QueryGroup::family).collect();
        assert_eq!((families[4], families[8], families[14]), ("prefix", "affine", "random"));
        assert_eq!(format!("{:?}", workload.groups()[14].attributes()), "[0, 2]");
        assert_eq!((workload.groups()[13].weight(), workload.groups()[19].weight()), (2.0, 4.0));
    }

    #[test]
    fn matrix_paths_are_relative_to_the_workload_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("q.csv"), "1,0,1\n0,1,0\n").unwrap();
        let path = folder.path().join("W.toml");
        std::fs::write(&path, "[[queries]]\nfamily = \"matrix\"\nfile = \"q.csv\"\nways = [1]\n")
            .unwrap();
        assert_eq!(GroupedWorkload::read(&schema(), &path).unwrap().count().to_string(), "8");
    }

    #[test]
    fn nested_families_are_read_with_the_levels_of_the_schema() {
        let text = "[[attribute]]\nname = \"area\"\nkind = \"categorical\"\nsize = 4\n\
                    levels = { county = [1, 1, 2, 3], region = [\"N\", \"N\", \"S\", \"S\"] }\n\
                    [[attribute]]\nname = \"sex\"\nkind = \"categorical\"\nsize = 2\n\
                    [[attribute]]\nname = \"work\"\nkind = \"categorical\"\nsize = 3\n\
                    levels = { sector = [1, 1, 2] }\n";
        let schema = Schema::from_toml(text, "S.toml").unwrap();
        let read = |body: &str| {
            let body = format!("[[queries]]\n{body}\n");
            GroupedWorkload::from_toml(&schema, &body, "W.toml", Path::new(""))
                .map_err(|e| e.to_string())
        };
        for (body, count, family) in [
            ("family = \"nested\"\nattributes = [\"sex\", \"area\"]", "20", "nested"),
            ("family = \"nested\"\nways = [1]", "18", "nested"),
            ("family = \"level(county)\"\nways = [2, 3]", "39", "level(county)"),
            (
                "family = \"level( sector )\"\nattributes = [\"work\", \"area\"]",
                "8",
                "level(sector)",
            ),
        ] {
            let workload = read(body).unwrap();
            assert_eq!(workload.count().to_string(), count, "{body}");
            assert_eq!(workload.groups()[0].family(), family, "{body}");
        }
        for (body, part) in [
            ("family = \"nested\"\nattributes = [\"sex\"]", "`area` with region, county"),
            ("family = \"level(town)\"\nways = [1]", "`town`"),
            ("family = \"nested\"\nways = [2]", "at most one attribute"),
            ("family = \"level\"\nways = [2]", "level(NAME)"),
        ] {
            let message = read(body).unwrap_err();
            assert!(message.contains(part), "{body}: {message}");
        }
    }

    #[test]
    fn errors_name_the_file_and_the_table() {
        for (body, part) in [
            ("family = \"prefx\"\nways = [1]", "prefix, cdf, range"),
            ("family = \"prefix\"", "neither"),
            ("family = \"prefix\"\nways = [1]\nattributes = [\"A1\"]", "both"),
            ("family = \"prefix\"\nattributes = [\"A9\"]", "A1, A2, A3, A4"),
            ("family = \"prefix\"\nattributes = [\"A1\", \"A1\"]", "`A1` twice"),
            ("family = \"prefix\"\nways = [5]", "between 1 and 4"),
            ("family = \"prefix\"\nways = [1]\nweight = -2", "positive"),
            ("family = \"prefix\"\nways = [1]\nweight = 1\nweights = [1]", "both"),
            ("family = \"prefix\"\nways = [1]\nweights = [1, 2]", "4 weights"),
            ("family = \"prefix\"\nways = [1]\nquery_weights = [1, 2, 3]", "matrix"),
            ("family = \"affine\"\nways = [2]\nquery_weights = [1, 2]", "5 weights"),
            ("family = \"affine\"\nways = [3]", "one or two"),
            ("family = \"prefix\"\nways = [1]\nseed = 3", "random"),
            ("family = \"prefix\"\nways = [1]\nfile = \"x.npy\"", "matrix"),
            ("family = \"matrix\"\nways = [1]", "file"),
            ("family = \"matrix\"\nattributes = [\"A2\", \"A1\"]", "order of the schema"),
            ("family = \"matrix\"\nways = [1]\nfile = \"nowhere.npy\"", "nowhere.npy"),
            ("family = \"prefix\"\nway = [1]", "way"),
        ] {
            let message = read(&format!("[[queries]]\n{body}\n")).unwrap_err();
            assert!(message.contains(part) && message.contains("remedy"), "{body}: {message}");
            assert!(message.contains("W.toml") || message.contains("nowhere"), "{body}: {message}");
        }
        assert!(read("").unwrap_err().contains("[[queries]]"));
    }
}
