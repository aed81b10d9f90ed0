//! Bins of equal width with exact edges.

use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::decimal::Decimal;

/// Digits of a rounded midpoint beyond the first digit of the width of a bin.
const MIDPOINT_DIGITS: u32 = 3;

/// Consecutive bins. Bin k has the numbers v with edge k ≤ v < edge k + 1; the last bin also has its
/// upper edge.
///
/// The edges are listed, or equally spaced:
///
/// ```text
/// edge k = low + k (high − low)/count,        0 ≤ k ≤ count
/// ```
///
/// Edges are fractions of decimal numbers. They are computed, compared and written exactly. A cell
/// of all lower numbers can precede the bins, and one of all higher numbers can follow them. In bins
/// of integers, other numbers are in no bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    low: Decimal,
    high: Decimal,
    count: usize,
    /// The edges between `low` and `high`; `None` if they are equally spaced.
    inner: Option<Vec<Decimal>>,
    below: bool,
    above: bool,
    is_integer: bool,
}

/// The bin of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinOf {
    Below,
    Bin(u32),
    Above,
}

impl Bins {
    /// Returns bins of equal width; `None` unless low < high and there are from 1 to 2³² bins.
    pub fn new(low: Decimal, high: Decimal, count: usize) -> Option<Self> {
        let is_valid = low.to_ratio() < high.to_ratio() && (1..=1 << 32).contains(&count);
        is_valid.then(|| Bins::between(low, high, count, None))
    }

    /// Returns bins between listed edges; `None` unless there are from 2 to 2²⁰ + 1 edges, in
    /// ascending order without repetition.
    pub fn of_edges(mut edges: Vec<Decimal>) -> Option<Self> {
        let count = edges.len().checked_sub(1).filter(|count| (1..=1 << 20).contains(count))?;
        let ratios: Vec<_> = edges.iter().map(Decimal::to_ratio).collect();
        if ratios.windows(2).any(|pair| pair[0] >= pair[1]) {
            return None;
        }
        let high = edges.pop()?;
        let low = edges.remove(0);
        Some(Bins::between(low, high, count, Some(edges)))
    }

    fn between(low: Decimal, high: Decimal, count: usize, inner: Option<Vec<Decimal>>) -> Self {
        Bins { low, high, count, inner, below: false, above: false, is_integer: false }
    }

    /// Adds a cell of all numbers below the first edge, and one of those above the last edge.
    #[must_use]
    pub fn with_open_ends(self, below: bool, above: bool) -> Self {
        Bins { below, above, ..self }
    }

    /// Returns bins of integers.
    ///
    /// # Errors
    /// The interval of the first bin without an integer, in words.
    pub fn of_integers(self) -> std::result::Result<Self, String> {
        // A longer interval contains an integer.
        let is_narrow = self.inner.is_some() || self.width() < Ratio::one();
        let mut bins = 0..if is_narrow { self.count } else { 0 };
        let is_empty = |bin: &usize| {
            let (first, last) = self.integers_between(*bin);
            first > last
        };
        match bins.find(is_empty) {
            Some(bin) => Err(self.closed_in_words(bin, bin)),
            None => Ok(Bins { is_integer: true, ..self }),
        }
    }

    /// Returns whether the bins are bins of integers.
    pub fn is_integer(&self) -> bool {
        self.is_integer
    }

    /// Returns the lower edge of the first bin.
    pub fn low(&self) -> &Decimal {
        &self.low
    }

    /// Returns the upper edge of the last bin.
    pub fn high(&self) -> &Decimal {
        &self.high
    }

    /// Returns the number of bins, with those of lower and of higher numbers.
    pub fn count(&self) -> usize {
        self.count + usize::from(self.below) + usize::from(self.above)
    }

    /// Returns the indices of the bins between edges. A bin with an open end is before or after.
    pub fn between_edges(&self) -> std::ops::Range<usize> {
        let first = usize::from(self.below);
        first..first + self.count
    }

    /// Returns the index among the bins between edges; `None` for a bin with an open end.
    fn closed(&self, index: usize) -> Option<usize> {
        index.checked_sub(usize::from(self.below)).filter(|bin| *bin < self.count)
    }

