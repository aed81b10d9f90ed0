//! Data sets that experiments read: found where the user keeps them, or fetched and checked.
//!
//! A file is looked for in the folder that the environment variable `MATMECH_DATA` names, then in
//! `data/downloads/`, and fetched into the latter if it is in neither. Wherever it comes from, its
//! SHA-256 must be that of `data/manifest.toml`. [`Catalogue`] gives experiments the tables
//! themselves, with stand-ins for those that are not there.

mod adult;
mod adult_cells;
mod catalogue;
mod coded_file;
mod fetch;
mod folders;
mod manifest;
mod stand_in;
mod tables;

pub use catalogue::{Catalogue, DataUse, LoadedTable, REAL, STAND_IN, SYNTHETIC};
pub use fetch::obtain;
pub use folders::{DATA_VARIABLE, Folders, Found, locate};
pub use manifest::{Dataset, Manifest};
