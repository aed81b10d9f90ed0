//! The noisy integers of a release with everything that is needed to go on from them.
//!
//! A folder of three files: `schema.toml`; `strategies.json` with the integer rows, the reference measures and the deviations;
//! `noisy.csv` with one noisy integer a line. All of it is an output of the release: what is done with it costs no privacy.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::integer_plan::IntegerMeasurement;
use crate::domain::AttributeSet;
use crate::error::{Error, Place, Result};
use crate::privacy::PrivacyUnit;
use crate::schema::Schema;
use crate::strategy::{IntegerFactor, IntegerStrategy};

/// More noisy integers than this are no release of this program.
const MOST_ANSWERS: usize = 1 << 31;

const SCHEMA: &str = "schema.toml";
const STRATEGIES: &str = "strategies.json";
const NOISY: &str = "noisy.csv";

/// Noisy answers to integer questions.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// The schema.
    pub schema: Schema,
    /// The text it was read from.
    pub schema_text: String,
    /// The reference measure of every attribute in whole numbers p, ν = p/Σp.
    pub weights: Vec<Vec<i64>>,
    /// Whom the release protects.
    pub unit: PrivacyUnit,
    /// Every question with its noisy answers.
    pub list: Vec<(IntegerMeasurement, Vec<i128>)>,
}

/// `strategies.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    version: String,
    unit: PrivacyUnit,
    /// Per attribute of the schema: p, where the measure is p/Σp.
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
    /// The strategy is the Kronecker product of these.
    factors: Vec<usize>,
    /// σ of the discrete Gaussian noise, a quotient of whole numbers.
    deviation: String,
    /// Noisy integers.
    answers: usize,
}