    /// Returns the first and the last integer in a bin between edges.
    fn integers_between(&self, bin: usize) -> (BigInt, BigInt) {
        let last = match bin + 1 == self.count {
            true => self.high.to_ratio().floor().to_integer(),
            false => self.edge(bin + 1).ceil().to_integer() - 1,
        };
        (self.edge(bin).ceil().to_integer(), last)
    }

    /// Returns the first and the last integer in a bin of integers; `None` for other bins, for open
    /// ends, and beyond 128 bits.
    pub fn integers(&self, index: usize) -> Option<(i128, i128)> {
        let bin = self.closed(index).filter(|_| self.is_integer)?;
        let (first, last) = self.integers_between(bin);
        Some((first.to_i128()?, last.to_i128()?))
    }

    /// Returns the width of bins of equal width.
    fn width(&self) -> Ratio<BigInt> {
        (self.high.to_ratio() - self.low.to_ratio()) / BigInt::from(self.count)
    }

    /// Returns edge k exactly, of the bins between edges.
    pub fn edge(&self, index: usize) -> Ratio<BigInt> {
        match (&self.inner, index) {
            (Some(_), 0) => self.low.to_ratio(),
            (Some(inner), _) => inner.get(index - 1).unwrap_or(&self.high).to_ratio(),
            (None, _) => self.low.to_ratio() + self.width() * BigInt::from(index),
        }
    }

    /// Returns edge k exactly: as a decimal number, or as a fraction such as `100/3`.
    fn edge_in_words(&self, index: usize) -> String {
        let edge = self.edge(index);
        exact(&edge).map_or_else(|| edge.to_string(), |decimal| decimal.to_string())
    }

    fn closed_in_words(&self, first: usize, last: usize) -> String {
        let below = if last + 1 == self.count { "" } else { "below " };
        format!("from {} to {below}{}", self.edge_in_words(first), self.edge_in_words(last + 1))
    }

    /// Returns the bins `first` to `last` in words: `from 20 to below 40`, `below 0`, `above 100`;
    /// of integers `from 20 to 39`, `from 101`.
    pub fn in_words(&self, first: usize, last: usize) -> String {
        let below = usize::from(self.below);
        let is_below = self.below && first == 0;
        let is_above = self.above && last + 1 == self.count();
        let start = || match (self.is_integer, first - below) {
            (true, k) if k == self.count => (self.integers_between(k - 1).1 + 1u8).to_string(),
            (true, bin) => self.integers_between(bin).0.to_string(),
            (false, bin) => self.edge_in_words(bin),
        };
        match (is_below, is_above) {
            (true, true) => "is any number".to_owned(),
            (true, false) if last == below + self.count - 1 => format!("up to {}", self.high),
            (true, false) => format!("below {}", self.edge_in_words(last)),
            (false, true) if first == below + self.count && !self.is_integer => {
                format!("above {}", self.high)
            }
            (false, true) => format!("from {}", start()),
            (false, false) if self.is_integer => {
                let last = self.integers_between(last - below).1.to_string();
                match start() {
                    first if first == last => format!("= {first}"),
                    first => format!("from {first} to {last}"),
                }
            }
            (false, false) => self.closed_in_words(first - below, last - below),
        }
    }

    /// Returns the numbers of all bins in words.
    pub(super) fn range_in_words(&self) -> String {
        match self.below && self.above {
            true => String::new(),
            false if self.below => format!("up to {}", self.high),
            false if self.above => format!("from {}", self.low),
            false => format!("from {} to {}", self.low, self.high),
        }
    }

    /// Returns a short label of a bin: `[0, 10)`, `0 to 9`, `below 0`, `above 100` or `from 101`.
    pub fn label(&self, index: usize) -> String {
        let Some(bin) = self.closed(index) else { return self.in_words(index, index) };
        if self.is_integer {
            let (first, last) = self.integers_between(bin);
            return if first == last { first.to_string() } else { format!("{first} to {last}") };
        }
        let end = if bin + 1 == self.count { ']' } else { ')' };
        format!("[{}, {}{end}", self.edge_in_words(bin), self.edge_in_words(bin + 1))
    }

