//! Tests of error.

use super::*;

#[test]
fn positions_are_counted_from_one() {
    let text = "a = 1\nbé = x\n";
    assert_eq!(Place::of_byte(text, 0), Place { line: 1, column: 1 });
    assert_eq!(Place::of_byte(text, text.find('x').unwrap()), Place { line: 2, column: 6 });
    assert_eq!(location(Some(Place { line: 7, column: 0 })), ", line 7");
}

#[test]
fn sizes_have_readable_units() {
    for (amount, unit, text) in [
        (27_000.0, "cells", "27000 cells"),
        (1.8e19, "cells", "1.8000e19 cells"),
        (51.7e9, "bytes", "48.1 GiB"),
        (9.6e13, "bytes", "87.3 TiB"),
    ] {
        assert_eq!(Size(amount, unit).to_string(), text);
    }
}

#[test]
fn only_similar_names_are_suggested() {
    let known = ["seed", "title", "kind"];
    assert_eq!(nearest("sede", &known), Some("seed"));
    assert_eq!(nearest("completely-else", &known), None);
    assert_eq!(nearest("a", &known), None);
}
