//! Data: tables of records, how files are read and coded into them, and how they are counted.
//!
//! | file | what |
//! |---|---|
//! | `column` | one attribute's cell numbers in 1, 2 or 4 bytes each |
//! | `records` | a table, and one marginal of it |
//! | `contingency`, `popcount` | many marginals of a table, by bit sets |
//! | `adult` | UCI Adult, discretised as S4 does it |
//! | `coded_file` | discretised files whose domain is inferred (experiments only) |
//! | [`stand_in`] | seeded synthetic tables in place of files that cannot be had |

mod adult;
mod coded_file;
mod column;
mod contingency;
mod popcount;
mod records;
pub mod stand_in;

pub use adult::read_adult;
pub use coded_file::read_inferring_domain;
pub use contingency::MarginalCounter;
pub use records::Records;
