//! Steps of primal–dual interior-point methods, with variables x > 0 and slacks z > 0.
//!
//! A concave function with gradient `c − r` and second derivative −H is maximised over x ≥ 0, where
//! r is the residual of the slacks. A Newton step on `x ∘ z = τ` solves
//!
//! ```text
//! (H + diag(z/x)) Δx = τ/x − r            Δz = r + H Δx − z
//! ```

use ndarray::Array1;

/// The changes of x and z.
pub type Step = (Array1<f64>, Array1<f64>);

/// Returns the longest step up to 1 that takes at most a share of the distance to the boundary of
/// x > 0.
pub fn step_length(x: &Array1<f64>, dx: &Array1<f64>, share: f64) -> f64 {
    x.iter()
        .zip(dx)
        .filter(|(_, d)| **d < 0.0)
        .fold(1.0f64, |step, (x, d)| step.min(-share * x / d))
}

/// Moves x and z along their directions, each by its own [`step_length`].
pub fn advance((x, z): (&mut Array1<f64>, &mut Array1<f64>), (dx, dz): &Step, share: f64) {
    let (alpha, beta) = (step_length(x, dx, share), step_length(z, dz, share));
    x.scaled_add(alpha, dx);
    z.scaled_add(beta, dz);
}

/// Returns the combined predictor and corrector step of x and z (Mehrotra 1992).
///
/// The predictor has τ = 0. If it takes the mean m of `x ∘ z` to m', the corrector has
/// `τ = m (m'/m)³`, and subtracts the products of the predictor's changes. `solve` applies
/// `(H + diag(z/x))⁻¹`, and `curve` H.
///
/// `None` if `solve` returns `None` or the step is not finite.
///
/// # Errors
/// As `solve`.
pub fn predictor_corrector<E>(
    x: &Array1<f64>,
    z: &Array1<f64>,
    residual: &Array1<f64>,
    solve: impl Fn(Array1<f64>) -> Result<Option<Array1<f64>>, E>,
    curve: impl Fn(&Array1<f64>) -> Array1<f64>,
    share: f64,
) -> Result<Option<Step>, E> {
    let slack_step = |dx: &Array1<f64>| residual + &curve(dx) - z;
    let Some(affine) = solve(-residual)? else { return Ok(None) };
    let affine_z = slack_step(&affine);
    let count = x.len() as f64;
    let mean = x.dot(z) / count;
    let (alpha, beta) = (step_length(x, &affine, share), step_length(z, &affine_z, share));
    let affine_mean = (x + &(alpha * &affine)).dot(&(z + &(beta * &affine_z))) / count;
    let target = mean * (affine_mean / mean).powi(3).clamp(0.0, 1.0);
    let right =
        Array1::from_shape_fn(x.len(), |i| (target - affine[i] * affine_z[i]) / x[i] - residual[i]);
    let Some(dx) = solve(right)? else { return Ok(None) };
    let dz = slack_step(&dx);
    Ok(dx.iter().chain(&dz).all(|d| d.is_finite()).then_some((dx, dz)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use ndarray::array;

    /// Maximises `Σ ln(1 + c x) − Σ x`, whose maximum is at `max(0, 1 − 1/c)`.
    #[test]
    fn steps_reach_a_maximum_at_the_boundary() {
        let c = array![4.0, 2.0, 0.5];
        let (mut x, mut z) = (array![1.0, 1.0, 1.0], array![1.0, 1.0, 1.0]);
        for _ in 0..30 {
            let slope = &c / &(1.0 + &c * &x);
            let (residual, curvature) = (1.0 - &slope, &slope * &slope);
            let system = &curvature + &(&z / &x);
            let step = predictor_corrector(
                &x,
                &z,
                &residual,
                |right| Ok::<_, ()>(Some(right / &system)),
                |dx| dx * &curvature,
                0.99,
            );
            advance((&mut x, &mut z), &step.unwrap().unwrap(), 0.99);
        }
        assert_relative_eq!(x[0], 0.75, max_relative = 1e-9);
        assert_relative_eq!(x[1], 0.5, max_relative = 1e-9);
        assert!(x[2] < 1e-9 && z[2] > 0.49, "{x} {z}");
    }

    #[test]
    fn steps_stay_inside_the_boundary() {
        let x = array![1.0, 2.0];
        assert_eq!(step_length(&x, &array![3.0, -1.0], 0.5), 1.0);
        assert_eq!(step_length(&x, &array![-4.0, -1.0], 0.5), 0.125);
    }
}
