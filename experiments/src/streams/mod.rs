//! Beyond the papers: objectives and participations of private training and continual counting.

mod budget_errors;
mod problem_errors;
mod step_errors;

pub use budget_errors::BudgetErrors;
pub use problem_errors::ProblemErrors;
pub use step_errors::StepErrors;
