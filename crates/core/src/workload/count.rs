//! Numbers of queries. AllPredicate has more than any integer type can hold.

/// The number of queries of a workload: exact, or a power of two above 2¹²⁷.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryCount {
    /// An exact number.
    Exact(u128),
    /// Two to this power, rounded, for numbers that do not fit.
    PowerOfTwo(usize),
}

impl QueryCount {
    /// Creates an exact count.
    pub fn exact(count: u128) -> Self {
        QueryCount::Exact(count)
    }

    /// Creates the count `2^exponent`, exact if it fits.
    pub fn power_of_two(exponent: usize) -> Self {
        if exponent < 128 {
            QueryCount::Exact(1 << exponent)
        } else {
            QueryCount::PowerOfTwo(exponent)
        }
    }

    /// Returns the product of two counts; if it does not fit, the exponent is rounded.
    pub fn times(self, other: Self) -> Self {
        if let (QueryCount::Exact(a), QueryCount::Exact(b)) = (self, other)
            && let Some(product) = a.checked_mul(b)
        {
            return QueryCount::Exact(product);
        }
        QueryCount::PowerOfTwo((self.log2() + other.log2()).round() as usize)
    }

    /// Returns the sum of two counts; above 2¹²⁷, the larger one.
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

    /// Returns the count as a floating-point number, infinite from 2¹⁰²⁴.
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
    /// Writes a number up to 2⁵³, which every JSON reader keeps exact, and else a string like
    /// `"2^1024"`.
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        match self {
            QueryCount::Exact(count) if *count <= 1 << 53 => {
                serializer.serialize_u64(*count as u64)
            }
            count => serializer.collect_str(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_if_they_fit() {
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
