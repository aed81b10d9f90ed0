//! Axes: positions of values, ticks and their labels.

/// A labelled tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Value.
    pub at: f64,
    /// Label.
    pub label: String,
}

/// A numeric axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    log: bool,
    /// Value at the lower end.
    pub low: f64,
    /// Value at the upper end.
    pub high: f64,
    /// Labelled ticks, ascending.
    pub ticks: Vec<Tick>,
    /// Values of the minor grid.
    pub minor: Vec<f64>,
}

impl Axis {
    /// Returns a linear axis with about `count` ticks, at multiples of 1, 2 or 5 times a power of
    /// ten.
    #[must_use]
    pub fn linear(low: f64, high: f64, count: usize) -> Self {
        let step = nice_step((high - low) / count.max(1) as f64);
        let large = low.abs().max(high.abs()) >= 1e6;
        let label =
            |at: f64| if large && at != 0.0 { power_of_ten(at) } else { rounded_to(step, at) };
        let ticks = multiples(step, low, high).map(|at| Tick { at, label: label(at) }).collect();
        Self { log: false, low, high, ticks, minor: Vec::new() }
    }

    /// Returns a logarithmic axis from `low` to `high`, both positive.
    ///
    /// Powers of ten are labelled, and over less than three decades also 2 and 5 times a power of
    /// ten. The minor grid is at the integer multiples of the powers of ten.
    #[must_use]
    pub fn log(low: f64, high: f64) -> Self {
        let span = (high / low).log10();
        let inside = |at: &f64| *at >= low * (1.0 - 1e-9) && *at <= high * (1.0 + 1e-9);
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let multiples_of_decades = |multiples: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|decade| multiples.iter().map(move |multiple| decimal(*multiple, decade)))
                .filter(inside)
                .collect()
        };
        let stride = ((last - first) / 8 + 1).max(1);
        let mut labelled = if span < MAX_FINE_DECADES {
            multiples_of_decades(&[1.0, 2.0, 5.0])
        } else {
            (first..=last)
                .filter(|decade| decade % stride == 0)
                .map(|decade| decimal(1.0, decade))
                .filter(inside)
                .collect()
        };
        let mut step = None;
        if labelled.len() < 2 {
            let narrow = nice_step((high - low) / 5.0);
            labelled = multiples(narrow, low, high).collect();
            step = Some(narrow);
        }
        let plain = labelled.iter().all(|at| (1e-3..1e5).contains(at));
        let label = |at| match step {
            _ if !plain => power_of_ten(at),
            Some(step) => rounded_to(step, at),
            None => plain_number(at),
        };
        let ticks = labelled.into_iter().map(|at| Tick { at, label: label(at) }).collect();
        let minor = if span > 8.0 {
            Vec::new()
        } else {
            multiples_of_decades(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
        };
        Self { log: true, low, high, ticks, minor }
    }

    /// Extends a logarithmic range, both ends positive, to the nearest ticks.
    #[must_use]
    pub fn around(low: f64, high: f64) -> (f64, f64) {
        // The nearest ticks of a narrow range are too far away.
        if (high / low).log10() < MAX_NARROW_DECADES {
            return (low, high);
        }
        let multiples: &[f64] =
            if (high / low).log10() < MAX_FINE_DECADES { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let ticks = |decade: i32| multiples.iter().map(move |multiple| decimal(*multiple, decade));
        let (first, last) = (low.log10().floor() as i32 - 1, high.log10().ceil() as i32 + 1);
        let below = (first..=last).flat_map(ticks).rfind(|at| *at <= low * (1.0 + 1e-9));
        let above = (first..=last).flat_map(ticks).find(|at| *at >= high * (1.0 - 1e-9));
        (below.unwrap_or(low), above.unwrap_or(high))
    }

    /// Returns an axis with one position per label, from the upper end down: label `i` is at the
    /// value `i`.
    #[must_use]
    pub fn rows(labels: &[String]) -> Self {
        let ticks = labels
            .iter()
            .enumerate()
            .map(|(row, label)| Tick { at: row as f64, label: label.clone() })
            .collect();
        Self { log: false, low: labels.len() as f64 - 0.5, high: -0.5, ticks, minor: Vec::new() }
    }

    /// Returns a logarithmic axis with ticks at the powers of two.
    #[must_use]
    pub fn powers_of_two(low: f64, high: f64) -> Self {
        let ticks = (low.log2().ceil() as i32..=high.log2().floor() as i32)
            .map(|power| 2f64.powi(power))
            .map(|at| Tick { at, label: plain_number(at) })
            .collect();
        Self { log: true, low, high, ticks, minor: Vec::new() }
    }

    /// Returns the position of a value: 0 at the lower end, 1 at the upper end.
    #[must_use]
    pub fn fraction(&self, value: f64) -> f64 {
        if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// Returns the value at which bars start: zero clamped to the axis, or the lower end of a
    /// logarithmic axis.
    #[must_use]
    pub fn baseline(&self) -> f64 {
        if self.log { self.low } else { 0f64.clamp(self.low, self.high) }
    }
}

/// Number of decades below which 2 and 5 times a power of ten are labelled too.
const MAX_FINE_DECADES: f64 = 3.0;

/// Number of decades below which a logarithmic axis is not extended to ticks.
const MAX_NARROW_DECADES: f64 = 0.4;

/// Returns `multiple · 10^decade`, correctly rounded.
fn decimal(multiple: f64, decade: i32) -> f64 {
    format!("{multiple}e{decade}").parse().unwrap_or(f64::NAN)
}

/// Returns the smallest of 1, 2 or 5 times a power of ten that is at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let decade = raw.log10().floor() as i32;
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|multiple| decimal(multiple, decade))
        .find(|step| *step >= raw * (1.0 - 1e-9))
        .unwrap_or_else(|| decimal(1.0, decade + 1))
}

