//! The parts of an error message.

use std::fmt::{self, Display};

/// Expected, found and remedy, one per line.
pub(super) struct Parts<'p>(pub(super) &'p str, pub(super) &'p str, pub(super) &'p str);

impl Display for Parts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  expected: {}\n  found:    {}\n  remedy:   {}", self.0, self.1, self.2)
    }
}
