//! Measuring a residual: the Gaussian mechanism on its marginal, centred (S4, Alg. 5).

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::residual::centre_in_place;

/// μ_τ + N(0, σ²I), centred along all axes: the measurement of the residual τ in the form that
/// [`ResidualEstimates`](crate::estimation::ResidualEstimates) takes in. It costs ρ = p_τ/(2σ²) of zCDP, p_τ =
/// [`privacy_coefficient`](crate::planner::privacy_coefficient): pay it first. O(n_τ) random numbers, O(|τ| n_τ) time.
///
/// Centring undoes nothing: what it removes are the residuals on subsets of τ, which this measurement does not release. The
/// noise left is that of `z_τ` in S4, Sec. 4.1, of covariance σ² V_τ in the paper's coordinates.
///
/// # Errors
/// A marginal of another number of cells than the sizes have, or a variance that is not a finite number greater than 0.
pub fn measure_residual<R: Rng + ?Sized>(
    mut marginal: Vec<f64>,
    sizes: &[usize],
    variance: f64,
    rng: &mut R,
) -> Result<Vec<f64>> {
    add_noise(&mut marginal, sizes, variance, rng)?;
    centre_in_place(sizes, &mut marginal);
    Ok(marginal)
}

/// Adds N(0, σ²I) to a marginal.
pub(super) fn add_noise<R: Rng + ?Sized>(
    marginal: &mut [f64],
    sizes: &[usize],
    variance: f64,
    rng: &mut R,
) -> Result<()> {
    let cells: usize = sizes.iter().product();
    let refuse = |expected: String, found: String, remedy: &str| {
        Err(Error::invalid(format!("measurement on a marginal of sizes {sizes:?}"), expected, found, remedy))
    };
    if marginal.len() != cells {
        return refuse(format!("{cells} cells"), marginal.len().to_string(), "pass the marginal on these attributes");
    }
    if !(variance > 0.0 && variance.is_finite()) {
        let remedy = "leave out what is not measured; noise of variance 0 is not private";
        return refuse("a finite variance greater than 0".into(), variance.to_string(), remedy);
    }
    let deviation = variance.sqrt();
    for cell in marginal {
        let noise: f64 = StandardNormal.sample(rng);
        *cell += deviation * noise;
    }
    Ok(())
}

/// Noise that depends on what is measured and not on the order of measuring: every measurement has its own stream of a
/// counter-based generator, named by its attributes and a round. Seeded, and so **not private**.
///
/// The key of the stream is half the seed and half the attribute set (128 bits each), its nonce the round. ChaCha with 8
/// rounds has no known distinguisher; a normal number from it takes two thirds of the time of one from 20 rounds, which
/// counts where a run draws 10⁹ of them.
#[derive(Debug, Clone)]
pub struct ResidualNoise {
    seed: u128,
}

impl ResidualNoise {
    /// The noise of one run, seeded from `rng`.
    pub fn from_rng<R: Rng + ?Sized>(rng: &mut R) -> Self {
        ResidualNoise { seed: rng.random() }
    }

    /// The generator for a measurement on τ in a round.
    pub fn generator(&self, tau: AttributeSet, round: u64) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&self.seed.to_le_bytes());
        key[16..].copy_from_slice(&tau.bits().to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(round);
        generator
    }
}

