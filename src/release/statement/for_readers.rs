//! The statement for readers without a technical background: a summary, and what is guaranteed.

use serde::Serialize;

use super::decimals::{at_most, shortest};
use super::release_statement::{ReleaseStatement, Sections};
use crate::privacy::Neighbours;
use crate::release::document::{Block, Line, code, strong, text};

/// The largest ε whose factor e^ε is printed as a number.
const MAX_EPSILON_OF_FACTOR: f64 = 20.0;

/// Attributes that a summary names.
const NAMES_SHOWN: usize = 12;

impl<S: Sections + Serialize> ReleaseStatement<S> {
    /// Returns three sentences: what was published, how exact it is, and what is protected.
    pub(in crate::release) fn summary(&self, attributes: &[&str]) -> Line {
        let (shown, more) = attributes.split_at(attributes.len().min(NAMES_SHOWN));
        let more = match more.len() {
            0 => String::new(),
            _ => " and others".to_owned(),
        };
        let (epsilon, delta) = (shortest(self.epsilon_and_delta().0), shortest(self.delta()));
        let mut line: Line = format!(
            "This release publishes {} about the records of a table with the attributes {}{more}. ",
            self.sections.published_in_words(),
            shown.join(", ")
        )
        .into();
        line.extend(self.sections.exactness_in_words().0);
        line.extend([text(format!(
            " It protects {} by differential privacy with ε = {epsilon} at δ = {delta}: {} changes \
             the probability of any outcome by a factor of at most {}, apart from a difference of \
             at most δ.",
            self.person_in_words(),
            self.change_in_words(),
            self.factor()
        ))]);
        line
    }

    /// Returns what is guaranteed, to whom, on which assumptions, and what is not.
    pub(in crate::release) fn guarantees(&self) -> Vec<Block> {
        let (epsilon, delta) = (shortest(self.epsilon_and_delta().0), shortest(self.delta()));
        let list = |items: Vec<Line>| Block::List(items);
        let heading = |name: &str| Block::Heading(name.into());
        let guaranteed = vec![
            [
                strong("Differential privacy."),
                text(format!(
                    " ε = {epsilon} at δ = {delta}. Let two tables differ as stated below. For \
                     every set of outcomes, its probability for one table is at most {} times its \
                     probability for the other one, plus δ.",
                    self.factor()
                )),
            ]
            .into(),
            "This bounds what anybody can learn about a person because of the person's records, \
             whatever else they know and whatever they compute from the release, now and later."
                .into(),
            "The bound follows from the noise alone. It does not depend on the secrecy of the \
             method, of the schema or of the queries."
                .into(),
        ];
        let tables = match self.unit().neighbours {
            Neighbours::AddOrRemoveOneRecord => {
                "The two tables differ in whether or not the records of one such person are in \
                 them."
            }
            Neighbours::ReplaceOneRecord => {
                "The two tables differ in the values of the records of one such person; the number \
                 of records is public. That a person is in the table is not protected."
            }
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                "The two tables differ in the values of the records of one such person, or in \
                 whether or not they are in them."
            }
        };
        let person: Line = format!("Protected: {}.", self.person_in_words()).into();
        let mut assumptions: Vec<Line> = vec![
            "The schema and the queries were chosen without looking at the records.".into(),
            "The budget of all releases about these people is counted in one ledger. Further \
             releases about the same people add their ε and δ to those of this one."
                .into(),
            "The program was run unchanged, on a computer that keeps the records to itself, with \
             random numbers from the operating system that nobody can predict."
                .into(),
        ];
        match self.person_column() {
            Some(column) => assumptions.push(
                [
                    text("All records of a person have the same value of "),
                    code(column),
                    text(", and different people have different ones."),
                ]
                .into(),
            ),
            None => assumptions.push(
                format!("No person has more than {} record(s) in the table.", self.unit().rows)
                    .into(),
            ),
        }
        let mut not_guaranteed: Vec<Line> = vec![
            "Conclusions about people in general, e.g. that two attributes are related. They \
             apply to people in the table as to everybody else, and are the purpose of statistics."
                .into(),
            "That the records are correct or complete, or that single estimates are exact: they \
             have noise on purpose."
                .into(),
            "Whether the release is anonymous in the sense of a law. ε and δ are facts for this \
             judgement, and do not replace it."
                .into(),
        ];
        if self.has_public_counts() {
            not_guaranteed.push(
                "The counts that the statement names as public: they are published without noise."
                    .into(),
            );
        }
        not_guaranteed.push(
            "What the statement lists as not protected, such as people who are in other releases."
                .into(),
        );
        vec![
            heading("What is guaranteed"),
            list(guaranteed),
            heading("To whom"),
            list(vec![person, tables.into()]),
            heading("On which assumptions"),
            list(assumptions),
            heading("What is not guaranteed"),
            list(not_guaranteed),
        ]
    }

    /// Returns who is protected.
    fn person_in_words(&self) -> String {
        match (self.person_column(), self.unit().rows) {
            (Some(_), _) => "everybody, with all their records".to_owned(),
            (None, 1) => "everybody with at most one record".to_owned(),
            (None, rows) => format!("everybody with at most {rows} records"),
        }
    }

    /// Returns the difference of neighbouring tables, as a subject.
    fn change_in_words(&self) -> &'static str {
        match self.unit().neighbours {
            Neighbours::AddOrRemoveOneRecord => "whether or not a person is in the table",
            Neighbours::ReplaceOneRecord => "what the records of a person say",
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                "whether or not a person is in the table, and what the records say,"
            }
        }
    }

    /// Returns e^ε, rounded up; a formula if it is large.
    fn factor(&self) -> String {
        let (epsilon, _) = self.epsilon_and_delta();
        match epsilon <= MAX_EPSILON_OF_FACTOR {
            true => format!("e^ε = {}", at_most(epsilon.exp() * (1.0 + 1e-12), 2)),
            false => "e^ε".to_owned(),
        }
    }
}
