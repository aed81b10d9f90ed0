//! The optimum for a problem, by the method for its structure.

use std::sync::Arc;

use super::{
    DualWeights, Optimal, OptimalOptions, StrategyForm, banded, nested, tridiagonal, weighted,
};
use crate::allocated::{self, Divergence};
use crate::call::Call;
use crate::error::{Error, Result};
use crate::workload::{Family, Gram, Workload};
use crate::{
    Certificate, Participation, Problem, Selection, Status, Strategy, StrategyFactor,
    StrategySelector,
};

impl StrategySelector for Optimal {
    fn name(&self) -> &str {
        "optimal"
    }

    fn summary(&self) -> &str {
        "certified optimum: smallest total error of any strategy, with a lower bound"
    }

    fn options(&self) -> &'static [&'static str] {
        &["tolerance", "max-iterations", "bands", "norms", "form", "divergence"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Ok(Box::new(self.with_options(call)?))
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        self.check_bands(Participation::Single)?;
        self.selected(gram, None)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        Ok(self.solve(problem)?.0)
    }

    /// Selects the optimum with the method for the structure of the problem, and returns its dual
    /// weights; none if the factors of a product were solved one by one.
    ///
    /// Without structure at most 4096 cells; min-separation at most 2048 cells, and for the
    /// objective `mean` only; O(cells³) per iteration.
    ///
    /// # Errors
    /// The participation does not fit the workload or the options, or there are too many cells.
    fn solve(&self, problem: &Problem<'_>) -> Result<(Selection, Option<DualWeights>)> {
        problem.check()?;
        self.check_bands(problem.participation)?;
        if let Participation::Random { .. } = problem.participation {
            return Ok((allocated::select(problem, self)?, None));
        }
        if let Some(optimum) = tridiagonal::solve(problem, &self.options)? {
            let selection = optimum.selection();
            let (steps, queries) = (optimum.cell_weights, optimum.query_weights);
            let dual = match problem.is_default() {
                true => DualWeights::Cells(vec![Arc::new(steps)]),
                false => DualWeights::Diagonal { queries, steps },
            };
            return Ok((selection, Some(dual)));
        }
        if let Some((selection, dual)) = nested::solve(problem, self)? {
            return Ok((selection, Some(dual)));
        }
        if weighted::is_multiplicative(problem)
            && let Some(selection) = self.select_products(problem)?
        {
            return Ok((selection, None));
        }
        let (selection, dual) = self.solve_dense(problem)?;
        Ok((selection, Some(dual)))
    }
}

impl Optimal {
    /// Returns the optimum of a problem and its dual weights, with dense matrices over the cells of
    /// a factor.
    ///
    /// # Errors
    /// As [`Optimal::solve`](StrategySelector::solve).
    pub(crate) fn solve_dense(&self, problem: &Problem<'_>) -> Result<(Selection, DualWeights)> {
        if problem.is_default() {
            let selection = self.selected(&problem.workload.gram()?, None)?;
            let Some(proof) = &selection.proof else {
                return Err(Error::bug("optimal strategy", "a proof", "none"));
            };
            let dual = DualWeights::Cells(proof.dual.cells.clone());
            return Ok((selection, dual));
        }
        problem.check()?;
        self.check_bands(problem.participation)?;
        if let Participation::MinSeparation { .. } = problem.participation {
            return banded::select(self, problem);
        }
        let optimum = weighted::solve(problem, &self.options)?;
        let shape = problem.workload.shape();
        let factor = StrategyFactor::from_gram(shape, Arc::new(optimum.gram));
        let selection = self.selection(vec![factor], optimum.certificate)?;
        Ok((Selection { proof: Some(optimum.proof), ..selection }, optimum.dual))
    }

