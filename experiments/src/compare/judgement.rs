//! Rules that derive a verdict from a known value and a result.

use super::deviations::{Deviation, DocumentedVerdict};
use super::rounding;
use super::verdict::Verdict;
use crate::config::Tolerance;
use crate::printed::{Printed, significant};

/// A known value with everything that the rules need.
#[derive(Clone, Debug)]
pub struct Claim<'c> {
    /// The value as printed.
    pub printed: &'c Printed,
    /// Why the compared variant was chosen, if it was chosen to give the printed values.
    pub fitted: Option<&'c str>,
    /// The decimals to which the paper rounded in turn; empty if it rounded only once.
    pub rounded: &'c [usize],
    /// The closed interval that counts as reproduced, if the file states one.
    pub band: Option<(f64, f64)>,
    /// The source of the band, if it is listed in `data/expected/bands.toml`.
    pub band_reason: Option<&'c str>,
    /// Whether this is an independently computed reference value, which must be reproduced.
    pub reference: bool,
    /// Tolerance of a value computed from times or memory.
    pub tolerance: Option<Tolerance>,
    /// Why the value deviates if it is outside the tolerance.
    pub deviation_reason: Option<&'c str>,
    /// Whether that reason is not proven.
    pub unproven: bool,
    /// Whether our value is only an upper bound.
    pub upper_bound: bool,
    /// Why the metric cannot be compared, if the config says so.
    pub not_comparable: Option<&'c str>,
    /// Whether the metric is an error: lower is better.
    pub is_error: bool,
    /// Whether a lower certified value counts as *improved*: the metric is an error, and the config
    /// lists the method as improvable.
    pub improvable: bool,
    /// The documented deviation of this value, if any.
    pub deviation: Option<&'c Deviation>,
}

/// The fields of a result row that the rules need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ours<'o> {
    /// The number.
    pub value: Option<f64>,
    /// The text of a result that is not a number; empty otherwise.
    pub text: &'o str,
    /// A certified lower bound on the value.
    pub lower_bound: Option<f64>,
    /// The certified relative gap of the value.
    pub gap: Option<f64>,
}

/// A verdict with its reason and, for a failure, the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason; empty where the verdict needs none.
    pub reason: String,
    /// The expected value of a failure.
    pub expected: String,
    /// Whether the claim's documented deviation decided the verdict.
    pub used_deviation: bool,
}

impl Judgement {
    /// Returns a judgement that is not a failure.
    pub(super) fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), expected: String::new(), used_deviation: false }
    }

    /// Returns a failure.
    pub(super) fn failed(reason: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), ..Self::new(Verdict::Failed, reason) }
    }
}

/// Compares a claim with its result row.
#[must_use]
pub fn judge(claim: &Claim<'_>, ours: &Ours<'_>) -> Judgement {
    if !claim.reference {
        if *claim.printed == Printed::NotImplemented {
            return Judgement::new(Verdict::NotComparable, "The paper does not implement it.");
        }
        if let Some(reason) = claim.not_comparable {
            return Judgement::new(Verdict::NotComparable, reason);
        }
    }
    // An exponent of growth has one tolerance, however many digits are printed.
    let is_exponent = matches!(claim.tolerance, Some(Tolerance::Absolute(_)));
    if !is_exponent && is_reproduced(claim, ours) {
        return match (claim.fitted, claim.band) {
            (Some(reason), _) => Judgement::new(Verdict::Fitted, reason),
            (None, Some((low, high))) => {
                let band = claim.band_reason.map(|reason| format!(": {reason}"));
                let (low, high) = (significant(low, 6), significant(high, 6));
                let band = format!("within the band {low} to {high}{}", band.unwrap_or_default());
                Judgement::new(Verdict::Reproduced, band)
            }
            (None, None) if !claim.rounded.is_empty() && !matches(claim.printed, ours) => {
                Judgement::new(Verdict::Fitted, rounding::in_words(claim.rounded))
            }
            (None, None) => Judgement::new(Verdict::Reproduced, ""),
        };
    }
    if claim.upper_bound {
        return judge_upper_bound(claim, ours);
    }
    if let Some(tolerance) = claim.tolerance {
        return judge_with_tolerance(claim, ours, tolerance);
    }
    let expected = expectation(claim);
    if claim.reference {
        return Judgement::failed("differs from the reference value", expected);
    }
    // A documented deviation states the exact value, so it is stricter than `improved`.
    if let Some(deviation) = claim.deviation {
        let documented = Printed::parse(&deviation.expected);
        let judgement = if matches(&documented, ours) {
            let lower = claim.is_error && ours.value < claim.printed.number();
            let verdict = match deviation.verdict {
                DocumentedVerdict::Improved => Verdict::Improved,
                DocumentedVerdict::Lower if lower => Verdict::Lower,
                DocumentedVerdict::Unexplained => Verdict::Unexplained,
                DocumentedVerdict::Lower | DocumentedVerdict::Deviates => Verdict::Deviates,
            };
            Judgement::new(verdict, &deviation.reason)
        } else {
            let expected =
                format!("{}, as listed in {}", documented.expectation(), super::deviations::LIST);
            Judgement::failed("differs from its documented deviation", expected)
        };
        return Judgement { used_deviation: true, ..judgement };
    }
    if let Some(reason) = improvement(claim, ours).filter(|_| claim.improvable) {
        return Judgement::new(Verdict::Improved, reason);
    }
    Judgement::failed("undocumented mismatch", expected)
}

