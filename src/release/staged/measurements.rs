//! The noisy integers of a staged release, and all that is needed to compute answers from them.
//!
//! A folder with `schema.toml`, `statement.json` and the matrices of the workload; one folder per
//! stage with `strategies.json` and `noisy.csv`; and `certificate/` with the published marginals and
//! their noisy distances. Every folder has checksums, which are written last: it is complete if it
//! has them. An interrupted run leaves a valid release of the complete stages.

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::certificate::{CertificateNoise, DistanceCertificate, NoisyTotal};
use super::plan::StagedPlan;
use super::residuals::centred;
use super::statement::StagedSections;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::mechanism::{Answers, StageAnswers, StagedEstimates};
use crate::privacy::Rho;
use crate::release::measurements::files::{self, Files, refuse};
use crate::release::measurements::strategies::{Document, Measured, MeasuredList, write_noisy};
use crate::release::measurements::{Header, Inputs, NOISY, SCHEMA, STATEMENT, STRATEGIES};
use crate::schema::LevelSchema;
use crate::strategy::IntegerFactor;
use crate::workload::GroupedWorkload;

/// The folder of the certificate and its files.
const CERTIFICATE: &str = "certificate";
const DISTANCES: &str = "distances.json";
const MARGINALS: &str = "marginals.csv";

/// The version of the files of a certificate.
const FORMAT: u32 = 1;

/// The stages of a release with their noisy integers, and its certificate.
#[derive(Debug, Clone)]
pub struct StagedMeasurements {
    /// Schema, statement and files.
    pub header: Header<StagedSections>,
    /// The schema with the levels of its attributes.
    pub(super) domain: LevelSchema,
    /// The measurements of every stage, with their noisy answers.
    pub stages: Vec<MeasuredList>,
    /// The certificate, unless it was switched off or the run was interrupted.
    pub certificate: Option<DistanceCertificate>,
}

/// The contents of `distances.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Distances {
    format: u32,
    /// The number of stages of the complete run.
    stages: usize,
    bits: u32,
    marginals: Vec<Vec<String>>,
    deviation: String,
    deviation_of_sum: String,
    /// Noisy integers, one per marginal.
    distances: Vec<String>,
    sum_of_distances: String,
}

/// Returns the centred answers of a stage.
pub(super) fn answers_of(list: &MeasuredList) -> Answers {
    list.iter().map(|(measurement, noisy)| centred(measurement, noisy)).collect()
}

