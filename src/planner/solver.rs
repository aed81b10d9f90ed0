//! What measures one residual subspace: the certified optimum, a Fourier basis, or given bases.

use std::sync::Arc;

use ndarray::Array2;

use super::factor_strategy::FactorStrategy;
use super::kernel::Kernel;
use super::published_optimum::published_optimum;
use super::subspace::{SubspaceStrategy, product_power};
use crate::domain::AttributeKind;
use crate::error::{Error, Result};
use crate::linalg;
use crate::strategy::{Optimal, OptimalOptions, StrategySelector};
use crate::workload::{Family, Gram};

/// One residual problem: minimise `tr(G V⁺)` over V ⪰ 0 with diagonal at most 1, `G = Σ coefficient · ⊗ kernels`.
pub struct SubspaceProblem<'a> {
    /// The sizes of the attributes.
    pub sizes: &'a [usize],
    /// The classes of the attributes, as [`SubspaceSolver::class`] gives them.
    pub classes: &'a [usize],
    /// The terms of G: a coefficient, and one kernel per attribute or one over all.
    pub terms: Vec<(f64, Vec<&'a Kernel>)>,
}

/// A strategy for a residual problem.
pub struct Solved {
    /// The strategy, at unit privacy cost.
    pub strategy: SubspaceStrategy,
    /// `tr(G V⁺)`.
    pub error: f64,
    /// No strategy for the problem has a smaller error; for solvers that prove it.
    pub lower_bound: Option<f64>,
    /// Eigendecompositions used.
    pub iterations: usize,
}

/// Chooses strategies for residual subspaces. Problems that are one product of kernels reach it factor by factor, because
/// for all solvers here the product of the factors' strategies is the strategy of the product.
pub trait SubspaceSolver: Send + Sync {
    /// One word for reports.
    fn name(&self) -> &str;

    /// The class of an attribute: problems that differ only in attributes of the same class and size are equal. By
    /// default all attributes are of one class.
    fn class(&self, _position: usize, _kind: AttributeKind) -> usize {
        0
    }

    /// Refuses a problem that is no product of kernels from its size alone, before any query is gone through: `joint_rows`
    /// is their number if it consists of joint queries only. By default everything fits.
    ///
    /// # Errors
    /// The problem needs more memory than it may.
    fn check_fits(&self, _sizes: &[usize], _joint_rows: Option<usize>) -> Result<()> {
        Ok(())
    }

    /// Solves one problem.
    ///
    /// # Errors
    /// The problem is too large, or a kernel of the linear algebra fails.
    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved>;
}

/// The certified optimum of every residual subspace.
///
/// Joint queries that are few against the cells (affine, absolute difference) go by their rows: O(rows² · cells) time per
/// iteration and about 120·rows·cells bytes. *Cost* of everything else that is no product: O(cells³) time per iteration
/// and about 96·cells² bytes for the largest problem.
#[derive(Debug, Clone, Copy)]
pub struct CertifiedSolver {
    /// Precision and limits of the iteration.
    pub options: OptimalOptions,
    /// Problems that need more memory than this are refused before they start. Default 8 GiB.
    pub memory_limit: u64,
}

/// Dense matrices over the cells that a certified solve holds at its peak: Gram, blocks, roots, spectra of three points.
const MATRICES_HELD: u64 = 12;

/// Matrices of rows × cells that a certified solve by rows holds at its peak: rows, roots, strategy, spectra of three points.
const ROW_MATRICES_HELD: u64 = 15;

/// Joint queries go by their rows if they are fewer than this share of the cells.
const FEW: usize = 2;

impl Default for CertifiedSolver {
    fn default() -> Self {
        CertifiedSolver { options: OptimalOptions::default(), memory_limit: 8 << 30 }
    }
}

impl SubspaceSolver for CertifiedSolver {
    fn name(&self) -> &str {
        "certified-optimum"
    }

    fn check_fits(&self, sizes: &[usize], joint_rows: Option<usize>) -> Result<()> {
        match joint_rows.filter(|&rows| go_by_rows(sizes, rows)) {
            Some(rows) => {
                let cells: f64 = sizes.iter().map(|&n| n as f64).product();
                refuse_bytes(sizes, rows as f64 * cells * 8.0 * ROW_MATRICES_HELD as f64, self.memory_limit)
            }
            None => refuse_beyond(sizes, self.memory_limit),
        }
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let optimal = Optimal::new(self.options)?;
        let joint_rows = problem.joint_rows();
        self.check_fits(problem.sizes, joint_rows)?;
        if joint_rows.is_some_and(|rows| go_by_rows(problem.sizes, rows)) {
            let rows = problem.rows()?;
            let selection = optimal.select_rows(problem.sizes, rows.view())?;
            let strategy = FactorStrategy::of_queries(problem.sizes, selection.queries.view())?;
            return Ok(Solved {
                strategy: SubspaceStrategy::Kronecker(vec![Arc::new(strategy)]),
                error: selection.certificate.upper_bound,
                lower_bound: Some(selection.certificate.lower_bound),
                iterations: selection.certificate.iterations,
            });
        }
        let gram = problem.gram()?;
        let selection = optimal.select(&Gram::dense(problem.sizes, gram)?)?;
        let certificate = selection.certificate;
        let matrix = selection.strategy.factors()[0].gram().as_ref().clone();
        Ok(Solved {
            strategy: SubspaceStrategy::Kronecker(vec![Arc::new(FactorStrategy::new(problem.sizes, matrix)?)]),
            error: selection.error,
            lower_bound: certificate.map(|c| c.lower_bound),
            iterations: certificate.map_or(0, |c| c.iterations),
        })
    }
}

