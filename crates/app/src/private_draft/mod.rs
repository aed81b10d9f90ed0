//! Private drafts of schemas: edges of bins and values of texts from noisy counts, charged to a
//! ledger.
//!
//! Two releases are made per column of numbers, each with its reservation, statement and
//! measurements. The first counts the cells of sign × power of two and gives the range and its fine
//! cells. The second counts up to the ends of the fine cells and gives edges at quantiles. It
//! depends on the records through the published numbers of the first only, so the costs add up. One
//! release is made per column of texts: the values that have a large enough noisy count. It costs δ′
//! as well.
//!
//! | file | purpose |
//! |---|---|
//! | `draft` | the options, and their checks before anything is charged |
//! | `bins` | the two releases of a column of numbers |
//! | `open_column` | the release of a column of texts |
//! | `report` | what was drafted, and its cost |

mod bins;
mod draft;
mod open_column;
mod report;

pub use draft::{BINS, PrivateDraft, rho_of};
pub use report::{DraftedColumn, PrivateDraftReport};
