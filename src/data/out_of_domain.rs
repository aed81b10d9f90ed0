//! Rules for records with values outside the schema.

use crate::error::{Error, Result};

/// The rule for a record with a value outside the schema, if the attribute has no cell for other
/// values.
///
/// Every record is handled separately, so adding or removing one record of the file adds or removes
/// at most one record of the table. A table that may be seen can be refused instead, which is the
/// absence of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfDomain {
    /// The record is dropped.
    Drop,
    /// Numbers of numeric attributes get the nearest cell; the record is dropped if there is none.
    Clamp,
}

impl OutOfDomain {
    /// The name of every rule, the rule, and its description; `refuse` is the absence of a rule.
    pub const NAMES: [(&'static str, Option<OutOfDomain>, &'static str); 3] = [
        ("refuse", None, "Stop with an error that names the line"),
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
                "drop or clamp, and refuse for simulate",
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
            Error::bad_input("out_of_domain", "drop or clamp", format!("`{name}`"), remedy)
        })
    }
}
