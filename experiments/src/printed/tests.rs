//! Tests of printed numbers.

use super::*;
use proptest::prelude::*;

#[test]
fn half_unit_of_the_last_digit() {
    for (text, value, half) in [
        ("5.32e6", 5.32e6, 0.005e6),
        ("33", 33.0, 0.5),
        ("1.26", 1.26, 0.005),
        ("2.0004", 2.0004, 0.00005),
        ("3,694.7", 3694.7, 0.05),
        ("1,234,567", 1_234_567.0, 0.5),
        ("5e-5", 5e-5, 0.5e-5),
        (".630", 0.63, 0.0005),
        ("-1.50", -1.5, 0.005),
        ("\u{2212}2", -2.0, 0.5),
        ("+4E+2", 400.0, 50.0),
    ] {
        let digits = Digits::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(digits.value, value, "{text}");
        assert!((digits.half_unit / half - 1.0).abs() < 1e-14, "{text}: {}", digits.half_unit);
    }
}

#[test]
fn numbers_are_accepted_if_they_round_to_the_printed_digits() {
    let published = Printed::parse("5.32e6");
    assert!(published.accepts(5_315_000.0) && published.accepts(5_325_000.0));
    assert!(!published.accepts(5_314_999.0) && !published.accepts(5_325_001.0));
    assert!(!published.accepts(f64::NAN));
    let published = Printed::parse("1.26");
    assert!(published.accepts(1.264125) && published.accepts(1.265) && !published.accepts(1.26501));
}

#[test]
fn bounds_marks_and_text() {
    assert!(Printed::parse("<0.1").accepts(0.05) && !Printed::parse("<0.1").accepts(0.1));
    assert!(Printed::parse("> 10").accepts(11.0) && !Printed::parse("> 10").accepts(9.0));
    let at_most = Printed::parse("<= 1.00");
    assert!(at_most.accepts(0.2) && at_most.accepts(1.0049) && !at_most.accepts(1.0051));
    let at_least = Printed::parse(">=2");
    assert!(at_least.accepts(9.0) && at_least.accepts(1.51) && !at_least.accepts(1.49));
    assert_eq!([at_most.to_string(), at_least.to_string()], ["<= 1.00", ">= 2"]);
    let range = Printed::parse("1.15 to 1.37");
    assert!([1.146, 1.2, 1.374].iter().all(|&value| range.accepts(value)));
    assert!(![1.144, 1.376].iter().any(|&value| range.accepts(value)));
    assert_eq!(Printed::parse(" NI "), Printed::NotImplemented);
    assert!(
        ["<1", ">1", "<=1", ">=1", "1 to 2"]
            .iter()
            .all(|text| Printed::parse(text).is_inequality())
    );
    assert!(["1", "NI", "n"].iter().all(|text| !Printed::parse(text).is_inequality()));
    assert!(Printed::parse("sqrt(log n)").accepts_text("sqrt(log  n)"));
    assert!(!Printed::parse("sqrt(log n)").accepts_text("2 ln n"));
    assert!(!Printed::parse("33").accepts_text("33"));
    for text in [
        "",
        "1,23",
        "12,3456",
        "1234,567",
        ",123",
        "1.2.3",
        "0x10",
        "inf",
        "NaN",
        "1e",
        "e5",
        ".",
        "-",
        "1 2",
        "1e999999999999",
    ] {
        assert!(matches!(Printed::parse(text), Printed::Text(_)), "{text:?}");
    }
}

#[test]
fn formats_in_the_published_style_with_two_more_digits() {
    for (published, ours, text) in [
        ("5.32e6", 6_400_693.77, "6.4007e6"),
        ("1.26", 1.264_125_3, "1.2641"),
        ("33", 33.0, "33"),
        ("33", 33.25, "33.25"),
        ("2.23", 1e-9, "1.00e-9"),
        ("NI", 23.456_789, "23.4568"),
        ("sqrt(log n)", 1.0 / 3.0, "0.333333"),
    ] {
        assert_eq!(Printed::parse(published).format_like(ours), text, "{published} {ours}");
    }
    assert_eq!(significant(0.005, 2), "0.0050");
    assert_eq!(significant(9.999, 2), "10");
}

proptest! {
    #[test]
    fn a_value_accepts_itself_and_its_rounding_interval(
        value in -1e6f64..1e6, decimals in 0usize..7, offset in -0.499f64..0.499
    ) {
        let text = format!("{value:.decimals$}");
        let printed = Printed::parse(&text);
        let unit = 10f64.powi(-(decimals as i32));
        let centre: f64 = text.parse().unwrap();
        prop_assert!(printed.accepts(centre));
        prop_assert!(printed.accepts(value));
        prop_assert!(printed.accepts(centre + offset * unit));
        prop_assert!(!printed.accepts(centre + 0.51 * unit));
        prop_assert!(!printed.accepts(centre - 0.51 * unit));
    }

    #[test]
    fn scientific_and_plain_spellings_agree(mantissa in 100u32..999, exponent in 0i32..9) {
        let text = format!("{}.{:02}e{exponent}", mantissa / 100, mantissa % 100);
        let scientific = Printed::parse(&text);
        let value = f64::from(mantissa) / 100.0 * 10f64.powi(exponent);
        let unit = 10f64.powi(exponent - 2);
        prop_assert!(scientific.accepts(value + 0.49 * unit));
        prop_assert!(!scientific.accepts(value + 0.51 * unit));
        prop_assert_eq!(Printed::parse(&scientific.to_string()), scientific);
    }

    #[test]
    fn never_panics_and_keeps_text(text in "\\PC{0,20}") {
        if let Printed::Text(kept) = Printed::parse(&text) {
            prop_assert_eq!(kept, text.trim());
        }
    }
}

#[test]
fn costs_have_readable_units() {
    assert_eq!(duration(12.4), "12 s");
    assert_eq!(duration(600.0), "10 min");
    assert_eq!(duration(9000.0), "2.5 h");
    assert_eq!(memory(400.0), "400 MB");
    assert_eq!(memory(2500.0), "2.5 GB");
}
