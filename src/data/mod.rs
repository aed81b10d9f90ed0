//! Data: tables of records, how files are read and coded into them, and how they are counted.

mod records;

pub use records::Records;
