//! Data sets of the experiments: files of the user and of the project, downloads and stand-ins.
//!
//! A file is searched in the folder `MATMECH_DATA` (an environment variable), in `data/tables/` and
//! in `data/downloads/`, and downloaded there if it is missing and the manifest has its address. Its SHA-256 must be that of
//! `data/manifest.toml`. [`Catalogue`] provides the tables, with stand-ins for missing ones.

mod adult;
mod adult_cells;
mod bif;
mod catalogue;
mod coded_file;
mod draws;
mod fetch;
mod folders;
mod generated;
mod manifest;
mod network;
mod nist_acs;
mod stand_in;
mod tables;

pub use catalogue::{Catalogue, DataUse, LoadedTable, REAL, STAND_IN, SYNTHETIC};
pub use fetch::obtain;
pub use folders::{DATA_VARIABLE, Folders, Found, locate};
pub use manifest::{Dataset, Manifest};
