//! Limits of the search for a measure.

/// Limits of the search for a measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchOptions {
    /// A step that lowers the error by less than this share ends the search.
    ///
    /// Default 1e-9.
    pub tolerance: f64,
    /// Maximum steps from each start, and along a central path.
    ///
    /// Default 60.
    pub steps: usize,
    /// Maximum evaluations of error and gradient from each start.
    ///
    /// Default 90.
    pub evaluations: usize,
    /// Maximum evaluations from each start for joint queries.
    ///
    /// Only the best start continues. Default 8.
    pub heat: usize,
    /// Maximum further evaluations for the best start.
    ///
    /// Default 40.
    pub rest: usize,
    /// Cells of the joint problems up to which `heat` and `rest` apply unchanged.
    ///
    /// Beyond, both decrease in proportion: `heat` to at least half of its value, `rest` to at
    /// least `heat`. Default 10,000.
    pub cells: usize,
    /// Relative gap at which the search for joint queries along a central path ends.
    ///
    /// The error of the measure is above the minimum by far less than this share. Default 3e-4.
    pub gap: f64,
    /// Tolerance of the solves during the search, and of the last step along a central path.
    ///
    /// The final plan uses the solver's tolerance. Default 1e-7.
    pub solve_tolerance: f64,
}

impl Default for SearchOptions {
    fn default() -> Self {
        SearchOptions {
            tolerance: 1e-9,
            steps: 60,
            evaluations: 90,
            heat: 8,
            rest: 40,
            cells: 10_000,
            gap: 3e-4,
            solve_tolerance: 1e-7,
        }
    }
}

impl SearchOptions {
    /// Returns [`heat`](Self::heat) for joint problems with a number of cells.
    pub(super) fn heat_for(&self, cells: usize) -> usize {
        self.in_proportion(self.heat, cells).max(self.heat.div_ceil(2))
    }

    /// Returns [`rest`](Self::rest) for joint problems with a number of cells.
    pub(super) fn rest_for(&self, cells: usize) -> usize {
        self.in_proportion(self.rest, cells).max(self.heat).min(self.evaluations)
    }

    fn in_proportion(&self, evaluations: usize, cells: usize) -> usize {
        if cells <= self.cells { evaluations } else { evaluations * self.cells / cells }
    }
}
