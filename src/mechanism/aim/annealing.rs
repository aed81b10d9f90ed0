//! The budget of a round, and its annealing (S4, App. F.1).

use crate::privacy::Rho;

/// The parameters of one round of selection and measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundBudget {
    /// The ε_t of the exponential mechanism, which costs ε_t²/8.
    pub epsilon: f64,
    /// The noise variance σ_t²; the measurement costs 1/(2σ_t²), as a marginal with this variance.
    pub variance: f64,
    /// Whether this is the last round.
    pub last: bool,
}

/// The unspent fraction of the last round's budget, so that rounding cannot exceed the budget.
const ROUNDING: f64 = 1e-12;

impl RoundBudget {
    /// Returns the budget of the first round: σ₀² = K/(0.9ρ), ε₀ = √(0.4ρ/K), K = |W↓|.
    ///
    /// Without annealing, 2K such rounds spend ρ.
    pub fn first(rho: Rho, closure_size: usize) -> Self {
        let (rho, k) = (rho.get(), closure_size as f64);
        RoundBudget { epsilon: (0.4 * rho / k).sqrt(), variance: k / (0.9 * rho), last: false }
    }

    /// Returns the budget of the first of T rounds: σ₀² = T/(1.8ρ), ε₀ = √(0.8ρ/T).
    ///
    /// Without annealing, T such rounds spend ρ, a tenth of it on selection. AIM+PGM uses T = 16d.
    pub fn of_rounds(rho: Rho, rounds: f64) -> Self {
        let (rho, t) = (rho.get(), rounds);
        RoundBudget { epsilon: (0.8 * rho / t).sqrt(), variance: t / (1.8 * rho), last: false }
    }

    /// Returns 1/`rounds` of the remaining budget, with a tenth of it for selection.
    ///
    /// With `rounds` 1 the round is the last of the run.
    pub fn share_of(remaining: Rho, rounds: usize) -> Self {
        let cost = remaining.get() * (1.0 - ROUNDING) / rounds as f64;
        RoundBudget {
            epsilon: (0.8 * cost).sqrt(),
            variance: 1.0 / (1.8 * cost),
            last: rounds == 1,
        }
    }

    /// Returns the privacy cost of the round, ρ_t = 1/(2σ_t²) + ε_t²/8.
    pub fn cost(&self) -> f64 {
        self.measurement_cost() + self.epsilon * self.epsilon / 8.0
    }

    /// Returns the privacy cost of the measurement, 1/(2σ_t²).
    pub fn measurement_cost(&self) -> f64 {
        0.5 / self.variance
    }

    /// Returns the expected absolute noise of a cell, √(2/π) σ_t, the penalty per cell of a score.
    pub fn expected_noise(&self) -> f64 {
        (2.0 / std::f64::consts::PI * self.variance).sqrt()
    }

    /// Returns the next round's budget.
    ///
    /// The budget is annealed if the round changed its marginal by at most the expected noise, with
    /// `changed` = ‖μ̂_new − μ̂_old‖₁ over `cells` cells. It is all of the remaining budget if that
    /// does not pay for two more rounds. The paper's Alg. 7 compares with the true marginal, which
    /// is not paid for; the change of the estimate is public.
    pub fn next(self, changed: f64, cells: usize, remaining: Rho) -> Self {
        let next = self.annealed(changed, cells);
        if remaining.get() <= 2.0 * next.cost() { Self::share_of(remaining, 1) } else { next }
    }

    /// Doubles ε and halves σ if the round changed its marginal by at most the expected noise.
    pub fn annealed(self, changed: f64, cells: usize) -> Self {
        if changed > self.expected_noise() * cells as f64 {
            return self;
        }
        RoundBudget { epsilon: self.epsilon * 2.0, variance: self.variance / 4.0, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_k_rounds_without_annealing_spend_the_budget() {
        let (rho, k) = (0.7, 576);
        let first = RoundBudget::first(Rho::new(rho).unwrap(), k);
        approx::assert_relative_eq!(2.0 * k as f64 * first.cost(), rho, max_relative = 1e-14);
        approx::assert_relative_eq!(
            first.measurement_cost(),
            0.9 * rho / (2.0 * k as f64),
            max_relative = 1e-14
        );
    }

    #[test]
    fn t_rounds_without_annealing_spend_the_budget() {
        let first = RoundBudget::of_rounds(Rho::new(0.7).unwrap(), 240.0);
        approx::assert_relative_eq!(240.0 * first.cost(), 0.7, max_relative = 1e-14);
        approx::assert_relative_eq!(
            first.epsilon * first.epsilon / 8.0,
            0.1 * 0.7 / 240.0,
            max_relative = 1e-14
        );
    }

    #[test]
    fn small_changes_anneal_and_the_last_round_spends_the_rest() {
        let rho = |x: f64| Rho::new(x).unwrap();
        let first = RoundBudget::first(rho(1.0), 100);
        let noise = first.expected_noise() * 12.0;
        assert_eq!(first.next(noise * 1.01, 12, rho(0.9)), first);
        let annealed = first.next(noise, 12, rho(0.9));
        assert_eq!(
            (annealed.epsilon, annealed.variance),
            (2.0 * first.epsilon, first.variance / 4.0)
        );
        approx::assert_relative_eq!(annealed.cost(), 4.0 * first.cost(), max_relative = 1e-14);
        let last = first.next(noise * 2.0, 12, rho(2.0 * first.cost()));
        assert!(last.last && last.cost() <= 2.0 * first.cost());
        approx::assert_relative_eq!(last.cost(), 2.0 * first.cost(), max_relative = 1e-11);
    }
}
