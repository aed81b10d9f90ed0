//! Tests of the linear map and of the covariance.

use super::*;
use crate::stream::tests::streams;
use approx::{assert_abs_diff_eq, assert_relative_eq};
use matmech_linalg as linalg;
use ndarray::Array2;

/// The normal of one step and chain is 1 at one coordinate: coordinate `s·N + j`.
struct Units {
    per_step: usize,
}

struct UnitStep {
    start: usize,
}

impl Normals for Units {
    type Step = UnitStep;

    fn step(&self, step: usize) -> UnitStep {
        UnitStep { start: step * self.per_step }
    }
}

impl StepNormals for UnitStep {
    fn fill(&mut self, first: usize, chain: usize, normals: &mut [f64]) {
        for (i, z) in normals.iter_mut().enumerate() {
            *z = if first + i == self.start + chain { 1.0 } else { 0.0 };
        }
    }
}

/// Oracle: dense matrices. More coordinates than one chunk.
#[test]
fn unit_normals_give_the_columns_of_the_noise_matrix() {
    for coefficients in streams() {
        let per_step = coefficients.normals_per_step();
        let coordinates = coefficients.steps() * per_step;
        let mut machine = Machine::new(&coefficients, coordinates);
        let mut drawn = Array2::zeros((coefficients.steps(), coordinates));
        for step in 0..coefficients.steps() {
            let mut noise = vec![0.0; coordinates];
            machine.advance(&coefficients, step, &Units { per_step }, &mut noise);
            drawn.row_mut(step).assign(&ndarray::ArrayView1::from(&noise));
        }
        let expected = coefficients.noise_matrix().unwrap();
        assert_abs_diff_eq!(drawn, expected, epsilon = 1e-9);
    }
}

/// All entries of the covariance are within 5 standard deviations of the sample covariance; their
/// variance is `(Σ_ss Σ_tt + Σ_st²)/d` for d coordinates. Another covariance fails.
#[test]
fn the_sample_covariance_is_the_stated_one() {
    const COORDINATES: usize = 20_000;
    for coefficients in streams().into_iter().filter(|c| c.steps() <= 32) {
        let noise = coefficients.noise_matrix().unwrap();
        let covariance = linalg::matmul(noise.view(), noise.t());
        let steps = coefficients.steps();
        let mut stream = StreamedNoise::seeded(coefficients, COORDINATES, 7);
        let mut drawn = Array2::zeros((steps, COORDINATES));
        for mut row in drawn.rows_mut() {
            stream.fill(row.as_slice_mut().unwrap()).unwrap();
        }
        let sample = linalg::matmul(drawn.view(), drawn.t()) / COORDINATES as f64;
        for ((s, t), &expected) in covariance.indexed_iter() {
            let variance = covariance[[s, s]] * covariance[[t, t]] + expected * expected;
            let deviation = (variance / COORDINATES as f64).sqrt();
            assert!((sample[[s, t]] - expected).abs() < 5.0 * deviation, "{s} {t}");
        }
        assert!(stream.fill(&mut vec![0.0; COORDINATES]).is_err(), "a step too many");
    }
}

#[test]
fn seeds_repeat_noise_and_keys_of_the_system_do_not() {
    let draw = |mut stream: StreamedNoise| {
        let mut noise = vec![0.0; 1000];
        stream.fill(&mut noise).unwrap();
        assert!(stream.fill(&mut [0.0; 3]).unwrap_err().to_string().contains("1000"));
        assert!(!format!("{stream:?}").contains("key"));
        noise
    };
    let seeded = |seed| draw(StreamedNoise::seeded(streams().remove(0), 1000, seed));
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
    let system = || draw(StreamedNoise::from_operating_system(streams().remove(0), 1000).unwrap());
    assert_ne!(system(), system());
    let mean = seeded(3).iter().sum::<f64>() / 1000.0;
    assert_relative_eq!(mean, 0.0, epsilon = 0.5);
}

/// Two copies of a process would draw the same noise, which cancels in their difference.
#[test]
fn noise_of_another_process_is_refused() {
    let coefficients = streams().remove(0);
    let mut noise = StreamedNoise::from_operating_system(coefficients, 2).unwrap();
    noise.fill(&mut [0.0; 2]).unwrap();
    noise.process = noise.process.wrapping_add(1);
    let refused = noise.fill(&mut [0.0; 2]).unwrap_err().to_string();
    assert!(refused.contains("process"), "{refused}");
}
