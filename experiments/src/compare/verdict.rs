//! The rules that turn a known value and a result into a verdict.

use super::deviations::Deviation;
use super::rounding;
use crate::config::Tolerance;
use crate::printed::{Printed, significant};

/// What a known value and ours have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Equal up to the printed digits, rounded as the paper did, or within the stated band.
    Reproduced,
    /// A lower error than published, with a certificate.
    Improved,
    /// A lower error than published, of a heuristic that is not certified optimal, for a documented
    /// reason; or less memory.
    Lower,
    /// Not what was published, for a documented reason, and exactly what that documentation says;
    /// of times and memory, which differ from machine to machine, the reason alone is documented.
    Deviates,
    /// Published under conditions that cannot be repeated, or not published at all.
    NotComparable,
    /// Outside the slice that the profile `quick` runs.
    NotRun,
    /// An unexplained mismatch or a missing result.
    Failed,
}

impl Verdict {
    /// All verdicts, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Reproduced,
        Self::Improved,
        Self::Lower,
        Self::Deviates,
        Self::NotComparable,
        Self::NotRun,
        Self::Failed,
    ];

    /// The word in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Improved => "improved",
            Self::Lower => "lower",
            Self::Deviates => "deviates",
            Self::NotComparable => "not comparable",
            Self::NotRun => "not run",
            Self::Failed => "FAILED",
        }
    }

    /// Where a report shows it: what differs from the paper first, what is as it was published
    /// last.
    #[must_use]
    pub fn interest(self) -> u8 {
        match self {
            Self::Failed => 0,
            Self::Deviates => 1,
            Self::Lower => 2,
            Self::Improved => 3,
            Self::NotComparable => 4,
            Self::Reproduced => 5,
            Self::NotRun => 6,
        }
    }

    /// What the word means.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Reproduced => "equal to all printed digits, or within the stated band",
            Self::Improved => {
                "lower error than published, certified optimal: at most 1e-6 above a lower bound"
            }
            Self::Lower => {
                "lower error than published, for the documented reason, not certified optimal; or less memory"
            }
            Self::Deviates => {
                "differs for the documented reason, by exactly the documented amount (ratios of times or memory: by more than the \
                 stated tolerance)"
            }
            Self::NotComparable => {
                "seconds on other hardware, a stand-in of the table, or not in the paper"
            }
            Self::NotRun => "outside the slice that this profile runs",
            Self::Failed => "unexplained mismatch or missing result",
        }
    }
}

/// A known value with everything that the rules look at.
#[derive(Clone, Debug)]
pub struct Claim<'c> {
    /// The value as printed.
    pub printed: &'c Printed,
    /// The decimals to which the paper rounded in turn; empty if it rounded once.
    pub rounded: &'c [usize],
    /// The closed interval that counts as reproduced, if the file states one.
    pub band: Option<(f64, f64)>,
    /// Whether this is an independently computed value, which must be reproduced.
    pub reference: bool,
    /// How far from the printed value what is made of times or memory counts as reproduced.
    pub tolerance: Option<Tolerance>,
    /// Why it deviates where it is farther.
    pub beyond_tolerance: Option<&'c str>,
    /// Whether ours is an upper bound only.
    pub upper_bound: bool,
    /// Why the metric cannot be compared, if the config says so.
    pub not_comparable: Option<&'c str>,
    /// Whether the metric is an error, of which less is better.
    pub is_error: bool,
    /// Whether a lower value with a certificate is as good as the published one: the metric is an
    /// error, and the method may improve.
    pub improvable: bool,
    /// The documented deviation of this value, if there is one.
    pub deviation: Option<&'c Deviation>,
}

/// The fields of a result row that the rules look at.
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
    /// Whether it comes from a stand-in and the known value does not.
    pub stand_in: bool,
}

/// A verdict with its reason; of a failure, what was expected and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why; empty where the verdict says it all.
    pub reason: String,
    /// What a failure expected.
    pub expected: String,
    /// Whether the claim's deviation entry was the reason.
    pub used_deviation: bool,
}

impl Judgement {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), expected: String::new(), used_deviation: false }
    }

    fn failed(reason: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), ..Self::new(Verdict::Failed, reason) }
    }
}

