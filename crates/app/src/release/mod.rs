//! Private releases: from records, or from measurements at no cost.
//!
//! With [`answer`](super::answer), the only command whose output about private data may be published.

mod folder;
mod forecast;
mod outputs;
mod report;
mod request;
mod run;
mod series;
mod staged;
mod staged_forecast;

pub(crate) use self::folder::Folder;
pub(crate) use self::outputs::Outputs;
pub use self::report::{Group, UnbiasedReport};
pub(crate) use self::request::check_count;
pub use self::request::{DELTA, Files, Release};
pub use self::run::ReleaseReport;
pub(crate) use self::series::CompleteRelease;
pub use self::staged::StagedReport;
pub use self::staged_forecast::{Guess, StagedForecast};
