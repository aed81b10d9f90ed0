//! Strategies whose noise is produced forward in time with little memory.

pub mod recurrence;