/// Judges a peak memory of the process, which is conclusive only below the printed value.
fn judge_upper_bound(claim: &Claim<'_>, ours: &Ours<'_>) -> Judgement {
    let Some(value) = ours.value else {
        return Judgement::failed("no value", expectation(claim));
    };
    if claim.printed.number().is_some_and(|printed| value < printed) {
        return Judgement::new(
            Verdict::Lower,
            "Ours is an upper bound: the peak memory of the whole process during the cell.",
        );
    }
    Judgement::new(
        Verdict::NotComparable,
        "Ours is an upper bound (the peak memory of the whole process) above the printed value.",
    )
}

/// Judges a ratio of times or memory, or an exponent of their growth, by its tolerance.
fn judge_with_tolerance(claim: &Claim<'_>, ours: &Ours<'_>, tolerance: Tolerance) -> Judgement {
    let positive = matches!(tolerance, Tolerance::Factor(_));
    let usable = |value: &f64| value.is_finite() && (*value > 0.0 || !positive);
    let Some(value) = ours.value.filter(usable) else {
        let what = if positive { "no positive ratio" } else { "no exponent" };
        return Judgement::failed(what, expectation(claim));
    };
    // A printed bound such as "> 1000" has no number here; `judge` has already checked it.
    let printed = claim.printed.number();
    let (near, words) = match tolerance {
        Tolerance::Factor(factor) => {
            let near = printed
                .is_some_and(|printed| value <= printed * factor && printed <= value * factor);
            (
                near,
                format!("within a factor of {factor}, the tolerance for ratios of times or memory"),
            )
        }
        // Allows for the rounding of a difference of two decimals.
        Tolerance::Absolute(distance) => {
            let near =
                printed.is_some_and(|printed| (value - printed).abs() <= distance * (1.0 + 1e-9));
            (near, format!("within {distance}, the tolerance for exponents of growth"))
        }
    };
    match claim.deviation_reason {
        _ if near => Judgement::new(Verdict::Reproduced, words),
        Some(reason) if claim.unproven => Judgement::new(Verdict::Unexplained, reason),
        Some(reason) => Judgement::new(Verdict::Deviates, reason),
        None => Judgement::failed(
            "outside the tolerance, and `deviations` of its [[compare]] gives no reason",
            format!("{}, {words}", claim.printed),
        ),
    }
}

/// Returns the values that count as reproduced, in words.
#[must_use]
pub fn expectation(claim: &Claim<'_>) -> String {
    match claim.band {
        Some((low, high)) => format!("a value from {low} to {high}"),
        None if !claim.rounded.is_empty() => {
            format!("{}, {}", claim.printed, rounding::in_words(claim.rounded))
        }
        None => claim.printed.expectation(),
    }
}

/// Returns whether our value agrees with the printed digits, or lies in the band.
fn is_reproduced(claim: &Claim<'_>, ours: &Ours<'_>) -> bool {
    match (claim.band, ours.value) {
        (Some((low, high)), Some(value)) => low <= value && value <= high,
        (Some(_), None) => false,
        (None, Some(value)) if !claim.rounded.is_empty() => {
            let rounded = rounding::in_turn(value, claim.rounded);
            rounded.is_some() && rounded == claim.printed.number()
        }
        (None, _) => matches(claim.printed, ours),
    }
}

