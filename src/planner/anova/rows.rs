//! The rows of residual problems before they are centred, and the curvature through averages.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::pullback::Upstream;
use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::planner::Kernel;
use crate::planner::kernel::{Source, measures as measures_of};
use crate::planner::solver::SubspaceProblem;
use crate::residual::{Measure, contracted, project_for};
use crate::strategy::MovingRows;
use crate::workload::JointQueries;
use matmech_linalg::{self as linalg, Semidefinite};

/// The rows of a residual problem before they are centred, with the measures that centre them.
#[derive(Debug)]
pub(super) struct ProblemRows {
    /// The sizes of the axes.
    pub shape: Vec<usize>,
    /// W, rows × cells.
    pub rows: Array2<f64>,
    /// One measure per axis.
    pub measures: Vec<Measure>,
    /// The class of every axis.
    pub classes: Vec<usize>,
    /// Whether the rows are the queries, in their order, and depend on no other measure.
    pub are_queries: bool,
}

impl ProblemRows {
    pub fn moving(&self) -> MovingRows<'_> {
        MovingRows { shape: &self.shape, rows: self.rows.view(), measures: &self.measures }
    }
}

/// The rows of joint queries, computed once.
#[derive(Debug, Default)]
pub(super) struct DenseQueries(Vec<(Arc<JointQueries>, Array2<f64>)>);

impl DenseQueries {
    /// Returns the rows, scaled by √weight, queries × cells.
    fn rows(&mut self, queries: &Arc<JointQueries>) -> Result<ArrayView2<'_, f64>> {
        let index = match self.0.iter().position(|(known, _)| Arc::ptr_eq(known, queries)) {
            Some(index) => index,
            None => {
                let cells: usize = queries.sizes().iter().product();
                let mut values = Vec::with_capacity(queries.count() * cells);
                for (query, row) in queries.rows()?.enumerate() {
                    let root = queries.weight(query).sqrt();
                    values.extend(row.into_iter().map(|x| x * root));
                }
                self.0.push((queries.clone(), matrix(values, cells)?));
                self.0.len() - 1
            }
        };
        Ok(self.0[index].1.view())
    }

    /// Returns the rows contracted along the axes that are not kept, queries × kept cells.
    fn contracted(
        &mut self,
        queries: &Arc<JointQueries>,
        kept: AxisSet,
        measures: &[Measure],
    ) -> Result<Array2<f64>> {
        let cells: usize = kept.select(queries.sizes()).iter().product();
        let rows = self.rows(queries)?;
        let values = rows
            .rows()
            .into_iter()
            .flat_map(|row| contracted(queries.sizes(), kept, row.to_vec(), measures))
            .collect();
        matrix(values, cells)
    }

    /// Returns the rows of a problem before they are centred.
    ///
    /// If there are more rows than cells, a root of their Gram matrix.
    ///
    /// # Errors
    /// A family cannot be enumerated.
    pub fn of_problem(&mut self, problem: &SubspaceProblem<'_>) -> Result<ProblemRows> {
        let cells: usize = problem.sizes.iter().product();
        let mut are_queries = true;
        let mut parts: Vec<Array2<f64>> = Vec::new();
        let mut axes = Vec::new();
        for (coefficient, kernels) in &problem.terms {
            let mut factors = Vec::with_capacity(kernels.len());
            axes.clear();
            for kernel in kernels {
                let kept = kernel.kept();
                axes.extend(kept_of(kept, kernel.axes()));
                factors.push(match kernel.source() {
                    Source::Family(family) => {
                        are_queries = false;
                        root(&family.gram(kernel.sizes())?)?
                    }
                    Source::Joint(queries, kept) => {
                        are_queries &= kept.len() == kernel.axes().len() && kernels.len() == 1;
                        let measures = measures_of(kernel.axes());
                        self.contracted(queries, *kept, &measures)?
                    }
                });
            }
            let mut rows = linalg::kron_all(factors.iter().map(|f| f.view()));
            rows *= coefficient.sqrt();
            parts.push(rows);
        }
        let count: usize = parts.iter().map(Array2::nrows).sum();
        are_queries &= count <= cells;
        let rows = if count <= cells {
            let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
            ndarray::concatenate(Axis(0), &views)
                .map_err(|e| Error::bug("rows of a residual problem", "as many cells", e))?
        } else {
            let mut gram = Array2::zeros((cells, cells));
            parts.iter().for_each(|part| linalg::add_gram(&mut gram, part.view()));
            root(&gram)?
        };
        Ok(ProblemRows {
            shape: problem.sizes.to_vec(),
            rows,
            measures: axes.iter().map(|axis| axis.measure.clone()).collect(),
            classes: axes.iter().map(|axis| axis.class).collect(),
            are_queries,
        })
    }

    /// Adds the curvature by the measures of attributes that a kernel averages out.
    ///
    /// `first` are the first parameters of the classes. With the derivative Γ of F by the kernel's
    /// Gram fixed it is that of the quadratic function `tr(Γ Gram)`, an upper bound on the
    /// curvature, since F is a concave function of the Gram.
    ///
    /// # Errors
    /// A family cannot be enumerated.
    pub fn add_curvature(
        &mut self,
        kernel: &Kernel,
        upstream: &Upstream,
        first: &[usize],
        hessian: &mut Array2<f64>,
    ) -> Result<()> {
        let axes = kernel.axes();
        let mut add = |a: usize, b: usize, block: ArrayView2<'_, f64>| {
            let (row, column) = (first[axes[a].class], first[axes[b].class]);
            for ((i, j), x) in block.indexed_iter() {
                hessian[[row + i, column + j]] += 2.0 * x;
            }
        };
        let (queries, kept) = match kernel.source() {
            Source::Family(family) => {
                let gram = family.gram(kernel.sizes())?;
                add(0, 0, (gram * upstream.energy).view());
                return Ok(());
            }
            Source::Joint(queries, kept) => (queries, *kept),
        };
        let measures = measures_of(axes);
        let kept_measures: Vec<Measure> = kept_of(kept, &measures).cloned().collect();
        let by_gram = match &upstream.gram {
            Some(gram) => uncentred(gram.clone(), kernel.sizes(), &kept_measures),
            None if kept.is_empty() => Array2::from_elem((1, 1), upstream.energy),
            None => return Ok(()),
        };
        let means = self.contracted(queries, kept, &measures)?;
        let weighted = linalg::matmul(means.view(), by_gram.view());
        let dropped: Vec<usize> = (0..axes.len()).filter(|&a| !kept.contains(a)).collect();
        let with =
            |others: &[usize]| AxisSet::of(axes.len(), |a| kept.contains(a) || others.contains(&a));
        let mut slices = Vec::with_capacity(dropped.len());
        for &axis in &dropped {
            let rows = self.contracted(queries, with(&[axis]), &measures)?;
            let slice = by_kept_cell(&rows, queries.sizes(), kept, with(&[axis]))?;
            let (count, n) = (rows.nrows(), queries.sizes()[axis]);
            let through = linalg::matmul(by_gram.view(), slice.view());
            let lines = by_gram.nrows() * count;
            slices.push((matrix_of(slice, lines, n)?, matrix_of(through, lines, n)?));
        }
        for (k, &a) in dropped.iter().enumerate() {
            for (l, &b) in dropped.iter().enumerate().skip(k) {
                let mut block = linalg::matmul(slices[k].0.t(), slices[l].1.view());
                if a == b {
                    add(a, a, block.view());
                    continue;
                }
                let rows = self.contracted(queries, with(&[a, b]), &measures)?;
                let both = by_kept_cell(&rows, queries.sizes(), kept, with(&[a, b]))?;
                let (n, m) = (queries.sizes()[a], queries.sizes()[b]);
                let both = matrix_of(both, by_gram.nrows() * rows.nrows(), n * m)?;
                let weights = Array1::from_iter(weighted.t().iter().copied());
                let cross = both.t().dot(&weights).insert_axis(Axis(0));
                block += &matrix_of(cross, n, m)?;
                add(a, b, block.view());
                add(b, a, block.t());
            }
        }
        Ok(())
    }
}

