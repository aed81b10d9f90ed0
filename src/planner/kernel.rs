//! Kernels: the distinct residual Gram matrices of a workload.

use std::sync::{Arc, OnceLock};

use ndarray::{Array1, Array2};

use crate::domain::AxisSet;
use crate::error::Result;
use crate::residual::{Measure, cells_summed_out, centre_for};
use crate::workload::{Family, Gram, GramFactor, JointQueries};
use matmech_linalg::BoxTransform;

/// The maximum number of cells of kernels that are compared entry by entry.
const MAX_COMPARED_CELLS: usize = 128;

/// The share of the squared norm up to which a residual part counts as zero.
const MAX_NEGLIGIBLE_SHARE: f64 = 1e-12;

/// A distinct residual Gram.
///
/// It comes from a centred family on one attribute, or from joint queries averaged over some of
/// their attributes and centred along the others. Matrices and spectra are computed on first use.
///
/// Averages are by the attributes' reference measures.
#[derive(Debug)]
pub struct Kernel {
    sizes: Vec<usize>,
    source: Source,
    axes: Vec<Axis>,
    negligible: bool,
    mean_energy: f64,
    gram: OnceLock<Arc<Array2<f64>>>,
    power: OnceLock<Arc<Vec<f64>>>,
}

/// The source of a residual Gram.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A family of one attribute.
    Family(Family),
    /// Joint queries, and the axes that are kept.
    Joint(Arc<JointQueries>, AxisSet),
}

/// The measure of an attribute, and the class of attributes that share it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// The measure.
    pub measure: Measure,
    /// The class of attributes that share the measure.
    pub class: usize,
}

/// Returns the measures of some attributes.
pub(super) fn measures(axes: &[Axis]) -> Vec<Measure> {
    axes.iter().map(|axis| axis.measure.clone()).collect()
}

impl Kernel {
    /// Creates the kernel of a one-attribute family: `PᵀΓP` with `P = I − ν 1ᵀ`.
    pub(super) fn of_family(family: Family, axis: &Axis) -> Result<Self> {
        let n = axis.measure.size();
        crate::workload::check_dense_size(&format!("Gram matrix of {}:{n}", family.name()), n)?;
        let matrix = family.gram(&[n])?;
        let total = matrix.diag().sum();
        let (centred, mean_energy) = if axis.measure.is_uniform() {
            let sum = matrix.sum();
            let gram =
                Gram::from_factors(vec![GramFactor { shape: vec![n], matrix: Arc::new(matrix) }])?
                    .residual();
            // Σ over the queries of (mean of q)² = 1ᵀΓ1/n².
            (gram.factors()[0].matrix.clone(), sum / (n * n) as f64)
        } else {
            let weights = Array1::from_vec(axis.measure.to_vec());
            let energy = weights.dot(&matrix.dot(&weights));
            (Arc::new(centred(matrix, &axis.measure)), energy)
        };
        Ok(Kernel {
            sizes: vec![n],
            negligible: centred.diag().sum() <= MAX_NEGLIGIBLE_SHARE * total,
            source: Source::Family(family),
            axes: vec![axis.clone()],
            mean_energy,
            gram: OnceLock::from(centred),
            power: OnceLock::new(),
        })
    }

    /// Creates the kernel of joint queries on the attributes that are kept.
    ///
    /// O(queries · cells) time.
    pub(super) fn of_joint(
        queries: &Arc<JointQueries>,
        kept: AxisSet,
        axes: &[Axis],
    ) -> Result<Self> {
        let sizes = kept.select(queries.sizes());
        let dropped = cells_summed_out(queries.sizes(), kept);
        let mut energy = 0.0;
        for row in queries.residual_rows_for(kept, &measures(axes))? {
            energy += row.iter().map(|x| x * x).sum::<f64>();
        }
        let whole: f64 = queries
            .rows()?
            .enumerate()
            .map(|(q, row)| queries.weight(q) * row.iter().map(|x| x * x).sum::<f64>())
            .sum();
        Ok(Kernel {
            // Averaging over n cells divides the squared norm of the average by n.
            negligible: energy * dropped <= MAX_NEGLIGIBLE_SHARE * whole,
            mean_energy: if sizes.is_empty() { energy } else { 0.0 },
            sizes,
            source: Source::Joint(queries.clone(), kept),
            axes: axes.to_vec(),
            gram: OnceLock::new(),
            power: OnceLock::new(),
        })
    }

    pub(super) fn is_family(&self, family: Family, axis: &Axis) -> bool {
        matches!(&self.source, Source::Family(f) if *f == family)
            && self.sizes == [axis.measure.size()]
            && self.axes[0].class == axis.class
    }

    pub(super) fn is_joint(
        &self,
        queries: &Arc<JointQueries>,
        kept: AxisSet,
        axes: &[Axis],
    ) -> bool {
        match &self.source {
            Source::Joint(known, known_kept) => {
                *known_kept == kept
                    && self.axes.iter().zip(axes).all(|(a, b)| a.class == b.class)
                    && (Arc::ptr_eq(known, queries) || known == queries)
            }
            Source::Family(_) => false,
        }
    }

    /// Returns the source of the kernel.
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the axes of the queries, including those that are averaged out.
    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the axes that are kept.
    pub(super) fn kept(&self) -> AxisSet {
        match self.source {
            Source::Family(_) => AxisSet::all(1),
            Source::Joint(_, kept) => kept,
        }
    }

