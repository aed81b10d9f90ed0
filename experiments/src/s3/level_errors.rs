//! Errors per level of a generated geography over a table.

use matmech::access::{PaidAccess, PrivateTable, Question};
use matmech::data::{Column, Records};
use matmech::domain::{AttributeSet, Hierarchy};
use matmech::mechanism::run_plan;
use matmech::planner::Plan;
use matmech::privacy::{NoiseStream, PrivacyCost};
use matmech::schema::Schema;
use matmech::workload::GroupedWorkload;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::geography::{self, GROUPS, Geography, LEVELS, Weights};
use super::plan_rows::{self, GLOBAL_BOUND, KnownBounds};
use super::top_down::TopDown;
use crate::columns;
use crate::datasets::{Catalogue, DataUse};
use crate::error::Result;
use crate::experiment::{CellCertificate, CellOf, Kind, Row};

/// The method that measures every level by sex and age, with equal shares of the privacy cost, and
/// makes the counts consistent by least squares.
const TOP_DOWN: &str = "top-down";

/// Geographies × weights × methods over a table with sex and age.
///
/// Every record has a generated area.
///
/// The queries are all nodes of all levels, alone and by sex, by age, and by both. Their weights
/// are equal, or have equal sums over the levels. Errors are at unit privacy cost:
///
/// - `rmse`: weighted expected error of all queries, with the lower bound of the planner. For the
///   method `global-bound`, the lower bound over all matrix mechanisms.
/// - `LEVEL_rmse`: expected error of all queries of a level.
/// - `LEVEL_cell_rmse`: expected error of the counts of a level by sex and age.
/// - `LEVEL_measured`: error of all queries of a level in one run on the table.
#[derive(Debug)]
pub struct LevelErrors {
    catalogue: Catalogue,
    bounds: KnownBounds<Params>,
}

/// The grid: all combinations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// The table.
    dataset: String,
    geographies: Vec<Geography>,
    /// What the weights make equal: `queries` or `levels`.
    weights: Vec<Weights>,
    /// Names of planners, `top-down` or `global-bound`.
    methods: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Params {
    data: DataUse,
    geography: Geography,
    weights: Weights,
}

impl LevelErrors {
    /// Creates the kind for the tables of a catalogue.
    #[must_use]
    pub fn new(catalogue: Catalogue) -> Self {
        LevelErrors { catalogue, bounds: KnownBounds::default() }
    }
}

impl Kind for LevelErrors {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "level-errors";
    const SUMMARY: &'static str =
        "error of planners per level of a generated geography, by sex and age, with certificates";
    const KEYS: &'static [&'static str] = &["dataset", columns::DATA, "geography", "weights"];
    const BOUND_ON_ALL: Option<&'static str> = Some(GLOBAL_BOUND);
    const ERRORS: &'static [&'static str] = &["rmse"];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid { dataset, geographies, weights, methods } = grid;
        let data = self.catalogue.identify(&dataset).map_err(|error| error.under("dataset"))?;
        for (k, method) in methods.iter().enumerate().filter(|(_, method)| *method != TOP_DOWN) {
            plan_rows::check_method(&format!("methods[{k}]"), method)?;
        }
        let mut cells = Vec::new();
        for (k, geography) in geographies.into_iter().enumerate() {
            geography.check().map_err(|error| error.under(&format!("geographies[{k}]")))?;
            for &weights in &weights {
                let params = Params { data: data.clone(), geography: geography.clone(), weights };
                cells.extend(methods.iter().map(|method| {
                    let name = weights.name();
                    let key: [&dyn ToString; 4] = [&dataset, &data.label(), &geography.name, &name];
                    CellOf::new(key, method, params.clone())
                }));
            }
        }
        Ok(cells)
    }

    fn bounded_by(&self, method: &str) -> Option<&'static str> {
        plan_rows::bounded_by(method)
    }

    fn run(&self, method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let setting = Setting::new(&self.catalogue, &params)?;
        match method {
            GLOBAL_BOUND => {
                let areas = setting.areas()?;
                let mut rows = plan_rows::all("rmse", method, &areas, &params, &self.bounds)?;
                setting.scale(&mut rows);
                Ok(rows)
            }
            TOP_DOWN => setting.top_down(rng),
            planner => setting.planned(planner, rng),
        }
    }

    fn prove(
        &self,
        method: &str,
        params: Params,
        certificate: &CellCertificate,
    ) -> Result<Vec<Row>> {
        let setting = Setting::new(&self.catalogue, &params)?;
        if method != GLOBAL_BOUND {
            return plan_rows::proved("rmse", method, &setting.workload, certificate);
        }
        let mut rows = plan_rows::proved("rmse", method, &setting.areas()?, certificate)?;
        setting.scale(&mut rows);
        Ok(rows)
    }
}

