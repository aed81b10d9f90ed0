//! Times of Decomp and Recon by in-axis operations and by Kronecker products (S4, Fig. 3 and 5).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use matmech::domain::AxisSet;
use matmech::residual::kronecker::{
    Factor, apply_dense, apply_structured, decomp_factors, recon_factors,
};
use matmech::residual::{decomp, recon};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::printed::memory;
use crate::remembered::Remembered;
use crate::statistics::Sample;

/// Maximum number of arrays of the size of the marginal that one measurement holds: input and
/// result of a factor of the Kronecker product.
const ARRAYS: f64 = 2.0;

/// Number of remembered times; above that of all points, methods and operations of the paper.
const MAX_TIMES: usize = 256;

/// Minimum total time of the calls in seconds.
const MIN_SECONDS: f64 = 0.1;

/// Minimum number of calls, unless they take [`MAX_SECONDS`].
const MIN_CALLS: usize = 3;

/// Total time of the calls in seconds after which there is no further call.
const MAX_SECONDS: f64 = 2.0;

/// The two sides of the figure and the claims about it.
///
/// A cell of a side is one size, degree and method. Its rows `decomp` and `recon` have the number
/// of output values, with the median time of a call in `seconds`. A cell of a claim has the times
/// of all methods on every point of the claim; its values are computed from times and differ from
/// run to run. Cells share the times that one run has measured.
#[derive(Debug)]
pub struct ResidualTiming {
    times: Remembered<(Operation, Method, TimingPoint), Timed>,
}

impl Default for ResidualTiming {
    fn default() -> Self {
        ResidualTiming { times: Remembered::new(MAX_TIMES) }
    }
}

/// The median time of a call in seconds, and the number of values of its result.
#[derive(Debug, Clone, Copy)]
struct Timed {
    seconds: f64,
    values: usize,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Attribute size of the side with varying degree.
    n: usize,
    /// Numbers of attributes at that size.
    degrees: Vec<usize>,
    /// Number of attributes of the side with varying size.
    degree: usize,
    /// Attribute sizes at that degree.
    sizes: Vec<usize>,
    /// The methods.
    methods: Vec<Method>,
    /// The claims to measure.
    claims: Vec<Claim>,
    /// Maximum memory of a measurement in 10⁶ bytes.
    max_mb: f64,
}

/// A method of Decomp and Recon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// In-axis operations.
    InAxis,
    /// The shuffle algorithm with dense factors.
    KroneckerDense,
    /// The shuffle algorithm with factors in O(rows + columns), as in the public code of the
    /// baseline.
    KroneckerStructured,
}

impl Method {
    /// Returns the name in configs and tables.
    fn name(self) -> &'static str {
        match self {
            Self::InAxis => "in-axis",
            Self::KroneckerDense => "kronecker-dense",
            Self::KroneckerStructured => "kronecker-structured",
        }
    }
}

/// A claim of S4 about Fig. 3, by the id of the published value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// Mean speedup of Decomp over the degrees.
    #[serde(rename = "fig3-decomp-degree")]
    DecompDegree,
    /// Mean speedup of Decomp over the sizes.
    #[serde(rename = "fig3-decomp-size")]
    DecompSize,
    /// Maximum slowdown of Recon in seconds.
    #[serde(rename = "fig3-recon-slower")]
    ReconSlower,
    /// Maximum gain of Recon in seconds.
    #[serde(rename = "fig3-recon-faster")]
    ReconFaster,
}

impl Claim {
    /// Returns the id of the published value, which is also the name in configs.
    fn id(self) -> &'static str {
        match self {
            Self::DecompDegree => "fig3-decomp-degree",
            Self::DecompSize => "fig3-decomp-size",
            Self::ReconSlower => "fig3-recon-slower",
            Self::ReconFaster => "fig3-recon-faster",
        }
    }
}

/// A marginal of `degree` attributes with `n` values each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimingPoint {
    n: usize,
    degree: usize,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
