//! A strategy whose noise is calibrated, in any of its forms.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::objective::Objective;
use crate::participation::{Participation, Sensitivity, sensitivity};
use crate::problem::Problem;
use crate::query_errors::QueryErrors;
use crate::selector::Selection;
use crate::stream::Coefficients;
use crate::workload::check_dense_size;
use matmech_linalg as linalg;

/// A strategy for the steps of training.
#[derive(Debug, Clone)]
pub struct NoiseStrategy {
    name: String,
    form: Form,
}

/// The form in which the strategy is given.
#[derive(Debug, Clone)]
enum Form {
    /// C, n × n, lower triangular and not singular.
    Matrix(Array2<f64>),
    /// C⁻¹ as a recurrence.
    Coefficients(Box<Coefficients>),
    /// A strategy of the registry, and its unit privacy cost.
    Selected { selection: Box<Selection>, steps: usize },
}

impl NoiseStrategy {
    /// Creates a strategy of a matrix C, steps × steps, which is not rescaled.
    ///
    /// # Errors
    /// C is not square or not lower triangular, a number is not finite, or a diagonal entry is 0.
    pub fn of_matrix(name: &str, matrix: Array2<f64>) -> Result<Self> {
        let refuse = |found: String, remedy: &str| {
            let expected = "a lower triangular matrix C, steps × steps, without zeros on the \
                            diagonal";
            Err(Error::bad_input(format!("strategy `{name}`"), expected, found, remedy))
        };
        let (rows, columns) = matrix.dim();
        if rows != columns || rows == 0 {
            let found = format!("a matrix of {rows} rows and {columns} columns");
            return refuse(found, "give one row and one column per step");
        }
        let at = |(i, j): (usize, usize)| format!("{:e} in row {i}, column {j}", matrix[[i, j]]);
        let entries = || matrix.indexed_iter();
        if let Some((index, _)) = entries().find(|(_, x)| !x.is_finite()) {
            return refuse(at(index), "give finite numbers");
        }
        if let Some((index, _)) = entries().find(|&((i, j), &x)| j > i && x != 0.0) {
            let remedy = "with gradients that depend on earlier outputs, the noise of a step must \
                          not depend on later steps; set rounding errors above the diagonal to 0, \
                          e.g. by numpy.tril";
            return refuse(format!("{}, above the diagonal", at(index)), remedy);
        }
        if let Some(i) = (0..rows).find(|&i| matrix[[i, i]] == 0.0) {
            return refuse(at((i, i)), "its noise C⁻¹z would be infinite: measure every step");
        }
        Ok(NoiseStrategy { name: name.to_owned(), form: Form::Matrix(matrix) })
    }

    /// Creates a strategy of the coefficients of its noise, which are not rescaled.
    pub fn of_coefficients(name: &str, coefficients: Coefficients) -> Self {
        NoiseStrategy { name: name.to_owned(), form: Form::Coefficients(Box::new(coefficients)) }
    }

    /// Creates a strategy of a selection for a problem, scaled to sensitivity 1.
    pub(super) fn of_selection(name: &str, selection: Selection, steps: usize) -> Self {
        let selection = Box::new(selection);
        NoiseStrategy { name: name.to_owned(), form: Form::Selected { selection, steps } }
    }

    /// Returns the text or the path that names the strategy.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the strategy is scaled to sensitivity 1, as a selected one is.
    pub fn is_scaled(&self) -> bool {
        matches!(self.form, Form::Selected { .. })
    }

    /// Returns the number of steps n.
    pub fn steps(&self) -> usize {
        match &self.form {
            Form::Matrix(matrix) => matrix.nrows(),
            Form::Coefficients(coefficients) => coefficients.steps(),
            Form::Selected { steps, .. } => *steps,
        }
    }

    /// Returns the squared sensitivity for the participation of a problem. O(n³).
    ///
    /// # Errors
    /// The strategy has other steps than the workload; as [`Problem::check`] and
    /// [`participation::sensitivity`](crate::participation::sensitivity).
    pub fn sensitivity(&self, problem: &Problem<'_>) -> Result<Sensitivity> {
        self.check(problem)?;
        match &self.form {
            Form::Matrix(matrix) => {
                sensitivity(linalg::gram_of(matrix.view()).view(), problem.participation)
            }
            Form::Coefficients(coefficients) => coefficients.sensitivity(problem.participation),
            Form::Selected { selection, .. } => {
                let found = problem.sensitivity(&selection.strategy)?;
                let attained = found.attained / found.squared;
                Ok(Sensitivity { squared: 1.0, attained, bound: found.bound })
            }
        }
    }

