//! What is done with the values of a column.

use crate::schema::Value;

/// What is done with every value of a column: a function, or a type whose method is compiled into
/// the loop of every type of column.
pub(in crate::data) trait EachValue {
    /// Takes the value of the next record.
    fn take(&mut self, value: Value<'_>);
}

impl<F: FnMut(Value<'_>)> EachValue for F {
    #[inline(always)]
    fn take(&mut self, value: Value<'_>) {
        self(value);
    }
}
