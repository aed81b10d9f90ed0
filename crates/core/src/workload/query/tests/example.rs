//! A schema for the tests.

use crate::schema::Schema;

/// A schema with every kind of coding.
pub(super) fn schema() -> Schema {
    let text = r#"
        [[attribute]]
        name = "age"
        kind = "integer"
        bins = { low = 0, high = 99, count = 4 }
        missing = "unknown"
        [[attribute]]
        name = "sex"
        kind = "categorical"
        values = ["F", "M"]
        [[attribute]]
        name = "employed"
        kind = "categorical"
        values = [false, true]
        missing = "?"
        [[attribute]]
        name = "income"
        kind = "numeric"
        edges = [0, 10, 20.5, 50]
        above = true
        [[attribute]]
        name = "place of work"
        kind = "categorical"
        values = ["a", "b", "c", "New York"]
        levels = { region = ["N", "N", "S", "S"] }
        [[attribute]]
        name = "children"
        kind = "numeric"
        values = [0, 1, 2]
        [[attribute]]
        name = "since"
        kind = "numeric"
        values = [2020-01-01, 2021-01-01]
    "#;
    Schema::from_toml(text, "S.toml").unwrap()
}
