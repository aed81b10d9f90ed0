//! Checks of claims of S2's text about several workloads at once.

use matmech::linalg;
use matmech::strategy;
use matmech::workload::Workload;
use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::eigen_comparison::permuted;
use super::selections::{EIGEN_DESIGN, Selections};
use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};
use crate::strategies::{SVD_BOUND, check_methods, check_workload, check_workloads};

/// One cell per claim; its rows state what holds, with the underlying numbers.
#[derive(Debug, Default)]
pub struct EigenClaims {
    /// The selections, shared by the kinds of S2.
    pub selections: Selections,
}

/// A workload and the strategies that are compared with Eigen-Design on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Workload string.
    workload: String,
    /// Whether its cells are permuted (with seed 1).
    #[serde(default)]
    permuted: bool,
    /// The competing strategies.
    competitors: Vec<String>,
}

/// Workloads of one class.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The name, which is the key of the cell.
    name: String,
    /// The workloads.
    workloads: Vec<Compared>,
}

/// The grid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Classes of workloads with claims about the smallest and the largest gain.
    #[serde(default)]
    classes: Vec<Class>,
    /// The alternative workloads. The claim: Eigen-Design gains `factor` on all but one of them.
    alternatives: Vec<Compared>,
    /// The factor.
    factor: f64,
    /// Workloads that the competitors are designed for.
    targeted: Vec<Compared>,
    /// Workloads with the claim that another design set is better.
    other_bases: Vec<Compared>,
    /// Workloads whose error should not depend on the order of the cells (Prop. 5).
    #[serde(default)]
    representations: Vec<String>,
    /// Workloads whose error should not change if their queries are rotated (Prop. 6).
    #[serde(default)]
    rotated: Vec<String>,
    /// Workloads on which the approximation ratio of Thm 3 is checked.
    #[serde(default)]
    approximated: Vec<String>,
}

/// The params of a cell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "claim", rename_all = "kebab-case")]
pub enum Params {
    /// The gain over every competitor is at least the factor on all workloads but one.
    GainOnAllButOne {
        /// The workloads.
        workloads: Vec<Compared>,
        /// The factor.
        factor: f64,
    },
    /// The gain over the best competitor, and the ratio of Eigen-Design to the SVD bound.
    Gains {
        /// The workloads.
        workloads: Vec<Compared>,
    },
    /// The ratios of the competitors to the SVD bound, on workloads that they are designed for.
    CompetitorsOverBound {
        /// The workloads.
        workloads: Vec<Compared>,
    },
    /// Another design set gives less error.
    OtherBasis {
        /// The workloads.
        workloads: Vec<Compared>,
    },
    /// The error is the same for every order of the cells.
    Representation {
        /// The workload.
        workload: String,
    },
    /// The error is the same for every workload with equal WᵀW.
    Rotation {
        /// The workload.
        workload: String,
    },
    /// The ratio to the optimum is at most (n λ₁/svdb)^¼.
    ApproximationRate {
        /// The workloads.
        workloads: Vec<String>,
    },
}

/// Number of permutations of the cells that Prop. 5 is checked on.
const PERMUTATIONS: u64 = 4;

/// Number of rotations of the queries that Prop. 6 is checked on.
const ROTATIONS: usize = 4;

