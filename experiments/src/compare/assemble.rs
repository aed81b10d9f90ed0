//! Finds the result of every known value, judges it, and collects the failures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::bands::Bands;
use super::deviations::{self, Deviations};
use super::explained;
use super::found::{certificate, found_text, lower_bound, ours, published_text};
use super::judgement::{Claim, Judgement, expectation, judge};
use super::known::{self, KnownValue};
use super::report::{Figure, Finding, KnownKind, Line, Section};
use super::subject::Subject;
use super::verdict::Verdict;
use crate::columns;
use crate::config::{CompareSpec, Config, Profile, Rule, Tolerance};
use crate::derive;
use crate::engine::{ProvenanceRecord, lacks_data};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::experiment::{Experiment, kind_of};
use crate::layout::{Results, shown};
use crate::printed::{Printed, duration, memory, significant};
use crate::table::Table;

/// The judged values and figures of all configs.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Experiments, in the order of the papers.
    pub sections: Vec<Section>,
    /// The failures.
    pub findings: Vec<Finding>,
    /// File of known values, relative to the root → line numbers of the selected rows.
    pub selected: BTreeMap<String, BTreeSet<usize>>,
}

/// Documented deviations and bands of the published values.
#[derive(Debug, Clone, Copy)]
pub struct Known<'k> {
    /// Published values that a correct computation does not give.
    pub deviations: &'k Deviations,
    /// Intervals of noisy published values.
    pub bands: &'k Bands,
}

/// Judges every value that the configs select.
///
/// # Errors
/// All missing or unusable files.
pub fn assemble(
    root: &Path,
    configs: &[Config],
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
    known: Known<'_>,
) -> Result<Assembly> {
    let mut assembly = Assembly::default();
    let mut used = BTreeSet::new();
    let mut errors = Vec::new();
    let mut ordered: Vec<&Config> = configs.iter().collect();
    ordered.sort_by(|a, b| a.cmp_by_paper(b));
    for config in ordered {
        if config.compare.is_empty() && config.figure.is_empty() {
            continue;
        }
        let mut judge = Judge {
            config,
            kind: kind_of(config, experiments)?,
            profile,
            known,
            given: None,
            lacks_data: lacks_data(root, config, experiments, profile),
            assembly: &mut assembly,
            used: &mut used,
        };
        if let Some(lines) = judge.lines(root, &mut errors) {
            let figures = judge.figures(root);
            assembly.sections.push(Section {
                experiment: config.experiment.clone(),
                paper: config.paper().to_owned(),
                item: config.item().to_owned(),
                title: config.title.clone(),
                reproduces: config.reproduces.clone(),
                lines,
                figures,
                cost: cost(config, profile),
                data: data(root, config, profile),
            });
        }
    }
    Error::all(errors)?;
    explained::check_deviations(&mut assembly.findings, known.deviations, &used, profile);
    Ok(assembly)
}

/// Judges the values of one config that have a row in a table of some of its cells.
///
/// # Errors
/// Unusable files.
pub fn assemble_on(
    root: &Path,
    config: &Config,
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
    known: Known<'_>,
    table: &Table,
) -> Result<Vec<Line>> {
    let mut errors = Vec::new();
    let mut judge = Judge {
        config,
        kind: kind_of(config, experiments)?,
        profile,
        known,
        given: Some(table),
        lacks_data: false,
        assembly: &mut Assembly::default(),
        used: &mut BTreeSet::new(),
    };
    let lines = judge.lines(root, &mut errors);
    Error::all(errors)?;
    Ok(lines.unwrap_or_default().into_iter().filter(|line| !line.ours.is_empty()).collect())
}

/// Expected time and memory.
fn cost(config: &Config, profile: Profile) -> String {
    let (seconds, mb) = config.expected(profile);
    format!("{}, {}", duration(seconds), memory(mb))
}

/// Returns the data sets, as the provenance of the results names them.
fn data(root: &Path, config: &Config, profile: Profile) -> String {
    let file = Results::new(root, profile).provenance(&config.experiment);
    ProvenanceRecord::find(&file).map(|record| record.described()).unwrap_or_default()
}

/// The reason for values without a result on the data of the paper.
const LACKS_DATA: &str = "The real data cannot be redistributed or are not on this machine.";

/// Maximum relative distance of an optimum below its certified lower bound, from rounding.
const ROUNDING: f64 = 1e-9;