impl Measurements {
    /// Writes the folder, which must exist, and forces it to the disk.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let io = |name: &'static str| {
            let path = folder.join(name);
            move |e| Error::io(&path, "writing", e, "make space on the disk; what was measured is spent")
        };
        let put = |name: &'static str, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| -> Result<()> {
            let file = std::fs::File::create(folder.join(name)).map_err(io(name))?;
            let mut out = BufWriter::new(file);
            write(&mut out).map_err(io(name))?;
            let file = out.into_inner().map_err(|e| io(name)(e.into_error()))?;
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
        put(STRATEGIES, &|out| serde_json::to_writer(out, &self.document()).map_err(std::io::Error::from))
    }

    fn document(&self) -> Document {
        let names = |set: AttributeSet| set.positions().map(|p| self.schema.attributes()[p].name.clone()).collect();
        let mut places: HashMap<*const IntegerFactor, usize> = HashMap::new();
        let (mut factors, mut subspaces) = (Vec::new(), Vec::with_capacity(self.list.len()));
        for (own, noisy) in &self.list {
            let own_factors = own.strategy.factors().iter().map(|factor| {
                *places.entry(Arc::as_ptr(factor)).or_insert_with(|| {
                    factors.push(FactorEntry {
                        shape: factor.shape().to_vec(),
                        measures: factor.weights().to_vec(),
                        rows: factor.rows().rows().into_iter().map(|row| row.to_vec()).collect(),
                    });
                    factors.len() - 1
                })
            });
            subspaces.push(SubspaceEntry {
                factors: own_factors.collect(),
                attributes: names(own.attributes),
                deviation: own.deviation.to_string(),
                answers: noisy.len(),
            });
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Document { format: 1, version, unit: self.unit, measures: self.weights.clone(), factors, subspaces }
    }

    /// Reads a folder that [`Measurements::write`] wrote. Everything is checked: rows against measures, numbers of answers against
    /// rows.
    ///
    /// # Errors
    /// Files that cannot be read or do not fit each other.
    pub fn read(folder: &Path) -> Result<Self> {
        let open = |name: &str| {
            let path = folder.join(name);
            let remedy = "give the folder `measurements` of a release";
            std::fs::File::open(&path).map_err(|e| Error::io(&path, "opening", e, remedy))
        };
        let remedy = "give the folder `measurements` of a release, as it was written";
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|e| Error::io(&path, "reading", e, remedy))
        };
        let (schema, strategies) = (read(SCHEMA)?, read(STRATEGIES)?);
        let origin = folder.display().to_string();
        Self::from_texts(&schema, &strategies, BufReader::new(open(NOISY)?), &origin)
    }

    /// [`Measurements::read`] from texts; `origin` (the folder) goes into messages.
    ///
    /// # Errors
    /// As there.
    pub fn from_texts(schema_text: &str, strategies: &str, noisy: impl BufRead, origin: &str) -> Result<Self> {
        let remedy = "give the folder `measurements` of a release, as it was written";
        let refuse = |name: &str, expected: &str, found: String| {
            Error::bad_input(format!("{origin}/{name}"), expected, found, remedy)
        };
        let schema = Schema::from_toml(schema_text, &format!("{origin}/{SCHEMA}"))?;
        let document: Document = serde_json::from_str(strategies)
            .map_err(|e| refuse(STRATEGIES, "the strategies of a release", e.to_string()))?;
        let sizes = schema.sizes();
        let fit =
            document.measures.len() == sizes.len() && document.measures.iter().zip(&sizes).all(|(p, n)| p.len() == *n);
        if document.format != 1 || !fit || document.unit.rows == 0 {
            return Err(refuse(STRATEGIES, "format 1 and a measure per attribute of the schema", "another".into()));
        }
        let factors = document.factors.into_iter().map(|entry| {
            let cells = entry.rows.first().map_or(0, Vec::len);
            let count = entry.rows.len();
            let even = entry.rows.iter().all(|row| row.len() == cells);
            let rows = Array2::from_shape_vec((count, cells), entry.rows.into_iter().flatten().collect());
            match rows {
                Ok(rows) if even => Ok(Arc::new(IntegerFactor::new(&entry.shape, entry.measures, rows)?)),
                _ => Err(refuse(STRATEGIES, "rows of one length", "others".into())),
            }
        });
        let factors: Vec<Arc<IntegerFactor>> = factors.collect::<Result<_>>()?;
        let mut measurements = Vec::with_capacity(document.subspaces.len());
        let mut total = 0usize;
        for entry in document.subspaces {
            let positions = entry.attributes.iter().map(|name| schema.position(name)).collect::<Result<Vec<_>>>()?;
            let attributes = AttributeSet::from_positions(&positions)?;
            let own = entry.factors.iter().map(|place| factors.get(*place).cloned()).collect::<Option<Vec<_>>>();
            let own = own.ok_or_else(|| refuse(STRATEGIES, "factors of the list", format!("{:?}", entry.factors)))?;
            let shape: Vec<usize> = own.iter().flat_map(|f| f.shape().iter().copied()).collect();
            let measures: Vec<&Vec<i64>> = own.iter().flat_map(|f| f.weights()).collect();
            let expected: Vec<&Vec<i64>> = positions.iter().map(|p| &document.measures[*p]).collect();
            let rows = own.iter().try_fold(1usize, |all, f| all.checked_mul(f.rows().nrows()));
            total = rows.and_then(|rows| total.checked_add(rows)).unwrap_or(usize::MAX);
            let fit = positions.is_sorted() && shape == attributes.items(&sizes) && measures == expected;
            if !fit || rows != Some(entry.answers) || total > MOST_ANSWERS {
                let found = format!("others for {:?}", entry.attributes);
                return Err(refuse(STRATEGIES, "factors and answers that fit the attributes", found));
            }
            let strategy = IntegerStrategy::new(own)?;
            let deviation = entry.deviation.parse()?;
            measurements.push(IntegerMeasurement { attributes, strategy, deviation });
        }
        let mut seen: Vec<AttributeSet> = measurements.iter().map(|m| m.attributes).collect();
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(refuse(STRATEGIES, "every subspace once", "one twice".into()));
        }
        let list = read_noisy(noisy, measurements, &format!("{origin}/{NOISY}"))?;
        let (weights, unit) = (document.measures, document.unit);
        Ok(Measurements { schema, schema_text: schema_text.to_owned(), weights, unit, list })
    }
}

/// The answers of every measurement, in order.
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
        remedy: "give the folder `measurements` of a release, as it was written".into(),
    };
    let mut lines = source.lines().enumerate();
    let mut next = |expected: String| -> Result<(usize, String)> {
        let Some((place, line)) = lines.next() else { return Err(refuse(0, expected, "the end of the file")) };
        Ok((place + 1, line.map_err(|_| refuse(place + 1, expected, "bytes that are no text"))?))
    };
    let header = next("a header".into())?;
    if header.1 != "subspace,answer" {
        return Err(refuse(1, "the header subspace,answer".into(), "another"));
    }
    let mut list = Vec::with_capacity(measurements.len());
    for (subspace, own) in measurements.into_iter().enumerate() {
        let mut noisy = Vec::new();
        for _ in 0..own.strategy.rows() {
            let expected = || format!("a whole number for subspace {subspace}");
            let (place, line) = next(expected())?;
            let parts = line.split_once(',').and_then(|(a, b)| a.parse::<usize>().ok().zip(b.parse::<i128>().ok()));
            match parts {
                // Beyond this no answer and no noise goes, so sums of them are safe.
                Some((own, answer)) if own == subspace && answer.unsigned_abs() < 1 << 126 => noisy.push(answer),
                _ => return Err(refuse(place, expected(), "something else")),
            }
        }
        list.push((own, noisy));
    }
    match lines.next() {
        None => Ok(list),
        Some((place, _)) => Err(refuse(place + 1, "the end of the file".into(), "another line")),
    }
}
