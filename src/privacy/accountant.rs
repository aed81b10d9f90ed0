//! The budget of an adaptive mechanism, spent step by step and never exceeded.

use crate::error::{Error, Result};

/// One access to the data and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerEntry {
    /// What was done.
    pub what: String,
    /// Its zCDP parameter ρ.
    pub rho: f64,
}

/// A zCDP budget ρ that every access to private data is paid from, before it happens.
///
/// zCDP adds up, also when later accesses depend on the results of earlier ones (S4, Prop. B.5). The running total is
/// rounded up at every step, so the sum of the ledger's entries in exact arithmetic never exceeds ρ; an access that would
/// exceed it by however little is refused and nothing is spent. The rounding wastes at most one unit in the last place of ρ
/// per access; a last step takes what is left with [`ZcdpAccountant::spend_rest`].
///
/// ```
/// use matmech::privacy::ZcdpAccountant;
/// let mut budget = ZcdpAccountant::new(0.5)?;
/// budget.spend("marginal on age", 0.125)?;
/// assert!(budget.spend("marginal on income", 0.4).is_err());
/// assert_eq!(budget.spend_rest("marginal on income"), 0.375);
/// assert_eq!(budget.remaining(), 0.0);
/// # Ok::<(), matmech::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ZcdpAccountant {
    rho: f64,
    /// At least the exact sum of the ledger, at most ρ.
    spent: f64,
    ledger: Vec<LedgerEntry>,
}

impl ZcdpAccountant {
    /// An accountant of the budget ρ.
    ///
    /// # Errors
    /// A budget that is not a finite number greater than 0.
    pub fn new(rho: f64) -> Result<Self> {
        positive("privacy budget rho", rho, "give the total budget, or derive it from epsilon and delta")?;
        Ok(ZcdpAccountant { rho, spent: 0.0, ledger: Vec::new() })
    }

    /// Pays ρ_t for an access. Call it before the access.
    ///
    /// # Errors
    /// ρ_t is not a finite number greater than 0, or more than what remains; then nothing is spent.
    pub fn spend(&mut self, what: &str, rho: f64) -> Result<()> {
        positive(&format!("privacy budget of {what}"), rho, "an access without a cost is no access: leave it out")?;
        let spent = sum_rounded_up(self.spent, rho);
        if spent > self.rho {
            return Err(Error::invalid(
                format!("privacy budget of {what}"),
                format!("at most {} of zCDP, what remains of {}", self.remaining(), self.rho),
                rho.to_string(),
                "spend less, or take what is left with `spend_rest`",
            ));
        }
        self.spent = spent;
        self.ledger.push(LedgerEntry { what: what.to_owned(), rho });
        Ok(())
    }

    /// Pays all that remains for one last access and returns how much it is: 0 if nothing remains, and then there must be
    /// no access.
    pub fn spend_rest(&mut self, what: &str) -> f64 {
        let rest = self.remaining();
        self.spent = self.rho;
        if rest > 0.0 {
            self.ledger.push(LedgerEntry { what: what.to_owned(), rho: rest });
        }
        rest
    }

    /// The budget.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// What has been spent, rounded up.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// The most that one access may still cost, rounded down.
    pub fn remaining(&self) -> f64 {
        // ρ − spent ≥ 0; the exact error of the subtraction says whether it was rounded up.
        let difference = self.rho - self.spent;
        if error_of_sum(self.rho, -self.spent, difference) < 0.0 { difference.next_down() } else { difference }
    }

    /// All accesses, in order.
    pub fn ledger(&self) -> &[LedgerEntry] {
        &self.ledger
    }
}

/// The smallest double that is at least a + b.
fn sum_rounded_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if error_of_sum(a, b, sum) > 0.0 { sum.next_up() } else { sum }
}

/// a + b − fl(a + b), exactly (Knuth's two-sum).
fn error_of_sum(a: f64, b: f64, sum: f64) -> f64 {
    let b_part = sum - a;
    let a_part = sum - b_part;
    (a - a_part) + (b - b_part)
}

fn positive(what: &str, value: f64, remedy: &str) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::invalid(what, "a finite number greater than 0", value.to_string(), remedy))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// A double between 2⁻⁶⁰ and 4 as a whole number of units 2⁻¹²⁰: exact, since its last bit is at least 2⁻¹¹².
    fn units(x: f64) -> i128 {
        let (bits, exponent) = (x.to_bits() & ((1 << 52) - 1) | 1 << 52, (x.to_bits() >> 52 & 0x7ff) as i32 - 1075);
        assert!((-120..=-50).contains(&exponent), "{x}");
        (bits as i128) << (exponent + 120)
    }

    /// Ten thousand random sequences, in whole numbers: the ledger never exceeds the budget, what is refused would have
    /// exceeded it (but for one unit in the last place per access), and the rest leaves nothing but that.
    #[test]
    fn the_exact_total_never_exceeds_the_budget() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (mut refused, mut exact) = (0, 0);
        for _ in 0..10_000 {
            let rho = rng.random_range(0.25..4.0);
            let mut budget = ZcdpAccountant::new(rho).unwrap();
            let mut total = 0i128;
            let steps = rng.random_range(1..60);
            let even = rho / f64::from(steps);
            let last_place = units(rho.next_up()) - units(rho);
            for step in 0..=steps {
                let cost = match rng.random_range(0..4) {
                    0 => even,
                    1 => rho * 2f64.powf(rng.random_range(-50.0..0.0)),
                    2 => budget.remaining() * rng.random_range(0.0..1.0),
                    _ => budget.remaining().next_up(),
                };
                if cost < 2f64.powi(-60) {
                    continue;
                }
                match budget.spend("step", cost) {
                    Ok(()) => total += units(cost),
                    Err(_) => {
                        assert!(total + units(cost) > units(rho) - i128::from(step) * last_place);
                        refused += 1;
                    }
                }
                assert!(total <= units(rho) && budget.spent() <= rho && budget.remaining() >= 0.0);
            }
            let rest = budget.remaining();
            assert_eq!(budget.spend_rest("last"), rest);
            if rest >= 2f64.powi(-60) {
                total += units(rest);
            }
            assert!(total <= units(rho));
            exact += i32::from(units(rho) - total <= i128::from(steps + 2) * last_place);
            assert_eq!((budget.remaining(), budget.spent(), budget.spend_rest("more")), (0.0, rho, 0.0));
            assert!(budget.spend("more", f64::MIN_POSITIVE).is_err());
            assert!(budget.ledger().iter().all(|entry| entry.rho > 0.0));
        }
        assert!(refused > 10_000 && exact == 10_000, "{refused} {exact}");
    }

    #[test]
    fn what_remains_can_be_spent_and_not_more() {
        let mut budget = ZcdpAccountant::new(0.1).unwrap();
        budget.spend("a", 0.03).unwrap();
        let rest = budget.remaining();
        let message = budget.spend("marginal on age", rest.next_up()).unwrap_err().to_string();
        assert!(message.contains("marginal on age") && message.contains(&rest.to_string()), "{message}");
        assert_eq!(budget.ledger().len(), 1);
        budget.spend("b", rest).unwrap();
        assert!(budget.remaining() < 1e-17);
    }

    #[test]
    fn budgets_without_meaning_are_refused() {
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(ZcdpAccountant::new(bad).is_err());
            let mut budget = ZcdpAccountant::new(1.0).unwrap();
            let message = budget.spend("step", bad).unwrap_err().to_string();
            assert!(message.contains("step") && message.contains("remedy"), "{message}");
            assert_eq!(budget.spent(), 0.0);
        }
    }
}