/// Returns whether our number or text agrees with the printed value.
fn matches(printed: &Printed, ours: &Ours<'_>) -> bool {
    ours.value.is_some_and(|value| printed.accepts(value))
        || (ours.value.is_none() && !ours.text.is_empty() && printed.accepts_text(ours.text))
}

/// Maximum relative gap of a certified optimum to its lower bound.
const MAX_GAP: f64 = 1e-6;

/// Returns the certificate of a lower value, in words; `None` without a valid certificate.
fn improvement(claim: &Claim<'_>, ours: &Ours<'_>) -> Option<String> {
    let (published, value) = (claim.printed.number()?, ours.value?);
    if value >= published {
        return None;
    }
    // A lower bound above the value is invalid.
    match (ours.lower_bound, ours.gap) {
        (Some(bound), _) if bound <= value * (1.0 + 1e-9) && value <= bound * (1.0 + MAX_GAP) => {
            Some(format!("certified: lower bound {}", significant(bound, 6)))
        }
        (None, Some(gap)) if (0.0..=MAX_GAP).contains(&gap) => {
            Some(format!("certified: relative gap {}", significant(gap, 2)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "2.23";

    fn claim(printed: &Printed) -> Claim<'_> {
        Claim {
            printed,
            fitted: None,
            rounded: &[],
            band: None,
            band_reason: None,
            reference: false,
            tolerance: None,
            deviation_reason: None,
            unproven: false,
            upper_bound: false,
            not_comparable: None,
            is_error: true,
            improvable: true,
            deviation: None,
        }
    }

    fn ours(value: f64) -> Ours<'static> {
        Ours { value: Some(value), ..Ours::default() }
    }

    fn certified(value: f64, bound: f64) -> Ours<'static> {
        Ours { lower_bound: Some(bound), ..ours(value) }
    }

    #[test]
    fn digits_decide_between_reproduced_and_failed() {
        let printed = Printed::parse(PRINTED);
        assert_eq!(judge(&claim(&printed), &ours(2.2349)).verdict, Verdict::Reproduced);
        let failure = judge(&claim(&printed), &ours(2.2351));
        assert_eq!(failure.verdict, Verdict::Failed);
        assert_eq!(failure.expected, "2.23 ± 0.0050");
        assert_eq!(judge(&claim(&printed), &ours(f64::NAN)).verdict, Verdict::Failed);
        assert_eq!(judge(&claim(&printed), &Ours::default()).verdict, Verdict::Failed);
    }

    #[test]
    fn improvement_needs_a_certificate_and_an_improvable_method() {
        let printed = Printed::parse(PRINTED);
        let base = claim(&printed);
        assert_eq!(judge(&base, &certified(1.8, 1.8 * (1.0 - 9e-7))).verdict, Verdict::Improved);
        assert_eq!(
            judge(&base, &certified(1.8, 1.8 * (1.0 - 2e-6))).verdict,
            Verdict::Failed,
            "lower, not optimal"
        );
        assert_eq!(judge(&base, &ours(1.8)).verdict, Verdict::Failed);
        assert_eq!(judge(&base, &certified(2.5, 1.0)).verdict, Verdict::Failed);
        assert_eq!(judge(&base, &certified(1.8, 1.9)).verdict, Verdict::Failed);
        let gap = Ours { gap: Some(1e-7), ..ours(1.8) };
        assert_eq!(judge(&base, &gap).verdict, Verdict::Improved);
        let baseline = Claim { improvable: false, ..base };
        assert_eq!(judge(&baseline, &gap).verdict, Verdict::Failed);
        assert_eq!(judge(&baseline, &certified(1.8, 1.8)).verdict, Verdict::Failed);
    }

    #[test]
    fn upper_bound_is_conclusive_only_below_the_printed_value() {
        let printed = Printed::parse("3.4");
        let base = Claim { upper_bound: true, is_error: false, ..claim(&printed) };
        assert_eq!(judge(&base, &ours(0.2)).verdict, Verdict::Lower);
        assert_eq!(judge(&base, &ours(3.42)).verdict, Verdict::Reproduced);
        assert_eq!(judge(&base, &ours(5.0)).verdict, Verdict::NotComparable);
        let below = Printed::parse("<1");
        assert_eq!(
            judge(&Claim { printed: &below, ..base }, &ours(0.2)).verdict,
            Verdict::Reproduced
        );
        assert_eq!(judge(&base, &Ours::default()).verdict, Verdict::Failed);
    }

    /// A documented deviation without a reason.
    fn deviation(expected: &str) -> Deviation {
        let (id, expected, reason) = ("x".into(), expected.into(), String::new());
        Deviation { id, expected, reason, verdict: DocumentedVerdict::default() }
    }

    #[test]
    fn documented_deviation_must_equal_our_value() {
        let printed = Printed::parse(PRINTED);
        let deviation = Deviation {
            id: "x".into(),
            expected: "1.819".into(),
            reason: "the paper's variant is not known".into(),
            verdict: DocumentedVerdict::Lower,
        };
        let with = Claim { deviation: Some(&deviation), ..claim(&printed) };
        let judgement = judge(&with, &ours(1.8191));
        assert_eq!((judgement.verdict, judgement.used_deviation), (Verdict::Lower, true));
        let misprint = Deviation { verdict: DocumentedVerdict::Deviates, ..deviation.clone() };
        let with_misprint = Claim { deviation: Some(&misprint), ..with.clone() };
        assert_eq!(judge(&with_misprint, &ours(1.8191)).verdict, Verdict::Deviates);
        assert_eq!(judgement.reason, deviation.reason);
        let open = Deviation { verdict: DocumentedVerdict::Unexplained, ..deviation.clone() };
        let with_open = Claim { deviation: Some(&open), ..with.clone() };
        assert_eq!(judge(&with_open, &ours(1.8191)).verdict, Verdict::Unexplained);
        assert_eq!(judge(&with_open, &ours(1.7)).verdict, Verdict::Failed);
        let better = Deviation { verdict: DocumentedVerdict::Improved, ..deviation.clone() };
        let with_better = Claim { deviation: Some(&better), ..with.clone() };
        assert_eq!(judge(&with_better, &ours(1.8191)).verdict, Verdict::Improved);
        assert_eq!(judge(&with_better, &ours(1.7)).verdict, Verdict::Failed);
        // A certificate does not excuse a value other than the documented one.
        assert_eq!(judge(&with, &certified(1.7, 1.0)).verdict, Verdict::Failed);
        let stale = judge(&with, &ours(2.23));
        assert_eq!((stale.verdict, stale.used_deviation), (Verdict::Reproduced, false));
    }

    #[test]
    fn a_fitted_reading_is_not_reproduced_as_stated() {
        let printed = Printed::parse(PRINTED);
        let fitted = Claim { fitted: Some("The variant was chosen."), ..claim(&printed) };
        let judgement = judge(&fitted, &ours(2.2349));
        assert_eq!(
            (judgement.verdict, judgement.reason.as_str()),
            (Verdict::Fitted, "The variant was chosen.")
        );
        assert_eq!(judge(&fitted, &ours(2.2351)).verdict, Verdict::Failed);
    }

    #[test]
    fn bands_replace_digits() {
        let printed = Printed::parse("1.08");
        let band = Claim { band: Some((1.073, 1.109)), ..claim(&printed) };
        assert_eq!(judge(&band, &ours(1.1)).verdict, Verdict::Reproduced);
        assert_eq!(judge(&band, &ours(1.0729)).verdict, Verdict::Failed);
        assert_eq!(judge(&band, &ours(1.1091)).verdict, Verdict::Failed);
        assert_eq!(judge(&band, &Ours::default()).verdict, Verdict::Failed);
    }

    #[test]
    fn ratios_of_times_are_within_the_factor_or_deviate_with_a_reason() {
        let printed = Printed::parse("18.5");
        let times = Claim {
            tolerance: Some(Tolerance::Factor(2.0)),
            deviation_reason: Some("The baseline is slower here."),
            is_error: false,
            improvable: false,
            ..claim(&printed)
        };
        for (value, verdict) in [
            (18.5, Verdict::Reproduced),
            (9.26, Verdict::Reproduced),
            (36.9, Verdict::Reproduced),
            (9.24, Verdict::Deviates),
            (37.1, Verdict::Deviates),
            (-18.5, Verdict::Failed),
            (f64::NAN, Verdict::Failed),
        ] {
            assert_eq!(judge(&times, &ours(value)).verdict, verdict, "{value}");
        }
        assert_eq!(judge(&times, &ours(9.24)).reason, "The baseline is slower here.");
        let unproven = Claim { unproven: true, ..times.clone() };
        assert_eq!(judge(&unproven, &ours(9.24)).verdict, Verdict::Unexplained);
        assert_eq!(judge(&unproven, &ours(9.26)).verdict, Verdict::Reproduced);
        let without_reason = Claim { deviation_reason: None, ..times.clone() };
        let failure = judge(&without_reason, &ours(9.24));
        assert_eq!(failure.verdict, Verdict::Failed);
        assert!(failure.expected.starts_with("18.5, within a factor of 2"), "{}", failure.expected);
        assert_eq!(judge(&times, &Ours::default()).verdict, Verdict::Failed);
        let bound = Printed::parse("> 1000");
        let more = Claim { printed: &bound, ..times };
        assert_eq!(judge(&more, &ours(1200.0)).verdict, Verdict::Reproduced);
        assert_eq!(judge(&more, &ours(220.0)).verdict, Verdict::Deviates);
    }

    #[test]
    fn exponents_of_growth_are_compared_by_their_difference() {
        let printed = Printed::parse("0.40");
        let growth = Claim {
            tolerance: Some(Tolerance::Absolute(0.1)),
            deviation_reason: Some("The solves are shared."),
            is_error: false,
            improvable: false,
            ..claim(&printed)
        };
        for (value, verdict) in [
            (0.40, Verdict::Reproduced),
            (0.30, Verdict::Reproduced),
            (0.50, Verdict::Reproduced),
            (0.51, Verdict::Deviates),
            (0.79, Verdict::Deviates),
            (-0.1, Verdict::Deviates),
            (f64::NAN, Verdict::Failed),
        ] {
            assert_eq!(judge(&growth, &ours(value)).verdict, verdict, "{value}");
        }
        // The rule is the same for an exponent that is printed without decimals.
        let cubic = Printed::parse("3");
        let growth = Claim { printed: &cubic, ..growth };
        assert_eq!(judge(&growth, &ours(3.09)).verdict, Verdict::Reproduced);
        assert_eq!(judge(&growth, &ours(3.28)).verdict, Verdict::Deviates);
    }

    #[test]
    fn value_rounded_twice_in_the_paper_is_rounded_twice() {
        let printed = Printed::parse("171.30");
        let twice = Claim { rounded: &[3, 2], ..claim(&printed) };
        let judgement = judge(&twice, &ours(171.2948));
        assert_eq!(
            (judgement.verdict, judgement.reason.as_str()),
            (Verdict::Fitted, "rounded to 3, then to 2 decimals")
        );
        assert_eq!(judge(&twice, &ours(171.2952)), Judgement::new(Verdict::Reproduced, ""));
        let failure = judge(&twice, &ours(171.2944));
        assert_eq!(failure.verdict, Verdict::Failed);
        assert_eq!(failure.expected, "171.30, rounded to 3, then to 2 decimals");
        // Rounded once, 171.2948 gives 171.29.
        assert_eq!(
            judge(&Claim { rounded: &[], ..twice.clone() }, &ours(171.2948)).verdict,
            Verdict::Failed
        );
        let below = Printed::parse("171.29");
        assert_eq!(
            judge(&Claim { printed: &below, ..twice }, &ours(171.2948)).verdict,
            Verdict::Failed
        );
    }

    #[test]
    fn incomparable_values_are_never_reproduced() {
        let printed = Printed::parse("5079");
        let timing = Claim { not_comparable: Some("timing on other hardware"), ..claim(&printed) };
        let judgement = judge(&timing, &ours(5079.0));
        assert_eq!(judgement.verdict, Verdict::NotComparable);
        assert_eq!(judgement.reason, "timing on other hardware");
        let absent = Printed::NotImplemented;
        assert_eq!(judge(&claim(&absent), &ours(1.0)).reason, "The paper does not implement it.");
    }

    #[test]
    fn references_must_be_reproduced() {
        let printed = Printed::parse("1.8195");
        let deviation = deviation("1.7");
        let reference = Claim {
            reference: true,
            not_comparable: Some("no excuse"),
            deviation: Some(&deviation),
            ..claim(&printed)
        };
        assert_eq!(judge(&reference, &ours(1.81951)).verdict, Verdict::Reproduced);
        assert_eq!(judge(&reference, &certified(1.7, 1.0)).verdict, Verdict::Failed);
    }

    #[test]
    fn formulas_are_compared_as_text() {
        let printed = Printed::parse("sqrt(log n)");
        let formula = |text| Ours { text, ..Ours::default() };
        assert_eq!(judge(&claim(&printed), &formula("sqrt(log n)")).verdict, Verdict::Reproduced);
        assert_eq!(judge(&claim(&printed), &formula("2 ln n")).verdict, Verdict::Failed);
    }
}
