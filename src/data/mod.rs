//! Tables of records: reading and coding files, and counting marginals.
//!
//! | file | purpose |
//! |---|---|
//! | `column` | the cell numbers of one attribute, 1, 2 or 4 bytes each |
//! | `records` | a table, and one marginal of it |
//! | `contingency`, `popcount` | many marginals of a table, by bit sets |
//! | `csv_bytes`, `record_coder` | shared by all CSV readers: bytes, and lines to cells |
//! | `out_of_domain`, `person_limit` | rules for values outside the schema and records per person |
//! | `csv_file` | CSV files with a public schema |
//! | `check` | how a release would handle a file, for those who may see it |
//! | `write_csv` | records to CSV files |
//! | `private_csv` | CSV files of releases: no message or failure may depend on the records |

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
mod write_csv;

pub use check::{AttributeCheck, DataCheck, InvalidValue, check_csv};
pub use column::Column;
pub use contingency::MarginalCounter;
pub use csv_file::{CsvTable, read_csv, read_csv_from};
pub use out_of_domain::OutOfDomain;
pub use person_limit::PersonLimit;
pub use private_csv::PrivateCsv;
pub use records::Records;
pub use write_csv::write_csv;
