//! The noisy integers of a release, and all that is needed to compute answers from them.
//!
//! A folder of five files: `schema.toml`; `statement.json`; `strategies.json` with the integer
//! rows, the reference measures and the deviations; `noisy.csv` with one noisy integer per line;
//! and `SHA256SUMS`. All of it is an output of the release: further use of it costs no privacy.

use std::collections::HashMap;
use std::io::{BufRead, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::integer_plan::IntegerMeasurement;
use super::statement::Statement;
use crate::domain::AttributeSet;
use crate::error::{Error, Place, Result};
use crate::hash::{Hashed, sha256};
use crate::privacy::PrivacyUnit;
use crate::schema::Schema;
use crate::strategy::{IntegerFactor, IntegerStrategy};

/// Maximum number of noisy integers.
const MAX_ANSWERS: usize = 1 << 31;

/// The version of `strategies.json`.
const FORMAT: u32 = 2;

const SCHEMA: &str = "schema.toml";
const STATEMENT: &str = "statement.json";
const STRATEGIES: &str = "strategies.json";
const NOISY: &str = "noisy.csv";

/// The checksums, in the format of `sha256sum -c`.
const SUMS: &str = "SHA256SUMS";

const REMEDY: &str =
    "give the folder `measurements` of a release of this version, as it was written";

/// Integer measurements with their noisy answers.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// The schema.
    pub schema: Schema,
    /// The text of the schema.
    pub schema_text: String,
    /// The statement of the release.
    pub statement: Statement,
    /// The reference measure ν = p/Σp of every measured attribute, as integers p; empty for the
    /// others.
    pub weights: Vec<Vec<i64>>,
    /// The privacy unit.
    pub unit: PrivacyUnit,
    /// Every measurement with its noisy answers.
    pub list: Vec<(IntegerMeasurement, Vec<i128>)>,
}