/// The table of a cell, with areas, and its queries.
#[derive(Debug)]
struct Setting {
    hierarchy: Hierarchy,
    weights: Weights,
    records: Records,
    /// The queries as planners get them.
    workload: GroupedWorkload,
    /// The same queries by level.
    levels: GroupedWorkload,
}

impl Setting {
    fn new(catalogue: &Catalogue, params: &Params) -> Result<Self> {
        let table = catalogue.load(&params.data.name)?;
        let hierarchy = params.geography.hierarchy()?;
        let column = |name: &str| -> Result<(usize, Column)> {
            let position = table.schema.position(name)?;
            let values = table.records.column(position).into_iter().flatten().collect();
            Ok((table.schema.attributes()[position].size, values))
        };
        let ((sex, sexes), (age, ages)) = (column("sex")?, column("age")?);
        let schema = geography::schema(&hierarchy, sex, age)?;
        let tract = |row| Geography::tract_of(row, hierarchy.leaves()) as u32;
        let areas = (0..table.records.len()).map(tract).collect();
        Ok(Setting {
            records: Records::new(&schema, vec![areas, sexes, ages])?,
            workload: geography::all_levels(&schema, &hierarchy, params.weights)?,
            levels: geography::by_level(&schema, &hierarchy, params.weights)?,
            hierarchy,
            weights: params.weights,
        })
    }

    fn schema(&self) -> &Schema {
        self.workload.schema()
    }

    /// Returns the numbers of values of sex and age.
    fn others(&self) -> [usize; 2] {
        [1, 2].map(|position| self.schema().attributes()[position].size)
    }

    /// Returns the queries on areas alone.
    fn areas(&self) -> Result<GroupedWorkload> {
        let schema = Schema::new(self.schema().attributes()[..1].to_vec())?;
        Ok(geography::all_levels(&schema, &self.hierarchy, self.weights)?)
    }

    /// Multiplies the lower bound for areas alone by those for the other attributes.
    ///
    /// The queries are a Kronecker product: the weighted nodes, times the total and the values of
    /// sex, times those of age. Weights on cells prove a bound, and products of weights the product of the
    /// bounds. The matrix `I + J` of n values is invariant under permutations of the values, so its
    /// bound for uniform weights, `(√(n + 1) + n − 1)²/n`, is the optimum.
    fn scale(&self, rows: &mut [Row]) {
        let root = |n: usize| {
            let n = n as f64;
            ((n + 1.0).sqrt() + n - 1.0) / (n * (n + 1.0)).sqrt()
        };
        let factor: f64 = self.others().into_iter().map(root).product();
        for row in rows.iter_mut().filter(|row| row.metric == "rmse") {
            for value in [&mut row.value, &mut row.lower_bound].into_iter().flatten() {
                *value *= factor;
            }
        }
    }

    /// Returns the rows of a planner.
    fn planned(&self, planner: &str, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let (plan, seconds) = plan_rows::timed(planner, &self.workload)?;
        let by_level = Plan::of_measurements(
            planner,
            &self.levels,
            plan.measurements().to_vec(),
            plan.reconstruction(),
            plan.measure(),
        )?;
        let mut measured = [0.0; LEVELS.len()];
        let mut table =
            PrivateTable::of_records(&self.records, by_level.privacy_cost().rho(), rng)?;
        run_plan(&by_level, &self.levels, &mut table, &mut |group, answers| {
            let truth = self.truth(group)?;
            measured[group / GROUPS] += squares(answers.iter().zip(&truth).map(|(x, y)| x - y));
            Ok(())
        })?;
        let expected: Vec<f64> = by_level.groups().iter().map(|group| group.variance).collect();
        let rows = [plan_rows::error("rmse", &plan, seconds)].into_iter();
        Ok(rows.chain(self.rows_of_levels(&expected, &measured)).collect())
    }

    /// Returns the true answers of a group of the queries by level.
    fn truth(&self, group: usize) -> matmech::Result<Vec<f64>> {
        let group = &self.levels.groups()[group];
        group.answers(&self.records.marginal(group.attributes())?)
    }

