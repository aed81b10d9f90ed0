//! The limit on the sum of ρ, which shrinks with the sum of δ′.

use super::lines::Contents;
use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::privacy::{Rho, fine_noise};

impl Contents {
    /// Returns the limit on the sum of ρ once δ′ is reserved.
    ///
    /// Without any δ′ it is the total. Otherwise it is at most the ρ of (ε, δ − Σ δ′), where (ε, δ)
    /// is the budget: reservations of Σ ρ and Σ δ′ are (ε(Σ ρ, d), d + Σ δ′)-differentially private
    /// for every d.
    ///
    /// # Errors
    /// The budget has no δ, or δ − Σ δ′ is not positive.
    pub(super) fn total_with(&self, new_delta: Option<f64>) -> Result<Rho> {
        let mut spent = self.spent_new_delta.clone();
        if let Some(delta) = new_delta {
            let delta = Decimal::shortest(delta).filter(|_| 0.0 < delta && delta < 1.0);
            let invalid = || Error::bug("reservation", "a delta between 0 and 1", "another");
            spent = spent.plus(&delta.ok_or_else(invalid)?);
        }
        if spent == 0i64.into() {
            return Ok(self.total);
        }
        let Some(delta) = self.opening.delta else {
            return Err(Error::bad_input(
                "ledger",
                "a budget of epsilon and delta for values that are not public",
                "a budget of rho, which allows no failure",
                "create the ledger of a table with --epsilon and --delta",
            ));
        };
        let rest = Decimal::shortest(delta).map_or(0.0, |delta| delta.minus(&spent).rounded_down());
        if rest <= 0.0 {
            return Err(Error::bad_input(
                "delta of values that are not public",
                format!("less than the delta of the ledger ({delta:e}), in all reservations"),
                format!("{:e}", spent.rounded_up()),
                "give a smaller --new-delta",
            ));
        }
        let epsilon = fine_noise::epsilon_rounded_up(self.total, delta)?;
        let limit = fine_noise::rho_of_approximate_rounded_down(epsilon, rest)?;
        Ok(if limit.get() < self.total.get() { limit } else { self.total })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ledger;
    use super::*;
    use crate::privacy::PrivacyUnit;
    use crate::test_support::rho;

    fn ledger(delta: Option<f64>) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let total = fine_noise::rho_of_approximate_rounded_down(1.0, 1e-6).unwrap();
        let path = folder.path().join("L.jsonl");
        let ledger = Ledger::create(&path, total, delta, PrivacyUnit::default(), None).unwrap();
        (folder, ledger)
    }

    /// Whatever is reserved, all reservations together keep to the budget (1, 1e-6), and nothing
    /// more than rounding is left unused.
    #[test]
    fn reservations_keep_to_epsilon_and_delta() {
        let (folder, ledger) = ledger(Some(1e-6));
        let unit = PrivacyUnit::default();
        let total = ledger.balance().unwrap().left;
        let first = ledger.reserve_with((rho(0.001), Some(2e-7)), unit, None, "a").unwrap();
        assert_eq!(first.new_delta(), 2e-7);
        ledger.settle(first).unwrap();
        let left = ledger.left_with(Some(3e-7)).unwrap();
        assert!(left < ledger.balance().unwrap().left && left < total - 0.001, "{left}");
        let more = (rho(left.next_up()), Some(3e-7));
        let refused = ledger.reserve_with(more, unit, None, "b").unwrap_err();
        assert!(matches!(refused, Error::BudgetExhausted { .. }), "{refused}");
        ledger.reserve_with((rho(left), Some(3e-7)), unit, None, "b").unwrap();
        let balance = ledger.balance().unwrap();
        assert!(balance.left < 1e-15 && balance.spent_new_delta == 5e-7, "{balance:?}");
        let epsilon = fine_noise::epsilon_rounded_up(rho(balance.spent), 5e-7).unwrap();
        assert!(epsilon <= 1.0 && epsilon > 1.0 - 1e-8, "{epsilon}");
        assert!(ledger.reserve(rho(1e-9), unit, None, "c").is_err());
        // δ′ alone can use up the budget too.
        let refused = ledger.reserve_with((rho(1e-9), Some(5e-7)), unit, None, "c").unwrap_err();
        assert!(refused.to_string().contains("less than the delta of the ledger"), "{refused}");
        // δ′ is part of the chain of hashes.
        let path = folder.path().join("L.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("2e-7", "1e-7", 1)).unwrap();
        assert!(ledger.balance().unwrap_err().to_string().contains("hash"));
    }

    #[test]
    fn a_budget_without_delta_allows_none() {
        let (folder, ledger) = ledger(None);
        let unit = PrivacyUnit::default();
        for refused in [
            ledger.reserve_with((rho(0.001), Some(1e-12)), unit, None, "a").unwrap_err(),
            ledger.left_with(Some(1e-12)).unwrap_err(),
        ] {
            assert!(refused.to_string().contains("--epsilon and --delta"), "{refused}");
        }
        assert_eq!(ledger.balance().unwrap().reservations, 0);
        ledger.reserve(rho(0.001), unit, None, "a").unwrap();
        let text = std::fs::read_to_string(folder.path().join("L.jsonl")).unwrap();
        assert!(!text.contains("new_delta"), "ledgers without it keep their lines: {text}");
    }
}
