//! A workload family: suffix sums.

use approx::assert_relative_eq;
use matmech::planner::planners;
use matmech::strategy::StrategySelector;
use matmech::workload::{Family, QueryCount, QueryFamily, Rows, Workload};
use matmech::{Optimal, PrivacyCost, Result};
use ndarray::Array2;

use super::equal_marginals::one_and_two_way;

/// The suffix family. In the library, such a constant is in `Family` and in `Family::ALL`.
pub const SUFFIX: Family = Family::of(&Suffix);

/// The queries `1{j ≥ c}` for c = 0 … n−1.
#[derive(Debug)]
struct Suffix;

impl QueryFamily for Suffix {
    fn name(&self) -> &'static str {
        "suffix"
    }

    fn count(&self, sizes: &[usize]) -> QueryCount {
        QueryCount::exact(sizes[0] as u128)
    }

    /// Cells i and j are both in the queries c ≤ min(i, j).
    fn gram(&self, sizes: &[usize]) -> Array2<f64> {
        Array2::from_shape_fn((sizes[0], sizes[0]), |(i, j)| (i.min(j) + 1) as f64)
    }

    fn rows(&self, sizes: &[usize]) -> Result<Rows> {
        let n = sizes[0];
        Ok(Box::new((0..n).map(move |c| (0..n).map(|j| if j >= c { 1.0 } else { 0.0 }).collect())))
    }
}

/// The closed form against the rows; the error of suffix queries against that of prefix queries,
/// their mirror image.
#[test]
fn an_external_family_is_solved_and_planned() {
    let rows: Vec<f64> = SUFFIX.rows(&[5]).unwrap().flatten().collect();
    let rows = Array2::from_shape_vec((5, 5), rows).unwrap();
    assert_eq!(SUFFIX.gram(&[5]).unwrap(), rows.t().dot(&rows));
    assert_eq!(SUFFIX.count(&[5]).unwrap().to_string(), "5");
    assert!(SUFFIX.count(&[5, 5]).unwrap_err().to_string().contains("suffix"));

    let optimum = |family| {
        let gram = Workload::family(family, &[24]).unwrap().gram().unwrap();
        Optimal::default().select(&gram).unwrap().error
    };
    assert_relative_eq!(optimum(SUFFIX), optimum(Family::PREFIX), max_relative = 1e-6);
    for planner in planners() {
        // The prefix basis is not symmetric under reversal.
        if planner.name().starts_with("residual-planner-plus") {
            continue;
        }
        let rmse =
            |family| planner.plan(&one_and_two_way(family), PrivacyCost::UNIT).unwrap().rmse();
        assert_relative_eq!(rmse(SUFFIX), rmse(Family::PREFIX), max_relative = 1e-5);
    }
}
