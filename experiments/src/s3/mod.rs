//! The experiments of S3 (He et al., Divide and Conquer: QuerySmasher).

mod dataset_plans;
mod geography;
mod level_errors;
mod plan_claims;
mod plan_errors;
mod plan_rows;
mod plan_scale;
mod planners;
pub mod published;
mod reference_measures;
mod top_down;
mod workloads;

pub use dataset_plans::DatasetPlans;
pub use level_errors::LevelErrors;
pub use plan_claims::PlanClaims;
pub use plan_errors::PlanErrors;
pub use plan_scale::PlanScale;
pub use reference_measures::ReferenceMeasures;
