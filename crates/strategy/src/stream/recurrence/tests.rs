//! Tests against the definition, finite differences, sampled contributions and the certified
//! optimum.

use approx::assert_relative_eq;
use ndarray::{Array1, Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::answers::Errors;
use super::columns::Columns;
use super::knots::Knots;
use super::objective::Goal;
use super::patterns::Blocks;
use super::*;
use crate::workload::Workload;
use crate::{Objective, Optimal, Participation, Problem, StrategySelector, participation};
use matmech_linalg as linalg;

fn problem(workload: &Workload, objective: Objective, count: usize) -> Problem<'_> {
    let participation =
        if count == 1 { Participation::Single } else { Participation::Epochs(count) };
    Problem { workload, objective, participation }
}

fn fitted(text: &str, objective: Objective, count: usize, buffers: usize) -> RecurrenceFit {
    let workload = Workload::parse(text).unwrap();
    fit_recurrence(&problem(&workload, objective, count), buffers, &FitOptions::default()).unwrap()
}

/// A recurrence without structure.
fn random(n: usize, buffers: usize, count: usize, seed: u64) -> NoiseRecurrence {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut number = |low: f64, high: f64| rng.random_range(low..high);
    let input = Array2::from_shape_simple_fn((n, buffers), || number(-1.0, 1.0));
    let output = Array2::from_shape_simple_fn((n, buffers), || number(-1.0, 1.0));
    let taps = Array2::from_shape_simple_fn((count - 1, n), || number(-0.3, 0.3));
    NoiseRecurrence {
        rates: (0..buffers).map(|_| number(0.05, 1.0)).collect(),
        input,
        output,
        diagonal: (0..n).map(|_| number(0.8, 1.5)).collect(),
        scale: (0..n).map(|_| number(0.5, 2.0)).collect(),
        taps,
        period: n / count,
    }
}

/// C from the definition `F⁻¹ C₀ diag(1/r)`.
fn strategy(recurrence: &NoiseRecurrence) -> Array2<f64> {
    let (n, b) = (recurrence.steps(), recurrence.period);
    let c0 = Array2::from_shape_fn((n, n), |(t, s)| {
        let term = |j: usize| {
            let decay = (-recurrence.rates[j] * (t as f64 - s as f64)).exp();
            recurrence.output[[t, j]] * decay * recurrence.input[[s, j]]
        };
        match t.cmp(&s) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => recurrence.diagonal[t],
            std::cmp::Ordering::Greater => (0..recurrence.buffers()).map(term).sum(),
        }
    });
    let f = Array2::from_shape_fn((n, n), |(t, s)| match (t == s, t > s && (t - s) % b == 0) {
        (true, _) => 1.0,
        (_, true) => recurrence.taps[[(t - s) / b - 1, t]],
        _ => 0.0,
    });
    inverse(&f).dot(&c0) / &Array1::from(recurrence.scale.clone()).insert_axis(Axis(0))
}

/// The inverse of a lower triangular matrix, column by column.
fn inverse(matrix: &Array2<f64>) -> Array2<f64> {
    let n = matrix.nrows();
    let mut out: Array2<f64> = Array2::zeros((n, n));
    for s in 0..n {
        for t in s..n {
            let known: f64 = (s..t).map(|u| matrix[[t, u]] * out[[u, s]]).sum();
            out[[t, s]] = (if t == s { 1.0 } else { 0.0 } - known) / matrix[[t, t]];
        }
    }
    out
}

/// The recurrence of the module's documentation, for one draw of normals.
fn streamed(recurrence: &NoiseRecurrence, z: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; recurrence.buffers()];
    (0..recurrence.steps())
        .map(|t| {
            let mut e = z[t];
            for g in 1..=(recurrence.epochs() - 1).min(t / recurrence.period) {
                e += recurrence.taps[[g - 1, t]] * z[t - g * recurrence.period];
            }
            let mixed: f64 = x.iter().zip(recurrence.output.row(t)).map(|(x, h)| x * h).sum();
            let y = (e - mixed) / recurrence.diagonal[t];
            for (j, x) in x.iter_mut().enumerate() {
                *x = (-recurrence.rates[j]).exp() * (*x + recurrence.input[[t, j]] * y);
            }
            recurrence.scale[t] * y
        })
        .collect()
}

