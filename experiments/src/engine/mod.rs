//! The engine: plans cells, computes them in parallel, stores each at once, and assembles the
//! result tables.
//!
//! ```text
//! ExperimentPlan::new ──▶ prepare: select, check folders, read the store
//!                         ──▶ run_all: compute, store, table, provenance
//! ```
//!
//! [`ExperimentPlan::new`] and [`prepare`] refuse invalid input before any cell is computed.

mod address;
mod certificates;
mod experiment_plan;
mod machine;
mod part_lock;
mod prepare;
mod progress;
mod provenance;
mod provenance_record;
mod publish;
mod results;
mod runner;
mod select;
mod selected_rows;
mod store;

pub use address::{cell_address, cell_rng, inputs_hash};
pub use certificates::read as read_certificates;
pub use experiment_plan::{ExperimentPlan, PlannedCell, lacks_data};
pub use machine::{Code, Machine, peak_mb};
pub use prepare::{Prepared, RunOptions, prepare};
pub use progress::Display;
pub use provenance::{Provenance, built_with};
pub use provenance_record::ProvenanceRecord;
pub use publish::TableOutcome;
pub use runner::{Summary, run_all};
pub use select::Shard;
pub use selected_rows::selected_rows;
pub use store::{CellRecord, Store};
