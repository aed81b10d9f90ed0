//! The privacy cost of chains, by a state-space recursion.
//!
//! One unit more at step t shifts the answers by `q_t = a_t`, `q_k = ρ_k q_{k−1}` for k > t. With
//! Σ the covariance of the answers, `X_tt = qᵀ Σ⁻¹ q` is the sum of `e_k²/S_k` over the
//! innovations e_k of the Kalman filter of the chains with input q, with variances S_k:
//!
//! ```text
//! P = diag(φ) P diag(φ) + diag(σ²),   S = 1ᵀP1,   K = P1/S,   P ← P − S K Kᵀ
//! e_k = q_k − Σ s_k,   s_{k+1} = φ_{k+1} (s_k + K_k e_k),   s_t = 0
//! ```
//!
//! The map from (s_k, q_k) to the next step does not depend on t, so a backward recursion of the
//! quadratic form `J_k = Σ_{l≥k} e_l²/S_l` gives all costs: X_tt is a_t² times its last entry.
//! Kalman's filter has no noise of observation here: y_k is known exactly.

use super::Chains;

impl Chains {
    /// Returns the privacy costs of the steps: the diagonal of X, the inverse of the covariance of
    /// the noise of the steps. O(n·N²) time and O(n·N) memory.
    pub fn privacy_costs(&self) -> Vec<f64> {
        privacy_costs(self)
    }
}

/// Returns `X_tt` of every step. O(n·N²) time, O(n·N) memory.
fn privacy_costs(chains: &Chains) -> Vec<f64> {
    let (n, count) = chains.phi.dim();
    let (gains, variances) = filter(chains);
    let order = count + 1;
    let last = order * order - 1;
    let mut form = vec![0.0; order * order];
    let mut image = vec![0.0; order];
    let mut decay = vec![0.0; order];
    let mut costs = vec![0.0; n];
    for k in (0..n).rev() {
        if k + 1 < n {
            decay.iter_mut().zip(chains.phi.row(k + 1)).for_each(|(d, phi)| *d = *phi);
            decay[count] = chains.factors[k + 1];
            for (row, a) in form.chunks_exact_mut(order).zip(&decay) {
                row.iter_mut().zip(&decay).for_each(|(x, b)| *x *= a * b);
            }
        }
        // J ← (I + h Kᵀ) M (I + K hᵀ) + h hᵀ/S with h = (−1, …, −1, 1).
        let gain = &gains[k * count..][..count];
        for (image, row) in image.iter_mut().zip(form.chunks_exact(order)) {
            *image = row.iter().zip(gain).map(|(x, g)| x * g).sum();
        }
        let inner = gain.iter().zip(&image).map(|(g, m)| g * m).sum::<f64>() + 1.0 / variances[k];
        let sign = |a: usize| if a == count { 1.0 } else { -1.0 };
        for (a, row) in form.chunks_exact_mut(order).enumerate() {
            for (b, x) in row.iter_mut().enumerate() {
                *x += sign(a) * (image[b] + sign(b) * inner) + image[a] * sign(b);
            }
        }
        costs[k] = form[last] / (chains.scale[k] * chains.scale[k]);
    }
    costs
}

/// Returns K (n × N) and S of the Kalman filter.
fn filter(chains: &Chains) -> (Vec<f64>, Vec<f64>) {
    let (n, count) = chains.phi.dim();
    let mut covariance = vec![0.0; count * count];
    let mut gains = vec![0.0; n * count];
    let mut variances = Vec::with_capacity(n);
    let rows = chains.phi.rows().into_iter().zip(chains.sigma.rows());
    for ((phi, sigma), gain) in rows.zip(gains.chunks_exact_mut(count)) {
        for (a, row) in covariance.chunks_exact_mut(count).enumerate() {
            row.iter_mut().zip(phi).for_each(|(x, b)| *x *= phi[a] * b);
            row[a] += sigma[a] * sigma[a];
            gain[a] = row.iter().sum();
        }
        let variance: f64 = gain.iter().sum();
        for (row, g) in covariance.chunks_exact_mut(count).zip(gain.iter()) {
            row.iter_mut().zip(gain.iter()).for_each(|(x, h)| *x -= g * h / variance);
        }
        gain.iter_mut().for_each(|g| *g /= variance);
        variances.push(variance);
    }
    (gains, variances)
}
