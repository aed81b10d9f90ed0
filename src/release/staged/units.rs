//! Published numbers in units of 2^−bits.

/// The bits after the binary point of published marginals, unless fine noise needs more.
pub(super) const MIN_BITS: u32 = 10;

/// Maximum magnitude of a published number in units, so that doubles represent it exactly.
const MAX_UNITS: f64 = (1u64 << 53) as f64;

/// Rounds values to integer multiples of 2^−bits.
pub(super) fn in_units(values: &[f64], bits: u32) -> Vec<i64> {
    let scale = f64::from(bits).exp2();
    let unit = |value: &f64| (value * scale).round().clamp(-MAX_UNITS, MAX_UNITS) as i64;
    values.iter().map(unit).collect()
}
