//! Data: tables of records, how files are read and coded into them, and how they are counted.
//!
//! | file | what |
//! |---|---|
//! | `column` | one attribute's cell numbers in 1, 2 or 4 bytes each |
//! | `records` | a table, and one marginal of it |
//! | `contingency`, `popcount` | many marginals of a table, by bit sets |
//! | `csv_bytes`, `record_coder` | what every reader of CSV does: bytes, and lines to cells |
//! | `csv_file` | CSV files with a public schema, and the rules for values outside it |
//! | `check` | what a release would make of a file, for those who may see it |
//! | `private_csv` | the same for releases, where no message and no failure may depend on the records |

mod check;
mod column;
mod contingency;
mod csv_bytes;
mod csv_file;
mod popcount;
mod private_csv;
mod record_coder;
mod records;

pub use check::{AttributeCheck, DataCheck, Offence, check_csv};
pub use column::Column;
pub use contingency::MarginalCounter;
pub use csv_file::{CsvTable, OutOfDomain, read_csv, read_csv_from};
pub use private_csv::{OutOfDomainRule, PersonLimit, PrivateCsv};
pub use records::Records;
