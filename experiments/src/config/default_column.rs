//! The default of keys that name a column of values.

use crate::columns;

/// Returns the default of keys that name a column of values.
pub(super) fn value_column() -> String {
    columns::VALUE.to_owned()
}
