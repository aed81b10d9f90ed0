//! The report of a release: one HTML page without scripts and external resources.
//!
//! It is made of the statement and of published estimates, so it costs no privacy. A [`Report`] is
//! plain data, and [`Report::to_html`] writes the page.
//!
//! | file | purpose |
//! |---|---|
//! | `contents` | what a report contains |
//! | `fact` | names with values |
//! | `marginals` | sections of charts: single attributes and the most dependent pairs |
//! | `chart`, `svg` | published marginals, their bars, and their drawing |
//! | `html` | the page |

mod chart;
mod contents;
mod fact;
mod html;
mod marginals;
mod svg;

pub use self::chart::{Bar, Chart, PublishedMarginal};
pub use self::contents::Report;
pub use self::fact::Fact;
pub use self::marginals::{Section, candidates, sections};
