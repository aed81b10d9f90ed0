//! Bounds as text, rounded in the direction in which they remain true.

use matmech::Decimal;

/// Returns a lower bound with one digit before and `digits` after the point, rounded down.
pub(super) fn at_least(bound: f64, digits: usize) -> String {
    directed(bound, digits, |printed, bound| printed > bound, -1)
}

/// Returns an upper bound with one digit before and `digits` after the point, rounded up.
pub(super) fn at_most(bound: f64, digits: usize) -> String {
    directed(bound, digits, |printed, bound| printed < bound, 1)
}

/// Returns a lower bound with a number of decimals, rounded down.
pub(super) fn at_least_decimals(bound: f64, decimals: u32) -> String {
    match Decimal::shortest(bound) {
        Some(bound) => {
            let zero = Decimal::from(0_i64);
            padded(&zero.minus(&zero.minus(&bound).ceiling(decimals)), decimals)
        }
        None => bound.to_string(),
    }
}

/// Returns an upper bound with a number of decimals, rounded up.
pub(super) fn at_most_decimals(bound: f64, decimals: u32) -> String {
    match Decimal::shortest(bound) {
        Some(bound) => padded(&bound.ceiling(decimals), decimals),
        None => bound.to_string(),
    }
}

/// Returns the text of a number with exactly this many decimals, if it is not too large for that.
fn padded(number: &Decimal, decimals: u32) -> String {
    let text = number.to_string();
    if text.contains('e') {
        return text;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}.{fraction:0<width$}", width = decimals as usize)
}

/// Returns the number that is nearest, or one unit of the last digit further in a direction if it is
/// wrong.
fn directed(
    bound: f64,
    digits: usize,
    is_wrong: impl Fn(&Decimal, &Decimal) -> bool,
    direction: i64,
) -> String {
    let nearest = format!("{bound:.digits$e}");
    let (Some(exact), Some(printed)) = (Decimal::shortest(bound), Decimal::parse(&nearest)) else {
        return nearest;
    };
    let parts = nearest.split_once('e').and_then(|(mantissa, exponent)| {
        let units: i64 = mantissa.replace('.', "").parse().ok()?;
        Some((units, exponent.parse::<i32>().ok()?))
    });
    let Some((units, exponent)) = parts.filter(|_| is_wrong(&printed, &exact)) else {
        return nearest;
    };
    // The mantissa can gain or lose a digit.
    let units = units + direction;
    let ten = 10i64.pow(digits as u32);
    let (units, exponent) = match units.abs() {
        size if size >= 10 * ten => (units / 10, exponent + 1),
        size if size < ten => (units * 10 + 9 * units.signum(), exponent - 1),
        _ => (units, exponent),
    };
    let sign = if units < 0 { "-" } else { "" };
    let size = units.abs();
    match digits {
        0 => format!("{sign}{size}e{exponent}"),
        _ => format!("{sign}{}.{:0digits$}e{exponent}", size / ten, size % ten),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn bounds_of_any_size_are_true_and_near() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        for trial in 0..20_000 {
            let digits = trial % 11;
            let mut bound: f64 = rng.random_range(0.1..1.0) * 10f64.powi(rng.random_range(-9..9));
            if trial % 3 == 0 {
                // Near a power of ten, where the number of digits changes.
                bound = 10f64.powi(rng.random_range(-9..9)) * (1.0 + rng.random_range(-1e-6..1e-6));
            }
            let exact = Decimal::shortest(bound).unwrap();
            let (low, high) = (at_least(bound, digits), at_most(bound, digits));
            let parsed = [&low, &high].map(|text| Decimal::parse(text).unwrap());
            assert!(parsed[0] <= exact && exact <= parsed[1], "{low} {bound} {high}");
            let near = 10f64.powi(-(digits as i32)) * bound * 1.0001;
            for (text, number) in [&low, &high].into_iter().zip(&parsed) {
                assert!((number.to_f64() - bound).abs() <= near, "{text} {bound}");
                assert_eq!(text.split_once('e').unwrap().0.replace('.', "").len(), digits + 1);
            }
            let (low, high) = (at_least_decimals(bound, 3), at_most_decimals(bound, 3));
            let parsed = [&low, &high].map(|text| Decimal::parse(text).unwrap());
            assert!(parsed[0] <= exact && exact <= parsed[1], "{low} {bound} {high}");
            assert!(parsed[1].minus(&parsed[0]) <= Decimal::parse("0.001").unwrap());
        }
    }

    #[test]
    fn examples() {
        assert_eq!([at_least(0.0, 2), at_most(0.0, 2)], ["0.00e0", "0.00e0"]);
        assert_eq!(at_least(9.9996, 3), "9.999e0");
        assert_eq!(at_least(0.99999, 3), "9.999e-1");
        assert_eq!(at_most(0.99991, 3), "1.000e0");
        assert_eq!(at_most(-1.00001, 3), "-1.000e0");
        assert_eq!(at_least(-0.99999, 3), "-1.000e0");
        assert_eq!(at_most_decimals(0.02, 1), "0.1");
        assert_eq!(at_least_decimals(0.029, 2), "0.02");
        assert_eq!(at_least_decimals(-0.001, 2), "-0.01");
        assert_eq!(at_most_decimals(3.0, 2), "3.00");
        assert_eq!(at_most(f64::INFINITY, 2), "inf");
    }
}
