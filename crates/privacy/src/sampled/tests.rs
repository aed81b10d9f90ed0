use approx::assert_relative_eq;

use super::*;

/// The upper bounds of another program and of a laboratory.
#[test]
fn delta_of_random_allocation_matches_published_bounds() {
    for (bins, sigma, epsilon, laboratory, other) in [
        (64, 1.04, 1.0, 9.72e-7, 9.793e-7),
        (256, 0.8, 2.0, 1.0961e-8, 1.0958e-8),
        (64, 0.7, 4.0, 6.64e-8, 6.621e-8),
    ] {
        let found = RandomAllocation::new(bins, 1.0, 0.0).unwrap().delta(sigma, epsilon).unwrap();
        assert_relative_eq!(found, laboratory, max_relative = 1e-2);
        assert!(found <= 1.001 * other && found >= 0.98 * other, "{found:e} {other:e}");
    }
}

#[test]
fn sigma_of_exchangeable_bins_matches_the_laboratory() {
    for (bins, own, common, epsilon, delta, sigma) in [
        (64, 0.8, 0.2, 1.0, 1e-6, 1.956),
        (64, 0.95, 0.05, 1.0, 1e-4, 0.929),
        (32, 0.5, 0.5, 2.0, 1e-5, 1.435),
    ] {
        let allocation = RandomAllocation::new(bins, own, common).unwrap();
        let found = allocation.sigma(epsilon, delta).unwrap();
        assert_relative_eq!(found, sigma, max_relative = 2.5e-3);
        let back = allocation.epsilon(found, delta).unwrap();
        assert!(back <= epsilon + 1e-4 && back > epsilon - 1e-3, "{back}");
    }
}

/// With one step, δ(ε) = q δ'(ε') of a Gaussian mechanism with e^ε' = 1 + (e^ε − 1)/q.
#[test]
fn one_poisson_step_has_a_closed_form() {
    for (rate, sigma, epsilon) in [(0.1, 1.0, 0.5), (0.01, 0.6, 1.0), (0.5, 2.0, 0.2)] {
        let found = PoissonSampling::new(rate, 1).unwrap().delta(sigma, epsilon).unwrap();
        let inner = (epsilon.exp_m1() / rate).ln_1p();
        let expected = rate * crate::gaussian_dp::delta(1.0 / sigma, inner).unwrap();
        let ratio = found / expected;
        assert!((1.0 - 1e-12..1.01).contains(&ratio), "{found:e} {expected:e}");
    }
}

/// With probability 1, n steps are one Gaussian mechanism with μ = √n/σ.
#[test]
fn poisson_sampling_of_all_records_is_a_gaussian_mechanism() {
    let found = PoissonSampling::new(1.0, 16).unwrap().sigma(1.0, 1e-5).unwrap();
    let expected = crate::gaussian::analytic_sigma_rounded_up(4.0, 1.0, 1e-5).unwrap();
    assert!(found >= expected && found <= 1.001 * expected, "{found} {expected}");
    assert!(PoissonSampling::new(1.5, 16).is_err() && PoissonSampling::new(0.5, 0).is_err());
}

/// One epoch in b batches: random allocation and Poisson sampling with probability 1/b need noise
/// of similar size (Feldman and Shenfeld 2025).
#[test]
fn random_allocation_is_close_to_poisson_sampling() {
    let allocation = RandomAllocation::new(64, 1.0, 0.0).unwrap().sigma(2.0, 1e-5).unwrap();
    let sampling = PoissonSampling::new(1.0 / 64.0, 64).unwrap().sigma(2.0, 1e-5).unwrap();
    assert!((allocation / sampling - 1.0).abs() < 0.1, "{allocation} {sampling}");
}
