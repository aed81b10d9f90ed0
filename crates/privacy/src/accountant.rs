//! The zCDP accountant of an adaptive mechanism.

use super::error::PrivacyError;
use super::rounding::{difference_down, sum_up};
use super::zcdp::Rho;

/// An access to the data and its privacy cost.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// What was measured or selected.
    pub what: String,
    /// Its zCDP parameter ρ.
    pub rho: Rho,
}

/// A zCDP budget ρ. Every access to private data is paid from it before it happens.
///
/// zCDP composes by adding ρ, also when later accesses depend on the results of earlier ones (S4,
/// Prop. B.5). The running total is rounded up at every step, so the sum of the ledger's entries in
/// exact arithmetic never exceeds ρ. An access that would exceed it is refused and nothing is
/// spent. The rounding wastes at most one unit in the last place of ρ per access; a last step can
/// spend the rest with [`ZcdpAccountant::spend_rest`].
///
/// ```
/// use matmech_privacy::{PrivacyError, Rho, ZcdpAccountant};
/// let mut budget = ZcdpAccountant::new(Rho::new(0.5)?);
/// budget.spend("marginal on age", Rho::new(0.125)?)?;
/// let refused = budget.spend("marginal on income", Rho::new(0.4)?);
/// assert!(matches!(refused, Err(PrivacyError::BudgetExhausted { left: 0.375, .. })));
/// assert_eq!(budget.spend_rest("marginal on income"), Some(Rho::new(0.375)?));
/// assert_eq!(budget.remaining(), None);
/// # Ok::<(), matmech_privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ZcdpAccountant {
    total: Rho,
    /// At least the exact sum of the ledger, and at most the total.
    spent: f64,
    ledger: Vec<LedgerEntry>,
}

impl ZcdpAccountant {
    /// Returns an accountant with the budget ρ.
    pub fn new(total: Rho) -> Self {
        ZcdpAccountant { total, spent: 0.0, ledger: Vec::new() }
    }

    /// Pays ρ_t for an access. Must be called before the access.
    ///
    /// # Errors
    /// [`PrivacyError::BudgetExhausted`] if ρ_t exceeds the remaining budget; then nothing is
    /// spent.
    pub fn spend(&mut self, what: &str, rho: Rho) -> Result<(), PrivacyError> {
        let spent = sum_up(self.spent, rho.get());
        if spent > self.total.get() {
            let left = self.remaining().map_or(0.0, Rho::get);
            return Err(PrivacyError::BudgetExhausted {
                what: what.to_owned(),
                asked: rho.get(),
                left,
                total: self.total.get(),
            });
        }
        self.spent = spent;
        self.ledger.push(LedgerEntry { what: what.to_owned(), rho });
        Ok(())
    }

    /// Spends the remaining budget on one last access and returns it.
    ///
    /// `None` if nothing remains; then there must be no access.
    pub fn spend_rest(&mut self, what: &str) -> Option<Rho> {
        let rest = self.remaining();
        self.spent = self.total.get();
        if let Some(rho) = rest {
            self.ledger.push(LedgerEntry { what: what.to_owned(), rho });
        }
        rest
    }

    /// Returns the total budget.
    pub fn total(&self) -> Rho {
        self.total
    }

    /// Returns the amount spent, rounded up; 0 before the first access.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// Returns the remaining budget, rounded down; `None` if nothing is left.
    pub fn remaining(&self) -> Option<Rho> {
        Rho::new(difference_down(self.total.get(), self.spent)).ok()
    }

    /// Returns all accesses, in order.
    pub fn ledger(&self) -> &[LedgerEntry] {
        &self.ledger
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// Returns a double between 2⁻⁶⁰ and 4 as an integer multiple of 2⁻¹²⁰: exact, since its last
    /// bit is at least 2⁻¹¹².
    fn units(x: f64) -> i128 {
        let (bits, exponent) =
            (x.to_bits() & ((1 << 52) - 1) | 1 << 52, (x.to_bits() >> 52 & 0x7ff) as i32 - 1075);
        assert!((-120..=-50).contains(&exponent), "{x}");
        (bits as i128) << (exponent + 120)
    }

    fn left(budget: &ZcdpAccountant) -> f64 {
        budget.remaining().map_or(0.0, Rho::get)
    }

    /// Ten thousand random sequences against exact integer arithmetic. The ledger never exceeds the
    /// budget. A refused access would have exceeded it (up to one unit in the last place per
    /// access), and spending the rest leaves at most that.
    #[test]
    fn the_exact_total_never_exceeds_the_budget() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (mut refused, mut exact) = (0, 0);
        for _ in 0..10_000 {
            let rho = rng.random_range(0.25..4.0);
            let mut budget = ZcdpAccountant::new(Rho::new(rho).unwrap());
            let mut total = 0i128;
            let steps = rng.random_range(1..60);
            let even = rho / f64::from(steps);
            let last_place = units(rho.next_up()) - units(rho);
            for step in 0..=steps {
                let cost = match rng.random_range(0..4) {
                    0 => even,
                    1 => rho * 2f64.powf(rng.random_range(-50.0..0.0)),
                    2 => left(&budget) * rng.random_range(0.0..1.0),
                    _ => left(&budget).next_up(),
                };
                if cost < 2f64.powi(-60) {
                    continue;
                }
                match budget.spend("step", Rho::new(cost).unwrap()) {
                    Ok(()) => total += units(cost),
                    Err(_) => {
                        assert!(total + units(cost) > units(rho) - i128::from(step) * last_place);
                        refused += 1;
                    }
                }
                assert!(total <= units(rho) && budget.spent() <= rho);
            }
            let rest = left(&budget);
            assert_eq!(budget.spend_rest("last").map_or(0.0, Rho::get), rest);
            if rest >= 2f64.powi(-60) {
                total += units(rest);
            }
            assert!(total <= units(rho));
            exact += i32::from(units(rho) - total <= i128::from(steps + 2) * last_place);
            assert_eq!(
                (budget.remaining(), budget.spent(), budget.spend_rest("more")),
                (None, rho, None)
            );
            assert!(budget.spend("more", Rho::new(1e-300).unwrap()).is_err());
        }
        assert!(refused > 10_000 && exact == 10_000, "{refused} {exact}");
    }

    #[test]
    fn exactly_the_remaining_budget_can_be_spent() {
        let rho = |x: f64| Rho::new(x).unwrap();
        let mut budget = ZcdpAccountant::new(rho(0.1));
        budget.spend("a", rho(0.03)).unwrap();
        let rest = budget.remaining().unwrap();
        let asked = rho(rest.get().next_up());
        let refused = budget.spend("marginal on age", asked).unwrap_err();
        let message = refused.to_string();
        assert!(
            message.contains("marginal on age") && message.contains(&rest.to_string()),
            "{message}"
        );
        match refused {
            PrivacyError::BudgetExhausted { what, asked: found, left, total } => {
                assert_eq!(
                    (what.as_str(), found, left, total),
                    ("marginal on age", asked.get(), rest.get(), 0.1)
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(budget.ledger().len(), 1);
        budget.spend("b", rest).unwrap();
        assert!(left(&budget) < 1e-17);
    }
}
