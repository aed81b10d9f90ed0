//! What a round may spend, and how that grows (S4, App. F.1).

use crate::privacy::Rho;

/// The parameters of one round of selecting and measuring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundBudget {
    /// ε_t of the exponential mechanism, which costs ε_t²/8.
    pub epsilon: f64,
    /// σ_t²: the measurement costs as much as the whole marginal with this variance, 1/(2σ_t²).
    pub variance: f64,
    /// Whether nothing is left after this round.
    pub last: bool,
}

/// The last round leaves this share of what remains unspent, so that no rounding can exceed the
/// budget.
const ROUNDING: f64 = 1e-12;

impl RoundBudget {
    /// The first round: σ₀² = K/(0.9ρ), ε₀ = √(0.4ρ/K), K = |W↓|. Then 2K rounds would spend ρ if
    /// nothing were annealed.
    pub fn first(rho: Rho, closure_size: usize) -> Self {
        let (rho, k) = (rho.get(), closure_size as f64);
        RoundBudget { epsilon: (0.4 * rho / k).sqrt(), variance: k / (0.9 * rho), last: false }
    }

    /// The first of T rounds that would spend ρ together, a tenth of it on selection: σ₀² =
    /// T/(1.8ρ), ε₀ = √(0.8ρ/T). AIM+PGM takes T = 16d.
    pub fn of_rounds(rho: Rho, rounds: f64) -> Self {
        let (rho, t) = (rho.get(), rounds);
        RoundBudget { epsilon: (0.8 * rho / t).sqrt(), variance: t / (1.8 * rho), last: false }
    }

    /// A share 1/`rounds` of what remains, a tenth of it on selection; the last of the run if it is
    /// all of it.
    pub fn share_of(remaining: Rho, rounds: usize) -> Self {
        let cost = remaining.get() * (1.0 - ROUNDING) / rounds as f64;
        RoundBudget {
            epsilon: (0.8 * cost).sqrt(),
            variance: 1.0 / (1.8 * cost),
            last: rounds == 1,
        }
    }

    /// ρ_t = 1/(2σ_t²) + ε_t²/8.
    pub fn cost(&self) -> f64 {
        self.measurement_cost() + self.epsilon * self.epsilon / 8.0
    }

    /// 1/(2σ_t²).
    pub fn measurement_cost(&self) -> f64 {
        0.5 / self.variance
    }

    /// √(2/π) σ_t: the expected absolute noise of a cell, by which the expected improvement of a
    /// score is reduced.
    pub fn expected_noise(&self) -> f64 {
        (2.0 / std::f64::consts::PI * self.variance).sqrt()
    }

    /// The next round: ε doubled and σ halved if the round changed its marginal by no more than
    /// noise would (`changed` = ‖μ̂_new − μ̂_old‖₁ over `cells` cells); all of what remains if that
    /// does not pay for two more rounds.
    ///
    /// The paper's Alg. 7 compares with the true marginal, which nothing pays for; the change of
    /// the estimate is public.
    pub fn next(self, changed: f64, cells: usize, remaining: Rho) -> Self {
        let next = self.annealed(changed, cells);
        if remaining.get() <= 2.0 * next.cost() { Self::share_of(remaining, 1) } else { next }
    }

    /// ε doubled and σ halved if the round changed its marginal by no more than noise would.
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
    fn two_k_rounds_would_spend_the_budget() {
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
    fn t_rounds_would_spend_the_budget() {
        let first = RoundBudget::of_rounds(Rho::new(0.7).unwrap(), 240.0);
        approx::assert_relative_eq!(240.0 * first.cost(), 0.7, max_relative = 1e-14);
        approx::assert_relative_eq!(
            first.epsilon * first.epsilon / 8.0,
            0.1 * 0.7 / 240.0,
            max_relative = 1e-14
        );
    }

    #[test]
    fn little_change_doubles_and_the_last_round_takes_the_rest() {
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
