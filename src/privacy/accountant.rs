//! The budget of an adaptive mechanism, spent step by step and never exceeded.

use super::error::PrivacyError;
use super::rounding::{difference_down, sum_up};
use super::zcdp::Rho;

/// One access to the data and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// What was done.
    pub what: String,
    /// Its zCDP parameter ρ.
    pub rho: Rho,
}

/// A zCDP budget ρ that every access to private data is paid from, before it happens.
///
/// zCDP adds up, also when later accesses depend on the results of earlier ones (S4, Prop. B.5).
/// The running total is rounded up at every step, so the sum of the ledger's entries in exact
/// arithmetic never exceeds ρ; an access that would exceed it by however little is refused and
/// nothing is spent. The rounding wastes at most one unit in the last place of ρ per access; a last
/// step takes what is left with [`ZcdpAccountant::spend_rest`].
///
/// ```
/// use matmech::privacy::{PrivacyError, Rho, ZcdpAccountant};
/// let mut budget = ZcdpAccountant::new(Rho::new(0.5)?);
/// budget.spend("marginal on age", Rho::new(0.125)?)?;
/// let refused = budget.spend("marginal on income", Rho::new(0.4)?);
/// assert!(matches!(refused, Err(PrivacyError::BudgetExhausted { left: 0.375, .. })));
/// assert_eq!(budget.spend_rest("marginal on income"), Some(Rho::new(0.375)?));
/// assert_eq!(budget.remaining(), None);
/// # Ok::<(), matmech::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ZcdpAccountant {
    total: Rho,
    /// At least the exact sum of the ledger, at most the total.
    spent: f64,
    ledger: Vec<LedgerEntry>,
}

impl ZcdpAccountant {
    /// An accountant of the budget ρ.
    pub fn new(total: Rho) -> Self {
        ZcdpAccountant { total, spent: 0.0, ledger: Vec::new() }
    }

    /// Pays ρ_t for an access. Call it before the access.
    ///
    /// # Errors
    /// [`PrivacyError::BudgetExhausted`] if ρ_t is more than what remains; then nothing is spent.
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

    /// Pays all that remains for one last access and returns how much it is; if nothing remains,
    /// there must be no access.
    pub fn spend_rest(&mut self, what: &str) -> Option<Rho> {
        let rest = self.remaining();
        self.spent = self.total.get();
        if let Some(rho) = rest {
            self.ledger.push(LedgerEntry { what: what.to_owned(), rho });
        }
        rest
    }

    /// The budget.
    pub fn total(&self) -> Rho {
        self.total
    }

    /// What has been spent, rounded up; 0 before the first access.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// The most that one access may still cost, rounded down; `None` if nothing is left.
    pub fn remaining(&self) -> Option<Rho> {
        Rho::new(difference_down(self.total.get(), self.spent)).ok()
    }

    /// All accesses, in order.
    pub fn ledger(&self) -> &[LedgerEntry] {
        &self.ledger
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// A double between 2⁻⁶⁰ and 4 as a whole number of units 2⁻¹²⁰: exact, since its last bit is
    /// at least 2⁻¹¹².
    fn units(x: f64) -> i128 {
        let (bits, exponent) =
            (x.to_bits() & ((1 << 52) - 1) | 1 << 52, (x.to_bits() >> 52 & 0x7ff) as i32 - 1075);
        assert!((-120..=-50).contains(&exponent), "{x}");
        (bits as i128) << (exponent + 120)
    }

    fn left(budget: &ZcdpAccountant) -> f64 {
        budget.remaining().map_or(0.0, Rho::get)
    }

    /// Ten thousand random sequences, in whole numbers: the ledger never exceeds the budget, what
    /// is refused would have exceeded it (but for one unit in the last place per access), and the
    /// rest leaves nothing but that.
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
    fn what_remains_can_be_spent_and_not_more() {
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
