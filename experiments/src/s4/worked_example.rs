//! The worked example of S4's Fig. 1 and App. A: a marginal, its residuals and its components.

use matmech::domain::AxisSet;
use matmech::residual::{decomp, recon};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiment::{CellOf, Kind, Row};

/// The marginals, residuals and components of Fig. 1(a) on age and education, entry by entry.
///
/// The method `marginal` sums over the other attributes, `decomp` gives residuals ζ_τ, `recon`
/// components in twelfths. `largest_difference_of_the_sum` is the maximum absolute difference
/// between the sum of the components and the marginal.
#[derive(Debug)]
pub struct WorkedExample;

/// The grid, which is empty.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {}

/// The params of a cell: the number of the set of axes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    kept: usize,
}

/// The methods, with the numbers of the sets of axes that the paper prints.
const METHODS: [(&str, &[usize]); 3] =
    [("marginal", &[1, 3]), ("decomp", &[0, 1, 2, 3]), ("recon", &[0, 1, 2, 3])];

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
        let cell =
            |method: &str, kept: usize| CellOf::new([&COMPONENTS[kept]], method, Params { kept });
        Ok(METHODS
            .iter()
            .flat_map(|&(method, sets)| sets.iter().map(move |&kept| cell(method, kept)))
            .collect())
    }

    fn run(&self, method: &str, params: Params, _rng: &mut ChaCha20Rng) -> Result<Vec<Row>> {
        let kept = AxisSet::from_number(params.kept);
        let width = |cut: usize| if kept.contains(1) { SIZES[1] - cut } else { 1 };
        match method {
            "marginal" => Ok(entries(&summed(kept), width(0), Row::new)),
            "decomp" => Ok(entries(&decomp(&MARGINAL, &SIZES, kept)?, width(1), Row::new)),
            _ => components(kept),
        }
    }
}

/// Returns a row for every entry of an array of `width` columns.
fn entries(values: &[f64], width: usize, row: impl Fn(String, f64) -> Row) -> Vec<Row> {
    let name = |index: usize| format!("row_{}_column_{}", index / width + 1, index % width + 1);
    values.iter().enumerate().map(|(index, &value)| row(name(index), value)).collect()
}

/// Returns the marginal on the kept axes: the sums over the others.
fn summed(kept: AxisSet) -> Vec<f64> {
    let step = |axis: usize| if kept.contains(axis) { SIZES[axis] } else { 1 };
    let mut sums = vec![0.0; step(0) * step(1)];
    for (index, value) in MARGINAL.iter().enumerate() {
        let (i, j) = (index / SIZES[1], index % SIZES[1]);
        sums[i % step(0) * step(1) + j % step(1)] += value;
    }
    sums
}

/// Returns the entries of a component in twelfths, and the error of the sum of all components.
fn components(kept: AxisSet) -> Result<Vec<Row>> {
    let component = |kept: AxisSet| -> Result<Vec<f64>> {
        Ok(recon(&decomp(&MARGINAL, &SIZES, kept)?, &SIZES, kept)?)
    };
    let values = component(kept)?;
    if let Some(value) = values.iter().find(|x| (*x * 12.0 - (*x * 12.0).round()).abs() > 1e-12) {
        return Err(Error::bug("the worked example", "twelfths", value));
    }
    let mut rows = entries(&values, SIZES[1], |metric, value| {
        Row::text(metric, format!("{}/12", (value * 12.0).round()))
    });
    let mut rest = MARGINAL.to_vec();
    for kept in 0..COMPONENTS.len() {
        rest.iter_mut()
            .zip(component(AxisSet::from_number(kept))?)
            .for_each(|(rest, x)| *rest -= x);
    }
    let largest = rest.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    rows.push(Row::new("largest_difference_of_the_sum", largest));
    Ok(rows)
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

    /// Fig. 1(b) and (c), and the residuals of the appendix, from the marginal of Fig. 1(a): row sums
    /// 14, 19, 23, 44, column sums 29, 30, 41, total 100, and differences to the first entry.
    #[test]
    fn marginals_and_residuals_are_those_of_the_paper() {
        let kind: &dyn Experiment = &WorkedExample;
        let cells = kind.cells(&toml::Table::new()).unwrap();
        let values = |component: &str, method: &str| -> Vec<f64> {
            let mut found = cells.iter().filter(|c| c.key[0].1 == component && c.method == method);
            let rows = kind.run(found.next().unwrap(), &mut ChaCha20Rng::seed_from_u64(0)).unwrap();
            rows.iter().map(|row| row.value.unwrap()).collect()
        };
        assert_eq!(values("{Age}", "marginal"), [14.0, 19.0, 23.0, 44.0]);
        assert_eq!(values("{Age,Educ}", "marginal"), MARGINAL);
        assert_eq!(values("{}", "decomp"), [100.0]);
        assert_eq!(values("{Age}", "decomp"), [5.0, 9.0, 30.0]);
        assert_eq!(values("{Educ}", "decomp"), [30.0 - 29.0, 41.0 - 29.0]);
        // Differences along both axes: x_ij − x_0j − x_i0 + x_00.
        let both = |i: usize, j: usize| {
            let x = |i: usize, j: usize| MARGINAL[i * SIZES[1] + j];
            x(i, j) - x(0, j) - x(i, 0) + x(0, 0)
        };
        let expected: Vec<f64> =
            [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)].map(|(i, j)| both(i, j)).to_vec();
        assert_eq!(values("{Age,Educ}", "decomp"), expected);
    }
}
