//! Noise in one coordinate, for tests: exact variances without sampling.
//!
//! The tests of the experiments include this file, so it uses only public names.

use matmech::Result;
use matmech::access::{CandidateSelection, Candidates, PaidAccess, Question};
use matmech::data::Records;
use matmech::domain::AttributeSet;
use matmech::estimation::MarginalEstimates;
use matmech::privacy::{NoiseStream, Rho};
use matmech::residual::centre_in_place;

/// Answers measurements with the true values, plus one standard deviation in one noise coordinate.
///
/// The error of a mechanism is then one column of the matrix that maps independent standard normals
/// to its errors. The sum of squares over all coordinates is the exact variance.
pub(crate) struct Impulse<'a> {
    records: &'a Records,
    rho: Rho,
    /// The sum of the costs of all questions.
    asked: f64,
    /// The noise coordinate with the impulse; `None` for no noise.
    at: Option<usize>,
    /// The number of noise coordinates so far.
    drawn: usize,
}

impl<'a> Impulse<'a> {
    pub(crate) fn new(records: &'a Records, rho: Rho, at: Option<usize>) -> Self {
        Impulse { records, rho, asked: 0.0, at, drawn: 0 }
    }

    /// Returns the exact variance of every answer of `run`.
    ///
    /// It is the sum over all noise coordinates of (answer − noiseless answer)². Asserts that the
    /// questions cost the whole budget.
    pub(crate) fn exact_variances(
        records: &Records,
        rho: Rho,
        run: impl Fn(&mut dyn PaidAccess) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut silent = Impulse::new(records, rho, None);
        let exact = run(&mut silent);
        approx::assert_relative_eq!(silent.asked, rho.get(), max_relative = 1e-9);
        let mut variances = vec![0.0; exact.len()];
        for coordinate in 0..silent.drawn {
            let answers = run(&mut Impulse::new(records, rho, Some(coordinate)));
            for ((variance, answer), exact) in variances.iter_mut().zip(answers).zip(&exact) {
                *variance += (answer - exact).powi(2);
            }
        }
        variances
    }

    /// Returns the true marginals, concatenated.
    pub(crate) fn truth(records: &Records, marginals: &[AttributeSet]) -> Vec<f64> {
        marginals.iter().flat_map(|&set| records.marginal(set).unwrap()).collect()
    }
}

impl PaidAccess for Impulse<'_> {
    fn sizes(&self) -> &[usize] {
        self.records.sizes()
    }

    fn total(&self) -> Rho {
        self.rho
    }

    fn remaining(&self) -> Option<Rho> {
        Rho::new(self.rho.get() - self.asked).ok()
    }

    fn reserved(
        &mut self,
        _: &str,
        _: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
    ) -> Result<()> {
        measure(self)
    }

    fn measure(&mut self, question: &Question<'_>, _: NoiseStream) -> Result<Vec<f64>> {
        self.asked += question.cost(self.records.sizes())?.get();
        let mut values = self.records.marginal(question.attributes())?;
        let deviation = match *question {
            Question::Marginal { variance, .. } | Question::Residual { variance, .. } => {
                variance.sqrt()
            }
            Question::Strategy { strategy, privacy_cost, .. } => {
                values = strategy.answers(&values)?;
                1.0 / privacy_cost.get().sqrt()
            }
        };
        if let Some(value) = self.at.and_then(|at| values.get_mut(at.checked_sub(self.drawn)?)) {
            *value += deviation;
        }
        self.drawn += values.len();
        if let Question::Residual { attributes, .. } = question {
            let sizes: Vec<usize> =
                attributes.positions().map(|p| self.records.sizes()[p]).collect();
            centre_in_place(&sizes, &mut values)?;
        }
        Ok(values)
    }

    fn select(
        &mut self,
        _: &CandidateSelection,
        _: &Candidates,
        _: &dyn MarginalEstimates,
    ) -> Result<usize> {
        unreachable!("variances of a mechanism that selects depend on the data")
    }
}
