//! Beyond the papers: objectives and participations of private training and continual counting.

mod budget_errors;
mod logistic;
mod prefix_constants;
mod private_training;
mod problem_errors;
mod step_errors;

pub use budget_errors::BudgetErrors;
pub use prefix_constants::PrefixConstants;
pub use private_training::PrivateTraining;
pub use problem_errors::ProblemErrors;
pub use step_errors::StepErrors;
