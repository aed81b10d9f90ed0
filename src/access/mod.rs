//! The only interface to private data.
//!
//! **Where can privacy be lost?** Only in this module. No types but [`PrivateTable`],
//! [`ReleaseTable`] and [`OpenValuesQuestion`] take private counts and return values computed from
//! them. A mechanism holds a [`PaidAccess`] and sees no record. It asks a [`Question`] or a
//! [`CandidateSelection`], each with
//! a privacy cost. The table pays the cost from its accountant *before* it reads a count, and the
//! noise is drawn in one function of [`privacy`](crate::privacy). Planners, estimators and the
//! loops of adaptive mechanisms use only the schema, the budget and answers that were paid for: two
//! runs on neighbouring tables that get the same answers do not differ in anything.
//!
//! - [`PrivateTable`] is for experiments. Its noise is seeded
//!   ([`SeededNoise`](crate::privacy::SeededNoise)) and **not for releases**.
//! - [`ReleaseTable`] is for releases. It answers only an [`IntegerQuestion`] or a
//!   [`DistanceQuestion`], computes the cost from the integers of the question, pays first, and
//!   adds noise of [`ReleaseNoise`], a type that takes no random number generator from its caller.
//!   It neither selects nor generates questions. Later questions may depend on earlier answers: the
//!   sum of all costs never exceeds the total.
//! - An [`OpenValuesQuestion`] is for releases too. Of the values of one column, which are not
//!   public, it shows those whose noisy count reaches a threshold. It costs ρ and δ′, computes both
//!   from its integers, and is refused unless both were reserved.

mod count_source;
mod counts;
mod distance;
mod open_values;
mod private_table;
mod question;
mod release_noise;
mod release_table;
mod selection;

pub use count_source::{CountSource, LevelCounts};
pub use distance::DistanceQuestion;
pub use open_values::OpenValuesQuestion;
pub use private_table::PrivateTable;
pub use question::{PaidAccess, Question};
pub use release_noise::ReleaseNoise;
pub use release_table::{IntegerQuestion, ReleaseTable};
pub use selection::{Candidate, CandidateSelection, Candidates};

#[cfg(test)]
mod tests;
