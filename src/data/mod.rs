//! Tables of records: reading and coding files, and counting marginals.
//!
//! | file | purpose |
//! |---|---|
//! | `column` | the cell numbers of one attribute, 1, 2 or 4 bytes each |
//! | `records` | a table, and one marginal of it |
//! | `contingency` | many marginals of a table, by bit sets |
//! | `table` | sources of tables with typed columns: CSV files, columns in memory |
//! | `open_table` | a source whose columns fit a schema, before any record is read |
//! | `record_coder` | values to cells |
//! | `out_of_domain`, `person_limit` | rules for values outside the schema and records per person |
//! | `values_outside` | what happens to values outside the schema, in words |
//! | `public_records` | records that may be seen |
//! | `private_records` | records of releases: no message or failure may depend on them |
//! | `value_counts` | private counts of the values of a column, which are not public |
//! | `counted_marginals`, `marginal_files` | marginals that an engine counted |
//! | `check` | how a release would handle a table, for those who may see it |
//! | `draft` | schemas drafted from tables, for those who may see them |
//! | `write_csv` | records to CSV files |

mod check;
mod column;
mod contingency;
mod counted_marginals;
mod draft;
mod marginal_files;
mod open_table;
mod out_of_domain;
mod person_limit;
mod private_records;
mod public_records;
mod record_coder;
mod records;
pub mod table;
mod value_counts;
mod values_outside;
mod write_csv;

pub use check::{AttributeCheck, DataCheck, InvalidValue, check};
pub use column::Column;
pub use contingency::{MarginalCounter, counting_bytes};
pub use counted_marginals::{CountedMarginals, CountedRows, MarginalEngine};
pub use draft::{draft_schema, noisy_bins, open_values};
pub use marginal_files::read_marginals;
pub use open_table::OpenTable;
pub use out_of_domain::OutOfDomain;
pub use person_limit::PersonLimit;
pub use public_records::{CodedTable, read_csv, read_table};
pub use records::Records;
pub use value_counts::ValueCounts;
pub use values_outside::ValuesOutside;
pub use write_csv::write_csv;
