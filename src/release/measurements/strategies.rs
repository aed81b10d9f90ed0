//! `strategies.json` and `noisy.csv`: integer strategies with their deviations and noisy answers.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::files::{NOISY, REMEDY, STRATEGIES};
use crate::domain::AttributeSet;
use crate::error::{Error, Place, Result};
use crate::privacy::PrivacyUnit;
use crate::release::integer_plan::IntegerMeasurement;
use crate::schema::Schema;
use crate::strategy::{IntegerFactor, IntegerStrategy};

/// Maximum number of noisy integers.
const MAX_ANSWERS: usize = 1 << 31;

/// The version of `strategies.json`; version 2 has the rows of every strategy.
const FORMAT: u32 = 3;
const FORMATS: [u32; 2] = [2, FORMAT];

/// Maximum number of rows of nI − J that are written.
const MAX_WRITTEN: usize = 256;

/// Integer measurements with their noisy answers, in order.
pub(in crate::release) type MeasuredList = Vec<(IntegerMeasurement, Vec<i128>)>;

/// Measurements of one folder.
#[derive(Debug, Clone)]
pub(in crate::release) struct Measured {
    /// p of the reference measure p/Σp of every attribute; empty if it is not measured.
    pub(in crate::release) weights: Vec<Vec<i64>>,
    pub(in crate::release) unit: PrivacyUnit,
    /// The counts that the schema declares public.
    pub(in crate::release) public_counts: Vec<u64>,
    pub(in crate::release) list: MeasuredList,
}

/// The contents of `strategies.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::release) struct Document {
    format: u32,
    version: String,
    unit: PrivacyUnit,
    /// The counts that the schema declares public, without noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    public_counts: Vec<u64>,
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
    /// Absent for a large centred identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form: Option<Form>,
}

/// A strategy that is written without its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// nI − J, with the uniform measure.
    CentredIdentity,
}

impl FactorEntry {
    fn of(factor: &IntegerFactor) -> Self {
        let shape = factor.shape().to_vec();
        if factor.is_centred_identity() && factor.cells() > MAX_WRITTEN {
            let form = Some(Form::CentredIdentity);
            return FactorEntry { shape, measures: Vec::new(), rows: Vec::new(), form };
        }
        let rows = factor.rows().rows().into_iter().map(|row| row.to_vec()).collect();
        FactorEntry { shape, measures: factor.weights().to_vec(), rows, form: None }
    }

