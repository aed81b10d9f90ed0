//! A mechanism run on data that the user may see, with its true errors. **Not private.**

mod report;
mod task;
mod trial;

pub use self::report::{Figures, MarginalReport, RecordCounts, SimulateReport};
pub(crate) use self::trial::Setting;
pub use task::{Task, mechanism_of, simulate};
