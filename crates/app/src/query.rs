//! Answers to queries in words from the measurements of a release, at no privacy cost.

use std::path::{Path, PathBuf};

use serde::Serialize;

use matmech::error::{Error, Result};
use matmech::release::queries::{QueryAnswers, of_plan, of_staged, write};
use matmech::release::staged::{StagedMarginals, StagedMeasurements};
use matmech::release::{Estimates, Measurements};
use matmech::workload::query::ResolvedQuery;

/// The output of `answer --query --json`.
#[derive(Debug, Serialize)]
pub struct QueryReport {
    /// The answers to every query.
    pub answers: Vec<QueryAnswers>,
    /// The additional privacy cost: always 0.
    pub privacy_cost: f64,
    /// The files that were written.
    pub written: Vec<String>,
}

/// The measurements of a release, from which queries are answered.
#[derive(Debug)]
pub struct Released(Kind);

#[derive(Debug)]
enum Kind {
    Plan(Box<Estimates>),
    Staged(Box<StagedMarginals>),
}

impl Released {
    /// Reads the folder `measurements` of a release.
    ///
    /// # Errors
    /// Damaged measurements.
    pub fn read(measurements: &Path) -> Result<Self> {
        Ok(Released(match StagedMeasurements::is_at(measurements) {
            true => {
                let measured = StagedMeasurements::read(measurements)?;
                Kind::Staged(Box::new(StagedMarginals::of(measured)?))
            }
            false => Kind::Plan(Box::new(Estimates::of(&Measurements::read(measurements)?)?)),
        }))
    }

    /// Answers a query.
    ///
    /// # Errors
    /// A query outside the grammar or the schema, or on attributes that were not measured.
    pub fn answer(&self, query: &str) -> Result<QueryAnswers> {
        let located = |e: Error| e.located(&format!("query `{query}`"));
        match &self.0 {
            Kind::Plan(estimates) => {
                let query = ResolvedQuery::parse(query, estimates.schema())?;
                of_plan(estimates, &query).map_err(located)
            }
            Kind::Staged(marginals) => {
                let header = &marginals.measured().header;
                let query = ResolvedQuery::parse(query, &header.schema)?;
                of_staged(marginals, &query).map_err(located)
            }
        }
    }

    /// Answers queries, and writes them to a new CSV file if a path is given.
    ///
    /// # Errors
    /// As [`Released::answer`]; or the file exists or cannot be written.
    pub fn report(&self, queries: &[String], out: Option<&PathBuf>) -> Result<QueryReport> {
        let answers = queries.iter().map(|query| self.answer(query)).collect::<Result<Vec<_>>>()?;
        if let Some(path) = out {
            write(path, &answers)?;
        }
        let written = out.iter().map(|path| path.display().to_string()).collect();
        Ok(QueryReport { answers, privacy_cost: 0.0, written })
    }
}
