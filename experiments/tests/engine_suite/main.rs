//! The engine from the outside: runs, resume, damage, refusals, data sets and the command itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

mod binary;
mod command;
mod data;
#[cfg(unix)]
mod downloader;
#[cfg(unix)]
mod downloads;
mod refusals;
mod runs;
mod stand_ins;
mod storage;
mod tables;
mod toy;
mod verify;