    /// Returns the selector with the options of a call.
    pub(crate) fn with_options(&self, call: &Call<'_>) -> Result<Self> {
        let tolerance = call.option("tolerance")?.unwrap_or(self.options.tolerance);
        let max_iterations = call.option("max-iterations")?.unwrap_or(self.options.max_iterations);
        let mut optimal = Optimal::new(OptimalOptions { tolerance, max_iterations })?;
        optimal.bands = call.option("bands")?;
        optimal.equal_norms = match call.written("norms") {
            None | Some("free") => false,
            Some("equal") => true,
            Some(other) => return Err(call.refuse("norms=free or norms=equal", other)),
        };
        optimal.form = match call.written("form") {
            None | Some("free") => StrategyForm::Free,
            Some("toeplitz") => StrategyForm::Toeplitz,
            Some("inverse-toeplitz") => StrategyForm::InverseToeplitz,
            Some(other) => {
                let forms = "form=free, form=toeplitz or form=inverse-toeplitz";
                return Err(call.refuse(forms, other));
            }
        };
        optimal.divergence = match call.written("divergence") {
            None | Some("hockey-stick") => Divergence::HockeyStick,
            Some("chi-square") => Divergence::ChiSquare,
            Some(other) => {
                return Err(call.refuse("divergence=hockey-stick or divergence=chi-square", other));
            }
        };
        Ok(optimal)
    }

    /// Checks that the options for bands, forms and divergences are used with a participation that has
    /// them.
    pub(super) fn check_bands(&self, participation: Participation) -> Result<()> {
        let is_free = self.form == StrategyForm::Free;
        let valid = match participation {
            Participation::MinSeparation { .. } => is_free,
            Participation::Random { .. } => !self.equal_norms,
            _ => self.bands.is_none() && !self.equal_norms && is_free,
        };
        let is_random = matches!(participation, Participation::Random { .. });
        if valid && (is_random || self.divergence == Divergence::default()) {
            return Ok(());
        }
        Err(Error::bad_input(
            "options `bands`, `norms`, `form` and `divergence` of the optimal strategy",
            "participation=min-sep:B,K, or bands, form and divergence with participation=random:K",
            format!("participation `{participation}`"),
            "leave the options out, or set the participation",
        ))
    }

    /// Returns the optimal strategy for the largest error of a product of families, attribute by
    /// attribute.
    fn select_products(&self, problem: &Problem<'_>) -> Result<Option<Selection>> {
        let Some(families) = problem.workload.families().filter(|families| families.len() > 1)
        else {
            return Ok(None);
        };
        let tolerance = self.options.tolerance / families.len() as f64;
        let single = Optimal::new(OptimalOptions { tolerance, ..self.options })?;
        let mut total = Certificate {
            lower_bound: 1.0,
            upper_bound: 1.0,
            iterations: 0,
            status: Status::Converged,
        };
        let mut factors = Vec::with_capacity(families.len());
        let mut solved: Vec<(Family, &[usize], StrategyFactor, Certificate)> = Vec::new();
        for (family, sizes) in families {
            let known = solved.iter().find(|(f, s, _, _)| f == family && s == sizes);
            let (factor, certificate) = match known {
                Some((_, _, factor, certificate)) => (factor.clone(), *certificate),
                None => {
                    let workload = Workload::product(&[(*family, sizes.as_slice())])?;
                    let part = single.select_for(&Problem { workload: &workload, ..*problem })?;
                    let (Some(certificate), [factor]) = (part.certificate, part.strategy.factors())
                    else {
                        return Err(Error::bug("optimal strategy", "a certificate", "none"));
                    };
                    total.iterations += certificate.iterations;
                    solved.push((*family, sizes.as_slice(), factor.clone(), certificate));
                    (factor.clone(), certificate)
                }
            };
            total.lower_bound *= certificate.lower_bound;
            total.upper_bound *= certificate.upper_bound;
            if certificate.status != Status::Converged {
                total.status = certificate.status;
            }
            factors.push(factor);
        }
        Ok(Some(self.selection(factors, total)?))
    }

    /// Returns a selection of optimal factors.
    pub(super) fn selection(
        &self,
        factors: Vec<StrategyFactor>,
        certificate: Certificate,
    ) -> Result<Selection> {
        Ok(Selection {
            strategy: Strategy::kronecker(self.name(), factors)?,
            error: certificate.upper_bound,
            certificate: Some(certificate),
            proof: None,
            details: Vec::new(),
        })
    }
}
