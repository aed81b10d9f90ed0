//! The matrices of S2's example: the workload of Fig. 1(b) and the strategies of Example 4.

use matmech::linalg::kron;
use matmech::strategy;
use matmech::workload::Workload;
use ndarray::{Array2, ArrayView1};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::worked_example::queries;
use crate::error::Result;
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::check_method;

/// One value `entry` for each query and cell of a matrix.
///
/// The matrix is the `workload`, or a strategy scaled to a largest column norm of 1. With
/// `descriptions`, the workload also has the `condition` of every cell (Fig. 1(a)), the `meaning` of
/// every query (Fig. 1(c)) and the number of `range_queries` (Example 3), all from the matrix.
#[derive(Debug)]
pub struct ExampleMatrices;

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// `workload`, or names of strategies.
    methods: Vec<String>,
    /// Whether the cells and queries of the workload are described.
    #[serde(default)]
    descriptions: bool,
}

/// The params of a cell: row or column of the matrix, from 0, or both.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cell: Option<usize>,
}

/// The key of a description in the column that does not apply.
const ALL: &str = "all";

/// The method whose matrix is the workload.
const WORKLOAD: &str = "workload";

impl Kind for ExampleMatrices {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "example-matrices";
    const SUMMARY: &'static str =
        "the workload of S2's Fig. 1(b) and strategies for it, entry by entry";
    const KEYS: &'static [&'static str] = &["query", "cell_number"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let mut cells = Vec::new();
        for (i, method) in grid.methods.iter().enumerate() {
            check_method(&format!("methods[{i}]"), method)?;
            let (rows, columns) = matrix(method)?.dim();
            for query in 0..rows {
                for cell in 0..columns {
                    cells.push(CellOf::new(
                        [&(query + 1), &(cell + 1)],
                        method,
                        Params { query: Some(query), cell: Some(cell) },
                    ));
                }
            }
        }
        if grid.descriptions {
            let mut add = |query: Option<usize>, cell: Option<usize>| {
                let key = |index: Option<usize>| {
                    index.map_or_else(|| ALL.to_owned(), |index| (index + 1).to_string())
                };
                let keys = [key(query), key(cell)];
                cells.push(CellOf::new([&keys[0], &keys[1]], WORKLOAD, Params { query, cell }));
            };
            let (rows, columns) = queries().dim();
            (0..columns).for_each(|cell| add(None, Some(cell)));
            (0..rows).for_each(|query| add(Some(query), None));
            add(None, None);
        }
        Ok(cells)
    }

    fn run(
        &self,
        method: &str,
        Params { query, cell }: Params,
        _rng: &mut ChaCha20Rng,
    ) -> Result<Vec<Row>> {
        let row = match (query, cell) {
            (Some(query), Some(cell)) => {
                let entry = matrix(method)?.get((query, cell)).copied().unwrap_or(0.0);
                Row::new("entry", entry)
            }
            (None, Some(cell)) => Row::text("condition", condition(cell)),
            (Some(query), None) => Row::text("meaning", meaning(queries().row(query))),
            (None, None) => {
                let is_range = |query: &ArrayView1<'_, f64>| range_of(*query).is_some();
                let ranges = queries().rows().into_iter().filter(is_range).count();
                Row::new("range_queries", ranges as f64)
            }
        };
        Ok(vec![row])
    }
}

/// The values of the first attribute of the example; the second has four ranges of grades.
const GENDERS: [&str; 2] = ["male", "female"];

/// The number of ranges of grades.
const GRADES: usize = 4;

/// Returns the condition of a cell, from 0.
fn condition(cell: usize) -> String {
    format!("{}, grade range {}", GENDERS[cell / GRADES], cell % GRADES + 1)
}

