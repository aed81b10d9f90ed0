//! The comparison from files to reports: every verdict, every finding, and what the reports
//! contain.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod inputs;
mod page;
mod root;
mod verdicts;