/// Refuses a dense problem over a box before anything is allocated, if it would not fit.
pub(super) fn refuse_beyond(sizes: &[usize], memory_limit: u64) -> Result<()> {
    let cells: f64 = sizes.iter().map(|&n| n as f64).product();
    refuse_bytes(sizes, cells * cells * 8.0 * MATRICES_HELD as f64, memory_limit)
}

fn refuse_bytes(sizes: &[usize], bytes: f64, memory_limit: u64) -> Result<()> {
    if bytes <= memory_limit as f64 {
        return Ok(());
    }
    let gib = |bytes: f64| match bytes / 1024f64.powi(3) {
        gib if gib < 1024.0 => format!("{gib:.1} GiB"),
        gib => format!("{:.1} TiB", gib / 1024.0),
    };
    let cells: f64 = sizes.iter().map(|&n| n as f64).product();
    Err(Error::TooLarge {
        what: format!("problem over attributes of sizes {sizes:?} that is no product of smaller ones"),
        limit: gib(memory_limit as f64),
        found: format!("{cells} cells, about {}", gib(bytes)),
        remedy: "use the planner weighted-fourier (memory proportional to the cells), or ask for one family per \
                 attribute set"
            .into(),
    })
}

/// Whether joint queries are few enough against the cells to go by their rows.
fn go_by_rows(sizes: &[usize], rows: usize) -> bool {
    let cells = sizes.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).unwrap_or(usize::MAX);
    rows <= cells / FEW
}

impl SubspaceProblem<'_> {
    /// Whether G is one product of one-attribute kernels, which is solved factor by factor.
    pub(super) fn is_product(&self) -> bool {
        matches!(self.terms.as_slice(), [(_, kernels)] if kernels.len() == self.sizes.len())
    }

    /// The number of rows of G, if it consists of joint queries only.
    pub(super) fn joint_rows(&self) -> Option<usize> {
        self.terms.iter().try_fold(0usize, |count, (_, kernels)| match kernels.as_slice() {
            [joint] => joint.joint_rows().map(|rows| count.saturating_add(rows)),
            _ => None,
        })
    }

    /// The rows of G, √coefficient each.
    fn rows(&self) -> Result<Array2<f64>> {
        let cells: usize = self.sizes.iter().product();
        let mut values = Vec::with_capacity(self.joint_rows().unwrap_or(0) * cells);
        for (coefficient, kernels) in &self.terms {
            for kernel in kernels {
                for row in kernel.rows()? {
                    values.extend(row.into_iter().map(|x| x * coefficient.sqrt()));
                }
            }
        }
        Array2::from_shape_vec((values.len() / cells, cells), values).map_err(|e| {
            Error::invalid("rows of joint queries", "one value per cell", e.to_string(), "report this as a bug")
        })
    }

    /// G as one dense matrix.
    fn gram(&self) -> Result<Array2<f64>> {
        let cells: usize = self.sizes.iter().product();
        let mut sum = Array2::zeros((cells, cells));
        for (coefficient, kernels) in &self.terms {
            match kernels.as_slice() {
                [single] => sum.scaled_add(*coefficient, single.gram()?.as_ref()),
                several => {
                    let grams = several.iter().map(|k| k.gram()).collect::<Result<Vec<_>>>()?;
                    let product = grams.iter().fold(Array2::eye(1), |acc, g| linalg::kron(acc.view(), g.view()));
                    sum.scaled_add(*coefficient, &product);
                }
            }
        }
        Ok(sum)
    }
}

/// Independent noise on Fourier coefficients, its variances optimal: the SVD bound of the shift-averaged Gram.
///
/// With `P_j = Σ_q w|FFT(q)_j|²` over the frequencies with all j_i ≠ 0: V has the eigenvalues `N √P_j / Σ √P`, and
/// `tr(G V⁺) = (Σ_j √P_j)² / N²`. *Cost*: O(queries · cells log cells) time, O(cells) memory. *Source*: S3, App. C.
#[derive(Debug, Clone, Copy, Default)]
pub struct FourierSolver;

