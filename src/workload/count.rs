//! Numbers of queries, which outgrow every integer for AllPredicate.

/// How many queries a workload has: a number, or a power of two beyond 2¹²⁷.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryCount {
    /// A number that fits.
    Exact(u128),
    /// 2 to this power, times the small count that came with it, when that no longer fits.
    PowerOfTwo(usize),
}

impl QueryCount {
    /// An exact count.
    pub fn exact(count: u128) -> Self {
        QueryCount::Exact(count)
    }

    /// `2^exponent`, exact while it fits.
    pub fn power_of_two(exponent: usize) -> Self {
        if exponent < 128 {
            QueryCount::Exact(1 << exponent)
        } else {
            QueryCount::PowerOfTwo(exponent)
        }
    }

    /// The product of two counts; beyond 2¹²⁷ the exponent is rounded to the nearest integer.
    pub fn times(self, other: Self) -> Self {
        if let (QueryCount::Exact(a), QueryCount::Exact(b)) = (self, other)
            && let Some(product) = a.checked_mul(b)
        {
            return QueryCount::Exact(product);
        }
        QueryCount::PowerOfTwo((self.log2() + other.log2()).round() as usize)
    }

    /// The sum of two counts; beyond 2¹²⁷ the larger one.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (QueryCount::Exact(a), QueryCount::Exact(b)) => {
                a.checked_add(b).map_or(QueryCount::PowerOfTwo(128), QueryCount::Exact)
            }
            (QueryCount::PowerOfTwo(e), QueryCount::PowerOfTwo(f)) => {
                QueryCount::PowerOfTwo(e.max(f))
            }
            (power @ QueryCount::PowerOfTwo(_), _) | (_, power) => power,
        }
    }

    /// The count as a floating-point number; infinite from 2¹⁰²⁴ on.
    pub fn as_f64(self) -> f64 {
        match self {
            QueryCount::Exact(count) => count as f64,
            QueryCount::PowerOfTwo(exponent) => (exponent as f64).exp2(),
        }
    }

    fn log2(self) -> f64 {
        match self {
            QueryCount::Exact(count) => (count as f64).log2(),
            QueryCount::PowerOfTwo(exponent) => exponent as f64,
        }
    }
}

impl std::fmt::Display for QueryCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            QueryCount::Exact(count) => write!(f, "{count}"),
            QueryCount::PowerOfTwo(exponent) => write!(f, "2^{exponent}"),
        }
    }
}

impl serde::Serialize for QueryCount {
    /// A number while every JSON reader keeps it exact (up to 2⁵³), a string like `"2^1024"`
    /// beyond.
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        match self {
            QueryCount::Exact(count) if *count <= 1 << 53 => {
                serializer.serialize_u64(*count as u64)
            }
            other => serializer.collect_str(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stay_exact_as_long_as_they_fit() {
        assert_eq!(
            QueryCount::exact(528).times(QueryCount::exact(528)),
            QueryCount::Exact(278_784)
        );
        assert_eq!(QueryCount::power_of_two(1024).to_string(), "2^1024");
        assert_eq!(QueryCount::power_of_two(10), QueryCount::Exact(1024));
        assert_eq!(
            QueryCount::power_of_two(200).times(QueryCount::exact(1)),
            QueryCount::PowerOfTwo(200)
        );
        assert_eq!(serde_json::to_string(&QueryCount::exact(524_800)).unwrap(), "524800");
        assert_eq!(
            serde_json::to_string(&QueryCount::power_of_two(100)).unwrap(),
            "\"1267650600228229401496703205376\""
        );
    }
}
