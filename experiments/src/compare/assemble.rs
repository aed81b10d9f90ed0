//! Finds the result of every known value, judges it, and collects what fails.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::bands::Bands;
use super::deviations::{self, Deviations};
use super::explained;
use super::found::{bound_on_all, certificate, ours, published_text};
use super::known::{self, KnownValue};
use super::report::{Figure, Finding, Line, Section, Subject};
use super::verdict::{Claim, Judgement, Verdict, expectation, judge};
use crate::columns;
use crate::config::{CompareSpec, Config, DeriveSpec, Profile};
use crate::derive;
use crate::engine::Recorded;
use crate::error::{Error, Result};
use crate::experiment::{Experiment, kind_of};
use crate::layout::{Results, shown};
use crate::printed::{Printed, duration, memory, significant};
use crate::table::Table;

/// Everything that the writers need besides the list of what remains.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Experiments, in the order of the papers.
    pub sections: Vec<Section>,
    /// What fails.
    pub findings: Vec<Finding>,
    /// File of known values, relative to the root → lines of the selected rows.
    pub selected: BTreeMap<String, BTreeSet<usize>>,
}

/// What is known of published values besides the values.
#[derive(Debug, Clone, Copy)]
pub struct Known<'k> {
    /// Which of them do not come out.
    pub deviations: &'k Deviations,
    /// Which of them are noisy.
    pub bands: &'k Bands,
}

/// Judges every value that the configs select.
///
/// # Errors
/// All files that are missing or cannot be used.
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
    ordered.sort_by(|a, b| a.in_order_of_papers(b));
    for config in ordered {
        if config.compare.is_empty() && config.figure.is_empty() {
            continue;
        }
        let kind = kind_of(config, experiments)?;
        let (errors_of_kind, timed, bound_on_all) =
            (kind.errors(), kind.timed(), kind.bound_on_all());
        let mut work = Judge {
            config,
            errors_of_kind,
            timed,
            bound_on_all,
            profile,
            known,
            assembly: &mut assembly,
            used: &mut used,
        };
        match work.lines(root, &mut errors) {
            Some(lines) => {
                let figures = work.figures(root);
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
            None => continue,
        }
    }
    Error::all(errors)?;
    explained::check_deviations(&mut assembly.findings, known.deviations, &used, profile);
    Ok(assembly)
}

/// Expected time and memory.
fn cost(config: &Config, profile: Profile) -> String {
    let (seconds, mb) = config.expected(profile);
    format!("{}, {}", duration(seconds), memory(mb))
}

/// The data sets of the results, as their provenance names them.
fn data(root: &Path, config: &Config, profile: Profile) -> String {
    let file = Results::new(root, profile).provenance(&config.experiment);
    let record = Recorded::read(&file).ok().flatten();
    let names = record.iter().flat_map(|record| &record.data);
    let labelled = names.map(|data| format!("{} ({})", data.name, data.label()));
    labelled.collect::<Vec<_>>().join(", ")
}

/// By how much less than a bound on it a value may be through rounding: that of an optimum and its
/// certificate.
const ROUNDING: f64 = 1e-9;

/// The work on one experiment.
struct Judge<'a> {
    config: &'a Config,
    errors_of_kind: &'static [&'static str],
    /// The metrics that are made of times.
    timed: &'static [&'static str],
    /// The method whose values are lower bounds on those of all others.
    bound_on_all: Option<&'static str>,
    profile: Profile,
    known: Known<'a>,
    assembly: &'a mut Assembly,
    used: &'a mut BTreeSet<String>,
}