/// The contents of `strategies.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    version: String,
    unit: PrivacyUnit,
    /// Per attribute of the schema, p of the measure p/Σp; empty if it is not measured.
    measures: Vec<Vec<i64>>,
    /// Integer rows that annihilate the measures.
    factors: Vec<FactorEntry>,
    /// Measurements, in the order of `noisy.csv`.
    subspaces: Vec<SubspaceEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactorEntry {
    shape: Vec<usize>,
    measures: Vec<Vec<i64>>,
    rows: Vec<Vec<i64>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubspaceEntry {
    attributes: Vec<String>,
    /// Indices of factors; the strategy is their Kronecker product.
    factors: Vec<usize>,
    /// σ of the discrete Gaussian noise, a quotient of integers.
    deviation: String,
    /// The number of noisy integers.
    answers: usize,
}

impl Measurements {
    /// Writes the files to an existing folder and syncs them to the disk.
    ///
    /// The checksums are written last: a folder with checksums is complete.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let io = |name: &'static str| {
            let path = folder.join(name);
            move |e| {
                let remedy = "free disk space; the cost of the measurements is spent";
                Error::io(&path, "writing", e, remedy)
            }
        };
        let mut sums = String::new();
        let mut put = |name: &'static str,
                       write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>|
         -> Result<()> {
            let file = std::fs::File::create(folder.join(name)).map_err(io(name))?;
            let mut out = Hashed::new(BufWriter::new(file));
            write(&mut out).map_err(io(name))?;
            let (out, sum) = out.finish();
            let file = out.into_inner().map_err(|e| io(name)(e.into_error()))?;
            sums.push_str(&format!("{sum}  {name}\n"));
            file.sync_all().map_err(io(name))
        };
        put(NOISY, &|out| {
            writeln!(out, "subspace,answer")?;
            for (subspace, (_, noisy)) in self.list.iter().enumerate() {
                noisy.iter().try_for_each(|answer| writeln!(out, "{subspace},{answer}"))?;
            }
            Ok(())
        })?;
        put(SCHEMA, &|out| out.write_all(self.schema_text.as_bytes()))?;
        put(STATEMENT, &|out| {
            serde_json::to_writer(out, &self.statement).map_err(std::io::Error::from)
        })?;
        put(STRATEGIES, &|out| {
            serde_json::to_writer(out, &self.document()).map_err(std::io::Error::from)
        })?;
        crate::durable::write(&folder.join(SUMS), &sums).map_err(io(SUMS))?;
        crate::durable::sync_folder(folder).map_err(io(SUMS))
    }

    fn document(&self) -> Document {
        let names = |set: AttributeSet| {
            set.positions().map(|p| self.schema.attributes()[p].name.clone()).collect()
        };
        let mut indices: HashMap<*const IntegerFactor, usize> = HashMap::new();
        let (mut factors, mut subspaces) = (Vec::new(), Vec::with_capacity(self.list.len()));
        for (measurement, noisy) in &self.list {
            let factor_indices = measurement.strategy.factors().iter().map(|factor| {
                *indices.entry(Arc::as_ptr(factor)).or_insert_with(|| {
                    factors.push(FactorEntry {
                        shape: factor.shape().to_vec(),
                        measures: factor.weights().to_vec(),
                        rows: factor.rows().rows().into_iter().map(|row| row.to_vec()).collect(),
                    });
                    factors.len() - 1
                })
            });
            subspaces.push(SubspaceEntry {
                factors: factor_indices.collect(),
                attributes: names(measurement.attributes),
                deviation: measurement.deviation.to_string(),
                answers: noisy.len(),
            });
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Document {
            format: FORMAT,
            version,
            unit: self.unit,
            measures: self.weights.clone(),
            factors,
            subspaces,
        }
    }

    /// Reads a folder that [`Measurements::write`] wrote.
    ///
    /// Checks files against checksums, rows against measures, and numbers of answers against rows.
    ///
    /// # Errors
    /// Files that cannot be read, were edited, or do not fit each other.
    pub fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|e| Error::io(&path, "reading", e, REMEDY))
        };
        let text = |name: &str, bytes: Vec<u8>| {
            let path = folder.join(name).display().to_string();
            String::from_utf8(bytes)
                .map_err(|_| Error::bad_input(path, "a text in UTF-8", "other bytes", REMEDY))
        };
        let sums = text(SUMS, read(SUMS)?)?;
        let mut files = HashMap::new();
        for name in [NOISY, SCHEMA, STATEMENT, STRATEGIES] {
            let bytes = read(name)?;
            let sum = sha256(&bytes);
            let known = sums.lines().any(|line| line.split_once("  ") == Some((&sum, name)));
            if !known {
                return Err(Error::bad_input(
                    folder.join(name).display().to_string(),
                    format!("the file whose SHA-256 {SUMS} names"),
                    format!("one with the SHA-256 {sum}: it was edited or damaged"),
                    REMEDY,
                ));
            }
            files.insert(name, bytes);
        }
        let mut take = |name| files.remove(name).unwrap_or_default();
        let texts = [SCHEMA, STATEMENT, STRATEGIES].map(|name| text(name, take(name)));
        let [schema, statement, strategies] = texts;
        let origin = folder.display().to_string();
        Self::from_texts(&schema?, &statement?, &strategies?, take(NOISY).as_slice(), &origin)
    }

    /// [`Measurements::read`] from texts without checksums; messages name `origin` (the folder).
    ///
    /// # Errors
    /// As [`Measurements::read`].
    pub(super) fn from_texts(
        schema_text: &str,
        statement: &str,
        strategies: &str,
        noisy: impl BufRead,
        origin: &str,
    ) -> Result<Self> {
        let refuse = |name: &str, expected: &str, found: String| {
            Error::bad_input(format!("{origin}/{name}"), expected, found, REMEDY)
        };
        let schema = Schema::from_toml(schema_text, &format!("{origin}/{SCHEMA}"))?;
        let statement: Statement = serde_json::from_str(statement)
            .map_err(|e| refuse(STATEMENT, "the statement of a release", e.to_string()))?;
        let document: Document = serde_json::from_str(strategies)
            .map_err(|e| refuse(STRATEGIES, "the strategies of a release", e.to_string()))?;
        let sizes = schema.sizes();
        let fit = document.measures.len() == sizes.len()
            && document.measures.iter().zip(&sizes).all(|(p, n)| [0, *n].contains(&p.len()));
        if document.format != FORMAT || !fit || document.unit.rows == 0 {
            let expected = format!("format {FORMAT} and a measure per measured attribute");
            return Err(refuse(STRATEGIES, &expected, "another".into()));
        }
        let factors = document.factors.into_iter().map(|entry| {
            let cells = entry.rows.first().map_or(0, Vec::len);
            let count = entry.rows.len();
            let even = entry.rows.iter().all(|row| row.len() == cells);
            let rows =
                Array2::from_shape_vec((count, cells), entry.rows.into_iter().flatten().collect());
            match rows {
                Ok(rows) if even => {
                    Ok(Arc::new(IntegerFactor::new(&entry.shape, entry.measures, rows)?))
                }
                _ => Err(refuse(
                    STRATEGIES,
                    "rows of one length",
                    "rows of different lengths".into(),
                )),
            }
        });
        let factors: Vec<Arc<IntegerFactor>> = factors.collect::<Result<_>>()?;
        let mut measurements = Vec::with_capacity(document.subspaces.len());
        let mut total = 0usize;
        for entry in document.subspaces {
            let positions = entry
                .attributes
                .iter()
                .map(|name| schema.position(name))
                .collect::<Result<Vec<_>>>()?;
            let attributes = AttributeSet::from_positions(&positions)?;
            let factors = entry
                .factors
                .iter()
                .map(|index| factors.get(*index).cloned())
                .collect::<Option<Vec<_>>>();
            let factors = factors.ok_or_else(|| {
                refuse(STRATEGIES, "factors of the list", format!("{:?}", entry.factors))
            })?;
            let shape: Vec<usize> =
                factors.iter().flat_map(|f| f.shape().iter().copied()).collect();
            let measures: Vec<&Vec<i64>> = factors.iter().flat_map(|f| f.weights()).collect();
            let expected: Vec<&Vec<i64>> =
                positions.iter().map(|p| &document.measures[*p]).collect();
            let rows = factors.iter().try_fold(1usize, |all, f| all.checked_mul(f.rows().nrows()));
            total = rows.and_then(|rows| total.checked_add(rows)).unwrap_or(usize::MAX);
            let fit =
                positions.is_sorted() && shape == attributes.select(&sizes) && measures == expected;
            if !fit || rows != Some(entry.answers) || total > MAX_ANSWERS {
                let found = format!("other numbers for {:?}", entry.attributes);
                return Err(refuse(
                    STRATEGIES,
                    "factors and answers that fit the attributes",
                    found,
                ));
            }
            let strategy = IntegerStrategy::new(factors)?;
            let deviation = entry.deviation.parse()?;
            measurements.push(IntegerMeasurement { attributes, strategy, deviation });
        }
        let mut seen: Vec<AttributeSet> = measurements.iter().map(|m| m.attributes).collect();
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(refuse(STRATEGIES, "every subspace once", "a repeated one".into()));
        }
        let list = read_noisy(noisy, measurements, &format!("{origin}/{NOISY}"))?;
        let (weights, unit) = (document.measures, document.unit);
        Ok(Measurements {
            schema,
            schema_text: schema_text.to_owned(),
            statement,
            weights,
            unit,
            list,
        })
    }
}