/// Oracles: the loop over steps, and the inverse of C from its definition.
#[test]
fn the_noise_matrix_is_the_inverse_of_the_strategy() {
    for (n, buffers, count) in [(12, 2, 1), (70, 3, 1), (12, 1, 3), (24, 3, 4), (8, 2, 8)] {
        let recurrence = random(n, buffers, count, 3 + n as u64);
        let noise = recurrence.noise_matrix();
        let expected = inverse(&strategy(&recurrence));
        let size = expected.iter().fold(0.0f64, |top, x| top.max(x.abs()));
        assert!((&noise - &expected).iter().all(|x| x.abs() <= 1e-11 * size), "{n} {count}");
        for s in [0, n / 2, n - 1] {
            let unit: Vec<f64> = (0..n).map(|t| if t == s { 1.0 } else { 0.0 }).collect();
            for (t, x) in streamed(&recurrence, &unit).into_iter().enumerate() {
                assert!((noise[[t, s]] - x).abs() <= 1e-11 * size, "{n} {count} {s} {t}");
            }
        }
    }
}

/// Oracle: dense algebra, with the library's sensitivity of a Gram matrix.
#[test]
fn sensitivity_and_variances_match_dense_algebra() {
    for (text, n, count) in
        [("prefix:24", 24, 4), ("prefix:30", 30, 1), ("decay(rate=0.7):18", 18, 3)]
    {
        let workload = Workload::parse(text).unwrap();
        let recurrence = random(n, 2, count, 11);
        let c = strategy(&recurrence);
        let gram = c.t().dot(&c);
        let kind = problem(&workload, Objective::Mean, count).participation;
        let expected = participation::sensitivity(gram.view(), kind).unwrap();
        let found = recurrence.squared_sensitivity().unwrap();
        assert_relative_eq!(found.upper, expected.squared, max_relative = 1e-8);
        assert!(found.lower <= found.upper && found.upper <= found.lower * (1.0 + 1e-8));
        let noise = inverse(&c);
        for (row, variance) in
            workload.rows().unwrap().zip(recurrence.variances(&workload).unwrap())
        {
            let image = Array1::from(row).dot(&noise);
            assert_relative_eq!(image.dot(&image), variance, max_relative = 1e-10);
        }
    }
}

/// Oracle: random unit vectors, and the vectors of coordinate ascent from them.
#[test]
fn contributions_do_not_exceed_the_squared_sensitivity() {
    let mut rng = ChaCha20Rng::seed_from_u64(17);
    for recurrence in [random(24, 2, 4, 5), fitted("prefix:48", Objective::Mean, 4, 3).recurrence] {
        let c = strategy(&recurrence);
        let gram = c.t().dot(&c);
        let certified = recurrence.squared_sensitivity().unwrap();
        let mut largest = 0.0f64;
        for pattern in Participation::Epochs(recurrence.epochs()).partition(recurrence.steps()) {
            let block = gram.select(Axis(0), &pattern).select(Axis(1), &pattern);
            let k = pattern.len();
            let mut u = Array2::from_shape_simple_fn((k, k), || rng.random_range(-1.0f64..1.0));
            for _ in 0..50 {
                u.rows_mut().into_iter().for_each(|mut row| {
                    let norm = row.dot(&row).sqrt();
                    row /= norm;
                });
                let value = (block.dot(&u) * &u).sum();
                assert!(value <= certified.upper * (1.0 + 1e-12));
                largest = largest.max(value);
                u = block.dot(&u);
            }
        }
        assert!(largest >= certified.upper * (1.0 - 1e-3), "{largest} {certified:?}");
    }
}

/// The matrix with the blocks of the patterns, and zeros between patterns.
fn dense(blocks: &Blocks) -> Array2<f64> {
    let (n, b) = (blocks.count * blocks.period, blocks.period);
    Array2::from_shape_fn((n, n), |(s, t)| match s % b == t % b {
        true => blocks.block(s % b)[[s / b, t / b]],
        false => 0.0,
    })
}

/// Oracle: dense algebra from the definitions.
#[test]
fn blocks_in_linear_time_match_dense_algebra() {
    let mut rng = ChaCha20Rng::seed_from_u64(29);
    for (n, buffers, count) in [(1, 1, 1), (9, 2, 1), (24, 3, 4), (30, 2, 2), (7, 2, 7)] {
        let b = n / count;
        let form = random(n, buffers, count, 7).form();
        let c0 = Array2::from_shape_vec((n, n), form.matrix::<false>()).unwrap();
        let above: Vec<f64> =
            (0..count * (count - 1) / 2 * b).map(|_| rng.random_range(-0.3..0.3)).collect();
        let s = Blocks::symmetric(count, b, &above, 1.0);
        assert_eq!(s.above(), above);
        let near = |found: &Blocks, expected: &Array2<f64>| {
            let size = expected.iter().fold(0.0f64, |top, x| top.max(x.abs()));
            for ((s, t), x) in dense(found).indexed_iter().filter(|((s, t), _)| s % b == t % b) {
                assert!((x - expected[[s, t]]).abs() <= 1e-12 * size, "{n} {count} {s} {t}");
            }
        };
        near(&Columns::new(&form, count, b).gram(&s), &c0.t().dot(&dense(&s)).dot(&c0));
        let rows = Columns::new(&form.reversed(), count, b).gram(&s.clone().reversed()).reversed();
        near(&rows, &c0.dot(&dense(&s)).dot(&c0.t()));
    }
}

