//! The tables of S3 against the published values and the certified optima of the specification.

mod published;
mod workloads;
