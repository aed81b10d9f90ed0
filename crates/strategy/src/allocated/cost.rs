//! What limits the privacy loss of a fit, and the cost of a strategy that is minimised for it.

use std::borrow::Cow;

use ndarray::Array2;

use super::chi_square;
use crate::PrivacyTarget;
use matmech_linalg::gram_of;

/// The divergence whose derivative with respect to M is Λ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Divergence {
    /// The hockey-stick divergence, δ at ε.
    #[default]
    HockeyStick,
    /// The chi-square divergence, for which the optimum has a certificate.
    ChiSquare,
}

/// What limits the privacy loss of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrivacyLimit {
    /// (ε, δ)-differential privacy.
    HockeyStick(PrivacyTarget),
    /// `ln(1 + χ²)` of the chi-square divergence, the Rényi divergence of order 2.
    ChiSquare(f64),
}

/// The cost of a strategy: a function of M = SᵀS that is homogeneous of degree 1.
#[derive(Debug)]
pub(super) enum Cost {
    /// ⟨Λ, M⟩.
    Linear(Array2<f64>),
    /// The noise variance at which `ln(1 + χ²)` is this.
    Variance(f64),
}

impl Cost {
    /// Returns the derivative Λ of the cost by M for S, n×b. The cost is ⟨Λ, M⟩, by Euler's theorem.
    pub fn slope(&self, sums: &Array2<f64>) -> Cow<'_, Array2<f64>> {
        match self {
            Cost::Linear(slope) => Cow::Borrowed(slope),
            Cost::Variance(divergence) => {
                let gram = gram_of(sums.view());
                let variance = chi_square::variance_of(gram.view(), *divergence);
                let slope = chi_square::derivative(gram.view(), variance);
                let inner = slope.iter().zip(&gram).map(|(a, b)| a * b).sum::<f64>();
                Cow::Owned(slope * (variance / inner))
            }
        }
    }

    /// Returns `self^{1−η} new^η` for linear costs, entry by entry, with the mean where an entry is
    /// zero; otherwise `new`.
    pub fn averaged(&self, new: Cost, eta: f64) -> Cost {
        let (Cost::Linear(old), Cost::Linear(new)) = (self, &new) else {
            return new;
        };
        let mut out = old.clone();
        out.zip_mut_with(new, |old, new| {
            *old = match *old > 0.0 && *new > 0.0 {
                true => old.powf(1.0 - eta) * new.powf(eta),
                false => (1.0 - eta) * *old + eta * new,
            };
        });
        Cost::linear(out)
    }

    /// Creates ⟨Λ, M⟩ with Λ divided by its trace.
    pub fn linear(slope: Array2<f64>) -> Cost {
        let trace = slope.diag().sum();
        Cost::Linear(slope / trace)
    }
}