    /// Returns the factor; `Ok(None)` for rows of different lengths.
    fn factor(self) -> Result<Option<IntegerFactor>> {
        if let (Some(Form::CentredIdentity), &[n]) = (self.form, self.shape.as_slice()) {
            return IntegerFactor::centred_identity(n).map(Some);
        }
        let cells = self.rows.first().map_or(0, Vec::len);
        let count = self.rows.len();
        if self.form.is_some() || self.rows.iter().any(|row| row.len() != cells) {
            return Ok(None);
        }
        let numbers = self.rows.into_iter().flatten().collect();
        let Ok(rows) = Array2::from_shape_vec((count, cells), numbers) else { return Ok(None) };
        IntegerFactor::new(&self.shape, self.measures, rows).map(Some)
    }
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

impl Document {
    /// Returns the contents of `strategies.json`.
    pub(in crate::release) fn of(
        schema: &Schema,
        weights: &[Vec<i64>],
        unit: PrivacyUnit,
        list: &MeasuredList,
    ) -> Self {
        let names = |set: AttributeSet| {
            set.positions().map(|p| schema.attributes()[p].name.clone()).collect()
        };
        let mut indices: HashMap<*const IntegerFactor, usize> = HashMap::new();
        let (mut factors, mut subspaces) = (Vec::new(), Vec::with_capacity(list.len()));
        for (measurement, noisy) in list {
            let factor_indices = measurement.strategy.factors().iter().map(|factor| {
                *indices.entry(Arc::as_ptr(factor)).or_insert_with(|| {
                    factors.push(FactorEntry::of(factor));
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
        let measures = weights.to_vec();
        let public_counts = Vec::new();
        Document { format: FORMAT, version, unit, public_counts, measures, factors, subspaces }
    }

    /// Adds the counts that the schema declares public.
    pub(in crate::release) fn with_public_counts(self, public_counts: Vec<u64>) -> Self {
        Document { public_counts, ..self }
    }

    /// Reads `strategies.json` and `noisy.csv` over a schema; messages name `origin` (the folder).
    ///
    /// Checks rows against measures, and numbers of answers against rows.
    ///
    /// # Errors
    /// Texts that were not written by a release, or do not fit each other.
    pub(in crate::release) fn read(
        schema: &Schema,
        strategies: &str,
        noisy: impl BufRead,
        origin: &str,
    ) -> Result<Measured> {
        let refuse = |expected: &str, found: String| {
            Error::bad_input(format!("{origin}/{STRATEGIES}"), expected, found, REMEDY)
        };
        let document: Document = serde_json::from_str(strategies)
            .map_err(|e| refuse("the strategies of a release", e.to_string()))?;
        let sizes = schema.sizes();
        let fit = document.measures.len() == sizes.len()
            && document.measures.iter().zip(&sizes).all(|(p, n)| [0, *n].contains(&p.len()));
        if document.public_counts.len() != schema.public_counts().len() {
            let expected = format!("{} public counts", schema.public_counts().len());
            return Err(refuse(&expected, document.public_counts.len().to_string()));
        }
        if !FORMATS.contains(&document.format) || !fit || document.unit.rows == 0 {
            let expected = format!("format {FORMAT} and a measure per measured attribute");
            return Err(refuse(&expected, "another".into()));
        }
        let factors = document.factors.into_iter().map(|entry| {
            let factor = entry.factor()?.map(Arc::new);
            factor.ok_or_else(|| refuse("rows of one length", "rows of different lengths".into()))
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
            let factors = factors
                .ok_or_else(|| refuse("factors of the list", format!("{:?}", entry.factors)))?;
            let shape: Vec<usize> =
                factors.iter().flat_map(|f| f.shape().iter().copied()).collect();
            let measures: Vec<&Vec<i64>> = factors.iter().flat_map(|f| f.weights()).collect();
            let expected: Vec<&Vec<i64>> =
                positions.iter().map(|p| &document.measures[*p]).collect();
            let rows = factors.iter().try_fold(1usize, |all, f| all.checked_mul(f.row_count()));
            total = rows.and_then(|rows| total.checked_add(rows)).unwrap_or(usize::MAX);
            let fit =
                positions.is_sorted() && shape == attributes.select(&sizes) && measures == expected;
            if !fit || rows != Some(entry.answers) || total > MAX_ANSWERS {
                let found = format!("other numbers for {:?}", entry.attributes);
                return Err(refuse("factors and answers that fit the attributes", found));
            }
            let strategy = IntegerStrategy::new(factors)?;
            let invalid = |_| refuse("a deviation like 5/2", format!("`{}`", entry.deviation));
            let deviation = entry.deviation.parse().map_err(invalid)?;
            measurements.push(IntegerMeasurement { attributes, strategy, deviation });
        }
        let mut seen: Vec<AttributeSet> = measurements.iter().map(|m| m.attributes).collect();
        seen.sort_unstable();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(refuse("every subspace once", "a repeated one".into()));
        }
        let list = read_noisy(noisy, measurements, &format!("{origin}/{NOISY}"))?;
        let (weights, public_counts) = (document.measures, document.public_counts);
        Ok(Measured { weights, unit: document.unit, public_counts, list })
    }
}

/// Writes the noisy integers, one per line.
pub(in crate::release) fn write_noisy(
    out: &mut dyn Write,
    list: &MeasuredList,
) -> std::io::Result<()> {
    writeln!(out, "subspace,answer")?;
    for (subspace, (_, noisy)) in list.iter().enumerate() {
        noisy.iter().try_for_each(|answer| writeln!(out, "{subspace},{answer}"))?;
    }
    Ok(())
}

/// Reads the answers of every measurement, in order.
fn read_noisy(
    source: impl BufRead,
    measurements: Vec<IntegerMeasurement>,
    origin: &str,
) -> Result<MeasuredList> {
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