/// The marginal on the kept axes: the sum over the others. O(cells) for the first axis summed, less for the next.
pub(crate) fn summed(marginal: &[f64], sizes: &[usize], kept: &[bool]) -> Vec<f64> {
    let mut sizes = sizes.to_vec();
    let mut current: Option<Vec<f64>> = None;
    for axis in (0..sizes.len()).rev().filter(|&axis| !kept[axis]) {
        let inner: usize = sizes[axis + 1..].iter().product();
        let from = current.as_deref().unwrap_or(marginal);
        let mut to = vec![0.0; from.len() / sizes[axis]];
        for (slab, sums) in from.chunks_exact(inner * sizes[axis]).zip(to.chunks_exact_mut(inner)) {
            for lane in slab.chunks_exact(inner) {
                sums.iter_mut().zip(lane).for_each(|(sum, x)| *sum += x);
            }
        }
        sizes[axis] = 1;
        current = Some(to);
    }
    current.unwrap_or_else(|| marginal.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residual::averaged;

    fn set(positions: &[usize]) -> AttributeSet {
        AttributeSet::from_positions(positions).unwrap()
    }

    #[test]
    fn sums_are_averages_times_cells() {
        let sizes = [3, 1, 4, 2];
        let marginal: Vec<f64> = (0..24).map(|i| f64::from(i * i % 17)).collect();
        for mask in 0..16usize {
            let kept: Vec<bool> = (0..4).map(|i| mask >> i & 1 == 1).collect();
            let sums = summed(&marginal, &sizes, &kept);
            let cells = 24 / sums.len();
            let expected: Vec<f64> =
                averaged(&sizes, &kept, marginal.clone()).into_iter().map(|x| x * cells as f64).collect();
            approx::assert_abs_diff_eq!(sums.as_slice(), expected.as_slice(), epsilon = 1e-12);
        }
    }

    /// The covariance of the noise on a residual is σ² (I − J/n) ⊗ (I − J/m). Over 20,000 measurements every empirical
    /// entry has a standard deviation of at most √2 σ²/√20000; six of them, for 144 entries.
    #[test]
    fn the_noise_has_the_covariance_of_the_residual() {
        const RUNS: u64 = 20_000;
        let (sizes, variance) = ([3usize, 4], 2.5);
        let truth: Vec<f64> = (0..12).map(|i| f64::from(i) * 7.0 % 5.0).collect();
        let mut residual = truth.clone();
        centre_in_place(&sizes, &mut residual);
        let noise = ResidualNoise { seed: 7 };
        let mut moments = vec![0.0; 144];
        for round in 0..RUNS {
            let mut rng = noise.generator(set(&[0, 1]), round);
            let y = measure_residual(truth.clone(), &sizes, variance, &mut rng).unwrap();
            for (i, j) in (0..12).flat_map(|i| (0..12).map(move |j| (i, j))) {
                moments[12 * i + j] += (y[i] - residual[i]) * (y[j] - residual[j]) / RUNS as f64;
            }
        }
        let bound = 6.0 * variance * (2.0 / RUNS as f64).sqrt();
        for (i, j) in (0..12).flat_map(|i| (0..12).map(move |j| (i, j))) {
            let own = |a: bool, n: f64| f64::from(u8::from(a)) - 1.0 / n;
            let expected = variance * own(i / 4 == j / 4, 3.0) * own(i % 4 == j % 4, 4.0);
            assert!((moments[12 * i + j] - expected).abs() < bound, "{i} {j}: {} {expected}", moments[12 * i + j]);
        }
    }

    #[test]
    fn streams_are_repeatable_and_distinct() {
        let noise = ResidualNoise { seed: 1 << 100 };
        let first = |tau: AttributeSet, round: u64| noise.generator(tau, round).next_u64();
        assert_eq!(first(set(&[3, 90]), 2), first(set(&[3, 90]), 2));
        let draws = [first(set(&[3]), 0), first(set(&[3]), 1), first(set(&[4]), 0), first(AttributeSet::empty(), 0)];
        let mut distinct = draws.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), draws.len());
        let mut rng = noise.generator(set(&[3]), 0);
        assert_ne!(ResidualNoise::from_rng(&mut rng).seed, ResidualNoise::from_rng(&mut rng).seed);
    }

    #[test]
    fn misfits_are_refused() {
        let mut rng = ResidualNoise { seed: 0 }.generator(AttributeSet::empty(), 0);
        let rng: &mut dyn Rng = &mut rng;
        assert!(measure_residual(vec![0.0; 3], &[2, 2], 1.0, rng).unwrap_err().to_string().contains("4 cells"));
        for variance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(measure_residual(vec![0.0; 4], &[2, 2], variance, rng).is_err());
        }
    }
}
