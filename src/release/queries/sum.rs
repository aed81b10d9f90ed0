//! Estimates with intervals, and their sums.

/// An estimate with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Estimated {
    pub estimate: Option<f64>,
    pub standard_error: Option<f64>,
    /// The lower end; −∞ if the interval has none, absent without interval.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// How the interval is computed, or why there is none.
    pub interval: &'static str,
}

/// The interval of a sum of terms without common variance.
const OF_SUM: &str = "sum of the intervals of the terms";

/// Returns the signed sum of estimates; one term keeps its description.
pub(super) fn sum(terms: &[(f64, Estimated)]) -> Estimated {
    let all = |of: &dyn Fn(f64, &Estimated) -> Option<f64>| {
        terms.iter().try_fold(0.0, |sum, (sign, term)| Some(sum + of(*sign, term)?))
    };
    let times = |sign: f64, x: f64| if x == 0.0 { 0.0 } else { sign * x };
    let estimate = all(&|sign, term| Some(times(sign, term.estimate?)));
    let low = all(&|sign, term| Some(times(sign, if sign < 0.0 { term.high? } else { term.low? })));
    let high =
        all(&|sign, term| Some(times(sign, if sign < 0.0 { term.low? } else { term.high? })));
    let none = terms.iter().find(|(_, term)| term.low.is_none() || term.high.is_none());
    let (interval, standard_error) = match (terms, none) {
        ([(_, term)], _) => (term.interval, term.standard_error),
        (_, Some((_, term))) => (term.interval, None),
        _ => (OF_SUM, None),
    };
    Estimated { estimate, standard_error, low, high, interval }
}
