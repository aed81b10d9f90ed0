//! The two releases of a column of numbers.

use std::path::Path;

use super::draft::PrivateDraft;
use super::report::DraftedColumn;
use crate::budget::ReleaseRho;
use crate::data::Data;
use crate::release::{Files, Release};
use crate::steps::Steps;
use crate::target::Source;
use matmech::data::{OutOfDomain, noisy_bins};
use matmech::error::{Error, Result};
use matmech::privacy::Rho;
use matmech::release::{Estimates, Measurements, answers};
use matmech::schema::SchemaSource;

impl PrivateDraft {
    /// Measures a column and returns its attribute, of integers if the type of the column is so.
    pub(super) fn bins(
        &self,
        (column, is_integer): (&str, bool),
        index: usize,
        rho: Rho,
        (data, ledger, out): (&Data, &Path, &Path),
        steps: &dyn Steps,
    ) -> Result<(String, DraftedColumn)> {
        let mut drafted = DraftedColumn {
            name: column.to_owned(),
            cells: "bins",
            count: 0,
            releases: Vec::new(),
        };
        let mut measured = |name: &str, schema: String, target: Source| {
            let out = out.join(format!("{name}-{index}"));
            drafted.releases.push(out.display().to_string());
            let files =
                Files { data: data.clone(), ledger: ledger.to_path_buf(), out: out.clone() };
            self.release(schema, target, rho, files).run(steps)?;
            answers_of(&out)
        };
        let schema = noisy_bins::magnitude_schema(&[column.to_owned()]);
        let (counts, errors) = measured("range", schema, Source::Ways(vec![1]))?;
        let Some(fine) = noisy_bins::fine_edges(&counts, &errors) else {
            return Ok((noisy_bins::without_range(column), drafted));
        };
        let prefixes = "[[queries]]\nfamily = \"prefix\"\nways = [1]\n";
        let schema = noisy_bins::fine_schema(column, &fine);
        let (prefixes, _) = measured("quantiles", schema, Source::Text(prefixes.to_owned()))?;
        let edges = noisy_bins::quantile_edges(&prefixes, &fine, self.bins as usize, is_integer);
        drafted.count = edges.len().saturating_sub(1);
        let text = noisy_bins::attribute_with_edges(column, &edges, is_integer)
            .ok_or_else(|| Error::bug("edges of bins", "doubles", "other numbers"))?;
        Ok((text, drafted))
    }

    fn release(&self, schema: String, target: Source, rho: Rho, files: Files) -> Release {
        Release {
            schema: SchemaSource::Text(schema),
            target,
            rho: ReleaseRho::Given(rho),
            delta: self.delta,
            unit: self.unit,
            person: self.person.clone(),
            distinct: None,
            after: None,
            planner: None,
            objective: None,
            mechanism: None,
            certificate: None,
            out_of_domain: OutOfDomain::Other,
            waiting: self.waiting,
            adjust: false,
            records: None,
            guess: None,
            files: Some(files),
        }
    }
}

/// Returns the estimates and standard errors of a release, from its stored integers.
fn answers_of(folder: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let measured = Measurements::read(&folder.join("measurements"))?;
    let header = &measured.header;
    let (workload, estimates) = (
        crate::target::from_release(&header.schema, header.statement.workload(), &header.inputs)?,
        Estimates::of(&measured)?,
    );
    let mut found = (Vec::new(), Vec::new());
    for group in workload.groups() {
        for answer in answers::of_group(&estimates, group)? {
            found.0.push(answer.estimate);
            found.1.push(answer.standard_error);
        }
    }
    Ok(found)
}