impl Kind for EigenClaims {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "eigen-claims";
    const SUMMARY: &'static str = "claims of S2's text about several workloads at once";
    const KEYS: &'static [&'static str] = &["workload"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, grid: Grid) -> Result<Vec<CellOf<Params>>> {
        let Grid {
            classes,
            alternatives,
            factor,
            targeted,
            other_bases,
            representations,
            rotated,
            approximated,
        } = grid;
        check_workloads("representations", &representations)?;
        check_workloads("rotated", &rotated)?;
        check_workloads("approximated", &approximated)?;
        check("alternatives", &alternatives)?;
        check("targeted", &targeted)?;
        check("other_bases", &other_bases)?;
        for (i, class) in classes.iter().enumerate() {
            check(&format!("classes[{i}].workloads"), &class.workloads)?;
        }
        let cell = |name: &str, params| CellOf::new([&name], EIGEN_DESIGN, params);
        let mut cells: Vec<CellOf<Params>> = classes
            .into_iter()
            .map(|class| cell(&class.name, Params::Gains { workloads: class.workloads }))
            .collect();
        if !alternatives.is_empty() {
            cells.push(cell(
                "alternative workloads",
                Params::GainOnAllButOne { workloads: alternatives, factor },
            ));
        }
        if !targeted.is_empty() {
            cells.push(cell(
                "targeted workloads",
                Params::CompetitorsOverBound { workloads: targeted },
            ));
        }
        for compared in other_bases {
            let name = compared.workload.clone();
            cells.push(cell(&name, Params::OtherBasis { workloads: vec![compared] }));
        }
        for workload in representations {
            let name = format!("{workload} in {PERMUTATIONS} orders");
            cells.push(cell(&name, Params::Representation { workload }));
        }
        for workload in rotated {
            let name = format!("{workload} in {ROTATIONS} rotations");
            cells.push(cell(&name, Params::Rotation { workload }));
        }
        if !approximated.is_empty() {
            cells.push(cell("Thm 3", Params::ApproximationRate { workloads: approximated }));
        }
        Ok(cells)
    }

    fn run(&self, _method: &str, params: Params, rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        match params {
            Params::GainOnAllButOne { workloads, factor } => {
                let gains = self.over_all(&workloads, EIGEN_DESIGN)?;
                let below = gains.iter().filter(|gain| **gain < factor).count();
                let verdict = match below {
                    0 => "all".to_owned(),
                    1 => "all but one".to_owned(),
                    more => format!("all but {more}"),
                };
                let named = workloads.iter().zip(&gains);
                let mut rows = vec![Row::text("gain_holds_on", verdict)];
                rows.extend(named.map(|(compared, gain)| {
                    Row::new(format!("gain on {}", compared.name()), *gain)
                }));
                Ok(rows)
            }
            Params::Gains { workloads } => {
                let gains = self.over_all(&workloads, EIGEN_DESIGN)?;
                let mut worst: f64 = 1.0;
                for compared in &workloads {
                    worst =
                        worst.max(self.selections.of(&compared.name(), EIGEN_DESIGN)?.over_bound());
                }
                Ok(vec![
                    Row::new("smallest_gain", smallest(&gains)),
                    Row::new("largest_gain", largest(&gains)),
                    Row::new("ratio_to_bound", worst),
                ])
            }
            Params::CompetitorsOverBound { workloads } => {
                let ratios = self.over_each(&workloads, SVD_BOUND)?.concat();
                Ok(vec![
                    Row::new("smallest_over_bound", smallest(&ratios)),
                    Row::new("largest_over_bound", largest(&ratios)),
                ])
            }
            Params::OtherBasis { workloads } => {
                let best = self.over_all(&workloads, EIGEN_DESIGN)?[0];
                let verdict = if best < 1.0 { "another basis" } else { "the eigen-queries" };
                Ok(vec![
                    Row::text("lowest_error_with", verdict),
                    Row::new("best_other_over_eigen", best),
                ])
            }
            Params::Representation { workload } => {
                let mut errors = Vec::new();
                for seed in 1..=PERMUTATIONS {
                    errors.push(
                        self.selections.of(&permuted(&workload, seed), EIGEN_DESIGN)?.over_bound(),
                    );
                }
                Ok(vec![Row::new("largest_over_smallest", largest(&errors) / smallest(&errors))])
            }
            Params::Rotation { workload } => {
                let errors = errors_of_rotations(&workload, rng)?;
                Ok(vec![Row::new("largest_over_smallest", largest(&errors) / smallest(&errors))])
            }
            Params::ApproximationRate { workloads } => {
                let mut share: f64 = 0.0;
                for workload in &workloads {
                    let outcome = self.selections.of(workload, EIGEN_DESIGN)?;
                    let gram = Workload::parse(workload)?.gram()?;
                    let values =
                        linalg::eigvalsh(gram.to_dense()?.view()).map_err(matmech::Error::from)?;
                    let greatest = values.iter().copied().fold(0.0, f64::max);
                    let rate = (gram.cells() as f64 * greatest / outcome.svd_bound).powf(0.25);
                    share = share.max(outcome.over_bound() / rate);
                }
                Ok(vec![Row::new("over_bound_over_rate", share)])
            }
        }
    }
}

