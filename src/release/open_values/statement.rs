//! The statement of a release of values that are not public.

use serde::{Deserialize, Serialize};

use crate::access::OpenValuesQuestion;
use crate::data::open_values::template;
use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::privacy::{PrivacyUnit, fine_noise};
use crate::release::document::{Line, code, strong, text};
use crate::release::report::Fact;
use crate::release::statement::{ReleaseStatement, Sections, Terms, in_digits, shortest};
use crate::schema::Schema;

/// The statement of a release of values.
pub type OpenValuesStatement = ReleaseStatement<OpenValuesSections>;

/// The sections of a release of values in `statement.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenValuesSections {
    mechanism: String,
    column: String,
    /// K²Δ²/(2σ²), rounded up.
    rho: f64,
    /// ε of the reserved ρ at δ − δ′, rounded up.
    epsilon: f64,
    /// δ′: the part of δ for values that only one person's records have.
    new_delta: f64,
    /// The standard deviation of a noisy count, in records.
    deviation: f64,
    /// The smallest noisy count that is published, in records.
    threshold: f64,
}

impl ReleaseStatement<OpenValuesSections> {
    /// Returns the statement of a release of values of a column; `attribute` is the text of the
    /// attribute with the published values. The δ of `terms` includes δ′.
    ///
    /// # Errors
    /// δ′ is not below δ.
    pub fn of_values(
        column: &str,
        question: &OpenValuesQuestion,
        (terms, new_delta): (Terms, f64),
        unit: PrivacyUnit,
        attribute: &str,
    ) -> Result<Self> {
        let one = f64::from(question.bits).exp2();
        let threshold = question.threshold as f64 / one;
        let sections = OpenValuesSections {
            mechanism: "noisy counts of the values of a column with discrete Gaussian noise from \
                        the operating system"
                .into(),
            column: column.to_owned(),
            rho: question.cost(unit)?.rounded_up()?.get(),
            epsilon: fine_noise::epsilon_rounded_up(
                terms.rho,
                without_new_values(terms.delta, new_delta)?,
            )?,
            new_delta,
            deviation: question.deviation.to_f64() / one,
            threshold,
        };
        let schema = Schema::from_toml(&template(column), "schema of the column")?;
        let workload =
            format!("# values with a noisy count of at least {} records\n", in_digits(threshold));
        Ok(ReleaseStatement::new(unit, terms, &schema, [attribute, &workload], sections))
    }
}

/// Returns δ − δ′, rounded down: the δ at which ρ is converted to ε.
///
/// # Errors
/// δ′ is not below δ.
pub fn without_new_values(delta: f64, new_delta: f64) -> Result<f64> {
    let of = |number| Decimal::shortest(number).unwrap_or_else(|| 0i64.into());
    let rest = of(delta).minus(&of(new_delta)).rounded_down();
    if rest > 0.0 {
        return Ok(rest);
    }
    Err(Error::bad_input(
        "delta of values that are not public",
        format!("less than delta ({delta:e}), of which it is a part"),
        format!("{new_delta:e}"),
        "give a smaller --new-delta, or a larger --delta",
    ))
}

impl Sections for OpenValuesSections {
    fn epsilon(&self) -> f64 {
        self.epsilon
    }

    fn facts(&self, [epsilon, delta, rho]: [String; 3], of_every_release: Vec<Fact>) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("Differential privacy", format!("ε = {epsilon} at δ = {delta}")),
            Fact::new("Zero-concentrated differential privacy", format!("ρ = {rho}")),
            Fact::new("δ′ of values that are not public", shortest(self.new_delta)),
        ];
        facts.extend(of_every_release);
        facts
    }

    fn cost_in_words(&self, rho_reserved: f64) -> String {
        format!(
            "ρ = {} of zero-concentrated differential privacy was reserved, and the noisy counts \
             cost {}; a part δ′ = {} of δ was reserved for values that only one person's records \
             have",
            shortest(rho_reserved),
            shortest(self.rho),
            shortest(self.new_delta)
        )
    }

    fn mechanism_in_words(&self) -> Line {
        [strong("Mechanism."), text(format!(" {}.", self.mechanism))].into()
    }

    fn answers_in_words(&self) -> Line {
        [
            strong("Answers."),
            text(" The values of "),
            code(&self.column),
            text(format!(
                " with a noisy count of at least {} records, in the order of their bytes. The \
                 standard deviation of a noisy count is {} records. Any value that only one \
                 person's records have is published with a probability of at most {}.",
                in_digits(self.threshold),
                in_digits(self.deviation),
                shortest(self.new_delta)
            )),
        ]
        .into()
    }

    fn published_in_words(&self) -> String {
        "the values that enough records have".to_owned()
    }

    fn exactness_in_words(&self) -> Line {
        format!("The standard deviation of a noisy count is {} records.", in_digits(self.deviation))
            .into()
    }

    fn derived_in_words(&self) -> Option<Line> {
        None
    }

    fn measurements(&self) -> (Vec<(&'static str, bool)>, Vec<Vec<Line>>) {
        let columns = vec![("values of", false), ("ρ", true), ("δ′", true), ("threshold", true)];
        let numbers = [shortest(self.rho), shortest(self.new_delta), in_digits(self.threshold)];
        let row = std::iter::once(self.column.as_str().into());
        (columns, vec![row.chain(numbers.iter().map(|number| number.as_str().into())).collect()])
    }
}
