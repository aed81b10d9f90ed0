//! Beyond the papers: objectives and participations of private training and continual counting.

mod problem_errors;

pub use problem_errors::ProblemErrors;
