//! `staged`: adaptive measurement of residuals without private selection.
//!
//! ```text
//! measure the total and all residuals of the closure W↓ coarsely (25.5 % of ρ)
//! for share in (1, 3, 9)/13 of the rest:
//!     fit a small model with learned widths to everything measured
//!     plan precisions that minimise the predicted error; measure the residuals again
//! fit the model, and answer
//! ```
//!
//! Every look at the data is a noisy residual. What is measured next is a function of released
//! values. The fit is [`LearnedFit`](crate::estimation::soft_ipf::LearnedFit).
//!
//! *Privacy*: a residual with precision λ costs p_τ λ/2. If every question is a function of earlier
//! answers and the costs never exceed ρ, the transcript is ρ-zCDP (Feldman and Zrnic 2021; a proof
//! is in `docs/staged.md`). *Source*: ours.

mod plan;
mod run;
mod scouts;
mod settings;
mod stages;
mod unbiased;

pub(crate) use self::run::sets_of;
pub use self::settings::Staged;
pub(crate) use self::stages::{Answers, StageAnswers, StagedEstimates, Stages};

#[cfg(test)]
mod tests;