impl StagedMeasurements {
    /// Returns whether a folder has the measurements of a staged release.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(stage_name(0)).is_dir()
    }

    /// Returns the plan of the release, from the texts of schema and workload.
    ///
    /// # Errors
    /// Texts that are not those of a release.
    pub fn plan(&self) -> Result<StagedPlan> {
        let Header { schema, statement, inputs, .. } = &self.header;
        let (text, origin) = (statement.workload(), "workload of the release");
        let workload = GroupedWorkload::from_toml_with(schema, text, origin, &inputs.matrices())?;
        let rho = Rho::new(statement.rho_reserved())?;
        let StagedSections { settings, certificate_share, .. } = statement.sections;
        StagedPlan::of(settings, &workload, rho, statement.unit(), certificate_share)
    }

    /// Returns the estimates from all complete stages.
    ///
    /// # Errors
    /// Residuals of another workload.
    pub(crate) fn estimates(&self, plan: &StagedPlan) -> Result<StagedEstimates> {
        let stage = |list: &MeasuredList| -> StageAnswers {
            (list.iter().map(|(m, _)| m.attributes).collect(), answers_of(list))
        };
        plan.stages().estimates(&self.stages.iter().map(stage).collect::<Vec<_>>())
    }

    /// Returns the number of records measured in the first stage.
    pub(super) fn total(&self) -> Option<NoisyTotal> {
        let first = self.stages.first()?;
        let (measurement, noisy) = first.iter().find(|(m, _)| m.attributes.is_empty())?;
        let scale = measurement.strategy.scale();
        let records = centred(measurement, noisy).0.first().copied()?;
        Some(NoisyTotal { records, scale, deviation: measurement.deviation })
    }

    /// Writes schema and statement to an existing folder, before the first stage.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_terms(&self, folder: &Path) -> Result<()> {
        files::write(
            folder,
            &[
                (SCHEMA, &|out| out.write_all(self.header.schema_text.as_bytes())),
                (STATEMENT, &|out| Ok(serde_json::to_writer(out, &self.header.statement)?)),
            ],
            &self.header.inputs.files()?,
        )
    }

    /// Writes the last stage and syncs it to the disk.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_last_stage(&self, folder: &Path) -> Result<()> {
        let Some(list) = self.stages.last() else { return Ok(()) };
        let measured = self.stages.iter().flatten().map(|(m, _)| m.attributes);
        let all = measured.fold(AttributeSet::EMPTY, AttributeSet::union);
        let of_attribute = |(position, size): (usize, usize)| match all.contains(position) {
            true => vec![1; size],
            false => Vec::new(),
        };
        let weights: Vec<Vec<i64>> =
            self.domain.schema().sizes().into_iter().enumerate().map(of_attribute).collect();
        let unit = self.header.statement.unit();
        let document = Document::of(self.domain.schema(), &weights, unit, list);
        files::write_new(
            folder,
            &stage_name(self.stages.len() - 1),
            &[
                (NOISY, &|out| write_noisy(out, list)),
                (STRATEGIES, &|out| Ok(serde_json::to_writer(out, &document)?)),
            ],
        )
    }

    /// Writes the certificate, if there is one, and syncs it to the disk.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_certificate(&self, folder: &Path) -> Result<()> {
        let Some(certificate) = &self.certificate else { return Ok(()) };
        let names = |set: AttributeSet| {
            set.positions().map(|p| self.domain.schema().attributes()[p].name.clone()).collect()
        };
        let document = Distances {
            format: FORMAT,
            stages: self.stages.len(),
            bits: certificate.noise.bits,
            marginals: certificate.marginals.iter().map(|(set, _)| names(*set)).collect(),
            deviation: certificate.noise.each.to_string(),
            deviation_of_sum: certificate.noise.sum.to_string(),
            distances: certificate.distances.iter().map(i128::to_string).collect(),
            sum_of_distances: certificate.sum_of_distances.to_string(),
        };
        let marginals = |out: &mut dyn Write| {
            writeln!(out, "marginal,units")?;
            for (index, (_, units)) in certificate.marginals.iter().enumerate() {
                units.iter().try_for_each(|t| writeln!(out, "{index},{t}"))?;
            }
            Ok(())
        };
        files::write_new(
            folder,
            CERTIFICATE,
            &[
                (MARGINALS, &marginals),
                (DISTANCES, &|out| Ok(serde_json::to_writer(out, &document)?)),
            ],
        )
    }

    /// Reads a folder that a staged release wrote, with all stages that are complete.
    ///
    /// # Errors
    /// Files that cannot be read, were edited, or do not fit each other; no complete stage.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut terms = Files::read(folder, &[SCHEMA, STATEMENT])?;
        let inputs = Inputs::read(folder, &terms)?;
        let (schema, statement) = (terms.text(SCHEMA)?, terms.text(STATEMENT)?);
        let expected = "the statement of a staged release";
        let header = Header::read(schema, &statement, inputs, terms.origin(), expected)?;
        let domain = LevelSchema::new(&header.schema)?;
        let mut stages = Vec::new();
        while files::is_complete(&folder.join(stage_name(stages.len()))) {
            let stage = folder.join(stage_name(stages.len()));
            let mut read = Files::read(&stage, &[STRATEGIES, NOISY])?;
            let (strategies, noisy) = (read.text(STRATEGIES)?, read.bytes(NOISY));
            let Measured { list, unit, .. } =
                Document::read(domain.schema(), &strategies, noisy.as_slice(), read.origin())?;
            if unit != header.statement.unit() || !are_residuals(&list)? {
                let expected = "residuals for the privacy unit of the statement";
                return Err(refuse(folder, &stage_name(stages.len()), expected, "others"));
            }
            stages.push(list);
        }
        let next = stage_name(stages.len() + 1);
        if stages.is_empty() || folder.join(&next).exists() {
            let missing = stage_name(stages.len());
            let found = "no checksums: it is incomplete";
            return Err(refuse(folder, &missing, "a complete stage", found));
        }
        let is_certified = files::is_complete(&folder.join(CERTIFICATE));
        let mut read = StagedMeasurements { header, domain, stages, certificate: None };
        if is_certified {
            read.certificate = Some(read.read_certificate(&folder.join(CERTIFICATE))?);
        }
        Ok(read)
    }

    fn read_certificate(&self, folder: &Path) -> Result<DistanceCertificate> {
        let mut read = Files::read(folder, &[MARGINALS, DISTANCES])?;
        let document: Distances = serde_json::from_str(&read.text(DISTANCES)?).map_err(|e| {
            refuse(folder, DISTANCES, "the distances of a certificate", e.to_string())
        })?;
        let plan = self.plan()?;
        let sets = document.marginals.iter().map(|names| {
            let positions = names.iter().map(|name| self.domain.schema().position(name));
            AttributeSet::from_positions(&positions.collect::<Result<Vec<_>>>()?)
        });
        let sets: Vec<AttributeSet> = sets.collect::<Result<_>>()?;
        let integer = |text: &String| text.parse::<i128>().ok();
        let distances: Option<Vec<i128>> = document.distances.iter().map(integer).collect();
        let (Some(distances), Some(sum)) = (distances, integer(&document.sum_of_distances)) else {
            return Err(refuse(folder, DISTANCES, "integers", "something else"));
        };
        let fits = sets == plan.marginals()
            && distances.len() == sets.len()
            && document.stages == self.stages.len()
            && document.format == FORMAT
            && document.bits == plan.bits();
        if !fits {
            let expected = "the marginals and the stages of the release";
            return Err(refuse(folder, DISTANCES, expected, "others"));
        }
        let text = read.text(MARGINALS)?;
        let mut lines = text.lines().skip(1);
        let mut marginals = Vec::with_capacity(sets.len());
        for (index, set) in sets.into_iter().enumerate() {
            let cells: usize = self.domain.schema().shape_of(set)?.iter().product();
            let units = lines.by_ref().take(cells).map_while(|line| {
                let (marginal, units) = line.split_once(',')?;
                (marginal.parse() == Ok(index)).then(|| units.parse().ok())?
            });
            let units: Vec<i64> = units.collect();
            if units.len() != cells {
                let expected = format!("{cells} integers of marginal {index}");
                return Err(refuse(folder, MARGINALS, &expected, "others"));
            }
            marginals.push((set, units));
        }
        let deviation = |text: &str| {
            let invalid =
                |_| refuse(folder, DISTANCES, "a deviation like 5/2", format!("`{text}`"));
            text.parse().map_err(invalid)
        };
        let (each, of_sum) =
            (deviation(&document.deviation)?, deviation(&document.deviation_of_sum)?);
        let noise = CertificateNoise { bits: document.bits, each, sum: of_sum };
        Ok(DistanceCertificate { noise, marginals, distances, sum_of_distances: sum })
    }
}

/// Returns whether all strategies are products of nI − J and numbers.
fn are_residuals(list: &MeasuredList) -> Result<bool> {
    let two = IntegerFactor::centred_identity(2)?;
    let factors = list.iter().flat_map(|(measurement, _)| measurement.strategy.factors());
    let is_residual = |factor: &std::sync::Arc<IntegerFactor>| {
        factor.is_scalar() || factor.is_centred_identity() || **factor == two
    };
    Ok(factors.into_iter().all(is_residual))
}

/// Returns the name of the folder of a stage.
fn stage_name(stage: usize) -> String {
    format!("stage-{stage}")
}
