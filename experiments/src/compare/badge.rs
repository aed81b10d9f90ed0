//! Verdicts in their colours.

use maud::{Markup, html};

use super::verdict::Verdict;

/// Returns the name of a verdict in its colour.
pub(super) fn badge(verdict: Verdict) -> Markup {
    html! { span class={ "verdict " (class(verdict)) } { (verdict.name()) } }
}

/// Returns the style class of a verdict.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Improved => "improved",
        Verdict::Lower => "lower",
        Verdict::Deviates => "deviates",
        Verdict::NotComparable => "not-comparable",
        Verdict::NotRun => "not-run",
        Verdict::Failed => "failed",
    }
}
