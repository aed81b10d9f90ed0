//! The noise of a run, step by step.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::advance::{Machine, threads};
use super::noisy_values::NoisyValues;
use super::normals::ChaChaNormals;
use crate::error::{Error, Result};
use crate::stream::Coefficients;

/// Correlated noise of d coordinates, one step after the other.
///
/// The coordinates are independent. Each call of [`fill`](StreamedNoise::fill) returns the noise of
/// the next step, with standard deviation set by the coefficients: its squared sensitivity is that
/// of the assessment, 1 up to rounding. Multiply it by the noise multiplier and the clipping norm.
///
/// *Memory*: one f64 per buffer and coordinate. *Time*: O(buffers + normals) per coordinate and
/// step, on up to 8 threads, with the same result for any number of them. Earlier normals are drawn
/// again from ChaCha12, whose nonce is the step.
///
/// **Floating point.** The normals and their combinations are f64. Their lowest bits depend on the
/// noise and on the value they are added to, so the proof of differential privacy, which is for
/// real numbers, does not cover them: an attacker who sees all bits of an output may learn more
/// than the stated privacy cost. This is usual in private training, where the noise is added to
/// gradients and models are published in lower precision, but it is no protection like that of
/// a release, which adds integer noise only. See SECURITY.md.
///
/// Whoever knows the key can subtract the noise: keep a seeded generator to experiments, and use
/// one object for one training run only. A copy of the process, as `fork` makes it, has a copy of
/// the key: the difference of two outputs would have no noise. So the object remembers its process
/// and is refused in another.
pub struct StreamedNoise {
    coefficients: Coefficients,
    machine: Machine,
    normals: ChaChaNormals,
    step: usize,
    /// The process that created it.
    process: u32,
}

/// Shows the sizes: key and state would reveal the noise.
impl fmt::Debug for StreamedNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedNoise")
            .field("coordinates", &self.machine.coordinates())
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

/// Where streamed noise resumes. Whoever knows it can subtract the noise.
#[derive(Clone)]
pub struct NoiseState {
    /// The key of the normals.
    pub key: [u8; 32],
    /// The number of steps drawn so far.
    pub step: usize,
    /// The number of coordinates.
    pub coordinates: usize,
    /// The buffers, [`Coefficients::buffers`] numbers per coordinate.
    pub buffers: Vec<f64>,
}

/// Shows the sizes.
impl fmt::Debug for NoiseState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoiseState")
            .field("coordinates", &self.coordinates)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl StreamedNoise {
    /// Creates noise whose key is drawn from the operating system.
    ///
    /// # Errors
    /// The operating system returns no random bytes.
    pub fn from_operating_system(coefficients: Coefficients, coordinates: usize) -> Result<Self> {
        Ok(Self::with_key(coefficients, coordinates, random_key()?))
    }

    /// Creates repeatable noise, for experiments only: the seed reveals the noise.
    pub fn seeded(coefficients: Coefficients, coordinates: usize, seed: u64) -> Self {
        let key = ChaCha20Rng::seed_from_u64(seed).get_seed();
        Self::with_key(coefficients, coordinates, key)
    }

    /// Creates noise with a key, which must be random and used for one run only.
    pub(crate) fn with_key(coefficients: Coefficients, coordinates: usize, key: [u8; 32]) -> Self {
        let machine = Machine::new(&coefficients, coordinates);
        let normals = ChaChaNormals { key };
        let process = std::process::id();
        StreamedNoise { coefficients, machine, normals, step: 0, process }
    }

    /// Creates noise that resumes, bit for bit, where another object returned a state.
    ///
    /// Resume a state once: two runs from one state with different gradients reveal the difference.
    ///
    /// # Errors
    /// The state does not belong to the coefficients.
    pub fn resumed(coefficients: Coefficients, state: NoiseState) -> Result<Self> {
        let NoiseState { key, step, coordinates, buffers } = state;
        let found = format!("{} for {coordinates} coordinates", buffers.len());
        let machine = Machine::with_state(&coefficients, coordinates, buffers);
        let Some(machine) = machine.filter(|_| step <= coefficients.steps()) else {
            return Err(Error::bad_input(
                "state of streamed noise",
                format!(
                    "{} numbers per coordinate, and at most {} steps",
                    coefficients.buffers(),
                    coefficients.steps()
                ),
                format!("{found}, at step {step}"),
                "resume with the coefficients of the run",
            ));
        };
        let process = std::process::id();
        Ok(StreamedNoise { coefficients, machine, normals: ChaChaNormals { key }, step, process })
    }

    /// Returns where another object resumes. *Memory*: a copy of the buffers.
    ///
    /// # Errors
    /// The object was created in another process.
    pub fn state(&self) -> Result<NoiseState> {
        check_process(self.process)?;
        Ok(NoiseState {
            key: self.normals.key,
            step: self.step,
            coordinates: self.machine.coordinates(),
            buffers: self.machine.state().to_vec(),
        })
    }

    /// Returns the number of steps drawn so far.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Writes the noise of the next step, one number per coordinate.
    ///
    /// # Errors
    /// All steps are drawn, `noise` has another length than the number of coordinates, or the
    /// object was created in another process.
    pub fn fill(&mut self, noise: &mut [f64]) -> Result<()> {
        self.check(noise.len())?;
        noise.fill(0.0);
        self.advance(1.0, &mut [NoisyValues::Double(noise)], threads(self.machine.coordinates()));
        Ok(())
    }

    /// Adds the noise of the next step, times a scale, to values whose coordinates follow each
    /// other.
    ///
    /// # Errors
    /// As [`fill`](Self::fill); nothing is changed.
    pub fn add_to(&mut self, scale: f64, values: &mut [NoisyValues<'_>]) -> Result<()> {
        self.check(values.iter().map(NoisyValues::len).sum())?;
        self.advance(scale, values, threads(self.machine.coordinates()));
        Ok(())
    }

    /// Adds the noise of the next step, which is computed by some threads.
    fn advance(&mut self, scale: f64, values: &mut [NoisyValues<'_>], threads: usize) {
        let StreamedNoise { coefficients, machine, normals, step, .. } = self;
        machine.advance(coefficients, *step, normals, (scale, values), threads);
        *step += 1;
    }

    /// Checks that the next step can be drawn.
    fn check(&self, coordinates: usize) -> Result<()> {
        check_process(self.process)?;
        if coordinates != self.machine.coordinates() {
            return Err(Error::bad_input(
                "noise of one step",
                format!("{} coordinates", self.machine.coordinates()),
                coordinates.to_string(),
                "give one number per coordinate",
            ));
        }
        if self.step == self.coefficients.steps() {
            return Err(Error::bad_input(
                "streamed noise",
                format!("at most {} steps, those of the workload", self.step),
                "one more step",
                "fit noise for more steps; more noise from these would cost more privacy",
            ));
        }
        Ok(())
    }
}

/// Returns a key from the operating system.
///
/// # Errors
/// The operating system returns no random bytes.
pub(crate) fn random_key() -> Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| {
        Error::bad_input(
            "key of the noise",
            "32 random bytes of the operating system",
            error.to_string(),
            "run where the operating system's generator is available",
        )
    })?;
    Ok(key)
}

