//! The matrix mechanism: measure a strategy with Gaussian noise, then reconstruct by least squares.

use crate::access::{PaidAccess, Question};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::SubspaceStrategy;
use crate::privacy::{NoiseStream, PrivacyCost};
use crate::strategy::Strategy;
use crate::workload::Workload;

/// Estimates every cell of the domain by the matrix mechanism with a given strategy (S1, Prop.
/// 2.3).
///
/// It spends the remaining budget of `access`. The measurement is `y = A x + N(0, σ² I)` with `σ² =
/// ‖A‖₂²/β`. The estimate is `x̂ = A⁺ y` (of minimum norm if A is rank-deficient). Answers `W x̂`
/// have the total expected squared error `err(A)/β` for all data. The cost is recomputed from the
/// measured matrices.
///
/// ```
/// use matmech::access::PrivateTable;
/// use matmech::mechanism::{answer, estimate_cells};
/// use matmech::privacy::Rho;
/// use matmech::{strategy, workload::Workload};
/// use rand::SeedableRng;
/// let workload = Workload::parse("range:8")?;
/// let strategy = strategy::by_name("optimal")?.select(&workload.gram()?)?.strategy;
/// let data = [3.0, 0.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0];
/// let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let mut table = PrivateTable::of_vector(workload.shape(), &data, Rho::new(0.5)?, &mut rng)?;
/// let estimate = estimate_cells(&strategy, &mut table)?;
/// assert_eq!(answer(&workload, &estimate)?.len(), 36);
/// # Ok::<(), matmech::Error>(())
/// ```
///
/// # Errors
/// A strategy whose domain is not the table's, or without queries; [`Error::BudgetExhausted`] if no
/// budget is left.
pub fn estimate_cells(strategy: &Strategy, access: &mut dyn PaidAccess) -> Result<Vec<f64>> {
    if strategy.shape() != access.sizes() {
        return Err(Error::bad_input(
            format!("strategy `{}`", strategy.name()),
            format!("a strategy over {:?}, the table's attributes", access.sizes()),
            format!("a strategy over {:?}", strategy.shape()),
            "select the strategy for a workload over this table",
        ));
    }
    let measured = SubspaceStrategy::Kronecker(strategy.factors().to_vec());
    let sensitivity_squared = measured.max_diagonal();
    if !(sensitivity_squared > 0.0 && sensitivity_squared.is_finite()) {
        return Err(Error::bad_input(
            format!("strategy `{}`", strategy.name()),
            "a finite positive sensitivity",
            sensitivity_squared.sqrt().to_string(),
            "measure at least one non-zero query",
        ));
    }
    let what = format!("strategy `{}`", strategy.name());
    let Some(rho) = access.remaining() else {
        let total = access.total();
        return Err(Error::BudgetExhausted {
            what,
            asked: total.get(),
            left: 0.0,
            total: total.get(),
        });
    };
    let attributes = AttributeSet::first(access.sizes().len());
    let privacy_cost = PrivacyCost::new(rho.privacy_cost().get() / sensitivity_squared)?;
    let question = Question::Strategy { attributes, strategy: &measured, privacy_cost };
    let mut noisy = Vec::new();
    access.reserved(&what, rho, &mut |access| {
        noisy = access.measure(&question, NoiseStream::Shared)?;
        Ok(())
    })?;
    measured.reconstruct(&noisy)
}

/// Returns the answers of a workload's queries on a (true or estimated) data vector.
///
/// They are computed from the workload's structure ([`Workload::answers`]). O(queries) memory.
///
/// # Errors
/// A data vector of the wrong length or with entries that are not finite, or AllPredicate over too
/// many cells to enumerate.
pub fn answer(workload: &Workload, data: &[f64]) -> Result<Vec<f64>> {
    if data.len() != workload.cells() || data.iter().any(|x| !x.is_finite()) {
        return Err(Error::bad_input(
            "data vector",
            format!("{} finite numbers, one per cell", workload.cells()),
            format!("{} numbers", data.len()),
            "count the records of every cell in row-major order",
        ));
    }
    workload.answers(data)
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};

    use super::*;
    use crate::access::PrivateTable;
    use crate::data::Records;

    use crate::strategy;
    use crate::test_support::{Impulse, gram, rho, rng, schema};

    /// Against the exact variances: the answers are unbiased, the questions cost the budget, and
    /// the total error is err(A)/β.
    #[test]
    fn the_error_equals_the_formula() {
        for (text, name) in [
            ("range:8", "identity"),
            ("range:8", "workload"),
            ("range:8", "hierarchical"),
            ("range:8", "lsa"),
            ("range:3x4", "hierarchical"),
            ("range:4x2", "wavelet"),
            ("predicate:6", "variable-agnostic"),
            ("prefix:9", "optimal"),
            ("range:4x3", "optimal"),
            ("residual(affine:4x4)", "optimal"),
            ("residual(prefix:3x3)", "workload"),
        ] {
            let workload = Workload::parse(text).unwrap();
            let selection =
                strategy::by_name(name).unwrap().select(&workload.gram().unwrap()).unwrap();
            let schema = schema(workload.shape());
            let records = Records::uniform(&schema, 40, &mut rng(1)).unwrap();
            let budget = rho(0.125);
            let run = |access: &mut dyn PaidAccess| {
                answer(&workload, &estimate_cells(&selection.strategy, access).unwrap()).unwrap()
            };
            let data = records.marginal(AttributeSet::first(workload.shape().len())).unwrap();
            let exact = run(&mut Impulse::new(&records, budget, None));
            assert_abs_diff_eq!(
                exact.as_slice(),
                answer(&workload, &data).unwrap().as_slice(),
                epsilon = 1e-7
            );
            let total: f64 = Impulse::exact_variances(&records, budget, run).iter().sum();
            assert_relative_eq!(
                total,
                selection.error / budget.privacy_cost().get(),
                max_relative = 1e-8
            );
        }
    }

    #[test]
    fn data_and_strategies_of_another_domain_are_refused() {
        let gram = gram("range:3x4");
        let strategy = strategy::by_name("hierarchical").unwrap().select(&gram).unwrap().strategy;
        let data: Vec<f64> = (0..12).map(f64::from).collect();
        let [mut first, mut second] = [0, 0].map(rng);
        let mut table = PrivateTable::of_vector(&[3, 4], &data, rho(1e24), &mut first).unwrap();
        let estimate = estimate_cells(&strategy, &mut table).unwrap();
        assert_abs_diff_eq!(estimate.as_slice(), data.as_slice(), epsilon = 1e-9);
        let spent = estimate_cells(&strategy, &mut table);
        assert!(matches!(spent, Err(Error::BudgetExhausted { left: 0.0, .. })));
        let mut other = PrivateTable::of_vector(&[12], &data, rho(1.0), &mut second).unwrap();
        assert!(estimate_cells(&strategy, &mut other).unwrap_err().to_string().contains("[12]"));
        assert!(other.accountant().ledger().is_empty());
        let workload = Workload::parse("range:3x4").unwrap();
        assert!(answer(&workload, &data[1..]).is_err());
        assert!(answer(&workload, &[f64::NAN; 12]).is_err());
    }
}
