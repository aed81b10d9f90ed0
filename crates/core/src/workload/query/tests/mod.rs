//! Tests of the grammar, and of queries over schemas.

mod example;
mod grammar;
mod groups;
mod resolution;

use super::*;
use crate::schema::Schema;
use example::schema;