pub enum Params {
    /// A point of one side of the figure.
    Side { point: TimingPoint, method: Method },
    /// A claim and its points.
    Claim { claim: Claim, points: Vec<TimingPoint> },
}

impl Kind for ResidualTiming {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "residual-timing";
    const SUMMARY: &'static str =
        "time of Decomp and Recon by in-axis operations and by Kronecker products";
    const KEYS: &'static [&'static str] = &["id", "n", "degree"];
    const TIMED: &'static [&'static str] = &[
        "mean_speedup",
        "mean_speedup_over_structured",
        "mean_speedup_over_dense",
        "max_slowdown_seconds",
        "max_slowdown_seconds_over_structured",
        "max_slowdown_seconds_over_dense",
        "max_gain_seconds",
        "max_gain_seconds_over_structured",
        "max_gain_seconds_over_dense",
    ];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let by_degree = grid.degrees.iter().map(|&degree| TimingPoint { n: grid.n, degree });
        let by_degree = points("degrees", grid.max_mb, by_degree)?;
        let by_size = grid.sizes.iter().map(|&n| TimingPoint { n, degree: grid.degree });
        let by_size = points("sizes", grid.max_mb, by_size)?;
        let mut cells = Vec::new();
        for (id, side) in [("fig3-degree", &by_degree), ("fig3-size", &by_size)] {
            for &point in side {
                for &method in &grid.methods {
                    let key: [&dyn ToString; 3] = [&id, &point.n, &point.degree];
                    cells.push(CellOf::new(key, method.name(), Params::Side { point, method }));
                }
            }
        }
        for &claim in &grid.claims {
            let points = match claim {
                Claim::DecompDegree => by_degree.clone(),
                Claim::DecompSize => by_size.clone(),
                Claim::ReconSlower | Claim::ReconFaster => {
                    [by_degree.clone(), by_size.clone()].concat()
                }
            };
            if points.is_empty() {
                return Err(Error::config(
                    "claims",
                    "points to measure",
                    "none",
                    "give degrees and sizes",
                ));
            }
            let (n, degree) =
                (span(points.iter().map(|p| p.n)), span(points.iter().map(|p| p.degree)));
            let key: [&dyn ToString; 3] = [&claim.id(), &n, &degree];
            cells.push(CellOf::new(
                key,
                "in-axis against kronecker",
                Params::Claim { claim, points },
            ));
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        match params {
            Params::Side { point, method } => {
                let row = |metric: &str, timed: &Timed| Row {
                    seconds: Some(timed.seconds),
                    ..Row::new(metric, timed.values as f64)
                };
                let down = self.timed(Operation::Decomp, method, point, rng)?;
                let up = self.timed(Operation::Recon, method, point, rng)?;
                Ok(vec![row("decomp", &down), row("recon", &up)])
            }
            Params::Claim { claim, points } => self.measure(claim, &points, rng),
        }
    }
}