    /// Returns the objective of the queries' squared errors with σ = 1: for `mean`,
    /// `tr(G (CᵀC)⁻¹)/m` for m queries. It grows with σ².
    ///
    /// O(n³), and the costs of the queries for other objectives.
    ///
    /// # Errors
    /// The strategy has other steps than the workload, or there are too many queries to list.
    pub fn unit_error(&self, problem: &Problem<'_>) -> Result<f64> {
        self.check(problem)?;
        let queries = problem.workload.count().as_f64();
        match &self.form {
            Form::Matrix(matrix) => {
                let error = error_of_matrix(matrix, problem)?;
                if error.is_finite() {
                    return Ok(error);
                }
                Err(Error::bad_input(
                    format!("strategy `{}`", self.name),
                    "a matrix whose inverse has finite entries",
                    "an error that is not finite",
                    "scale the matrix to entries around 1, with a diagonal that is not nearly 0",
                ))
            }
            Form::Coefficients(coefficients)
                if matches!(problem.participation, Participation::Random { .. }) =>
            {
                error_of_matrix(&coefficients.strategy_matrix()?, problem)
            }
            Form::Coefficients(coefficients) => {
                let assessment = coefficients.assess(problem)?;
                Ok(assessment.error / assessment.sensitivity.squared)
            }
            Form::Selected { .. }
                if matches!(problem.participation, Participation::Random { .. }) =>
            {
                error_of_matrix(&self.matrix(problem)?, problem)
            }
            Form::Selected { selection, .. } => Ok(match problem.objective {
                Objective::Mean => selection.error / queries,
                Objective::Max | Objective::Balanced(_) => selection.error,
            }),
        }
    }

    /// Returns C, n × n and lower triangular, whose noise is `σ C⁻¹z`.
    ///
    /// For a selected strategy A it is the lower triangular factor of AᵀA, at sensitivity 1: its
    /// noise has the same distribution. O(n³).
    ///
    /// # Errors
    /// Too many steps for a matrix; or a selected strategy that does not measure every step, or
    /// that is a Kronecker product.
    pub fn matrix(&self, problem: &Problem<'_>) -> Result<Array2<f64>> {
        self.check(problem)?;
        match &self.form {
            Form::Matrix(matrix) => Ok(matrix.clone()),
            Form::Coefficients(coefficients) => coefficients.strategy_matrix(),
            Form::Selected { selection, .. } => {
                let [factor] = selection.strategy.factors() else {
                    return Err(Error::bad_input(
                        format!("strategy `{}`", self.name),
                        "a strategy over one attribute, whose values are the steps",
                        "a Kronecker product",
                        "use a workload over steps, e.g. prefix:64",
                    ));
                };
                let squared = match problem.participation {
                    // The accountant needs no scale.
                    Participation::Random { .. } => selection.strategy.sensitivity_squared(),
                    _ => problem.sensitivity(&selection.strategy)?.squared,
                };
                let gram = factor.gram()?.mapv(|x| x / squared);
                linalg::lower_factor(gram.view()).map_err(|_| {
                    Error::bad_input(
                        format!("strategy `{}`", self.name),
                        "a strategy that measures every step",
                        "a singular matrix",
                        "choose another strategy, e.g. optimal",
                    )
                })
            }
        }
    }

    /// Checks that the steps are those of the workload, and the participation fits.
    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        problem.check()?;
        let steps = problem.workload.cells();
        if self.steps() == steps {
            return Ok(());
        }
        Err(Error::bad_input(
            format!("strategy `{}`", self.name),
            format!("{steps} steps, those of `{}`", problem.workload.name()),
            self.steps().to_string(),
            "choose the workload of the strategy, e.g. prefix:N for N steps",
        ))
    }
}

/// Returns the objective of the queries' squared errors `w C⁻¹C⁻ᵀ wᵀ`.
fn error_of_matrix(matrix: &Array2<f64>, problem: &Problem<'_>) -> Result<f64> {
    check_dense_size("matrix of a strategy", matrix.nrows())?;
    let queries = problem.workload.count().as_f64();
    let inverse = linalg::inverse_of_lower(matrix.view());
    let covariance = linalg::gram_of(inverse.t());
    if problem.objective == Objective::Mean {
        let gram = problem.workload.gram()?.to_dense()?;
        return Ok((&gram * &covariance).sum() / queries);
    }
    let errors = QueryErrors::of(problem.workload)?.errors(covariance.view())?;
    let largest = errors.iter().copied().fold(0.0, f64::max);
    Ok(problem.objective.of(errors.iter().sum(), largest, queries))
}
