//! Tests of the engine through its public interface: runs, resuming, damage, refusals, data sets
//! and the command.

mod binary;
mod command;
mod data;
#[cfg(unix)]
mod downloads;
mod proofs;
mod refusals;
mod runs;
mod stand_ins;
mod storage;
mod tables;
mod toy;
mod verify;