/// Checks that the process is the one that created an object with a key.
///
/// # Errors
/// It is another, as after a fork.
pub(crate) fn check_process(process: u32) -> Result<()> {
    if process == std::process::id() {
        return Ok(());
    }
    Err(Error::bad_input(
        "streamed noise",
        "the process that created it",
        "a copy of it, which would draw the same noise",
        "create the noise in the process that draws it",
    ))
}

#[cfg(test)]
mod tests {
    use super::super::advance::{ChunkNormals, Normals};
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
        type Chunk = UnitStep;

        fn chunk(&self, step: usize, _index: usize) -> UnitStep {
            UnitStep { start: step * self.per_step }
        }
    }

    impl ChunkNormals for UnitStep {
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
                let values = (1.0, &mut [NoisyValues::Double(&mut noise)][..]);
                machine.advance(&coefficients, step, &Units { per_step }, values, 2);
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
        let system =
            || draw(StreamedNoise::from_operating_system(streams().remove(0), 1000).unwrap());
        assert_ne!(system(), system());
        let mean = seeded(3).iter().sum::<f64>() / 1000.0;
        assert_relative_eq!(mean, 0.0, epsilon = 0.5);
    }

    /// Adds to values of both widths, across parts and chunks, what `fill` writes; a resumed object
    /// goes on with the same bits.
    #[test]
    fn noise_is_added_to_parts_and_resumed() {
        for coefficients in streams() {
            let mut whole = StreamedNoise::seeded(coefficients.clone(), 20_001, 5);
            let mut parts = StreamedNoise::seeded(coefficients.clone(), 20_001, 5);
            for step in 0..coefficients.steps().min(6) {
                let mut noise = vec![0.0; 20_001];
                whole.fill(&mut noise).unwrap();
                let (mut a, mut b, mut c) =
                    (vec![1.0; 8_190], vec![-2.0f32; 9_000], vec![0.5; 2_811]);
                let mut values = [
                    NoisyValues::Double(&mut a),
                    NoisyValues::Single(&mut []),
                    NoisyValues::Single(&mut b),
                    NoisyValues::Double(&mut c),
                ];
                assert!(parts.add_to(3.0, &mut values[..2]).is_err());
                parts.add_to(3.0, &mut values).unwrap();
                let found = a.iter().copied().chain(b.iter().map(|&x| f64::from(x))).chain(c);
                for (i, (x, z)) in found.zip(&noise).enumerate() {
                    let expected = match i {
                        0..8_190 => 1.0 + 3.0 * z,
                        8_190..17_190 => f64::from((-2.0 + 3.0 * z) as f32),
                        _ => 0.5 + 3.0 * z,
                    };
                    assert_eq!(x, expected, "{step} {i}");
                }
                let state = parts.state().unwrap();
                assert!(!format!("{state:?}").contains("key"));
                parts = StreamedNoise::resumed(coefficients.clone(), state).unwrap();
            }
            let mut state = parts.state().unwrap();
            state.buffers.pop();
            let refused = StreamedNoise::resumed(coefficients.clone(), state);
            assert!(coefficients.buffers() == 0 || refused.is_err());
        }
    }

    /// Results do not depend on the number of threads. They do not depend on later coordinates
    /// either.
    #[test]
    fn noise_depends_on_neither_threads_nor_later_coordinates() {
        for coefficients in streams() {
            let drawn = |coordinates: usize, count: usize| {
                let mut stream = StreamedNoise::seeded(coefficients.clone(), coordinates, 5);
                let mut noise = vec![0.5; coordinates];
                for _ in 0..coefficients.steps().min(6) {
                    stream.advance(3.0, &mut [NoisyValues::Double(&mut noise)], count);
                }
                (noise, stream.state().unwrap().buffers)
            };
            let expected = drawn(50_001, 1);
            for count in [0, 2, 3, 20] {
                assert!(drawn(50_001, count) == expected, "{count} threads");
            }
            let (start, _) = drawn(9_100, 2);
            assert!(start == expected.0[..9_100], "fewer coordinates");
        }
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
}