    /// Returns the rows of [`TOP_DOWN`].
    fn top_down(&self, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let variance = LEVELS.len() as f64;
        let top_down = TopDown::new(&self.hierarchy, variance);
        let cells: usize = self.others().iter().product();
        let expected: Vec<f64> = (top_down.variances().iter())
            // A query that sums over cells has the sum of their variances, so all groups of a level
            // have the same sum.
            .flat_map(|level| [level.iter().sum::<f64>() * cells as f64; GROUPS])
            .collect();
        let share = PrivacyCost::new(variance.recip())?.rho();
        let truth = (0..LEVELS.len())
            .map(|level| Ok(self.truth(level * GROUPS + GROUPS - 1)?))
            .collect::<Result<Vec<_>>>()?;
        let mut noisy = Vec::new();
        for counts in &truth {
            let mut table = PrivateTable::of_vector(&[counts.len()], counts, share, rng)?;
            let question = Question::Marginal { attributes: AttributeSet::first(1), variance };
            noisy.push(table.measure(&question, NoiseStream::Shared)?);
        }
        let mut errors = truth;
        for cell in 0..cells {
            let of_cell = |counts: &Vec<f64>| -> Vec<f64> {
                counts.iter().skip(cell).step_by(cells).copied().collect()
            };
            let measurements: Vec<Vec<f64>> = noisy.iter().map(of_cell).collect();
            for (errors, estimates) in errors.iter_mut().zip(top_down.estimates(&measurements)) {
                let of_cell = errors.iter_mut().skip(cell).step_by(cells);
                of_cell.zip(estimates).for_each(|(error, estimate)| *error = estimate - *error);
            }
        }
        let mut measured = [0.0; LEVELS.len()];
        for (measured, errors) in measured.iter_mut().zip(&errors) {
            *measured = self.square_error(errors);
        }
        let rows = self.rows_of_levels(&expected, &measured);
        let queries = self.levels.count().as_f64();
        let groups = self.levels.groups().iter().zip(&expected);
        let sum: f64 = groups.map(|(group, variance)| group.weight() * variance).sum();
        let total = Row::new("rmse", (sum / queries).sqrt());
        Ok([total].into_iter().chain(rows).collect())
    }

    /// Returns the sum of the square errors of all queries of a level, from the errors of its
    /// counts by sex and age.
    fn square_error(&self, errors: &[f64]) -> f64 {
        let [_, age] = self.others();
        let area = |errors: &[f64]| {
            let by_sex: Vec<f64> = errors.chunks(age).map(|row| row.iter().sum()).collect();
            let by_age = (0..age).map(|value| errors.iter().skip(value).step_by(age).sum());
            let total = by_sex.iter().sum();
            squares(errors.iter().copied()) + squares(by_age) + squares(by_sex) + squares([total])
        };
        errors.chunks(self.others().iter().product()).map(area).sum()
    }

    /// Returns the rows of all levels.
    ///
    /// `expected` has the sum of the variances of every group by level, `measured` the sum of the
    /// square errors of every level.
    fn rows_of_levels(&self, expected: &[f64], measured: &[f64]) -> Vec<Row> {
        let mut rows = Vec::new();
        let groups = self.levels.groups().chunks(GROUPS).zip(expected.chunks(GROUPS));
        for ((name, measured), (groups, expected)) in LEVELS.iter().zip(measured).zip(groups) {
            let counts: Vec<f64> = groups.iter().map(|group| group.count().as_f64()).collect();
            let queries: f64 = counts.iter().sum();
            let cells = expected[GROUPS - 1] / counts[GROUPS - 1];
            rows.push(Row::new(
                format!("{name}_rmse"),
                (expected.iter().sum::<f64>() / queries).sqrt(),
            ));
            rows.push(Row::new(format!("{name}_cell_rmse"), cells.sqrt()));
            rows.push(Row::new(format!("{name}_measured"), (measured / queries).sqrt()));
        }
        rows
    }
}

