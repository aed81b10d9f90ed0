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
//! | `published` | published marginals |
//! | `chart`, `svg` | the bars of a marginal, and their drawing |
//! | `heat_map`, `heat_map_svg` | the same for pairs of attributes |
//! | `html` | the page |

mod chart;
mod contents;
mod fact;
mod heat_map;
mod heat_map_svg;
mod html;
mod marginals;
mod published;
mod svg;

pub use self::chart::{Bar, Chart};
pub use self::contents::Report;
pub use self::fact::Fact;
pub use self::heat_map::HeatMap;
pub use self::marginals::{Section, candidates, sections};
pub use self::published::{Intervals, PublishedMarginal};