/// Returns rows over the cells of `all` as kept cells × (row, other cells).
fn by_kept_cell(
    rows: &Array2<f64>,
    sizes: &[usize],
    kept: AxisSet,
    all: AxisSet,
) -> Result<Array2<f64>> {
    let axes: Vec<usize> = (0..sizes.len()).filter(|&a| all.contains(a)).collect();
    let mut shape = vec![rows.nrows()];
    shape.extend(axes.iter().map(|&a| sizes[a]));
    let place =
        |wanted: bool| axes.iter().enumerate().filter(move |(_, a)| kept.contains(**a) == wanted);
    let order: Vec<usize> = place(true)
        .map(|(k, _)| k + 1)
        .chain([0])
        .chain(place(false).map(|(k, _)| k + 1))
        .collect();
    let cells: usize = place(true).map(|(_, &a)| sizes[a]).product();
    let tensor = rows
        .view()
        .into_shape_with_order(shape)
        .map_err(|e| Error::bug("rows of joint queries", "one value per cell", e))?;
    let values: Vec<f64> = tensor.permuted_axes(order).iter().copied().collect();
    let columns = values.len() / cells;
    matrix(values, columns)
}

/// Returns `PΓPᵀ` for `P = ⊗ (I − ν_i 1ᵀ)`, the derivative by a Gram before it is centred.
///
/// One side at a time.
fn uncentred(gram: Array2<f64>, sizes: &[usize], measures: &[Measure]) -> Array2<f64> {
    let once = |matrix: Array2<f64>| {
        let mut transposed = matrix.reversed_axes().as_standard_layout().into_owned();
        for mut row in transposed.rows_mut() {
            if let Some(values) = row.as_slice_mut() {
                project_for(sizes, values, measures);
            }
        }
        transposed
    };
    once(once(gram))
}

/// Returns the items of the axes that are kept.
fn kept_of<T>(kept: AxisSet, items: &[T]) -> impl Iterator<Item = &T> {
    items.iter().enumerate().filter(move |(axis, _)| kept.contains(*axis)).map(|(_, item)| item)
}

/// Returns R with `RᵀR` = the matrix.
fn root(gram: &Array2<f64>) -> Result<Array2<f64>> {
    Ok(match linalg::full_rank_cholesky(gram.view())? {
        Some(factor) => factor.t().as_standard_layout().into_owned(),
        None => Semidefinite::of(gram.view())?.root(),
    })
}

fn matrix(values: Vec<f64>, columns: usize) -> Result<Array2<f64>> {
    let rows = values.len() / columns.max(1);
    Array2::from_shape_vec((rows, columns), values)
        .map_err(|e| Error::bug("rows of joint queries", "one value per cell", e))
}

fn matrix_of(values: Array2<f64>, rows: usize, columns: usize) -> Result<Array2<f64>> {
    values
        .into_shape_with_order((rows, columns))
        .map_err(|e| Error::bug("rows of joint queries", "one value per cell", e))
}