    /// Returns whether two small kernels have the same Gram up to rounding.
    ///
    /// For example, joint queries that are symmetric in two attributes.
    pub(super) fn has_same_gram(&self, other: &Self) -> Result<bool> {
        let cells: usize = self.sizes.iter().product();
        if self.sizes != other.sizes
            || self.negligible
            || other.negligible
            || !(2..=MAX_COMPARED_CELLS).contains(&cells)
        {
            return Ok(false);
        }
        if self
            .axes
            .iter()
            .chain(&other.axes)
            .all(|axis| axis.measure.is_uniform() && axis.class == 0)
        {
            return Ok(equal(&*self.gram()?, &*other.gram()?));
        }
        // Grams can be equal at one measure and differ at others. So compare them at measures
        // without symmetry.
        if self.classes() != other.classes() {
            return Ok(false);
        }
        Ok(equal(&*self.at_generic_measures()?.gram()?, &*other.at_generic_measures()?.gram()?))
    }

    /// Returns the classes of the attributes that are kept, and of the others.
    fn classes(&self) -> (Vec<usize>, Vec<usize>) {
        let kept = self.kept();
        let (kept_axes, others): (Vec<_>, Vec<_>) =
            self.axes.iter().enumerate().partition(|(axis, _)| kept.contains(*axis));
        let classes =
            |axes: Vec<(usize, &Axis)>| axes.into_iter().map(|(_, axis)| axis.class).collect();
        (classes(kept_axes), classes(others))
    }

    /// Returns the same kernel for measures that differ between classes and between values.
    fn at_generic_measures(&self) -> Result<Self> {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let generic = |axis: &Axis| {
            let weight =
                |value: usize| 0.5 + (GOLDEN * (1 + value + 7 * axis.class) as f64).fract();
            let weights: Vec<f64> = (0..axis.measure.size()).map(weight).collect();
            let sum: f64 = weights.iter().sum();
            let measure = Measure::of(weights.iter().map(|w| w / sum).collect())?;
            Ok(Axis { measure, class: axis.class })
        };
        let axes = self.axes.iter().map(generic).collect::<Result<Vec<_>>>()?;
        match &self.source {
            Source::Family(family) => Kernel::of_family(*family, &axes[0]),
            Source::Joint(queries, kept) => Kernel::of_joint(queries, *kept, &axes),
        }
    }

    /// Returns the sizes of the kernel's attributes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the number of rows of joint queries.
    ///
    /// `None` for a family, whose Gram is smaller.
    pub(super) fn joint_rows(&self) -> Option<usize> {
        match &self.source {
            Source::Joint(queries, _) => Some(queries.count()),
            Source::Family(_) => None,
        }
    }

    /// Returns whether the queries have no part in this residual subspace.
    pub fn is_negligible(&self) -> bool {
        self.negligible
    }

    /// Returns the sum of w·(q·ν)² over the queries.
    ///
    /// For a one-attribute family it is the factor of an attribute that is averaged out. For joint
    /// queries it is the coefficient of the residual subspace ∅.
    pub fn mean_energy(&self) -> f64 {
        self.mean_energy
    }

    /// Returns the residual Gram (cells × cells).
    ///
    /// For joint queries O(queries · cells²) time on the first call, and O(cells²) memory.
    ///
    /// # Errors
    /// The domain has too many cells.
    pub fn gram(&self) -> Result<Arc<Array2<f64>>> {
        if let Some(gram) = self.gram.get() {
            return Ok(gram.clone());
        }
        let cells: usize = self.sizes.iter().product();
        let sum = crate::workload::sum_of_squares(cells, self.rows()?)?;
        let gram = Arc::new(sum);
        Ok(self.gram.get_or_init(|| gram).clone())
    }

    /// Iterates over the residual subqueries, scaled by √weight.
    ///
    /// # Errors
    /// The family cannot be enumerated.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        match &self.source {
            Source::Joint(queries, kept) => queries.residual_rows_for(*kept, &measures(&self.axes)),
            Source::Family(family) => {
                let n = self.sizes[0];
                let rows = family.rows(&[n])?;
                let axis_measures = measures(&self.axes);
                Ok(Box::new(rows.map(move |mut row| {
                    centre_for(&[n], &mut row, &axis_measures);
                    row
                })))
            }
        }
    }

    /// Returns the power spectrum of the residual subqueries, `Σ_q |FFT(q)_j|²`.
    ///
    /// Zero where some j_i is zero.
    ///
    /// # Errors
    /// As [`Kernel::rows`].
    pub fn power(&self) -> Result<Arc<Vec<f64>>> {
        if let Some(power) = self.power.get() {
            return Ok(power.clone());
        }
        let transform = BoxTransform::new(&self.sizes);
        let mut power = match &self.source {
            Source::Family(_) => transform.power_of_gram(self.gram()?.view())?,
            Source::Joint(..) => transform.power(self.rows()?)?,
        };
        for (j, p) in power.iter_mut().enumerate() {
            if crate::domain::coordinates(&self.sizes, j).contains(&0) {
                *p = 0.0;
            }
        }
        let power = Arc::new(power);
        Ok(self.power.get_or_init(|| power).clone())
    }
}

fn equal(a: &Array2<f64>, b: &Array2<f64>) -> bool {
    let scale = a.diag().iter().copied().fold(0.0, f64::max);
    a.iter().zip(b.iter()).all(|(x, y)| (x - y).abs() <= 1e-14 * scale)
}

/// Returns `PᵀΓP`.
///
/// Rows first, then columns.
fn centred(gram: Array2<f64>, measure: &Measure) -> Array2<f64> {
    let once = |matrix: Array2<f64>| {
        let mut transposed = matrix.reversed_axes().as_standard_layout().into_owned();
        for mut row in transposed.rows_mut() {
            let mean: f64 =
                row.iter().enumerate().map(|(value, x)| measure.weight(value) * x).sum();
            row -= mean;
        }
        transposed
    };
    let both = once(once(gram));
    (&both + &both.t()) / 2.0
}