/// Oracle: dense algebra from the definitions.
#[test]
fn the_objective_matches_dense_algebra() {
    for (n, buffers, count) in [(1, 1, 1), (9, 2, 1), (24, 2, 4), (30, 3, 2), (5, 1, 5)] {
        let b = n / count;
        let gains: Vec<f64> = (0..n).map(|t| 1.0 + 0.2 * (t as f64).sin()).collect();
        let mut factors = vec![0.95; n];
        factors[0] = 0.0;
        let errors = Errors::new(count, b, factors.clone(), gains.clone());
        let mut form = random(n, buffers, count, 5).form();
        form.output *= 0.3;
        let c0 = Array2::from_shape_vec((n, n), form.matrix::<false>()).unwrap();
        let columns = Columns::new(&form, count, b);
        let start = vec![0.0; count * (count - 1) / 2 * b];
        let above = errors.coupling(&columns, &form.diagonal, start, 1e-13).unwrap();
        let s = dense(&Blocks::symmetric(count, b, &above, 1.0));
        let gram = c0.t().dot(&s).dot(&c0);
        let workload = Array2::from_shape_fn((n, n), |(t, i)| match i <= t {
            true => gains[i] * factors[i + 1..=t].iter().product::<f64>(),
            false => 0.0,
        });
        let scale = |i: usize| (0..count).map(|g| gram.diag()[i % b + g * b]).sum::<f64>().sqrt();
        let scaled = &workload * &Array1::from_shape_fn(n, scale).insert_axis(Axis(0));
        let answers = scaled.dot(&inverse(&c0));
        let noise = linalg::spd_inverse(s.view()).unwrap();
        let variances = answers.dot(&noise).dot(&answers.t()).diag().to_owned();
        let mean = variances.sum() / n as f64;
        let (value, _) = errors.evaluate(&form, Goal { share: 1.0, power: 1.0 }).unwrap();
        assert_relative_eq!(value.exp(), mean, max_relative = 1e-7);
    }
}

/// Oracle: central differences.
#[test]
fn the_gradient_matches_finite_differences() {
    let goals = [
        Goal { share: 1.0, power: 1.0 },
        Goal { share: 0.0, power: 20.0 },
        Goal { share: 0.4, power: 20.0 },
    ];
    for (n, count, buffers) in [(20, 1, 2), (70, 1, 1), (24, 3, 2), (70, 2, 1)] {
        for goal in goals {
            let gains = (0..n).map(|t| 1.0 + 0.2 * (t as f64).sin()).collect();
            let mut factors = vec![0.95; n];
            factors[0] = 0.0;
            let errors = Errors::new(count, n / count, factors, gains);
            let knots = Knots::new(buffers, count, n / count);
            let rates: Vec<f64> = (0..buffers).map(|j| 0.2 + 0.5 * j as f64).collect();
            let mut x = knots.constant(&rates, &vec![0.5; buffers]);
            for (i, x) in x.iter_mut().enumerate() {
                *x += 0.1 * (1.7 * i as f64).sin();
            }
            let value = |x: &[f64]| errors.evaluate(&knots.form(x), goal).unwrap().0;
            let form = knots.form(&x);
            let gradient = knots.gradient(&form, &errors.evaluate(&form, goal).unwrap().1);
            let size = gradient.iter().fold(0.0f64, |top, g| top.max(g.abs()));
            for (i, g) in gradient.iter().enumerate().step_by(1 + x.len() / 24) {
                let mut moved = x.clone();
                moved[i] += 1e-4;
                let up = value(&moved);
                moved[i] -= 2e-4;
                let difference = (up - value(&moved)) / 2e-4;
                assert!((g - difference).abs() <= 1e-5 * size, "{n} {count} {i} {g} {difference}");
            }
        }
    }
}

