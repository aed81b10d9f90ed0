//! Preconditioned conjugate gradients.

use ndarray::Array1;

/// Solves `A x = right` for a positive definite A, from zero, until the residual in the norm of the
/// preconditioner is at most `precision` times its first value, or for `max_steps` products.
///
/// Returns `None` if A is not positive definite along a direction.
pub(super) fn conjugate_gradients(
    product: impl Fn(&Array1<f64>) -> Array1<f64>,
    precondition: impl Fn(&Array1<f64>) -> Array1<f64>,
    right: Array1<f64>,
    precision: f64,
    max_steps: usize,
) -> Option<Array1<f64>> {
    let mut x = Array1::zeros(right.len());
    let mut r = right;
    let mut p = precondition(&r);
    let mut energy = r.dot(&p);
    let target = precision * precision * energy;
    for _ in 0..max_steps {
        let image = product(&p);
        let curvature = p.dot(&image);
        if !(curvature > 0.0 && curvature.is_finite()) {
            return (energy <= 0.0).then_some(x);
        }
        let step = energy / curvature;
        x.scaled_add(step, &p);
        r.scaled_add(-step, &image);
        let z = precondition(&r);
        let next = r.dot(&z);
        if next <= target {
            break;
        }
        p = z + (next / energy) * &p;
        energy = next;
    }
    Some(x)
}
