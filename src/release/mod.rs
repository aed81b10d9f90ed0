//! Private releases with exact integer measurements: of data-independent plans, and staged.
//!
//! ```text
//! plan (doubles) → integer rows and rational deviations → reservation in the ledger
//!                → noisy integers → answers, statement
//! ```
//!
//! Every step up to the reservation depends only on the schema, the workload and the budget. Every
//! step after the noisy integers uses them and the plan, not the records. One function, [`run()`],
//! computes the noisy integers. It takes a [`Reservation`], which only a [`Ledger`] can make, and
//! draws noise that only the operating system can make. The mechanism, its proof and its limits are
//! in the project's `docs/releasing.md`.
//!
//! | file | purpose |
//! |---|---|
//! | `rounding`, `integer_plan` | integer strategies, their exact cost and error |
//! | `ledger` | the budget spent, durably written before data is read |
//! | `run` | records to noisy integers, through [`ReleaseTable`](crate::access::ReleaseTable) |
//! | `measurements` | files of the noisy integers |
//! | `estimates`, `answers` | unbiased answers with exact standard errors, and their table |
//! | `release_data` | what a release reads: records, or counts of an engine |
//! | `open_values` | values that are not public, published if enough records have them |
//! | `queries` | answers to queries in words, with intervals |
//! | `query_words` | descriptions of queries |
//! | `reach` | lengths of confidence intervals |
//! | `staged` | adaptive releases with a certificate of the error |
//! | `document` | texts as blocks, written as Markdown and HTML |
//! | `adjust` | nonnegative answers from the same measurements |
//! | `records` | synthetic records of a fitted model |
//! | `report` | an HTML page of the statement and of published estimates |
//! | `statement` | what was released, its guarantee, and what is not protected |

pub mod adjust;
pub mod answers;
pub mod document;
mod estimates;
mod integer_plan;
mod ledger;
mod measurements;
pub mod open_values;
pub mod queries;
mod query_words;
mod reach;
pub mod records;
mod release_data;
pub mod report;
mod rounding;
mod run;
pub mod staged;
mod statement;

pub use estimates::Estimates;
pub use estimates::conditions::check as check_impossible;
pub use integer_plan::{IntegerMeasurement, IntegerPlan};
pub use ledger::{Balance, Ledger, LockWait, Persons, Reservation};
pub use measurements::{Header, Inputs, Measurements, Sources};
pub use reach::Reach;
pub use release_data::ReleaseData;
pub use rounding::Precision;
pub use run::run;
pub use statement::{
    EarlierRelease, PlanSections, ReleaseStatement, Sections, Series, Statement, Terms, at_most,
    decimals_of, in_digits, shortest,
};

#[cfg(test)]
mod tests;
