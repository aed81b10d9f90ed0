//! Streaming noise as strategies: `recurrence(buffers=4)`, `chains(buffers=6)`.

use std::sync::Arc;

use ndarray::Array2;

use super::fitted::Fitted;
use super::{Coefficients, Form, StreamOptions};
use crate::call::Call;
use crate::error::Result;
use crate::prefix_sums::{NoiseCost, select_gram};
use crate::workload::Gram;
use crate::{
    Certificate, GramSource, Objective, Participation, Problem, Selection, Strategy,
    StrategyFactor, StrategySelector,
};

/// Streaming noise of one form, selected as a strategy. With a certificate for chains;
/// [`Stream::fit`](super::Stream::fit) computes one for every form.
#[derive(Debug, Clone, Copy)]
pub struct Streamed {
    /// The form.
    pub form: Form,
    /// N.
    pub buffers: usize,
}

impl Streamed {
    /// Returns one fitted recurrence; 4 buffers by default.
    pub fn recurrence() -> Self {
        Streamed { form: Form::Recurrence, buffers: 4 }
    }

    /// Returns a sum of chains; 6 buffers by default.
    pub fn chains() -> Self {
        Streamed { form: Form::Chains, buffers: 6 }
    }

    /// Returns truncated exponentials; 3 buffers by default.
    pub fn truncated() -> Self {
        Streamed { form: Form::Truncated, buffers: 3 }
    }
}

impl StrategySelector for Streamed {
    fn name(&self) -> &str {
        match self.form {
            Form::Recurrence => "recurrence",
            Form::Chains => "chains",
            Form::Truncated => "truncated",
        }
    }

    fn summary(&self) -> &str {
        match self.form {
            Form::Recurrence => "streaming noise of one recurrence",
            Form::Chains => "streaming noise of a sum of chains",
            Form::Truncated => "streaming noise of truncated exponentials, for min-sep",
        }
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        select_gram(self, gram)
    }

    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        let fitted = Fitted::new(problem, self.form, self.buffers, &StreamOptions::default())?;
        let assessment = fitted.assess(problem)?;
        let (coefficients, bound) = (fitted.coefficients, fitted.bound);
        let unit = match problem.objective {
            Objective::Mean => problem.workload.count().as_f64(),
            Objective::Max | Objective::Balanced(_) => 1.0,
        };
        let error = unit * assessment.error;
        // Without a bound: the optimum is another strategy, and takes longer than the fit.
        let (certificate, proof) = match bound {
            Some((lower_bound, proof)) => {
                let certificate = Certificate {
                    lower_bound: lower_bound.min(error),
                    upper_bound: error,
                    iterations: fitted.iterations,
                    status: fitted.status,
                };
                (Some(certificate), proof)
            }
            None => (None, None),
        };
        let cost = NoiseCost {
            buffers: coefficients.buffers() as f64,
            normals: coefficients.draws_per_step() as f64,
            coefficients: coefficients.stored() as f64,
        };
        let source = Source::of(coefficients)?;
        let factor = StrategyFactor::from_gram_source(problem.workload.shape(), Arc::new(source));
        let strategy = Strategy::single(self.name(), factor);
        Ok(Selection { strategy, error, certificate, proof, details: cost.details() })
    }

    fn options(&self) -> &'static [&'static str] {
        &["buffers"]
    }

    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        let buffers = call.option("buffers")?.unwrap_or(self.buffers);
        if buffers == 0 {
            return Err(call.refuse("a positive number for `buffers`", "0"));
        }
        Ok(Box::new(Streamed { buffers, ..*self }))
    }
}

/// The Gram matrix of streaming noise, computed on demand.
#[derive(Debug)]
struct Source {
    coefficients: Coefficients,
    largest: f64,
}

impl Source {
    fn of(coefficients: Coefficients) -> Result<Self> {
        // For one participation, the largest diagonal entry of X.
        let largest = coefficients.sensitivity(Participation::Single)?.squared;
        Ok(Source { coefficients, largest })
    }
}

impl GramSource for Source {
    fn sensitivity_squared(&self) -> f64 {
        self.largest
    }

    fn gram(&self) -> Result<Array2<f64>> {
        self.coefficients.gram()
    }
}