/// Judges the values of one experiment.
struct Judge<'a> {
    config: &'a Config,
    kind: &'a dyn Experiment,
    profile: Profile,
    known: Known<'a>,
    /// The results, if not those of the table on disk.
    given: Option<&'a Table>,
    /// Whether there is no result table, because the data are not on this machine.
    lacks_data: bool,
    assembly: &'a mut Assembly,
    /// Ids of the documented deviations that decided a verdict.
    used: &'a mut BTreeSet<String>,
}

impl Judge<'_> {
    /// Returns the judged values, or `None` if a file is unusable; `errors` then says why.
    fn lines(&mut self, root: &Path, errors: &mut Vec<Error>) -> Option<Vec<Line>> {
        if self.config.compare.is_empty() {
            return Some(Vec::new());
        }
        let before = errors.len();
        let mut lines = Vec::new();
        let results = self.results(root).map_err(|error| errors.push(error)).ok();
        for spec in &self.config.compare {
            let judged =
                known::read(root, spec, &self.config_name()).and_then(|(known, values)| {
                    match &results {
                        Some(results) => self.judge_all(spec, &known, &values, results),
                        None => Ok(Vec::new()),
                    }
                });
            match judged {
                Ok(judged) => lines.extend(judged),
                Err(error) => errors.push(error),
            }
        }
        (errors.len() == before).then_some(lines)
    }

    /// Reads the result table; without the data, it has no rows.
    fn results(&self, root: &Path) -> Result<Table> {
        let table = if let Some(given) = self.given {
            given.clone()
        } else if self.lacks_data {
            let path = Results::new(root, self.profile).table(&self.config.experiment);
            let keys = self.kind.key_columns().iter().copied();
            let set = self.config.derive.iter().flat_map(|derive| derive.set.keys());
            let columns = columns::BEFORE_KEYS.into_iter().chain(keys).chain(columns::AFTER_KEYS);
            let columns = columns.chain(set.map(String::as_str)).chain(columns::OF_DERIVED);
            // `set` can also name columns of the table.
            let mut known = BTreeSet::new();
            let columns = columns.filter(|column| known.insert(*column));
            Table::without_rows(&shown(root, &path), columns)?
        } else {
            derive::read(Results::new(root, self.profile), self.config)?
        };
        for column in columns::BEFORE_KEYS.iter().chain(&columns::AFTER_KEYS) {
            table.require(column, "the layout of result tables")?;
        }
        Ok(table)
    }

    fn judge_all(
        &mut self,
        spec: &CompareSpec,
        known: &Table,
        values: &[KnownValue],
        results: &Table,
    ) -> Result<Vec<Line>> {
        let results = &results.filtered(&spec.rows.ours, "ours")?;
        let candidates = known.matches(results, &spec.rows.join)?;
        let config = self.config_name();
        explained::check_reasons(
            &mut self.assembly.findings,
            self.known.deviations,
            spec,
            values,
            &config,
        );
        explained::check_fitted(&mut self.assembly.findings, spec, values, &config);
        let selected = self.assembly.selected.entry(spec.relative_path()).or_default();
        selected.extend(values.iter().map(|value| value.line));
        // Empty cells of the paper's table are not judged.
        let printed = values
            .iter()
            .zip(candidates)
            .filter(|(value, _)| value.printed != Printed::NotImplemented);
        Ok(printed.map(|(value, rows)| self.judge_one(spec, value, &rows, results)).collect())
    }

    /// Judges one value; `cell_rows` are the result rows of its cell, for all metrics.
    fn judge_one(
        &mut self,
        spec: &CompareSpec,
        value: &KnownValue,
        cell_rows: &[usize],
        results: &Table,
    ) -> Line {
        let mut rows: Vec<usize> = cell_rows
            .iter()
            .copied()
            .filter(|&row| results.field(columns::METRIC, row) == value.metric)
            .collect();
        // Costs are columns of every row of a cell, not separate rows.
        if rows.is_empty() && columns::COSTS.contains(&value.metric.as_str()) {
            rows.extend(cell_rows.first());
        }
        let join = &spec.rows.join;
        let key: Vec<String> = join
            .iter()
            .zip(&value.key)
            .map(|(column, field)| format!("{column}={field}"))
            .collect();
        let method = join
            .iter()
            .position(|column| column == columns::METHOD)
            .and_then(|position| value.key.get(position));
        let is_error = self.kind.error_metrics().contains(&value.metric.as_str());
        let kind = match &spec.rule {
            Rule::Reference { .. } if value.band.is_some() || value.printed.is_inequality() => {
                KnownKind::Interval
            }
            Rule::Reference { .. } => KnownKind::Reference,
            Rule::Digits { recalled: true, .. } => KnownKind::Recalled,
            _ => KnownKind::Published,
        };
        let improvable = match &spec.rule {
            Rule::Digits { improvable, .. } => improvable.as_slice(),
            _ => &[],
        };
        let listed = self.known.bands.of(&value.id);
        let listed_band =
            listed.zip(value.printed.number()).map(|(band, printed)| band.around(printed));
        let claim = Claim {
            printed: &value.printed,
            fitted: spec.fitted(method.map(String::as_str), &value.id),
            rounded: spec.rounded(),
            band: value.band.or(listed_band),
            band_reason: listed.map(|band| band.reason.as_str()),
            tolerance: spec.tolerance(),
            deviation_reason: spec
                .deviations()
                .find(|(known, _)| **known == value.id)
                .map(|(_, reason)| reason.as_str()),
            unproven: spec.unexplained().contains(&value.id),
            upper_bound: matches!(spec.rule, Rule::UpperBounds { .. }),
            reference: kind.is_independent(),
            not_comparable: spec.not_comparable(&value.metric),
            is_error,
            improvable: is_error && method.is_some_and(|method| improvable.contains(method)),
            deviation: self.known.deviations.get(&value.id),
        };
        let mut line = Line {
            source: value.part.clone(),
            id: value.id.clone(),
            cell: key.join("/"),
            method: method.cloned().unwrap_or_default(),
            metric: match (&spec.rows.label, spec.our_column()) {
                (Some(label), _) => label.clone(),
                (None, Some(column)) => format!("{} ({})", value.metric, column.name()),
                (None, None) => value.metric.clone(),
            },
            published: published_text(value),
            ours: String::new(),
            certificate: String::new(),
            lower_bound: String::new(),
            verdict: Verdict::Failed,
            reason: String::new(),
            kind,
            subject: self.subject(spec, value),
        };
        let judgement = match rows.as_slice() {
            [row] => {
                let ours = ours(spec, results, *row, &value.metric);
                let prefix = format!("{}/", self.config.experiment);
                let cell = results.field(columns::CELL, *row);
                line.cell = cell.strip_prefix(&prefix).unwrap_or(cell).to_owned();
                line.method = results.field(columns::METHOD, *row).to_owned();
                line.ours = ours.value.map_or_else(
                    || ours.text.to_owned(),
                    |number| value.printed.format_like(number),
                );
                line.certificate = certificate(value, &ours);
                let bounding = self.kind.lower_bound_method().filter(|_| claim.is_error);
                let bound =
                    bounding.and_then(|method| lower_bound(method, results, *row, &value.metric));
                let over = bound.zip(ours.value).map(|(bound, value)| value / bound - 1.0);
                let bound = bound.map(|bound| value.printed.format_like(bound));
                if let (Some(bound), Some(over)) = (&bound, over) {
                    line.lower_bound =
                        format!("≥ {bound}, {} % above", significant(100.0 * over.max(0.0), 2));
                }
                match over {
                    Some(over) if over < -ROUNDING => Judgement::failed(
                        "below the lower bound for any matrix mechanism",
                        format!("a value of at least {}", bound.unwrap_or_default()),
                    ),
                    _ => judge(&claim, &ours),
                }
            }
            [] => self.without_result(spec, &claim, cell_rows.is_empty()),
            several => Judgement::failed(
                format!("{} result rows for one value", several.len()),
                "one result row; add the column in which they differ to `join`",
            ),
        };
        if judgement.used_deviation
            && let Some(deviation) = claim.deviation
        {
            self.used.insert(deviation.id.clone());
        }
        line.verdict = judgement.verdict;
        line.reason.clone_from(&judgement.reason);
        if judgement.verdict == Verdict::Failed {
            self.fail(spec, &line, &rows, results, &judgement);
        }
        line
    }

    /// Judges a value without a result row: *not comparable* if the config says why or the data are
    /// not on this machine, *not run* if `quick` omits its cell, else a failure.
    fn without_result(&self, spec: &CompareSpec, claim: &Claim<'_>, no_cell: bool) -> Judgement {
        if self.lacks_data {
            let reason = claim.not_comparable.unwrap_or(LACKS_DATA);
            // A documented deviation can be neither confirmed nor refuted.
            let used_deviation = claim.deviation.is_some();
            return Judgement { used_deviation, ..Judgement::new(Verdict::NotComparable, reason) };
        }
        if self.profile == Profile::Quick && no_cell {
            return Judgement::new(Verdict::NotRun, "not in the grid of the profile `quick`");
        }
        if let Rule::Digits { without_result: Some(reason), .. } = &spec.rule
            && no_cell
        {
            return Judgement::new(Verdict::NotComparable, reason.as_str());
        }
        let reason = if no_cell { "missing result" } else { "missing metric" };
        Judgement::failed(reason, expectation(claim))
    }

    fn fail(
        &mut self,
        spec: &CompareSpec,
        line: &Line,
        rows: &[usize],
        results: &Table,
        judgement: &Judgement,
    ) {
        let remedy = match rows {
            [] => format!(
                "run `{}`; if the grid in {} lacks the cell, add it or exclude the row with \
                 `filter`",
                self.run_command(),
                self.config_name()
            ),
            [_] if line.kind.is_independent() => {
                "find out which value is wrong; reference values must be reproduced".to_owned()
            }
            [_] => format!(
                "find out which value is wrong; if it is the paper's, add [[deviation]] \
                 id = \"{}\" to {} and explain it in {}",
                line.id,
                deviations::LIST,
                deviations::EXPLANATIONS
            ),
            _ => format!("add the column to `join` in {}", self.config_name()),
        };
        self.assembly.findings.push(Finding {
            title: format!(
                "{}: {} ({} in {})",
                judgement.reason, line.id, line.metric, line.source
            ),
            location: format!("{}, {}", self.config.experiment, spec.relative_path()),
            expected: judgement.expected.clone(),
            found: found_text(line, rows, results),
            remedy,
        });
    }

    fn figures(&mut self, root: &Path) -> Vec<Figure> {
        let folder = Results::new(root, self.profile).figures();
        let config = self.config;
        config
            .figure
            .iter()
            .map(|spec| {
                let path = folder.join(format!("{}.svg", spec.file));
                let svg = std::fs::read_to_string(&path).ok();
                if svg.is_none() && !self.lacks_data && self.profile != Profile::Quick {
                    let path = shown(root, &path);
                    self.assembly.findings.push(Finding {
                        title: format!("missing figure: {}", spec.title),
                        location: config.experiment.clone(),
                        expected: format!("the file {path}"),
                        found: "no readable file".to_owned(),
                        remedy: format!("run `reproduce figures --profile {}`", self.profile),
                    });
                }
                Figure {
                    file: spec.file.clone(),
                    title: spec.title.clone(),
                    caption: spec.caption.clone().unwrap_or_default(),
                    svg,
                }
            })
            .collect()
    }

    /// Returns whether a metric is computed from times or memory.
    fn is_cost(&self, spec: &CompareSpec, metric: &str) -> bool {
        let from_cost = |derived: &Entry| {
            derived.metric == metric && columns::COSTS.contains(&derived.column.as_str())
        };
        let compared = spec.our_column().is_some() || spec.tolerance().is_some();
        compared
            || self.kind.cost_metrics().contains(&metric)
            || self.config.derive.iter().any(from_cost)
    }

    /// Returns the subject of a value: that of its file, else that of its metric.
    fn subject(&self, spec: &CompareSpec, value: &KnownValue) -> Subject {
        let is_exponent = matches!(spec.tolerance(), Some(Tolerance::Absolute(_)));
        match value.subject {
            Some(subject) => subject,
            None if is_exponent => Subject::Exponent,
            None if columns::COSTS.contains(&value.metric.as_str()) => Subject::Cost,
            None if self.is_cost(spec, &value.metric) => Subject::Cost,
            None if columns::COUNTS.contains(&value.metric.as_str()) => Subject::QueryCount,
            None if !value.words.is_empty() => Subject::Statement,
            None => Subject::Value,
        }
    }

    fn config_name(&self) -> String {
        format!("configs/{}.toml", self.config.experiment)
    }

    fn run_command(&self) -> String {
        format!("reproduce run {} --profile {}", self.config_name(), self.profile)
    }
}
