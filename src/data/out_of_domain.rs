//! Rules for records with values outside the schema.

use crate::error::{Error, Result};
use crate::schema::Schema;

/// The rule for a record with a value outside the schema, if the attribute has no cell for other
/// values.
///
/// Every record is handled separately, so adding or removing one record of the file adds or removes
/// at most one record of the table. A table that may be seen can be refused instead, which is the
/// absence of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfDomain {
    /// No record is dropped: every attribute must have a cell for other values.
    Other,
    /// The record is dropped.
    Drop,
    /// Numbers of numeric attributes get the nearest cell; the record is dropped if there is none.
    Clamp,
}

impl OutOfDomain {
    /// The name of every rule, the rule, and its description; `refuse` is the absence of a rule.
    pub const NAMES: [(&'static str, Option<OutOfDomain>, &'static str); 4] = [
        ("refuse", None, "Stop with an error that names the line"),
        (
            "other",
            Some(OutOfDomain::Other),
            "Refuse a schema without a cell for other values in every attribute",
        ),
        ("drop", Some(OutOfDomain::Drop), "Drop the record"),
        (
            "clamp",
            Some(OutOfDomain::Clamp),
            "Move numbers of numeric attributes to the nearest cell; drop the record if there is \
             none",
        ),
    ];

    /// Returns the rule of a name; `None` for `refuse`.
    ///
    /// # Errors
    /// Another name.
    pub fn of_name(name: &str) -> Result<Option<Self>> {
        match Self::NAMES.iter().find(|(known, ..)| *known == name) {
            Some((_, rule, _)) => Ok(*rule),
            None => Err(Error::bad_input(
                "out_of_domain",
                "other, drop or clamp, and refuse for simulate",
                format!("`{name}`"),
                "leave it out for the default",
            )),
        }
    }

    /// Returns the rule of a name for a table that is private: whether it was read must not depend
    /// on its records.
    ///
    /// # Errors
    /// Another name, or `refuse`.
    pub fn of_name_for_private(name: &str) -> Result<Self> {
        Self::of_name(name)?.ok_or_else(|| {
            let remedy = "check the table with `matmech check-data` first";
            Error::bad_input("out_of_domain", "other, drop or clamp", format!("`{name}`"), remedy)
        })
    }

    /// Refuses a schema under which records can be dropped, unless the rule says so. No record
    /// decides this.
    ///
    /// # Errors
    /// The rule is [`OutOfDomain::Other`], and an attribute has no cell for other values.
    pub fn check(self, schema: &Schema) -> Result<()> {
        let names = schema.attributes().iter().enumerate();
        let without: Vec<String> = names
            .filter(|(position, _)| schema.other(*position).is_none())
            .map(|(_, attribute)| format!("`{}`", attribute.name))
            .collect();
        if self != OutOfDomain::Other || without.is_empty() {
            return Ok(());
        }
        Err(Error::bad_input(
            "schema",
            "a cell for other values in every attribute",
            format!("none in {}", without.join(", ")),
            "declare it (`other` in the schema), or choose what happens to records with values \
             outside the schema: --out-of-domain drop or --out-of-domain clamp \
             (out_of_domain=\"drop\" or \"clamp\" in Python)",
        ))
    }
}
