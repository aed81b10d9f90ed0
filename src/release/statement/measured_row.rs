//! Rows of the table of measurements.

use serde::{Deserialize, Serialize};

use super::decimals::shortest;
use crate::error::Result;
use crate::privacy::PrivacyUnit;
use crate::release::document::Line;
use crate::release::integer_plan::IntegerMeasurement;
use crate::schema::Schema;

/// The columns of the table of measurements, with whether they are numbers.
pub(in crate::release) const COLUMNS: [(&str, bool); 5] =
    [("measured", false), ("ρ alone", true), ("Δ²", true), ("σ", true), ("integers", true)];

/// A measurement in a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::release) struct MeasuredRow {
    attributes: String,
    /// ρ of this measurement alone; the joint ρ is at most the sum.
    rho: f64,
    squared_sensitivity: String,
    /// Whether some neighbours attain the sensitivity; staged releases do not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sensitivity_is_attained: Option<bool>,
    deviation: String,
    /// The number of noisy integers.
    answers: usize,
}

impl MeasuredRow {
    /// Returns the row of a measurement.
    pub(in crate::release) fn of(
        schema: &Schema,
        measurement: &IntegerMeasurement,
        unit: PrivacyUnit,
    ) -> Result<Self> {
        let attributes = match schema.names(measurement.attributes) {
            none if none.is_empty() => "(number of records)".to_owned(),
            names => names,
        };
        let sensitivity = measurement.strategy.squared_sensitivity(unit.neighbours);
        Ok(MeasuredRow {
            attributes,
            rho: measurement.question().cost(unit)?.to_f64_rounded_up(),
            squared_sensitivity: sensitivity.value.to_string(),
            sensitivity_is_attained: Some(sensitivity.exact),
            deviation: measurement.deviation.to_string(),
            answers: measurement.strategy.rows(),
        })
    }

    /// Omits whether the sensitivity is attained.
    pub(in crate::release) fn without_attainment(self) -> Self {
        MeasuredRow { sensitivity_is_attained: None, ..self }
    }

    /// Returns the cells of the row in the table.
    pub(in crate::release) fn cells(&self) -> Vec<Line> {
        let bound = if self.sensitivity_is_attained == Some(false) { "at most " } else { "" };
        vec![
            self.attributes.as_str().into(),
            shortest(self.rho).into(),
            format!("{bound}{}", self.squared_sensitivity).into(),
            self.deviation.as_str().into(),
            self.answers.to_string().into(),
        ]
    }
}