    /// Returns the midpoint of a bin, exactly or rounded to a thousandth of the width. In bins of
    /// integers it is rounded down to an integer. A bin with an open end is treated as if it were as
    /// wide as the bin next to it; its midpoint is rounded away from that bin.
    pub fn midpoint(&self, index: usize) -> Decimal {
        let two = BigInt::from(2);
        let below = usize::from(self.below);
        let width = |bin: usize| self.edge(bin + 1) - self.edge(bin);
        let (width, middle) = match self.closed(index) {
            Some(bin) if self.is_integer => {
                let (first, last) = self.integers_between(bin);
                (width(bin), Ratio::from(first + last) / two)
            }
            Some(bin) => (width(bin), self.edge(bin) + width(bin) / two),
            None if index < below => (width(0), self.low.to_ratio() - width(0) / two),
            None => {
                let last = width(self.count - 1);
                (last.clone(), self.high.to_ratio() + last / two)
            }
        };
        let middle = match self.is_integer {
            true if index >= below + self.count => middle.ceil(),
            true => middle.floor(),
            false => middle,
        };
        self.rounded(middle, &width)
    }

    /// Returns a number exactly, or rounded to a thousandth of a width.
    fn rounded(&self, number: Ratio<BigInt>, width: &Ratio<BigInt>) -> Decimal {
        if let Some(decimal) = exact(&number) {
            return decimal;
        }
        let mut scale = 0;
        let mut power = BigInt::one();
        while width * &power < Ratio::from(BigInt::from(10).pow(MIDPOINT_DIGITS)) {
            power *= 10;
            scale += 1;
        }
        let digits = (number * power).round().to_integer();
        // Digits and an exponent parse unless there are too many, which the exact edges exclude.
        Decimal::parse(&format!("{digits}e-{scale}")).unwrap_or_else(|| self.low.clone())
    }

    /// Returns the bin between edges of a number, exactly.
    pub(super) fn bin_of(&self, number: &Decimal) -> BinOf {
        if let Some(inner) = &self.inner {
            let number = number.to_ratio();
            return match inner.partition_point(|edge| edge.to_ratio() <= number) {
                0 if number < self.low.to_ratio() => BinOf::Below,
                _ if number > self.high.to_ratio() => BinOf::Above,
                bin => BinOf::Bin(bin as u32),
            };
        }
        let place = (number.to_ratio() - self.low.to_ratio()) / self.width();
        if place.is_negative() {
            return BinOf::Below;
        }
        match place.to_integer().to_u64() {
            Some(bin) if bin < self.count as u64 => BinOf::Bin(bin as u32),
            Some(bin) if bin == self.count as u64 && place.is_integer() => {
                BinOf::Bin((bin - 1) as u32)
            }
            _ => BinOf::Above,
        }
    }

    /// Prepares look-ups.
    pub(super) fn prepared(&self) -> PreparedBins<'_> {
        let ((low, a), (high, b)) = (self.low.scaled(), self.high.scaled());
        let scale = a.max(b);
        let to_scale = |digits: BigInt, of| (digits * BigInt::from(10).pow(scale - of)).to_i64();
        let scaled = to_scale(low, a).zip(to_scale(high, b)).filter(|_| self.inner.is_none());
        let integers = scaled.and_then(|(low, high)| {
            let power = 10i64.checked_pow(scale)?;
            let width = i128::from(high) - i128::from(low);
            Some(ScaledBins { power: power.into(), low: low.into(), width })
        });
        let (low, high) = (self.low.to_f64(), self.high.to_f64());
        let per_unit = self.count as f64 / (high - low);
        // Roundings of the two ends, of a number between them and of three operations, each by at
        // most 2⁻⁵³ of its size, with a factor of safety.
        let largest = low.abs().max(high.abs());
        let tolerance = 16.0 * f64::EPSILON * (largest * per_unit + self.count as f64 + 1.0);
        let edges = self.inner.iter().flatten().map(Decimal::to_f64);
        let edges = [low].into_iter().chain(edges).chain([high]).collect();
        PreparedBins { bins: self, integers, low, per_unit, tolerance, edges }
    }
}

