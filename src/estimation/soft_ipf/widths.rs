//! The prior widths of sets, by their numbers of attributes.

use super::evidence::{WidthPrior, log_likelihoods};

/// Updates of learned width are skipped if (τ max q)² is at most this multiple of s².
const MIN_EFFECT: f64 = 1e-3;

/// How the width τ of a set is determined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Width {
    /// The same width for all sets.
    Fixed(f64),
    /// The most probable width for the present cavity, under a learned prior.
    Learned(WidthPrior),
}

impl Width {
    /// Returns the width of a set with cavity q and evidence y of cell variance s².
    ///
    /// `None` if the update has no effect: a learned width with (τ max q)² ≤ 10⁻³ s². O(cells) for
    /// fixed, O(21 cells) for learned widths.
    pub fn width(&self, cavity: &[f64], target: &[f64], variance: f64) -> Option<f64> {
        let prior = match self {
            Width::Fixed(width) => return Some(*width),
            Width::Learned(prior) => prior,
        };
        let width = prior.most_probable(&log_likelihoods(cavity, target, variance));
        let largest = cavity.iter().copied().fold(0.0, f64::max);
        ((width * largest).powi(2) > MIN_EFFECT * variance).then_some(width)
    }
}

/// The prior widths τ of sets, by their numbers of attributes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Widths {
    /// The width for one attribute.
    pub single: Width,
    /// The width for two attributes.
    pub pair: Width,
    /// The width for three or more attributes.
    pub larger: Width,
}

impl Widths {
    /// Fixed widths τ₁, τ₂ and τ₃.
    pub fn fixed([single, pair, larger]: [f64; 3]) -> Self {
        let [single, pair, larger] = [single, pair, larger].map(Width::Fixed);
        Widths { single, pair, larger }
    }

    /// The width for a number of attributes.
    pub fn of(&self, attributes: usize) -> &Width {
        match attributes {
            0 | 1 => &self.single,
            2 => &self.pair,
            _ => &self.larger,
        }
    }
}
