//! Answers to queries in words, each with a 95 % interval or the reason why it has none.
//!
//! | query | plan | staged |
//! |---|---|---|
//! | counts, sums, differences | exact variance | certified bounds of all cells and their total |
//! | means, shares | Fieller, from the exact covariance | the ratios that the bounds allow |
//! | medians, quantiles | Woodruff: the inverted distribution function | the same, with the bounds |
//! | other sums of terms | sum of the intervals of the terms | the same |
//!
//! In a sum of k terms that have no common variance, every interval misses with probability at most
//! 5 %/k, so that their sum misses with at most 5 %.
//!
//! Everything is computed from the text of a query and the published numbers of a release: the
//! folder `measurements`. No record and no private count is read, so answers cost no privacy,
//! however many are asked.

mod answer;
mod certified;
mod fieller;
mod of_plan;
mod of_staged;
mod sum;
mod table;
mod woodruff;

pub use answer::{QueryAnswer, QueryAnswers};
pub use of_plan::of_plan;
pub use of_staged::of_staged;
pub use table::write;
