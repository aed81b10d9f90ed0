//! Derivatives by the measures of attributes, given derivatives by a kernel's matrices.

use ndarray::{Array1, Array2};

use crate::domain::AxisSet;
use crate::error::{Error, Result};
use crate::planner::Kernel;
use crate::planner::kernel::Source;
use crate::residual::{AxisView, Measure, contraction, product};
use matmech_linalg as linalg;

/// The derivatives of a function by the parts of a kernel.
#[derive(Debug, Clone, Default)]
pub(super) struct Upstream {
    /// The derivative by the mean energy.
    pub energy: f64,
    /// The derivative by the residual Gram.
    pub gram: Option<Array2<f64>>,
    /// The derivative by the residual rows, queries × cells.
    pub rows: Option<Array2<f64>>,
}

impl Upstream {
    /// Adds to the derivative by the Gram.
    pub fn add_gram(&mut self, factor: f64, more: &Array2<f64>) {
        self.gram.get_or_insert_with(|| Array2::zeros(more.dim())).scaled_add(factor, more);
    }

    /// Adds to the derivative by the rows.
    pub fn add_rows(&mut self, factor: f64, more: ndarray::ArrayView2<'_, f64>) {
        self.rows.get_or_insert_with(|| Array2::zeros(more.dim())).scaled_add(factor, &more);
    }

    /// Returns whether the function does not depend on the kernel.
    fn is_zero(&self) -> bool {
        self.energy == 0.0 && self.gram.is_none() && self.rows.is_none()
    }
}

/// Adds the derivatives by the measures of the kernel's attributes to `gradients`, one per class.
///
/// For a family with Gram G and derivatives Γ by `PᵀGP` and e by `νᵀGν`,
/// `∂/∂ν = −2 G P Γ 1 + 2e Gν`. For joint queries, backpropagation through the contractions and
/// centrings of every row. O(queries · cells · axes) time.
///
/// # Errors
/// The family cannot be enumerated.
pub(super) fn pull_back(
    kernel: &Kernel,
    upstream: &Upstream,
    gradients: &mut [Vec<f64>],
) -> Result<()> {
    if upstream.is_zero() {
        return Ok(());
    }
    match kernel.source() {
        Source::Family(family) => {
            let axis = &kernel.axes()[0];
            let gram = family.gram(&[axis.measure.size()])?;
            let mean = gram.dot(&Array1::from_vec(axis.measure.to_vec()));
            let mut gradient = &mean * (2.0 * upstream.energy);
            if let Some(by_gram) = &upstream.gram {
                let sums = by_gram.sum_axis(ndarray::Axis(1));
                gradient.scaled_add(-2.0, &(gram.dot(&sums) - &mean * sums.sum()));
            }
            gradients[axis.class].iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += g);
        }
        Source::Joint(queries, kept) => {
            let mut by_rows = upstream.rows.clone();
            if upstream.gram.is_some() || upstream.energy != 0.0 {
                let cells = kernel.sizes().iter().product();
                let rows: Vec<f64> = kernel.rows()?.flatten().collect();
                let rows = Array2::from_shape_vec((rows.len() / cells, cells), rows)
                    .map_err(|e| Error::bug("rows of joint queries", "one value per cell", e))?;
                let mut sum = by_rows.unwrap_or_else(|| Array2::zeros(rows.dim()));
                if let Some(by_gram) = &upstream.gram {
                    sum.scaled_add(2.0, &linalg::matmul(rows.view(), by_gram.view()));
                }
                sum.scaled_add(2.0 * upstream.energy, &rows);
                by_rows = Some(sum);
            }
            let measures = crate::planner::kernel::measures(kernel.axes());
            let Some(by_rows) = by_rows else { return Ok(()) };
            for (query, (row, by_row)) in queries.rows()?.zip(by_rows.rows()).enumerate() {
                let root = queries.weight(query).sqrt();
                let by_row = by_row.iter().map(|x| x * root).collect();
                for (axis, gradient) in row_gradient(queries.sizes(), *kept, row, by_row, &measures)
                {
                    let class = kernel.axes()[axis].class;
                    gradients[class].iter_mut().zip(&gradient).for_each(|(sum, g)| *sum += g);
                }
            }
        }
    }
    Ok(())
}

/// Returns the derivatives by the axes' measures, given the derivative by a query's residual part.
fn row_gradient(
    sizes: &[usize],
    kept: AxisSet,
    row: Vec<f64>,
    by_part: Vec<f64>,
    measures: &[Measure],
) -> Vec<(usize, Vec<f64>)> {
    // Contractions first, then centrings, as in the decomposition. Every step stores its input.
    let order = (0..sizes.len())
        .filter(|&a| !kept.contains(a))
        .chain((0..sizes.len()).filter(|&a| kept.contains(a)));
    let (mut lengths, mut values) = (sizes.to_vec(), row);
    let mut steps = Vec::with_capacity(sizes.len());
    for axis in order {
        let view = AxisView::of(&lengths, axis);
        let means = contraction(&values, view, &measures[axis]);
        let next = if kept.contains(axis) {
            let mut centred = values.clone();
            for (block, cells) in centred.chunks_exact_mut((view.n * view.inner).max(1)).enumerate()
            {
                for slice in cells.chunks_exact_mut(view.inner.max(1)) {
                    slice
                        .iter_mut()
                        .zip(&means[block * view.inner..])
                        .for_each(|(x, mean)| *x -= mean);
                }
            }
            centred
        } else {
            lengths[axis] = 1;
            means
        };
        steps.push((axis, view, std::mem::replace(&mut values, next)));
    }
    let mut out = Vec::with_capacity(sizes.len());
    let mut by_values = by_part;
    for (axis, view, before) in steps.into_iter().rev() {
        let mut gradient = vec![0.0; view.n];
        let centred = kept.contains(axis);
        // The derivative by the contraction of the step's input.
        let by_means = if centred { sums(&by_values, view) } else { by_values.clone() };
        let sign = if centred { -1.0 } else { 1.0 };
        for (block, cells) in before.chunks_exact((view.n * view.inner).max(1)).enumerate() {
            let by_means = &by_means[block * view.inner..(block + 1) * view.inner];
            for (g, slice) in gradient.iter_mut().zip(cells.chunks_exact(view.inner.max(1))) {
                *g += sign * slice.iter().zip(by_means).map(|(x, b)| x * b).sum::<f64>();
            }
        }
        let through = product(&by_means, view, &measures[axis]);
        by_values = if centred {
            by_values.iter().zip(&through).map(|(b, t)| b - t).collect()
        } else {
            through
        };
        out.push((axis, gradient));
    }
    out
}

/// Returns the sums along the axis (outer × inner).
fn sums(values: &[f64], view: AxisView) -> Vec<f64> {
    let mut out = vec![0.0; view.outer * view.inner];
    for (block, cells) in values.chunks_exact((view.n * view.inner).max(1)).enumerate() {
        for slice in cells.chunks_exact(view.inner.max(1)) {
            out[block * view.inner..].iter_mut().zip(slice).for_each(|(sum, x)| *sum += x);
        }
    }
    out
}
