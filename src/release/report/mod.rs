//! The report of a release: one HTML page without scripts and external resources.
//!
//! It is made of the statement and of published estimates, so it costs no privacy. A [`Report`] is
//! plain data, and [`Report::to_html`] writes the page.
//!
//! | file | purpose |
//! |---|---|
//! | `marginals` | the marginals to show: single attributes and the most dependent pairs |
//! | `chart`, `svg` | bars of one marginal, and their drawing |
//! | `html` | the page |

mod chart;
mod html;
mod marginals;
mod svg;

use super::answers;
use super::document::{Block, Line};
use super::estimates::Estimates;
use super::reach::Reach;
use super::statement::Statement;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::workload::{Family, GroupedWorkload, QueryGroup};

pub use self::chart::{Bar, Chart};
pub use self::marginals::{PublishedMarginal, candidates, sections};

/// A name and a value, at the top of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Line,
}

impl Fact {
    /// Returns a fact.
    pub fn new(name: &str, value: impl Into<Line>) -> Self {
        Fact { name: name.to_owned(), value: value.into() }
    }
}

/// Charts with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// What the charts show.
    pub note: String,
    /// The charts, in order.
    pub charts: Vec<Chart>,
}

/// The contents of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The title.
    pub title: String,
    /// The most important facts.
    pub facts: Vec<Fact>,
    /// The files of the release, with what they contain.
    pub files: Vec<Fact>,
    /// The charts.
    pub sections: Vec<Section>,
    /// The statement.
    pub statement: Vec<Block>,
}

impl Report {
    /// Returns the page.
    pub fn to_html(&self) -> String {
        html::page(self)
    }

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
                half_widths: answers.iter().map(|answer| reach * answer.standard_error).collect(),
                bound: None,
            })
        })?;
        let mut files = vec![
            Fact::new(
                "answers.csv",
                "every query with its unbiased estimate, standard error and 95 % intervals",
            ),
            Fact::new("measurements/", "noisy integers, from which all other files are computed"),
            Fact::new("statement.json, statement.md", "the statement below"),
        ];
        if statement.is_adjusted() {
            files.push(Fact::new("adjusted.csv", "nonnegative integer answers, biased"));
        }
        Ok(Report {
            title: "Private release".into(),
            facts: statement.facts(),
            files,
            sections,
            statement: statement.blocks(),
        })
    }
}
