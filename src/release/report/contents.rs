//! The contents of a report.

use serde::Serialize;

use super::fact::Fact;
use super::marginals::{Section, candidates, sections};
use super::published::{Intervals, PublishedMarginal};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::release::answers;
use crate::release::document::{Block, Line};
use crate::release::estimates::Estimates;
use crate::release::reach::Reach;
use crate::release::statement::{ReleaseStatement, Sections, Statement};
use crate::schema::Schema;
use crate::workload::{Family, GroupedWorkload, QueryGroup};

/// The contents of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The title.
    pub title: String,
    /// What was published, how exact it is, and what is protected, in three sentences.
    pub summary: Line,
    /// The most important facts.
    pub facts: Vec<Fact>,
    /// The files of the release, with what they contain.
    pub files: Vec<Fact>,
    /// The charts.
    pub sections: Vec<Section>,
    /// What is guaranteed, to whom, on which assumptions, and what is not.
    pub guarantees: Vec<Block>,
    /// The statement.
    pub statement: Vec<Block>,
}

impl Report {
    /// Returns the report of unbiased answers.
    ///
    /// The marginals are those on one and two attributes of the workload that the measurements
    /// determine, with the 95 % intervals of single answers.
    ///
    /// # Errors
    /// Queries that cannot be enumerated.
    pub fn of_unbiased(
        statement: &Statement,
        estimates: &Estimates,
        workload: &GroupedWorkload,
    ) -> Result<Self> {
        let schema = workload.schema();
        let group = |set: AttributeSet| {
            QueryGroup::product(schema, set, &vec![Family::IDENTITY; set.len()], 1.0)
        };
        let mut sets = Vec::new();
        for set in candidates(schema, workload.groups().iter().map(|g| g.attributes())) {
            let marginal = GroupedWorkload::new(schema.clone(), vec![group(set)?])?;
            if estimates.check_answers(&marginal).is_ok() {
                sets.push(set);
            }
        }
        let reach = Reach::of(1.0).single;
        let sections = sections(schema, &sets, &mut |attributes| {
            let answers = answers::of_group(estimates, &group(attributes)?)?;
            Ok(PublishedMarginal {
                attributes,
                estimates: answers.iter().map(|answer| answer.estimate).collect(),
                intervals: Intervals::Each(
                    answers.iter().map(|answer| reach * answer.standard_error).collect(),
                ),
            })
        })?;
        let answers = "every query with its unbiased estimate, standard error and 95 % intervals";
        let adjusted = Fact::new("adjusted.csv", "nonnegative integer answers, biased");
        let adjusted = statement.is_adjusted().then_some(adjusted);
        Ok(Report::new(statement, schema, answers, adjusted, sections))
    }

    /// Returns the report of a statement and charts.
    ///
    /// `answers` says what the table of answers has; `derived` is a file computed from them.
    pub(in crate::release) fn new<S: Sections + Serialize>(
        statement: &ReleaseStatement<S>,
        schema: &Schema,
        answers: &str,
        derived: Option<Fact>,
        sections: Vec<Section>,
    ) -> Self {
        let files = [
            Fact::new("answers.csv", answers),
            Fact::new("measurements/", "noisy integers, from which all other files are computed"),
            Fact::new("statement.json, statement.md", "the statement below"),
        ];
        let names: Vec<&str> = schema.attributes().iter().map(|a| a.name.as_str()).collect();
        Report {
            title: "Private release".into(),
            summary: statement.summary(&names),
            facts: statement.facts(),
            files: files.into_iter().chain(derived).collect(),
            sections,
            guarantees: statement.guarantees(),
            statement: statement.blocks(),
        }
    }
}
