//! Configs: one typed TOML file per table or figure, checked before anything runs.

mod compare_spec;
mod document;
mod experiment_config;
mod figure_spec;
mod load;

pub use crate::layout::{Part, Profile};
pub use compare_spec::{CompareSpec, ComparedRows, OurColumn, Rule, Tolerance};
pub use document::{line_of, read, typed};
pub use experiment_config::{Config, OWN, Overlay, Profiles};
pub use figure_spec::{Aggregate, FigureSpec, PublishedOverlay, ReferenceLine, SecondAxis};
pub use load::{find, load, load_all, load_usable, parse};
