//! Inputs of tests in short form.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::Rho;

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn rho(x: f64) -> Rho {
    Rho::new(x).unwrap()
}