impl SubspaceSolver for FourierSolver {
    fn name(&self) -> &str {
        "fourier"
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let cells: usize = problem.sizes.iter().product();
        let mut power = vec![0.0; cells];
        for (coefficient, kernels) in &problem.terms {
            for (sum, p) in power.iter_mut().zip(product_power(kernels)?) {
                *sum += coefficient * p;
            }
        }
        // What rounding leaves of frequencies that the workload does not contain is not worth any budget.
        let top = power.iter().copied().fold(0.0, f64::max);
        let roots: Vec<f64> = power.iter().map(|p| if *p > 1e-24 * top { p.sqrt() } else { 0.0 }).collect();
        let total: f64 = roots.iter().sum();
        let n = cells as f64;
        Ok(Solved {
            strategy: SubspaceStrategy::Fourier {
                shape: problem.sizes.to_vec(),
                spectrum: roots.iter().map(|root| n * root / total).collect(),
            },
            error: (total / n).powi(2),
            lower_bound: None,
            iterations: 0,
        })
    }
}

/// A basis of one attribute's residual space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// ResidualPlanner's: `V = I − J/n`, scaled.
    Identity,
    /// ResidualPlanner+'s for prefix sums: `V = C X C` with X the certified optimum for `[1ᵀ; P C]`, `C = I − J/n`, scaled.
    Prefix,
    /// The same with X where the published code's optimiser stops, short of the optimum: it gives the digits of the published
    /// tables, and nothing else speaks for it.
    PublishedPrefix,
}

/// Which basis an attribute gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bases {
    /// By the attribute's kind.
    ByKind {
        /// The basis of numeric attributes.
        numeric: Basis,
        /// The basis of categorical attributes.
        categorical: Basis,
    },
    /// One per attribute, in the order of the schema; attributes beyond the list get [`Basis::Identity`].
    PerAttribute(Vec<Basis>),
}

/// Given bases: the same strategy for an attribute in every residual subspace, whatever the workload asks there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasisSolver {
    /// The bases.
    pub bases: Bases,
}

impl Basis {
    /// The strategy on an attribute with `n` values.
    ///
    /// # Errors
    /// Too many values for dense matrices, or fewer than two.
    pub fn strategy(self, n: usize) -> Result<FactorStrategy> {
        crate::workload::check_dense_size("basis of an attribute", n)?;
        let centred = |matrix: Array2<f64>| -> Result<Array2<f64>> {
            Ok(Gram::dense(&[n], matrix)?.residual().factors()[0].matrix.as_ref().clone())
        };
        let prefix =
            || -> Result<Array2<f64>> { Ok(centred(Family::Prefix.gram(&[n])?)? + Array2::<f64>::ones((n, n))) };
        let chosen = match self {
            Basis::Identity => Array2::eye(n),
            Basis::Prefix => {
                let best = Optimal::default().select(&Gram::dense(&[n], prefix()?)?)?;
                best.strategy.factors()[0].gram().as_ref().clone()
            }
            Basis::PublishedPrefix => published_optimum(&prefix()?)?.0,
        };
        FactorStrategy::new(&[n], centred(chosen)?)
    }
}

/// The bases by class.
const CLASSES: [Basis; 3] = [Basis::Identity, Basis::Prefix, Basis::PublishedPrefix];

impl SubspaceSolver for BasisSolver {
    fn name(&self) -> &str {
        "given-bases"
    }

    fn class(&self, position: usize, kind: AttributeKind) -> usize {
        let basis = match (&self.bases, kind) {
            (Bases::ByKind { numeric, .. }, AttributeKind::Numeric) => *numeric,
            (Bases::ByKind { categorical, .. }, AttributeKind::Categorical) => *categorical,
            (Bases::PerAttribute(list), _) => list.get(position).copied().unwrap_or(Basis::Identity),
        };
        CLASSES.iter().position(|b| *b == basis).unwrap_or(0)
    }

    fn solve(&self, problem: &SubspaceProblem<'_>) -> Result<Solved> {
        let mut factors: Vec<Arc<FactorStrategy>> = Vec::with_capacity(problem.sizes.len());
        for (k, (&n, &class)) in problem.sizes.iter().zip(problem.classes).enumerate() {
            let equal = (0..k).find(|&j| problem.sizes[j] == n && problem.classes[j] == class);
            factors.push(match equal {
                Some(j) => factors[j].clone(),
                None => Arc::new(CLASSES.get(class).copied().unwrap_or(Basis::Identity).strategy(n)?),
            });
        }
        let strategy = SubspaceStrategy::Kronecker(factors);
        let mut error = 0.0;
        for (coefficient, kernels) in &problem.terms {
            error += coefficient * strategy.trace(kernels)?;
        }
        Ok(Solved { strategy, error, lower_bound: None, iterations: 0 })
    }
}
