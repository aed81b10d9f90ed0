//! Kernels: the distinct residual Gram matrices that a workload is made of.

use std::sync::{Arc, OnceLock};

use ndarray::Array2;

use crate::domain::AxisSet;
use crate::error::Result;
use crate::linalg::BoxTransform;
use crate::residual::smeared_cells;
use crate::workload::{Family, Gram, GramFactor, JointQueries};

/// Kernels over at most this many cells are compared entry by entry with those known.
const COMPARED_CELLS: usize = 128;

/// Queries whose residual part is smaller than this share of the whole have none.
const NEGLIGIBLE: f64 = 1e-12;

/// One distinct residual Gram: a family on one attribute, centred, or joint queries averaged over some of their
/// attributes and centred along the others. Matrices and spectra are made when first asked for.
#[derive(Debug)]
pub struct Kernel {
    sizes: Vec<usize>,
    source: Source,
    negligible: bool,
    mean_energy: f64,
    gram: OnceLock<Arc<Array2<f64>>>,
    power: OnceLock<Arc<Vec<f64>>>,
}

#[derive(Debug, Clone)]
enum Source {
    Family(Family),
    Joint(Arc<JointQueries>, AxisSet),
}

impl Kernel {
    /// The kernel of a one-attribute family on `n` values: `C Γ C`, `C = I − J/n`.
    pub(super) fn of_family(family: Family, n: usize) -> Result<Self> {
        crate::workload::check_dense_size(&format!("Gram matrix of {}:{n}", family.name()), n)?;
        let matrix = family.gram(&[n])?;
        let (total, sum) = (matrix.diag().sum(), matrix.sum());
        let gram = Gram::from_factors(vec![GramFactor { shape: vec![n], matrix: Arc::new(matrix) }])?.residual();
        let centred = gram.factors()[0].matrix.clone();
        Ok(Kernel {
            sizes: vec![n],
            negligible: centred.diag().sum() <= NEGLIGIBLE * total,
            source: Source::Family(family),
            // Σ over the queries of (mean of q)² = 1ᵀΓ1/n².
            mean_energy: sum / (n * n) as f64,
            gram: OnceLock::from(centred),
            power: OnceLock::new(),
        })
    }

    /// The kernel of joint queries on the attributes that are kept. O(queries · cells).
    pub(super) fn of_joint(queries: &Arc<JointQueries>, kept: AxisSet) -> Result<Self> {
        let sizes = kept.of_items(queries.sizes());
        let dropped = smeared_cells(queries.sizes(), kept);
        let mut energy = 0.0;
        for row in queries.residual_rows(kept)? {
            energy += row.iter().map(|x| x * x).sum::<f64>();
        }
        let whole: f64 = queries
            .rows()?
            .enumerate()
            .map(|(q, row)| queries.weight(q) * row.iter().map(|x| x * x).sum::<f64>())
            .sum();
        Ok(Kernel {
            // Averaging over n cells divides the squared norm of what survives by n.
            negligible: energy * dropped <= NEGLIGIBLE * whole,
            mean_energy: if sizes.is_empty() { energy } else { 0.0 },
            sizes,
            source: Source::Joint(queries.clone(), kept),
            gram: OnceLock::new(),
            power: OnceLock::new(),
        })
    }

    pub(super) fn is_family(&self, family: Family, n: usize) -> bool {
        matches!(&self.source, Source::Family(f) if *f == family) && self.sizes == [n]
    }

    pub(super) fn is_joint(&self, queries: &Arc<JointQueries>, kept: AxisSet) -> bool {
        match &self.source {
            Source::Joint(own, own_kept) => *own_kept == kept && (Arc::ptr_eq(own, queries) || own == queries),
            Source::Family(_) => false,
        }
    }

    /// Whether both are small and have the same Gram up to rounding: what joint queries look like from either of two
    /// attributes that they treat alike.
    pub(super) fn looks_like(&self, other: &Self) -> Result<bool> {
        let cells: usize = self.sizes.iter().product();
        if self.sizes != other.sizes || self.negligible || other.negligible || !(2..=COMPARED_CELLS).contains(&cells) {
            return Ok(false);
        }
        let (a, b) = (self.gram()?, other.gram()?);
        let scale = a.diag().iter().copied().fold(0.0, f64::max);
        Ok(a.iter().zip(b.iter()).all(|(x, y)| (x - y).abs() <= 1e-14 * scale))
    }

    /// The sizes of the attributes it spans.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The number of rows, of joint queries only: those of a family are better kept as its Gram.
    pub(super) fn joint_rows(&self) -> Option<usize> {
        match &self.source {
            Source::Joint(queries, _) => Some(queries.count()),
            Source::Family(_) => None,
        }
    }

    /// Whether the queries have no part in this residual subspace.
    pub fn is_negligible(&self) -> bool {
        self.negligible
    }

    /// Σ over the queries of w·(mean of q)², the factor that an averaged-out attribute contributes (for a one-attribute
    /// family), or the coefficient of the residual subspace ∅ (for joint queries).
    pub fn mean_energy(&self) -> f64 {
        self.mean_energy
    }

    /// The residual Gram, cells × cells. For joint queries O(queries · cells²) the first time, and O(cells²) memory kept.
    ///
    /// # Errors
    /// Too many cells.
    pub fn gram(&self) -> Result<Arc<Array2<f64>>> {
        if let Some(gram) = self.gram.get() {
            return Ok(gram.clone());
        }
        let cells: usize = self.sizes.iter().product();
        let sum = crate::workload::sum_of_squares(cells, self.rows()?)?;
        let gram = Arc::new(sum);
        Ok(self.gram.get_or_init(|| gram).clone())
    }

    /// The residual subqueries one by one, scaled by √weight.
    ///
    /// # Errors
    /// A family that cannot be enumerated.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        match &self.source {
            Source::Joint(queries, kept) => queries.residual_rows(*kept),
            Source::Family(family) => {
                let n = self.sizes[0];
                let rows = family.rows(&[n])?;
                Ok(Box::new(rows.map(move |mut row| {
                    crate::residual::centre_box(&[n], &mut row);
                    row
                })))
            }
        }
    }

    /// `Σ_q |FFT(q)_j|²` of the residual subqueries: zero wherever some j_i is zero.
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