fn squares(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors.into_iter().map(|error| error * error).sum()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ndarray::Array2;
    use rand::SeedableRng;

    use super::super::top_down::tests::inverse;
    use super::*;
    use crate::experiment::Experiment;

    const GRID: &str = "dataset = 'adult'\n\
        methods = ['query-smasher', 'anova', 'top-down', 'global-bound']\n\
        weights = ['queries', 'levels']\n\
        geographies = [{ name = 'small', children = [[2], [1, 2], [1, 2], [2, 1]] }]";

    fn kind() -> LevelErrors {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        LevelErrors::new(Catalogue::of_process(&root))
    }

    /// Returns the cell of a marginal that contains each cell of the domain.
    fn cells_of(setting: &Setting, attributes: AttributeSet) -> Vec<usize> {
        let sizes = setting.schema().sizes();
        let of_cell = |cell: usize| {
            let digits =
                [cell / (sizes[1] * sizes[2]), cell / sizes[2] % sizes[1], cell % sizes[2]];
            attributes.positions().fold(0, |index, p| index * sizes[p] + digits[p])
        };
        (0..sizes.iter().product()).map(of_cell).collect()
    }

    /// Compares the errors of every level with the covariance of least squares on all cells,
    /// W M⁻¹Wᵀ with the information matrix M of the measurements.
    #[test]
    fn errors_per_level_are_those_of_explicit_matrices() {
        let kind = kind();
        let experiment: &dyn Experiment = &kind;
        let cells = experiment.cells(&GRID.parse().unwrap()).unwrap();
        let mut bound = f64::NAN;
        for cell in cells.iter().rev() {
            let mut rng = ChaCha20Rng::seed_from_u64(7);
            let rows = experiment.run(cell, &mut rng).unwrap();
            let value = |name: &str| {
                rows.iter().find(|row| row.metric == name).and_then(|row| row.value).unwrap()
            };
            if cell.method == GLOBAL_BOUND {
                bound = value("rmse");
                continue;
            }
            assert!(value("rmse") >= bound * (1.0 - 1e-9), "{} {bound}", value("rmse"));
            let params: Params = serde_json::from_value(cell.params.clone()).unwrap();
            let setting = Setting::new(&kind.catalogue, &params).unwrap();
            let n = setting.schema().sizes().iter().product();
            let mut information = Array2::<f64>::zeros((n, n));
            let mut add = |gram: &Array2<f64>, attributes: AttributeSet, scale: f64| {
                let of = cells_of(&setting, attributes);
                information.indexed_iter_mut().for_each(|((i, j), entry)| {
                    *entry += scale * gram[[of[i], of[j]]];
                });
            };
            if cell.method == TOP_DOWN {
                for group in setting.levels.groups().iter().skip(GROUPS - 1).step_by(GROUPS) {
                    let rows: Vec<Vec<f64>> = group.rows().unwrap().collect();
                    let w = Array2::from_shape_fn((rows.len(), n), |(i, j)| rows[i][j]);
                    add(&w.t().dot(&w), group.attributes(), 1.0 / LEVELS.len() as f64);
                }
            } else {
                let (plan, _) = plan_rows::timed(&cell.method, &setting.workload).unwrap();
                for planned in plan.measurements() {
                    let gram = planned.strategy.gram().unwrap();
                    add(&gram, planned.attributes, planned.privacy_cost.get());
                }
            }
            let covariance = inverse(information);
            let (mut total, mut all) = (0.0, 0.0);
            for (name, groups) in LEVELS.iter().zip(setting.levels.groups().chunks(GROUPS)) {
                let (mut variance, mut queries) = (0.0, 0.0);
                for group in groups {
                    let of = cells_of(&setting, group.attributes());
                    for row in group.rows().unwrap() {
                        let whole: ndarray::Array1<f64> = of.iter().map(|&k| row[k]).collect();
                        let of_query = whole.dot(&covariance.dot(&whole));
                        variance += of_query;
                        total += group.weight() * of_query;
                        queries += 1.0;
                    }
                }
                let expected = (variance / queries).sqrt();
                let found = value(&format!("{name}_rmse"));
                approx::assert_relative_eq!(found, expected, max_relative = 1e-7);
                all += queries;
            }
            let expected = (total / all).sqrt();
            approx::assert_relative_eq!(value("rmse"), expected, max_relative = 1e-7);
            let ratio = value("tract_measured") / value("tract_rmse");
            assert!((ratio - 1.0).abs() < 0.25, "{}: {ratio}", cell.method);
        }
    }

    #[test]
    fn bad_grids_name_the_key() {
        for (from, to, key) in [
            ("'anova'", "'anov'", "methods[1]"),
            ("[[2]", "[[0]", "geographies[0].children[0]"),
            ("'adult'", "'adlt'", "dataset"),
        ] {
            let grid = GRID.replacen(from, to, 1).parse().unwrap();
            assert_eq!(Experiment::cells(&kind(), &grid).unwrap_err().key(), key);
        }
    }
}