/// Compares a claim with the one result row that belongs to it.
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
    if ours.stand_in {
        // A deviation documented for the real data can neither hold nor fail here.
        let used_deviation = claim.deviation.is_some();
        return Judgement { used_deviation, ..Judgement::new(Verdict::NotComparable, STAND_IN) };
    }
    if is_reproduced(claim, ours) {
        let reason = match claim.band {
            Some((low, high)) => {
                format!("in the band {} to {}", significant(low, 6), significant(high, 6))
            }
            None if !claim.rounded.is_empty() && !matches(claim.printed, ours) => {
                rounding::in_words(claim.rounded)
            }
            None => String::new(),
        };
        return Judgement::new(Verdict::Reproduced, reason);
    }
    if claim.upper_bound {
        return of_bound(claim, ours);
    }
    if let Some(tolerance) = claim.tolerance {
        return of_times(claim, ours, tolerance);
    }
    let expected = expectation(claim);
    if claim.reference {
        return Judgement::failed("differs from the reference value", expected);
    }
    // A documented deviation says exactly what we get, so it is stricter than `improved` and goes
    // first.
    if let Some(deviation) = claim.deviation {
        let documented = Printed::parse(&deviation.expected);
        let judgement = if matches(&documented, ours) {
            let lower = deviation.lower && claim.is_error && ours.value < claim.printed.number();
            Judgement::new(
                if lower { Verdict::Lower } else { Verdict::Deviates },
                &deviation.reason,
            )
        } else {
            let expected =
                format!("{}, as {} says", documented.expectation(), super::deviations::LIST);
            Judgement::failed("differs from its documented deviation", expected)
        };
        return Judgement { used_deviation: true, ..judgement };
    }
    if let Some(reason) = improvement(claim, ours).filter(|_| claim.improvable) {
        return Judgement::new(Verdict::Improved, reason);
    }
    Judgement::failed("unexplained mismatch", expected)
}

/// The largest memory of our process, of which only a lower one than printed says something.
fn of_bound(claim: &Claim<'_>, ours: &Ours<'_>) -> Judgement {
    let Some(value) = ours.value else {
        return Judgement::failed("no value", expectation(claim));
    };
    if claim.printed.number().is_some_and(|printed| value < printed) {
        return Judgement::new(
            Verdict::Lower,
            "Ours is an upper bound, the largest memory of the process during the cell.",
        );
    }
    Judgement::new(
        Verdict::NotComparable,
        "Ours is an upper bound, the largest memory of the whole process, and above the printed value.",
    )
}

/// A ratio of times or of memory, or an exponent of their growth, that is not the printed one: near
/// it, or not for a documented reason.
fn of_times(claim: &Claim<'_>, ours: &Ours<'_>, tolerance: Tolerance) -> Judgement {
    let positive = matches!(tolerance, Tolerance::Factor(_));
    let usable = |value: &f64| value.is_finite() && (*value > 0.0 || !positive);
    let Some(value) = ours.value.filter(usable) else {
        let what = if positive { "no positive ratio" } else { "no exponent" };
        return Judgement::failed(what, expectation(claim));
    };
    // A printed bound such as "> 1000" is met or not: it was looked at before.
    let printed = claim.printed.number();
    let (near, words) = match tolerance {
        Tolerance::Factor(factor) => {
            let near = printed
                .is_some_and(|printed| value <= printed * factor && printed <= value * factor);
            (
                near,
                format!(
                    "within a factor of {factor}, as ratios of times and of memory are compared"
                ),
            )
        }
        // The last bit of a difference of two decimals is no difference.
        Tolerance::Absolute(distance) => {
            let near =
                printed.is_some_and(|printed| (value - printed).abs() <= distance * (1.0 + 1e-9));
            (near, format!("within {distance}, as exponents of growth are compared"))
        }
    };
    match claim.beyond_tolerance {
        _ if near => Judgement::new(Verdict::Reproduced, words),
        Some(reason) => Judgement::new(Verdict::Deviates, reason),
        None => Judgement::failed(
            "outside the tolerance, without a reason in `deviations` of its [[compare]]",
            format!("{}, {words}", claim.printed),
        ),
    }
}

/// What a value must be to count as reproduced, in words.
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

fn matches(printed: &Printed, ours: &Ours<'_>) -> bool {
    ours.value.is_some_and(|value| printed.accepts(value))
        || (ours.value.is_none() && !ours.text.is_empty() && printed.accepts_text(ours.text))
}

/// Why nothing is said of a table that is not on this machine.
const STAND_IN: &str = "Ours was computed on a stand-in of the table, which cannot be redistributed or is not on this machine.";

/// How far above a lower bound for the same quantity a value may be to count as optimal.
const CERTIFIED: f64 = 1e-6;

fn improvement(claim: &Claim<'_>, ours: &Ours<'_>) -> Option<String> {
    let (published, value) = (claim.printed.number()?, ours.value?);
    if value >= published {
        return None;
    }
    // A certificate that contradicts the value certifies nothing.
    match (ours.lower_bound, ours.gap) {
        (Some(bound), _) if bound <= value * (1.0 + 1e-9) && value <= bound * (1.0 + CERTIFIED) => {
            Some(format!("certified: at least {}", significant(bound, 6)))
        }
        (None, Some(gap)) if (0.0..=CERTIFIED).contains(&gap) => {
            Some(format!("certified: within {} of the optimum", significant(gap, 2)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