/// Iterates over the multiples of `step` from `low` to `high`, ends included up to rounding.
fn multiples(step: f64, low: f64, high: f64) -> impl Iterator<Item = f64> {
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    // Adding zero turns -0 into 0.
    (first..=last).map(move |count| count as f64 * step + 0.0)
}

/// Formats a multiple of `step` with the decimals of `step`.
fn rounded_to(step: f64, value: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// Formats a number without exponent, with commas between groups of three digits from 10,000 on.
#[must_use]
pub fn plain_number(value: f64) -> String {
    // Twelve digits hide rounding errors.
    let rounded: f64 = format!("{value:.12e}").parse().unwrap_or(value);
    grouped(&rounded.to_string())
}

/// Adds commas between groups of three digits from 10,000 on, and a proper minus sign.
fn grouped(number: &str) -> String {
    let (sign, digits) =
        number.strip_prefix('-').map_or(("", number), |digits| ("\u{2212}", digits));
    let (whole, fraction) = digits
        .split_once('.')
        .map_or((digits, String::new()), |(whole, fraction)| (whole, format!(".{fraction}")));
    if whole.len() < 5 {
        return format!("{sign}{whole}{fraction}");
    }
    let mut out = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}{fraction}")
}

/// Formats a number as `10⁶` or `2×10⁶`.
fn power_of_ten(value: f64) -> String {
    let text = format!("{value:.6e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let raised: String = exponent.chars().map(superscript).collect();
    if mantissa == "1" { format!("10{raised}") } else { format!("{mantissa}×10{raised}") }
}

fn superscript(digit: char) -> char {
    match digit {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(labels(&Axis::linear(0.0, 1.05, 6)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            labels(&Axis::linear(0.0, 25_000.0, 5)),
            ["0", "5000", "10,000", "15,000", "20,000", "25,000"]
        );
        assert_eq!(labels(&Axis::linear(0.0, 1.9e8, 4)), ["0", "5×10⁷", "10⁸", "1.5×10⁸"]);
        assert_eq!(labels(&Axis::linear(-0.3, 0.3, 3)), ["\u{2212}0.2", "0.0", "0.2"]);
    }

    #[test]
    fn log_ticks_are_decades_over_wide_ranges_and_multiples_over_narrow_ones() {
        assert_eq!(labels(&Axis::log(20.0, 50_000.0)), ["100", "1000", "10,000"]);
        assert_eq!(labels(&Axis::log(200.0, 1_500_000.0)), ["10³", "10⁴", "10⁵", "10⁶"]);
        assert_eq!(labels(&Axis::log(200.0, 2_000.0)), ["200", "500", "1000", "2000"]);
        // The ends are ticks at or beyond the values.
        assert_eq!(Axis::around(0.9, 14.0), (0.5, 20.0));
        assert_eq!(Axis::around(0.99, 1.25), (0.99, 1.25));
        assert_eq!(Axis::around(200.0, 1_500_000.0), (100.0, 10_000_000.0));
        assert_eq!(labels(&Axis::log(1e5, 3e8)), ["10⁵", "10⁶", "10⁷", "10⁸"]);
        assert_eq!(labels(&Axis::log(0.9, 25.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(&Axis::log(3e5, 3e6)), ["5×10⁵", "10⁶", "2×10⁶"]);
        assert_eq!(labels(&Axis::log(1.01, 1.05)), ["1.01", "1.02", "1.03", "1.04", "1.05"]);
        assert_eq!(labels(&Axis::log(0.99, 1.25)), ["1.0", "1.1", "1.2"]);
        assert_eq!(labels(&Axis::powers_of_two(1.9, 17.0)), ["2", "4", "8", "16"]);
        let wide = Axis::log(1e-12, 1e12);
        assert!(wide.ticks.len() <= 9 && wide.minor.is_empty(), "{:?}", labels(&wide));
    }

    #[test]
    fn fractions_are_linear_or_logarithmic() {
        assert!((Axis::linear(10.0, 20.0, 5).fraction(12.5) - 0.25).abs() < 1e-15);
        assert!((Axis::log(1.0, 100.0).fraction(10.0) - 0.5).abs() < 1e-15);
        assert_eq!(Axis::log(5.0, 100.0).baseline(), 5.0);
        assert_eq!(Axis::linear(-1.0, 2.0, 3).baseline(), 0.0);
    }
}
