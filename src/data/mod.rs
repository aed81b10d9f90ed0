//! Data: tables of records, how files are read and coded into them, and how they are counted.
//!
//! | file | what |
//! |---|---|
//! | `column` | one attribute's cell numbers in 1, 2 or 4 bytes each |
//! | `records` | a table, and one marginal of it |
//! | `contingency`, `popcount` | many marginals of a table, by bit sets |
//! | `csv_bytes`, `record_coder` | what every reader of CSV does: bytes, and lines to cells |
//! | `out_of_domain`, `person_limit` | rules for values outside the schema and for records of one person |
//! | `csv_file` | CSV files with a public schema |
//! | `check` | what a release would make of a file, for those who may see it |
//! | `private_csv` | the same for releases, where no message and no failure may depend on the records |

mod check;
mod column;
mod contingency;
mod csv_bytes;
mod csv_file;
mod out_of_domain;
mod person_limit;
mod popcount;
mod private_csv;
mod record_coder;
mod records;

pub use check::{AttributeCheck, DataCheck, Offence, check_csv};
pub use column::Column;
pub use contingency::MarginalCounter;
pub use csv_file::{CsvTable, read_csv, read_csv_from};
pub use out_of_domain::OutOfDomain;
pub use person_limit::PersonLimit;
pub use private_csv::PrivateCsv;
pub use records::Records;