/// Returns the RMSE over the SVD bound of Eigen-Design for queries W and for QW, with orthogonal Q.
///
/// Q is a product of three random reflections I − 2vvᵀ/‖v‖², so QW has the Gram matrix of W up to
/// rounding and other queries.
fn errors_of_rotations(text: &str, rng: &mut ChaCha20Rng) -> Result<Vec<f64>> {
    let workload = Workload::parse(text)?;
    let rows: Vec<f64> = workload.rows()?.flatten().collect();
    let shape = (rows.len() / workload.cells(), workload.cells());
    let queries = Array2::from_shape_vec(shape, rows)
        .map_err(|error| Error::bug("the rows of a workload", "rows of equal length", error))?;
    let selector = strategy::by_name(EIGEN_DESIGN)?;
    let mut errors = Vec::new();
    for rotation in 0..=ROTATIONS {
        let mut rotated = queries.clone();
        let reflections = if rotation == 0 { 0 } else { 3 };
        for _ in 0..reflections {
            let v = Array1::<f64>::from_shape_simple_fn(shape.0, || rng.random_range(-1.0..1.0));
            let along = v.dot(&rotated) * (2.0 / v.dot(&v));
            let reflected = v.insert_axis(Axis(1)).dot(&along.insert_axis(Axis(0)));
            rotated = rotated - reflected;
        }
        let gram = Workload::explicit(workload.shape(), rotated)?.gram()?;
        errors.push((selector.select(&gram)?.error / strategy::svd_bound(&gram)?).sqrt());
    }
    Ok(errors)
}

fn smallest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Refuses invalid workloads and strategies, under the key of the list.
fn check(key: &str, list: &[Compared]) -> Result<()> {
    for (i, compared) in list.iter().enumerate() {
        check_workload(&format!("{key}[{i}].workload"), &compared.workload)?;
        let key = format!("{key}[{i}].competitors");
        if compared.competitors.is_empty() {
            return Err(Error::config(key, "at least one strategy", "none", "name one"));
        }
        check_methods(&key, &compared.competitors)?;
    }
    Ok(())
}

impl Compared {
    fn name(&self) -> String {
        if self.permuted { permuted(&self.workload, 1) } else { self.workload.clone() }
    }
}

impl EigenClaims {
    /// Returns the RMSE of the best competitor over that of `base`, for each workload.
    fn over_all(&self, workloads: &[Compared], base: &str) -> Result<Vec<f64>> {
        let ratios = self.over_each(workloads, base)?;
        Ok(ratios.iter().map(|ratios| smallest(ratios)).collect())
    }

