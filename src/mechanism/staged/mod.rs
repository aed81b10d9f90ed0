//! `staged`: adaptive measurement of residuals without private selection.
//!
//! ```text
//! measure the total and the residuals of the closure W↓ coarsely (35.5 % of ρ), in rounds: single
//!     attributes, products, and those of finer levels; products must pay
//! for share in (1, 1, 1)/3 of the rest:
//!     fit a small model with learned widths to everything measured
//!     plan precisions that minimise the predicted error; measure the residuals again
//! fit the model, and answer
//! ```
//!
//! Every look at the data is a noisy residual. What is measured next is a function of released
//! values. The fit is [`LearnedFit`](crate::estimation::soft_ipf::LearnedFit).
//!
//! *Levels*: a level of an attribute is an attribute of its own, a function of the leaf
//! ([`LevelSchema`](crate::schema::LevelSchema)). The closure of a set has the sets with coarser
//! levels, and the model gives probability 0 to a leaf outside its node. A record changes one cell of
//! every measured marginal, with levels or without, so p_τ λ/2 is the cost of a residual on levels
//! too.
//!
//! *Privacy*: a residual with precision λ costs p_τ λ/2. If every question is a function of earlier
//! answers and the costs never exceed ρ, the transcript is ρ-zCDP (Feldman and Zrnic 2021; a proof
//! is in `docs/staged.md`). *Source*: ours.

mod known_widths;
mod level_queries;
mod plan;
mod rounds;
mod run;
mod scouts;
mod settings;
mod stages;
mod unbiased;

pub use self::known_widths::KnownWidths;
pub(crate) use self::level_queries::LevelQueries;
pub(crate) use self::run::sets_of;
pub use self::settings::Staged;
pub(crate) use self::stages::{Answers, StageAnswers, StagedEstimates, Stages};

#[cfg(test)]
mod collider_tests;
#[cfg(test)]
mod level_tests;
#[cfg(test)]
mod tests;
