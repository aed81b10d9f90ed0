//! Rules that derive a verdict from a known value and a result.

use super::deviations::{Deviation, DocumentedVerdict};
use super::rounding;
use crate::config::Tolerance;
use crate::printed::{Printed, significant};

/// The relation of our value to the known value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Equal to all printed digits, or within the band or tolerance.
    Reproduced,
    /// Reproduced under a reading of the paper that was chosen because it gives the printed value.
    Fitted,
    /// A lower error than published, certified optimal.
    Improved,
    /// A lower error than published for a documented reason, not certified optimal; or less memory.
    Lower,
    /// Different from the published value for a documented reason, and equal to the documented
    /// value. For times and memory, which depend on the machine, only the reason is documented.
    Deviates,
    /// Different from the published value and equal to the documented value; the cause is not
    /// proven.
    Unexplained,
    /// Published under conditions that cannot be repeated, or not published.
    NotComparable,
    /// Not in the grid of the profile `quick`.
    NotRun,
    /// An undocumented mismatch or a missing result.
    Failed,
}

impl Verdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Reproduced,
        Self::Fitted,
        Self::Improved,
        Self::Lower,
        Self::Deviates,
        Self::Unexplained,
        Self::NotComparable,
        Self::NotRun,
        Self::Failed,
    ];

    /// Returns the word used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Fitted => "reproduced (reading fitted)",
            Self::Improved => "improved",
            Self::Lower => "lower",
            Self::Deviates => "deviates",
            Self::Unexplained => "unexplained",
            Self::NotComparable => "not comparable",
            Self::NotRun => "not run",
            Self::Failed => "FAILED",
        }
    }

    /// Returns the rank in reports: differences from the paper first, reproduced values last.
    #[must_use]
    pub fn interest(self) -> u8 {
        match self {
            Self::Failed => 0,
            Self::Unexplained => 1,
            Self::Deviates => 2,
            Self::Lower => 3,
            Self::Improved => 4,
            Self::NotComparable => 5,
            Self::Fitted => 6,
            Self::Reproduced => 7,
            Self::NotRun => 8,
        }
    }

    /// Returns the meaning, for the legend of reports.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Reproduced => {
                "equal to all printed digits, or within the stated band or tolerance"
            }
            Self::Fitted => {
                "as reproduced, with a variant, a parameter or a rounding that the paper does not \
                 state and that was chosen because it gives the printed values"
            }
            Self::Improved => {
                "lower error than published, certified optimal (relative gap at most 1e-6)"
            }
            Self::Lower => {
                "lower error than published for a documented reason, not certified optimal; \
                 or less memory"
            }
            Self::Deviates => {
                "different for a documented reason, and equal to the documented value (ratios \
                 of times or memory: outside the stated tolerance)"
            }
            Self::Unexplained => {
                "different, and equal to the documented value; the cause is not proven"
            }
            Self::NotComparable => {
                "times on other hardware, data that are not on this machine, or no value in the \
                 paper"
            }
            Self::NotRun => "not in the grid of this profile",
            Self::Failed => "undocumented mismatch or missing result",
        }
    }
}

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
mod tests;
