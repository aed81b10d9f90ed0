//! Experiments: they expand a grid into cells and compute one cell at a time.
//!
//! A kind of experiment implements [`Kind`], with typed grid and params. The engine uses every kind
//! as an [`Experiment`].

mod cell;
mod certificate;
mod experiment_trait;
mod kind;
mod knots;

pub use cell::{Cell, Row};
pub use certificate::{CellCertificate, unfit};
pub use experiment_trait::{Experiment, kind_of};
pub use kind::{CellOf, Kind};