/// Returns the decimal number of a fraction, if it has one.
pub(crate) fn exact(fraction: &Ratio<BigInt>) -> Option<Decimal> {
    let mut denominator = fraction.denom().clone();
    let mut scale = 0u32;
    let mut digits = fraction.numer().clone();
    for (factor, complement) in [(10, 1), (2, 5), (5, 2)] {
        while (&denominator % BigInt::from(factor)).is_zero() {
            denominator /= factor;
            digits *= complement;
            scale += 1;
        }
    }
    denominator.is_one().then(|| Decimal::parse(&format!("{digits}e-{scale}")))?
}

/// Bins with numbers for fast look-ups.
#[derive(Debug)]
pub(super) struct PreparedBins<'a> {
    bins: &'a Bins,
    /// `None` if the ends have too many digits.
    integers: Option<ScaledBins>,
    low: f64,
    /// Bins per unit.
    per_unit: f64,
    /// Bound of the rounding error of a place among the bins.
    tolerance: f64,
    /// The rounded edges of bins with listed edges; otherwise the two ends.
    edges: Vec<f64>,
}

/// low · power and (high − low) · power as integers.
#[derive(Debug)]
struct ScaledBins {
    power: i128,
    low: i128,
    width: i128,
}

impl PreparedBins<'_> {
    /// Returns the first and the last integer that the bins contain, if they fit 64 bits.
    pub(super) fn integers_inside(&self) -> Option<(i64, i64)> {
        let first = self.bins.low.to_ratio().ceil().to_integer().to_i64()?;
        Some((first, self.bins.high.to_ratio().floor().to_integer().to_i64()?))
    }

    /// Counts the bin of lower numbers, and replaces the ends that have a bin.
    fn with_open_ends(&self, bin: BinOf) -> BinOf {
        let below = u32::from(self.bins.below);
        match bin {
            BinOf::Bin(bin) => BinOf::Bin(bin + below),
            BinOf::Below if self.bins.below => BinOf::Bin(0),
            BinOf::Above if self.bins.above => BinOf::Bin(self.bins.count as u32 + below),
            bin => bin,
        }
    }

    pub(super) fn bin_of_integer(&self, number: i64) -> BinOf {
        self.with_open_ends(self.closed_bin_of_integer(number))
    }

    fn closed_bin_of_integer(&self, number: i64) -> BinOf {
        // Integers of 53 bits are exact as doubles.
        if number.unsigned_abs() < 1 << 53
            && let Some(bin) = self.fast(number as f64)
        {
            return bin;
        }
        let Some(ScaledBins { power, low, width }) = self.integers else {
            return self.bins.bin_of(&number.into());
        };
        // All factors are below 2⁶⁴, so the products fit in i128.
        let above_low = i128::from(number) * power - low;
        if above_low < 0 {
            return BinOf::Below;
        }
        if above_low >= width {
            return if above_low == width { self.last() } else { BinOf::Above };
        }
        // Here above_low < width ≤ 2⁶⁴ and count ≤ 2³².
        BinOf::Bin((above_low * self.bins.count as i128 / width) as u32)
    }

    /// Returns the bin of a finite double, which stands for its shortest decimal.
    pub(super) fn bin_of_float(&self, number: f64) -> BinOf {
        let bin = self.fast(number).unwrap_or_else(|| match Decimal::shortest(number) {
            Some(decimal) => self.bins.bin_of(&decimal),
            None => BinOf::Above,
        });
        self.with_open_ends(bin)
    }

    pub(super) fn bin_of_decimal(&self, number: &Decimal) -> BinOf {
        let bin = self.fast(number.to_f64()).unwrap_or_else(|| self.bins.bin_of(number));
        self.with_open_ends(bin)
    }

    /// Returns the bin of a number that rounds to a double, unless rounding can decide it.
    fn fast(&self, number: f64) -> Option<BinOf> {
        if self.bins.inner.is_some() {
            return self.between_edges(number);
        }
        let place = (number - self.low) * self.per_unit;
        let count = self.bins.count as f64;
        if place < -0.5 {
            return Some(BinOf::Below);
        }
        if place > count + 0.5 {
            return Some(BinOf::Above);
        }
        let is_clear = (place - place.round()).abs() > self.tolerance;
        (is_clear && place > 0.0 && place < count).then_some(BinOf::Bin(place as u32))
    }

    /// [`PreparedBins::fast`] for listed edges: a number that rounds to a rounded edge is not
    /// decided.
    fn between_edges(&self, number: f64) -> Option<BinOf> {
        let above = self.edges.partition_point(|edge| *edge <= number);
        let is_edge = above > 0 && self.edges[above - 1] == number;
        match above {
            _ if is_edge => None,
            0 => Some(BinOf::Below),
            _ if above == self.edges.len() => Some(BinOf::Above),
            _ => Some(BinOf::Bin((above - 1) as u32)),
        }
    }

    fn last(&self) -> BinOf {
        BinOf::Bin((self.bins.count - 1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    fn bins(low: &str, high: &str, count: usize) -> Bins {
        Bins::new(decimal(low), decimal(high), count).unwrap()
    }

    /// Returns the bin by comparing count · (v − low) with multiples of high − low in integers of
    /// units 10^−6.
    fn by_definition(low: i128, high: i128, count: i128, v: i128) -> BinOf {
        let place = |k: i128| count * low + k * (high - low);
        if count * v < place(0) {
            return BinOf::Below;
        }
        if v == high {
            return BinOf::Bin(count as u32 - 1);
        }
        match (0..count).find(|&k| place(k) <= count * v && count * v < place(k + 1)) {
            Some(k) => BinOf::Bin(k as u32),
            None => BinOf::Above,
        }
    }

    /// Bins with listed edges, by comparing with every edge.
    fn between(edges: &[i64], v: i64) -> BinOf {
        match edges.iter().filter(|edge| **edge <= v).count() {
            0 => BinOf::Below,
            above if above == edges.len() && v > edges[above - 1] => BinOf::Above,
            above => BinOf::Bin((above.min(edges.len() - 1) - 1) as u32),
        }
    }

    fn in_millionths(value: i64) -> String {
        decimal(&format!("{value}e-6")).to_string()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Values at, next to and between listed edges, as integer, double and decimal.
        #[test]
        fn a_value_is_between_the_listed_edges_of_its_bin(
            steps in prop::collection::vec(1i64..2_000_000, 1..8),
            first in -3_000_000i64..3_000_000,
            edge in 0usize..8,
            offset in -2i64..3,
        ) {
            let mut edges = vec![first];
            edges.extend(steps.iter().scan(first, |edge, step| {
                *edge += step;
                Some(*edge)
            }));
            let texts = edges.iter().map(|edge| decimal(&in_millionths(*edge)));
            let bins = Bins::of_edges(texts.collect()).unwrap();
            let v = edges[edge.min(edges.len() - 1)] + offset;
            let value = decimal(&in_millionths(v));
            let expected = between(&edges, v);
            let prepared = bins.prepared();
            prop_assert_eq!(bins.bin_of(&value), expected);
            prop_assert_eq!(prepared.bin_of_decimal(&value), expected);
            prop_assert_eq!(prepared.bin_of_float(value.to_f64()), expected);
            if v % 1_000_000 == 0 {
                prop_assert_eq!(prepared.bin_of_integer(v / 1_000_000), expected);
            }
            for k in 0..bins.count() {
                let middle = bins.midpoint(k).to_ratio() * BigInt::from(2);
                let ends = |k: usize| decimal(&in_millionths(edges[k])).to_ratio();
                prop_assert_eq!(middle, ends(k) + ends(k + 1));
            }
        }

        /// Random decimal schemas; values at, next to and between the edges, as integer, double and
        /// text.
        #[test]
        fn a_value_is_between_the_edges_of_its_bin(
            digits in 0u32..7,
            low in -2000i64..2000,
            width in 1i64..3000,
            count in 1usize..40,
            edge in -1i64..41,
            offset in -3i64..4,
        ) {
            let unit = 10i64.pow(digits);
            let (low, high) = (low * unit, (low + width) * unit);
            let schema = bins(&in_millionths(low), &in_millionths(high), count);
            let prepared = schema.prepared();
            let near = low + (high - low) * edge / count as i64 + offset;
            for value in [near, near / 1_000_000 * 1_000_000] {
                let expected = by_definition(low.into(), high.into(), count as i128, value.into());
                let text = in_millionths(value);
                prop_assert_eq!(schema.bin_of(&decimal(&text)), expected, "{}", text);
                prop_assert_eq!(prepared.bin_of_decimal(&decimal(&text)), expected, "{}", text);
                let double: f64 = text.parse().unwrap();
                prop_assert_eq!(prepared.bin_of_float(double), expected, "{}", text);
                if value % 1_000_000 == 0 {
                    let integer = value / 1_000_000;
                    prop_assert_eq!(prepared.bin_of_integer(integer), expected, "{}", text);
                }
            }
        }

        /// Ends beyond 64 bits and long fractions.
        #[test]
        fn large_and_fine_ends_are_exact(
            exponent in -30i32..30, count in 1usize..100, value in -5i64..1000,
        ) {
            let schema = bins(&format!("1e{exponent}"), &format!("7e{exponent}"), count);
            let number = decimal(&format!("{value}e{}", exponent - 2));
            let expected = by_definition(100, 700, count as i128, value.into());
            prop_assert_eq!(schema.prepared().bin_of_decimal(&number), expected);
            let double: f64 = number.to_string().parse().unwrap();
            prop_assert_eq!(schema.prepared().bin_of_float(double), expected);
        }

        #[test]
        fn midpoints_are_in_their_bins(
            low in -1000i64..1000, width in 1i64..1000, scale in 0u32..12, count in 1usize..200,
        ) {
            let end = |number: i64| format!("{number}e-{scale}");
            let schema = bins(&end(low), &end(low + width), count);
            for bin in 0..count {
                let middle = schema.midpoint(bin);
                prop_assert_eq!(schema.bin_of(&middle), BinOf::Bin(bin as u32), "{}", middle);
            }
        }
    }

    /// Every schema 0…N with N bins has the integer k in bin k.
    #[test]
    fn integers_are_in_their_bins() {
        for count in 1..=400u32 {
            let schema = bins("0", &count.to_string(), count as usize);
            let prepared = schema.prepared();
            for k in 0..count {
                assert_eq!(prepared.bin_of_integer(k.into()), BinOf::Bin(k), "{count}");
                assert_eq!(prepared.bin_of_float(k.into()), BinOf::Bin(k), "{count}");
            }
            assert_eq!(prepared.bin_of_integer(count.into()), BinOf::Bin(count - 1));
            assert_eq!(prepared.bin_of_integer(i64::from(count) + 1), BinOf::Above);
            assert_eq!(prepared.bin_of_integer(-1), BinOf::Below);
            assert_eq!(prepared.bin_of_integer(i64::MIN), BinOf::Below);
            assert_eq!(prepared.bin_of_integer(i64::MAX), BinOf::Above);
        }
    }

    #[test]
    fn edges_are_written_exactly() {
        let tenths = bins("0", "1", 10);
        assert_eq!(tenths.in_words(3, 3), "from 0.3 to below 0.4");
        assert_eq!(tenths.in_words(7, 9), "from 0.7 to 1");
        let thirds = bins("0", "100", 3);
        assert_eq!(thirds.in_words(1, 1), "from 100/3 to below 200/3");
        assert_eq!(thirds.midpoint(0).to_string(), "16.67");
        assert_eq!(bins("-1e30", "1e30", 2).edge_in_words(1), "0");
        assert!(Bins::new(decimal("1"), decimal("1.0"), 3).is_none());
        assert!(Bins::new(decimal("1"), decimal("2"), 0).is_none());
    }
}