    /// Returns the RMSE of every competitor over that of `base`, for each workload.
    fn over_each(&self, workloads: &[Compared], base: &str) -> Result<Vec<Vec<f64>>> {
        let over = |compared: &Compared| -> Result<Vec<f64>> {
            let base = self.selections.of(&compared.name(), base)?;
            let ratio =
                |method: &String| Ok(self.selections.of(&compared.name(), method)?.over(&base));
            compared.competitors.iter().map(ratio).collect()
        };
        workloads.iter().map(over).collect()
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use matmech::strategy::svd_bound;
    use rand::SeedableRng;

    use super::*;
    use crate::experiment::Experiment;

    const GRID: &str = "factor = 1.1\n\
        alternatives = [{ workload = 'range:32', permuted = true, \
        competitors = ['wavelet', 'hierarchical'] }, \
        { workload = 'cdf:32', competitors = ['wavelet'] }]\n\
        targeted = [{ workload = 'range:32', competitors = ['wavelet', 'hierarchical'] }]\n\
        other_bases = [{ workload = 'cdf:256', competitors = ['eigen-design:wavelet'] }]\n\
        [[classes]]\nname = 'ranges'\n\
        workloads = [{ workload = 'range:32', competitors = ['wavelet', 'hierarchical'] }, \
        { workload = 'identity:8', competitors = ['identity'] }]";

    #[test]
    fn verdicts_follow_from_the_errors() {
        let kind = EigenClaims::default();
        let kind: &dyn Experiment = &kind;
        let rows: Vec<Vec<Row>> = kind
            .cells(&GRID.parse().unwrap())
            .unwrap()
            .iter()
            .map(|cell| kind.run(cell, &mut ChaCha20Rng::seed_from_u64(0)).unwrap())
            .collect();
        // Eigen-Design is the identity on single cells: a gain of 1, at the bound. On ranges the gain
        // is the ratio to the wavelet.
        let (gains, rows) = (&rows[0], &rows[1..]);
        let eigen = Selections::default().of("range:32", EIGEN_DESIGN).unwrap();
        let wavelet = Selections::default().of("range:32", "wavelet").unwrap();
        for (row, expected) in gains.iter().zip([1.0, wavelet.over(&eigen), eigen.over_bound()]) {
            assert_relative_eq!(row.value.unwrap(), expected, max_relative = 1e-9);
        }
        // The wavelet is close to Eigen-Design on `cdf` and far from it on permuted ranges.
        assert_eq!(rows[0][0].text.as_deref(), Some("all but one"));
        // The smallest and the largest ratio are over all competitors, not the better ones.
        let gram = Workload::parse("range:32").unwrap().gram().unwrap();
        let bound = svd_bound(&gram).unwrap();
        let over = |name: &str| {
            (strategy::by_name(name).unwrap().select(&gram).unwrap().error / bound).sqrt()
        };
        let (wavelet, tree) = (over("wavelet"), over("hierarchical"));
        assert!(1.0 < wavelet && wavelet < tree);
        for (row, expected) in rows[1].iter().zip([wavelet, tree]) {
            assert_relative_eq!(row.value.unwrap(), expected, max_relative = 1e-12);
        }
        assert_eq!(rows[2][0].text.as_deref(), Some("another basis"));
    }

    /// With distinct eigenvalues the errors are equal, and the queries do differ.
    #[test]
    fn rotated_queries_have_equal_errors() {
        let errors = errors_of_rotations("range:16", &mut ChaCha20Rng::seed_from_u64(5)).unwrap();
        assert_eq!(errors.len(), ROTATIONS + 1);
        assert!(largest(&errors) / smallest(&errors) < 1.0 + 1e-6, "{errors:?}");
        assert!(errors[1..].iter().any(|error| *error != errors[0]), "{errors:?}");
    }

    #[test]
    fn bad_grids_name_the_key() {
        for (found, instead, key) in [
            ("'range:32', permuted", "'rage:32', permuted", "alternatives[0].workload"),
            ("['eigen-design:wavelet']", "[]", "other_bases[0].competitors"),
            (
                "competitors = ['wavelet'] }]",
                "competitors = ['wave'] }]",
                "alternatives[1].competitors[0]",
            ),
        ] {
            let grid = GRID.replacen(found, instead, 1);
            assert_ne!(grid, GRID);
            let error =
                Experiment::cells(&EigenClaims::default(), &grid.parse().unwrap()).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
        }
    }
}
