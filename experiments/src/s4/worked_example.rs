//! The worked example of S4's App. A: the decomposition of a marginal.

use matmech::domain::AxisSet;
use matmech::residual::{decomp, recon};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};

/// The components of the marginal of Fig. 1(a) on age and education, cell by cell in twelfths.
///
/// `largest_difference_of_the_sum` is the maximum absolute difference between their sum and the
/// marginal.
#[derive(Debug)]
pub struct WorkedExample;

/// The grid, which is empty.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {}

/// The params of a cell: the number of the component's set of axes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    kept: usize,
}

/// The marginal of Fig. 1(a), in row-major order.
const MARGINAL: [f64; 12] = [7.0, 5.0, 2.0, 3.0, 5.0, 11.0, 10.0, 2.0, 11.0, 9.0, 18.0, 17.0];
const SIZES: [usize; 2] = [4, 3];

/// The components, by the numbers of their sets of axes.
const COMPONENTS: [&str; 4] = ["{}", "{Age}", "{Educ}", "{Age,Educ}"];

impl Kind for WorkedExample {
    type Grid = Grid;
    type Params = Params;

    const NAME: &'static str = "worked-decomposition";
    const SUMMARY: &'static str = "the worked example of S4's appendix A, entry by entry";
    const KEYS: &'static [&'static str] = &["component"];
    const ERRORS: &'static [&'static str] = &[];

    fn cells(&self, _: Grid) -> Result<Vec<CellOf<Params>>> {
        Ok(COMPONENTS
            .iter()
            .enumerate()
            .map(|(kept, name)| CellOf::new([name], "recon", Params { kept }))
            .collect())
    }

    fn run(&self, _method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let component = |kept: usize| -> Result<Vec<f64>> {
            let kept = AxisSet::from_number(kept);
            Ok(recon(&decomp(&MARGINAL, &SIZES, kept)?, &SIZES, kept)?)
        };
        let mut rows = Vec::new();
        for (cell, value) in component(params.kept)?.iter().enumerate() {
            let twelfths = (value * 12.0).round();
            if (value * 12.0 - twelfths).abs() > 1e-12 {
                return Err(Error::bug("the worked example", "twelfths", value));
            }
            let metric = format!("row_{}_column_{}", cell / SIZES[1] + 1, cell % SIZES[1] + 1);
            rows.push(Row::text(metric, format!("{twelfths}/12")));
        }
        let mut rest = MARGINAL.to_vec();
        for kept in 0..COMPONENTS.len() {
            rest.iter_mut().zip(component(kept)?).for_each(|(rest, x)| *rest -= x);
        }
        rows.push(Row::new(
            "largest_difference_of_the_sum",
            rest.iter().fold(0.0, |m: f64, x| m.max(x.abs())),
        ));
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use rand::SeedableRng;

    /// The residuals as App. A prints them, by the numbers of their sets of axes.
    const RESIDUALS: [&[f64]; 4] =
        [&[100.0], &[5.0, 9.0, 30.0], &[1.0, 12.0], &[4.0, 13.0, -6.0, 6.0, 11.0, 13.0]];

    /// The components as App. A prints them, in twelfths, except 33 for the misprint 32: the rows
    /// of a centred component sum to 0.
    const TWELFTHS: [[i32; 12]; 4] = [
        [100; 12],
        [-44, -44, -44, -24, -24, -24, -8, -8, -8, 76, 76, 76],
        [-13, -10, 23, -13, -10, 23, -13, -10, 23, -13, -10, 23],
        [41, 14, -55, -27, -6, 33, 41, -58, 17, -55, 50, 5],
    ];

    #[test]
    fn residuals_are_those_of_the_appendix() {
        for (kept, expected) in RESIDUALS.iter().enumerate() {
            let found = decomp(&MARGINAL, &SIZES, AxisSet::from_number(kept)).unwrap();
            assert_eq!(found, *expected, "{}", COMPONENTS[kept]);
        }
    }

    #[test]
    fn components_are_those_of_the_appendix() {
        let kind: &dyn Experiment = &WorkedExample;
        let cells = kind.cells(&toml::Table::new()).unwrap();
        for (name, expected) in COMPONENTS.iter().zip(TWELFTHS) {
            let cell = cells.iter().find(|c| c.key[0].1 == *name && c.method == "recon").unwrap();
            let rows = kind.run(cell, &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
            let text = |metric: String| {
                rows.iter().find(|row| row.metric == metric).unwrap().text.clone().unwrap()
            };
            for (index, twelfths) in expected.iter().enumerate() {
                let metric = format!("row_{}_column_{}", index / 3 + 1, index % 3 + 1);
                assert_eq!(text(metric), format!("{twelfths}/12"), "{name}");
            }
            assert!(rows.last().unwrap().value.unwrap() < 1e-13);
        }
        let centred = TWELFTHS[3];
        assert!(centred.chunks(3).all(|row| row.iter().sum::<i32>() == 0));
    }
}