impl ResidualTiming {
    /// Measures the quantity of a claim relative to each baseline.
    ///
    /// The metric without suffix is relative to the structured baseline, that of the public code.
    fn measure(
        &self,
        claim: Claim,
        points: &[TimingPoint],
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<Row>> {
        let operation = match claim {
            Claim::DecompDegree | Claim::DecompSize => Operation::Decomp,
            Claim::ReconSlower | Claim::ReconFaster => Operation::Recon,
        };
        let mut times = Vec::new();
        for &point in points {
            let mut seconds =
                |method| -> Result<f64> { Ok(self.timed(operation, method, point, rng)?.seconds) };
            times.push([
                seconds(Method::InAxis)?,
                seconds(Method::KroneckerStructured)?,
                seconds(Method::KroneckerDense)?,
            ]);
        }
        Ok(claim_rows(claim, &times))
    }

    /// Returns the time of an operation on random counts, measured once.
    fn timed(
        &self,
        operation: Operation,
        method: Method,
        point: TimingPoint,
        rng: &mut ChaCha20Rng,
    ) -> Result<Arc<Timed>> {
        self.times.get((operation, method, point), || timed(operation, method, point, rng))
    }
}

/// Returns the rows of a claim from the times of its points: in-axis, structured, dense.
fn claim_rows(claim: Claim, times: &[[f64; 3]]) -> Vec<Row> {
    let over = |baseline: usize| {
        let pairs = times.iter().map(|times| (times[0], times[baseline]));
        match claim {
            Claim::DecompDegree | Claim::DecompSize => {
                pairs.map(|(in_axis, baseline)| baseline / in_axis).collect::<Sample>().mean()
            }
            Claim::ReconSlower => {
                pairs.map(|(in_axis, baseline)| in_axis - baseline).collect::<Sample>().largest()
            }
            Claim::ReconFaster => {
                pairs.map(|(in_axis, baseline)| baseline - in_axis).collect::<Sample>().largest()
            }
        }
    };
    let quantity = match claim {
        Claim::DecompDegree | Claim::DecompSize => "mean_speedup",
        Claim::ReconSlower => "max_slowdown_seconds",
        Claim::ReconFaster => "max_gain_seconds",
    };
    vec![
        Row::new(quantity, over(1)),
        Row::new(format!("{quantity}_over_structured"), over(1)),
        Row::new(format!("{quantity}_over_dense"), over(2)),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Decomp,
    Recon,
}

impl TimingPoint {
    fn sizes(self) -> Vec<usize> {
        vec![self.n; self.degree]
    }

    fn kept(self) -> AxisSet {
        AxisSet::all(self.degree)
    }
}

/// Measures the median time of a call on random values.
///
/// Every call has a new input, which the baselines overwrite: a copy would be a third array.
fn timed(
    operation: Operation,
    method: Method,
    point: TimingPoint,
    rng: &mut ChaCha20Rng,
) -> Result<Timed> {
    let (sizes, kept) = (point.sizes(), point.kept());
    let factors: Vec<Factor> = match operation {
        Operation::Decomp => decomp_factors(&sizes, kept),
        Operation::Recon => recon_factors(&sizes, kept),
    };
    let cells = factors.iter().map(|factor| factor.columns()).product();
    let mut call = || -> Result<Timed> {
        let given = black_box(values(cells, rng));
        let started = Instant::now();
        let result = match (method, operation) {
            (Method::InAxis, Operation::Decomp) => decomp(&given, &sizes, kept),
            (Method::InAxis, Operation::Recon) => recon(&given, &sizes, kept),
            (Method::KroneckerDense, _) => apply_dense(&factors, given),
            (Method::KroneckerStructured, _) => apply_structured(&factors, given),
        };
        let result = black_box(result?);
        Ok(Timed { seconds: started.elapsed().as_secs_f64(), values: result.len() })
    };
    // The first call is not counted, because it allocates memory.
    let Timed { values, .. } = call()?;
    let (mut calls, mut sum) = (Vec::new(), 0.0);
    while sum < MIN_SECONDS || (calls.len() < MIN_CALLS && sum < MAX_SECONDS) {
        let Timed { seconds, .. } = call()?;
        calls.push(seconds);
        sum += seconds;
    }
    calls.sort_by(f64::total_cmp);
    Ok(Timed { seconds: calls[calls.len() / 2], values })
}

/// Returns random counts; they do not matter for the time.
fn values(count: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..count).map(|_| f64::from(rng.random_range(0..100u32))).collect()
}

/// Returns the points of one side of the figure.
///
/// # Errors
/// Returns an error under `key` if a point is empty or needs more than `max_mb`.
fn points(
    key: &str,
    max_mb: f64,
    points: impl Iterator<Item = TimingPoint>,
) -> Result<Vec<TimingPoint>> {
    let points: Vec<TimingPoint> = points.collect();
    for TimingPoint { n, degree } in &points {
        let cells = (*n as f64).powf(*degree as f64);
        let mb = ARRAYS * 8.0 * cells / 1e6;
        if *n < 2 || *degree == 0 || mb > max_mb {
            let expected = format!(
                "at least one attribute of at least 2 values, and at most {}, as max_mb states",
                memory(max_mb)
            );
            let found = format!("{n}^{degree} cells, which need {}", memory(mb));
            let remedy = "use smaller sizes or fewer attributes, or a larger max_mb";
            return Err(Error::config(key, expected, found, remedy));
        }
    }
    Ok(points)
}

/// Formats the range of values, such as `2-6`, or `3` if all are equal.
fn span(values: impl Iterator<Item = usize> + Clone) -> String {
    match (values.clone().min(), values.max()) {
        (Some(low), Some(high)) if low < high => format!("{low}-{high}"),
        (low, _) => low.unwrap_or_default().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    const GRID: &str = "n = 4\ndegrees = [2, 3]\ndegree = 3\nsizes = [2, 5]\n\
                    methods = ['in-axis', 'kronecker-dense', 'kronecker-structured']\n\
                    claims = ['fig3-decomp-degree', 'fig3-recon-slower']\nmax_mb = 10";

    #[test]
    fn bad_grids_name_the_key() {
        let kind: &dyn Experiment = &ResidualTiming::default();
        for (from, to, key) in [
            ("degrees = [2, 3]", "degrees = [2, 99]", "degrees"),
            ("degrees = [2, 3]", "degrees = [0]", "degrees"),
            ("sizes = [2, 5]", "sizes = [1]", "sizes"),
            ("sizes = [2, 5]", "sizes = [5000]", "sizes"),
            ("degrees = [2, 3]", "degrees = []", "claims"),
            ("in-axis", "in-axes", "methods"),
        ] {
            let error = kind.cells(&GRID.replace(from, to).parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }

    /// Methods and claims have the same names in configs, tables and stored params.
    #[test]
    fn names_are_those_of_configs() {
        for method in [Method::InAxis, Method::KroneckerDense, Method::KroneckerStructured] {
            assert_eq!(serde_json::to_value(method).unwrap(), method.name());
        }
        for claim in
            [Claim::DecompDegree, Claim::DecompSize, Claim::ReconSlower, Claim::ReconFaster]
        {
            assert_eq!(serde_json::to_value(claim).unwrap(), claim.id());
        }
    }

    /// Rows of a side have the number of values and a time. A claim spans all points.
    #[test]
    fn cells_hold_sizes_and_times() {
        let kind: &dyn Experiment = &ResidualTiming::default();
        let cells = kind.cells(&GRID.parse().unwrap()).unwrap();
        assert_eq!(cells.len(), 4 * 3 + 2);
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        for cell in &cells[..12] {
            let rows = kind.run(cell, &mut rng).unwrap();
            let of = |column: usize| cell.key[column].1.parse::<u32>().unwrap();
            let values: Vec<_> = rows.iter().map(|row| row.value.unwrap()).collect();
            assert_eq!(
                values,
                [(of(1) - 1).pow(of(2)), of(1).pow(of(2))].map(f64::from),
                "{:?}",
                cell.key
            );
            assert!(rows.iter().all(|row| row.seconds.unwrap() > 0.0));
        }
        let claim = &cells[13];
        assert_eq!(
            [&claim.key[0].1, &claim.key[1].1, &claim.key[2].1],
            ["fig3-recon-slower", "2-5", "2-3"]
        );
        let metrics: Vec<String> =
            kind.run(claim, &mut rng).unwrap().into_iter().map(|row| row.metric).collect();
        assert_eq!(
            metrics,
            ["", "_over_structured", "_over_dense"].map(|of| format!("max_slowdown_seconds{of}"))
        );
    }

    /// Compares with ratios and differences of given times: in-axis, structured, dense.
    #[test]
    fn claims_are_computed_from_the_times() {
        let times = [[1.0, 2.0, 8.0], [2.0, 1.5, 4.0]];
        let values = |claim| {
            claim_rows(claim, &times).into_iter().map(|row| row.value.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(values(Claim::DecompDegree), [1.375, 1.375, 5.0]);
        assert_eq!(values(Claim::ReconSlower), [0.5, 0.5, -2.0]);
        assert_eq!(values(Claim::ReconFaster), [1.0, 1.0, 7.0]);
    }
}
