//! Private releases of data-independent plans, exact to the integer.
//!
//! ```text
//! plan (doubles) → integer rows and rational deviations → reservation in the ledger → noisy integers → answers, statement
//! ```
//!
//! Everything up to the reservation is computed from the schema, the workload and the budget;
//! everything after the noisy integers from them. In between stands one function, [`run()`], which
//! takes a [`Reservation`] that only a [`Ledger`] can make, and noise that only the operating
//! system can make. The mechanism, its proof and its limits are in the project's
//! `docs/releasing.md`.
//!
//! | file | what |
//! |---|---|
//! | `rounding`, `integer_plan` | strategies in whole numbers, their exact cost and error |
//! | `ledger` | what was spent, durably written before data is opened |
//! | `run` | records to noisy integers, through [`ReleaseTable`](crate::access::ReleaseTable) |
//! | `measurements` | the noisy integers in files |
//! | `estimates`, `answers`, `query_words` | unbiased answers, exact standard errors, the table of them |
//! | `reach` | how far intervals reach |
//! | `adjust` | nonnegative answers from the same measurements |
//! | `statement` | what was released, for whom it is private, and what is not protected |

pub mod adjust;
pub mod answers;
mod estimates;
mod integer_plan;
mod ledger;
mod measurements;
mod query_words;
mod reach;
mod rounding;
mod run;
mod statement;

pub use estimates::Estimates;
pub use integer_plan::{IntegerMeasurement, IntegerPlan};
pub use ledger::{Balance, Ledger, Reservation, Waiting};
pub use measurements::Measurements;
pub use reach::Reach;
pub use rounding::Precision;
pub use run::run;
pub(crate) use statement::as_in_json;
pub use statement::{Statement, Terms};

#[cfg(test)]
mod tests;
