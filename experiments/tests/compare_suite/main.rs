//! Tests of the comparison from files to reports: verdicts, findings and report text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first error")]

mod inputs;
mod page;
mod root;
mod verdicts;
