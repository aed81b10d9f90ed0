//! Numbers that a paper rounded several times before printing.

/// Rounds a number to each of the given decimals in turn, halves away from zero.
///
/// Returns `None` for numbers that are not finite or too large for exact decimals, and for an empty
/// or increasing list of decimals.
#[must_use]
pub fn in_turn(value: f64, decimals: &[usize]) -> Option<f64> {
    let (&first, rest) = decimals.split_first()?;
    // Exact decimals: in binary, the representation error would decide ties of the second rounding.
    let mut units: i128 = format!("{value:.first$}").replace('.', "").parse().ok()?;
    let mut last = first;
    for &next in rest {
        let step = 10i128.checked_pow(u32::try_from(last.checked_sub(next)?).ok()?)?;
        units = (units + units.signum() * (step / 2)) / step;
        last = next;
    }
    format!("{units}e-{last}").parse().ok()
}

/// Returns the steps in words, such as "rounded to 3, then to 2 decimals".
#[must_use]
pub fn in_words(decimals: &[usize]) -> String {
    let list: Vec<String> = decimals.iter().map(ToString::to_string).collect();
    format!("rounded to {} decimals", list.join(", then to "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounds_in_turn() {
        for (value, decimals, rounded) in [
            (171.2948, vec![3, 2], 171.30),
            (171.2948, vec![2], 171.29),
            (44.794546344904354, vec![3, 2], 44.80),
            // The nearest f64 to 171.295 is below it, but ties are decided in decimals.
            (171.295, vec![3, 2], 171.30),
            (171.2944, vec![3, 2], 171.29),
            (-0.4449, vec![3, 2, 1, 0], -1.0),
            (-0.4449, vec![4, 1], -0.4),
            (-44.7946, vec![3, 2], -44.80),
            (9.9949, vec![3, 1], 10.0),
            (9.9999, vec![3, 1], 10.0),
            (0.0449, vec![2, 1], 0.0),
            (0.045, vec![3, 2, 1], 0.1),
            (1234567.5, vec![1, 0], 1234568.0),
        ] {
            assert_eq!(in_turn(value, &decimals), Some(rounded), "{value} {decimals:?}");
        }
        for value in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(in_turn(value, &[3, 2]), None);
        }
        assert_eq!(in_turn(1.0, &[]), None);
        assert_eq!(in_turn(1.0, &[2, 3]), None);
        assert_eq!(in_words(&[3, 2]), "rounded to 3, then to 2 decimals");
    }

    proptest! {
        /// Rounding twice moves a number by at most the half units of both roundings.
        #[test]
        fn double_rounding_moves_at_most_two_half_units(
            value in -1e6f64..1e6,
            first in 1usize..7,
            drop in 0usize..3,
        ) {
            let last = first.saturating_sub(drop);
            let rounded = in_turn(value, &[first, last]).unwrap();
            let unit = |decimals: usize| 10f64.powi(-(decimals as i32));
            let max =
                0.5 * if last == first { unit(first) } else { unit(first) + unit(last) };
            prop_assert!((rounded - value).abs() <= max + 1e-9, "{value} {first} {last} {rounded}");
            prop_assert_eq!(format!("{rounded:.last$}").parse::<f64>().unwrap(), rounded);
        }
    }
}
