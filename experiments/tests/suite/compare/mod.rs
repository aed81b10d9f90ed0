//! Tests of the comparison from files to reports: verdicts, findings and report text.

mod inputs;
mod page;
mod root;
mod verdicts;