/// Returns the genders and the first and last range of grades of a range query; `None` if the
/// query is not the indicator of a box.
fn range_of(query: ArrayView1<'_, f64>) -> Option<(Vec<usize>, usize, usize)> {
    let cells: Vec<usize> = (0..query.len()).filter(|&cell| query[cell] != 0.0).collect();
    let (first, last) = (*cells.first()? % GRADES, *cells.last()? % GRADES);
    let genders: Vec<usize> =
        (0..GENDERS.len()).filter(|gender| cells.iter().any(|c| c / GRADES == *gender)).collect();
    let is_inside = |cell: usize| {
        genders.contains(&(cell / GRADES)) && (first..=last).contains(&(cell % GRADES))
    };
    let is_box =
        query.iter().enumerate().all(|(cell, &x)| x == if is_inside(cell) { 1.0 } else { 0.0 });
    is_box.then_some((genders, first, last))
}

/// Returns a query in words: a range, the difference of two ranges, or its coefficients.
fn meaning(query: ArrayView1<'_, f64>) -> String {
    let in_words = |(genders, first, last): (Vec<usize>, usize, usize)| {
        let who = match genders[..] {
            [gender] => format!("{} students", GENDERS[gender]),
            _ => "all students".to_owned(),
        };
        match (first, last) {
            (0, last) if last + 1 == GRADES => who,
            (first, last) if first == last => format!("{who} with grade range {}", first + 1),
            (first, last) => format!("{who} with grade ranges {} to {}", first + 1, last + 1),
        }
    };
    let (plus, minus) = (query.mapv(|x| x.max(0.0)), query.mapv(|x| (-x).max(0.0)));
    match (range_of(plus.view()), range_of(minus.view())) {
        (Some(range), None) if minus.iter().all(|x| *x == 0.0) => in_words(range),
        (Some(range), Some(other)) => format!("{} minus {}", in_words(range), in_words(other)),
        _ => format!("{query}"),
    }
}

/// Returns the matrix of the workload, or of a strategy at unit privacy cost.
fn matrix(method: &str) -> Result<Array2<f64>> {
    if method == WORKLOAD {
        return Ok(queries());
    }
    let gram = Workload::explicit(&[8], queries())?.gram()?;
    let strategy = strategy::by_name(method)?.select(&gram)?.strategy;
    let mut rows = Array2::ones((1, 1));
    for factor in strategy.factors() {
        rows = kron(rows.view(), factor.queries()?.view());
    }
    Ok(rows / strategy.sensitivity_squared().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_cells_are_described() {
        let words: Vec<String> = queries().rows().into_iter().map(meaning).collect();
        assert_eq!(words[0], "all students");
        assert_eq!(words[2], "female students");
        assert_eq!(words[3], "all students with grade ranges 1 to 2");
        assert_eq!(words[5], "female students with grade ranges 3 to 4");
        assert_eq!(words[7], "male students minus female students");
        assert_eq!(condition(4), "female, grade range 1");
        let two_corners = ndarray::array![1., 0., 0., 1., 0., 0., 0., 0.];
        assert!(range_of(two_corners.view()).is_none());
        // Example 3: the first seven queries are ranges.
        let is_range = |k: usize| range_of(queries().row(k)).is_some();
        assert!((0..7).all(is_range) && !is_range(7));
    }

    /// The columns have at most norm 1, and the errors are those of Example 4.
    #[test]
    fn the_matrices_have_the_errors_of_the_example() {
        let gram = queries().t().dot(&queries());
        for (method, error) in [("identity", 36.0), ("wavelet", 21.0), ("eigen-design", 15.47)] {
            let rows = matrix(method).unwrap();
            let strategy = rows.t().dot(&rows);
            assert!(
                strategy.diag().iter().all(|norm| *norm <= 1.0 + 1e-9),
                "{method}: {:?}",
                strategy.diag()
            );
            let inverse =
                matmech::linalg::Semidefinite::of(strategy.view()).unwrap().pseudo_inverse();
            let trace = gram.dot(&inverse).diag().sum();
            approx::assert_relative_eq!(trace, error, max_relative = 4e-4);
        }
    }
}
