//! The smallest and the largest weight of a query.

/// The range of the weights of a query over the cells of a marginal.
///
/// Cells that a query does not count have the weight 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightRange {
    /// The smallest weight.
    pub low: f64,
    /// The largest weight.
    pub high: f64,
}

impl WeightRange {
    /// The range of a query that counts every cell.
    pub const ONES: Self = WeightRange { low: 1.0, high: 1.0 };

    /// The range of a count over some of the cells.
    pub const COUNT: Self = WeightRange { low: 0.0, high: 1.0 };

    /// Returns the range of weights; that of no weights is empty, from ∞ to −∞.
    pub fn of(weights: impl IntoIterator<Item = f64>) -> Self {
        let empty = WeightRange { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let wider =
            |range: Self, w: f64| WeightRange { low: range.low.min(w), high: range.high.max(w) };
        weights.into_iter().fold(empty, wider)
    }

    /// Returns the range of the products of a weight of each of two ranges.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let ends = [self.low, self.high];
        Self::of(ends.into_iter().flat_map(|a| [a * other.low, a * other.high]))
    }

    /// Returns the middle of the range.
    pub fn middle(self) -> f64 {
        0.5 * (self.low + self.high)
    }

    /// Returns half the length of the range.
    pub fn half(self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AttributeSet;
    use crate::schema::Schema;
    use crate::workload::query::ProductRows;
    use crate::workload::{Family, QueryGroup};

    /// The ranges of products against those of their weights over all cells.
    #[test]
    fn ranges_are_those_of_the_rows() {
        let text = [3, 1, 2].map(|n| format!("kind = \"numeric\"\nsize = {n}\n"));
        let text: Vec<String> = (text.iter().enumerate())
            .map(|(k, keys)| format!("[[attribute]]\nname = \"A{k}\"\n{keys}"))
            .collect();
        let schema = Schema::from_toml(&text.concat(), "S.toml").unwrap();
        let families = [Family::IDENTITY, Family::PREFIX, Family::RANGE, Family::TOTAL];
        for positions in [vec![0], vec![1], vec![0, 2], vec![0, 1, 2]] {
            let set = AttributeSet::from_positions(&positions).unwrap();
            for family in families {
                let mut of = vec![family; positions.len()];
                of[0] = Family::IDENTITY;
                let group = QueryGroup::product(&schema, set, &of, 1.0).unwrap();
                let expected: Vec<_> = group.rows().unwrap().map(WeightRange::of).collect();
                assert_eq!(group.weight_ranges().unwrap(), (expected, true), "{positions:?}");
            }
        }
        let rows = vec![vec![-2.0, 3.0], vec![0.5, 4.0]];
        let others = vec![vec![-1.0, 0.0, 5.0], vec![-3.0, -2.0, -2.0]];
        let products = ProductRows::over(vec![(0, rows), (1, others)]);
        for query in 0..4 {
            let expected = WeightRange::of(products.weights(query));
            assert_eq!(products.weight_range(query), expected);
        }
        let range = WeightRange { low: -1.0, high: 4.0 };
        assert_eq!((range.middle(), range.half()), (1.5, 2.5));
    }
}