impl Judge<'_> {
    /// The judged values; `None` if a file cannot be used, which is then among `errors`.
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

    fn results(&self, root: &Path) -> Result<Table> {
        let path = Results::new(root, self.profile).table(&self.config.experiment);
        let table =
            Table::read(&path, &shown(root, &path), &format!("run `{}`", self.run_command()))?;
        for column in columns::BEFORE_KEYS.iter().chain(&columns::AFTER_KEYS) {
            table.require(column, "the layout of result tables")?;
        }
        derive::extended(&table, &self.config.derive, self.profile)
    }

    fn judge_all(
        &mut self,
        spec: &CompareSpec,
        known: &Table,
        values: &[KnownValue],
        results: &Table,
    ) -> Result<Vec<Line>> {
        let results = &results.filtered(&spec.ours, "ours")?;
        let candidates = known.matches(results, &spec.join)?;
        let config = self.config_name();
        explained::check_reasons(
            &mut self.assembly.findings,
            self.known.deviations,
            spec,
            values,
            &config,
        );
        let selected = self.assembly.selected.entry(spec.relative_path()).or_default();
        selected.extend(values.iter().map(|value| value.line));
        // A cell that the paper leaves empty is no value to be judged.
        let printed = values
            .iter()
            .zip(candidates)
            .filter(|(value, _)| value.printed != Printed::NotImplemented);
        Ok(printed.map(|(value, rows)| self.judge_one(spec, value, &rows, results)).collect())
    }

    /// `cell_rows` are the result rows of the value's cell, of all metrics.
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
        // What a cell costs stands in columns of all its rows instead of a row of its own.
        if rows.is_empty() && columns::COSTS.contains(&value.metric.as_str()) {
            rows.extend(cell_rows.first());
        }
        let looked_for: Vec<String> = spec
            .join
            .iter()
            .zip(&value.key)
            .map(|(column, field)| format!("{column}={field}"))
            .collect();
        let method = spec
            .join
            .iter()
            .position(|column| column == columns::METHOD)
            .and_then(|position| value.key.get(position));
        let claim = Claim {
            printed: &value.printed,
            rounded: &spec.rounded,
            band: value.band.or_else(|| self.band(value)),
            tolerance: spec.tolerance(),
            beyond_tolerance: value
                .ids
                .iter()
                .find_map(|id| spec.deviations.get(id))
                .map(String::as_str),
            upper_bound: spec.upper_bound,
            reference: spec.reference.is_some(),
            not_comparable: spec.not_comparable.get(&value.metric).map(String::as_str),
            is_error: self.errors_of_kind.contains(&value.metric.as_str()),
            improvable: self.errors_of_kind.contains(&value.metric.as_str())
                && method.is_some_and(|method| spec.improvable.contains(method)),
            deviation: value.ids.iter().find_map(|id| self.known.deviations.get(id)),
        };
        let mut line = Line {
            place: value.place.clone(),
            id: value.ids.first().cloned().unwrap_or_default(),
            cell: looked_for.join("/"),
            method: method.cloned().unwrap_or_default(),
            metric: match (&spec.label, spec.our_column) {
                (Some(label), _) => label.clone(),
                (None, Some(column)) => format!("{} ({})", value.metric, column.name()),
                (None, None) => value.metric.clone(),
            },
            published: published_text(value),
            ours: String::new(),
            certificate: String::new(),
            bound_on_all: String::new(),
            verdict: Verdict::Failed,
            reason: String::new(),
            reference: claim.reference,
            subject: Subject::of(&value.metric, self.is_cost(spec, &value.metric)),
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
                let bounding = self.bound_on_all.filter(|_| claim.is_error);
                let bound =
                    bounding.and_then(|method| bound_on_all(method, results, *row, &value.metric));
                let over = bound.zip(ours.value).map(|(bound, value)| value / bound - 1.0);
                if let (Some(bound), Some(over)) = (bound, over) {
                    let bound = value.printed.format_like(bound);
                    line.bound_on_all =
                        format!("≥ {bound}, {} % above", significant(100.0 * over.max(0.0), 2));
                }
                match over {
                    Some(over) if over < -ROUNDING => Judgement {
                        verdict: Verdict::Failed,
                        reason: "below a bound on every mechanism".to_owned(),
                        expected: format!("a value of at least the bound, {}", line.bound_on_all),
                        used_deviation: false,
                    },
                    _ => judge(&claim, &ours),
                }
            }
            [] => self.without_result(&claim, cell_rows.is_empty()),
            several => Judgement {
                verdict: Verdict::Failed,
                reason: format!("{} result rows for one value", several.len()),
                expected: "one result row; add the column that tells them apart to `join`"
                    .to_owned(),
                used_deviation: false,
            },
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

    /// A value without result row: fine if the profile leaves its cell out.
    fn without_result(&self, claim: &Claim<'_>, no_cell: bool) -> Judgement {
        if self.profile == Profile::Quick && no_cell {
            return Judgement {
                verdict: Verdict::NotRun,
                reason: "outside the quick slice".to_owned(),
                expected: String::new(),
                used_deviation: false,
            };
        }
        let reason = if no_cell { "missing result" } else { "missing metric" };
        Judgement {
            verdict: Verdict::Failed,
            reason: reason.to_owned(),
            expected: expectation(claim),
            used_deviation: false,
        }
    }

    fn fail(
        &mut self,
        spec: &CompareSpec,
        line: &Line,
        rows: &[usize],
        results: &Table,
        judgement: &Judgement,
    ) {
        let found = match rows {
            [] => format!(
                "no row with {} and metric={} in {}",
                line.cell,
                line.metric,
                results.name()
            ),
            [row] => {
                let raw = [results.field(columns::VALUE, *row), results.field(columns::TEXT, *row)];
                let raw = raw
                    .iter()
                    .find(|field| !field.is_empty())
                    .unwrap_or(&"neither a value nor a text");
                let line_number = results.line(*row);
                format!("{raw} ({}, line {line_number}, method {})", results.name(), line.method)
            }
            several => {
                let lines: Vec<String> =
                    several.iter().map(|&row| results.line(row).to_string()).collect();
                format!("lines {} of {}", lines.join(", "), results.name())
            }
        };
        let remedy = match rows {
            [] => format!(
                "run `{}`; if the grid in {} lacks the cell, add it, or leave the row out with `filter`",
                self.run_command(),
                self.config_name()
            ),
            [_] if line.reference => {
                "find out which of the two is wrong; reference values must be reproduced".to_owned()
            }
            [_] => format!(
                "find out which of the two is wrong; if it is the paper, add [[deviation]] id = \"{}\" to {} and \
                 explain it in {}",
                line.id,
                deviations::LIST,
                deviations::EXPLANATIONS
            ),
            _ => format!("add the column to `join` in {}", self.config_name()),
        };
        self.assembly.findings.push(Finding {
            title: format!("{}: {} ({} in {})", judgement.reason, line.id, line.metric, line.place),
            place: format!("{}, {}", self.config.experiment, spec.relative_path()),
            expected: judgement.expected.clone(),
            found,
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
                if svg.is_none() && self.profile != Profile::Quick {
                    let path = shown(root, &path);
                    self.assembly.findings.push(Finding {
                        title: format!("missing figure: {}", spec.title),
                        place: config.experiment.clone(),
                        expected: format!("the drawing {path}"),
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

    /// Whether a value is made of times or of memory.
    fn is_cost(&self, spec: &CompareSpec, metric: &str) -> bool {
        let made = |derived: &DeriveSpec| {
            derived.metric == metric && columns::COSTS.contains(&derived.column.as_str())
        };
        let compared = spec.our_column.is_some() || spec.tolerance().is_some();
        compared || self.timed.contains(&metric) || self.config.derive.iter().any(made)
    }

    /// The listed band of a noisy value.
    fn band(&self, value: &KnownValue) -> Option<(f64, f64)> {
        self.known.bands.of(&value.ids, value.printed.number()?)
    }

    fn config_name(&self) -> String {
        format!("configs/{}.toml", self.config.experiment)
    }

    fn run_command(&self) -> String {
        format!("reproduce run {} --profile {}", self.config_name(), self.profile)
    }
}