/// Oracle: the certified optimum of the problem.
#[test]
fn fits_are_close_to_the_certified_optimum() {
    use Objective::{Balanced, Max, Mean};
    for (text, objective, count, buffers, largest) in [
        ("prefix:64", Mean, 1, 4, 2e-4),
        ("prefix:64", Mean, 4, 4, 1e-3),
        ("prefix:64", Max, 1, 4, 5e-3),
        ("prefix:64", Max, 4, 4, 1e-2),
        ("prefix:64", Balanced(0.5), 4, 4, 1e-2),
        ("decay(rate=0.9):48", Mean, 3, 3, 1e-3),
        ("prefix:16", Mean, 16, 1, 5e-2),
    ] {
        let workload = Workload::parse(text).unwrap();
        let problem = problem(&workload, objective, count);
        let found = fit_recurrence(&problem, buffers, &FitOptions::default()).unwrap();
        let optimum = Optimal::default().select_for(&problem).unwrap();
        let mut lower = optimum.certificate.unwrap().lower_bound;
        if objective == Mean {
            lower /= workload.cells() as f64;
        }
        let excess = found.squared_error / lower - 1.0;
        assert!((-1e-9..largest).contains(&excess), "{text} {objective} {count}: {excess}");
        // Independent recomputation from the coefficients.
        let c = strategy(&found.recurrence);
        let noise = inverse(&c);
        let errors: Vec<f64> = workload
            .rows()
            .unwrap()
            .map(|row| {
                let image = Array1::from(row).dot(&noise);
                image.dot(&image)
            })
            .collect();
        let cost = participation::sensitivity(c.t().dot(&c).view(), problem.participation).unwrap();
        let sum: f64 = errors.iter().sum();
        let top = errors.iter().copied().fold(0.0, f64::max);
        let count = errors.len() as f64;
        let expected = match objective {
            Mean => sum / count,
            other => other.of(sum, top, count),
        };
        assert_relative_eq!(cost.squared * expected, found.squared_error, max_relative = 1e-8);
        assert_relative_eq!(found.sensitivity.upper, 1.0, max_relative = 1e-8);
    }
}

#[test]
fn fits_are_deterministic_and_their_columns_orthogonal() {
    let first = fitted("prefix:32", Objective::Max, 4, 2);
    assert_eq!(first.recurrence, fitted("prefix:32", Objective::Max, 4, 2).recurrence);
    let c = strategy(&first.recurrence);
    let gram = c.t().dot(&c);
    for pattern in Participation::Epochs(4).partition(32) {
        for &s in &pattern {
            for &t in pattern.iter().filter(|&&t| t != s) {
                assert!(gram[[s, t]].abs() < 1e-10, "{s} {t} {}", gram[[s, t]]);
            }
        }
    }
    let smallest = linalg::eigvalsh(gram.view()).unwrap()[0];
    assert!(smallest > 0.0);
}

#[test]
fn invalid_problems_options_and_coefficients_are_refused() {
    let refused = |text: &str, participation: &str, buffers, options: FitOptions, part: &str| {
        let workload = Workload::parse(text).unwrap();
        let participation = participation.parse().unwrap();
        let problem = Problem { workload: &workload, objective: Objective::Mean, participation };
        let message = fit_recurrence(&problem, buffers, &options).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("remedy"), "{message}");
    };
    let options = FitOptions::default();
    refused("range:8", "single", 2, options, "prefix sums over one attribute");
    refused("prefix:3x4", "single", 2, options, "prefix sums over one attribute");
    refused("prefix:8", "min-sep:2,3", 2, options, "single or epochs:K");
    refused("prefix:9", "epochs:2", 2, options, "multiple of 2");
    refused("prefix:5000", "single", 2, options, "4096");
    refused("prefix:8", "single", 0, options, "1 to 32 buffers");
    refused("prefix:8", "single", 2, FitOptions { max_iterations: 0, ..options }, "iteration");
    refused("prefix:8", "single", 2, FitOptions { tolerance: f64::NAN, ..options }, "tolerance");
    let mut recurrence = random(8, 2, 2, 1);
    assert!(recurrence.check().is_ok());
    recurrence.period = 3;
    assert!(recurrence.squared_sensitivity().is_err());
    recurrence.period = 4;
    recurrence.scale[3] = 0.0;
    assert!(recurrence.squared_sensitivity().is_err());
    recurrence.scale[3] = 1.0;
    let other = Workload::parse("prefix:9").unwrap();
    assert!(recurrence.variances(&other).is_err());
}
