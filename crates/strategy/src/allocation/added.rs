//! Bounds on δ of the direction that adds a record, `E_Q (L − e^ε)₊`.

use super::confidence::Weights;
use super::mixture::Mixture;
use super::outputs::Outputs;

/// Returns the weights of `(L − e^ε)₊`, whose mean is δ.
pub(super) fn weights(mixture: &Mixture, epsilon: f64, outputs: &Outputs<'_>) -> Weights {
    let mut weights = Weights::below(mixture.ln_largest_weight(epsilon).exp());
    let mut visited = 0;
    mixture.sample(
        outputs,
        |ln_ratio| ln_ratio > epsilon,
        |sample| {
            visited += 1;
            let ln = sample.ln_ratio + sample.ln_weight;
            weights.add(ln.exp() * -(epsilon - sample.ln_ratio).exp_m1());
        },
    );
    weights.add_equal(0.0, outputs.samples() - visited);
    weights
}
