//! The report of a release: one HTML page without scripts and external resources.
//!
//! It is made of the statement and of published estimates, so it costs no privacy. A [`Report`] is
//! plain data, and [`Report::to_html`] writes the page.
//!
//! | file | purpose |
//! |---|---|
//! | `contents` | what a report contains |
//! | `fact`, `section` | names with values, and charts with a heading |
//! | `marginals`, `published_marginal` | single attributes and the most dependent pairs |
//! | `chart`, `svg` | bars of one marginal, and their drawing |
//! | `html` | the page |

mod chart;
mod contents;
mod fact;
mod html;
mod marginals;
mod published_marginal;
mod section;
mod svg;

pub use self::chart::{Bar, Chart};
pub use self::contents::Report;
pub use self::fact::Fact;
pub use self::marginals::{candidates, sections};
pub use self::published_marginal::PublishedMarginal;
pub use self::section::Section;