/// Reads the answers of every measurement, in order.
fn read_noisy(
    source: impl BufRead,
    measurements: Vec<IntegerMeasurement>,
    origin: &str,
) -> Result<Vec<(IntegerMeasurement, Vec<i128>)>> {
    let refuse = |line: usize, expected: String, found: &str| Error::Parse {
        origin: origin.to_owned(),
        place: Some(Place { line, column: 0 }),
        expected,
        found: found.to_owned(),
        remedy: REMEDY.into(),
    };
    let mut lines = source.lines().enumerate();
    let mut next = |expected: String| -> Result<(usize, String)> {
        let Some((index, line)) = lines.next() else {
            return Err(refuse(0, expected, "the end of the file"));
        };
        let line = line.map_err(|_| refuse(index + 1, expected, "bytes that are not UTF-8"))?;
        Ok((index + 1, line))
    };
    let header = next("a header".into())?;
    if header.1 != "subspace,answer" {
        return Err(refuse(1, "the header subspace,answer".into(), "another"));
    }
    let mut list = Vec::with_capacity(measurements.len());
    for (subspace, measurement) in measurements.into_iter().enumerate() {
        let mut noisy = Vec::new();
        for _ in 0..measurement.strategy.rows() {
            let expected = || format!("an integer for subspace {subspace}");
            let (number, line) = next(expected())?;
            let parts = line
                .split_once(',')
                .and_then(|(a, b)| a.parse::<usize>().ok().zip(b.parse::<i128>().ok()));
            match parts {
                // Answers and noise are smaller than this, so their sums do not overflow.
                Some((index, answer)) if index == subspace && answer.unsigned_abs() < 1 << 126 => {
                    noisy.push(answer)
                }
                _ => return Err(refuse(number, expected(), "something else")),
            }
        }
        list.push((measurement, noisy));
    }
    match lines.next() {
        None => Ok(list),
        Some((index, _)) => Err(refuse(index + 1, "the end of the file".into(), "another line")),
    }
}
