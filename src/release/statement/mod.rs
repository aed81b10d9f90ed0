//! The statement of a release: measurements, guarantee, accuracy, and what is not protected.
//!
//! | file | purpose |
//! |---|---|
//! | `release_statement` | what every release states, and the trait of a mechanism's sections |
//! | `for_readers` | the summary of a report, and what is guaranteed |
//! | `of_plan` | the sections of data-independent plans; those of staged releases are in `staged` |
//! | `measured_row` | the table of measurements |
//! | `decimals` | numbers as texts |

mod decimals;
mod for_readers;
mod measured_row;
mod of_plan;
mod release_statement;

pub use self::decimals::{at_most, decimals_of, in_digits, shortest};
pub(super) use self::measured_row::{COLUMNS, MeasuredRow};
pub use self::of_plan::{PlanSections, Statement};
pub use self::release_statement::{ReleaseStatement, Sections, Terms};
