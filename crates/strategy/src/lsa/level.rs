//! A level under construction: a partition of the cells into boxes, and the strategy that includes
//! it.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip};

use super::boxes::{GridBox, add_box};
use super::inverse::{Inverse, sum_rows};
use super::profile::{Profile, Split};
use super::square::Square;
use crate::error::Result;
use matmech_linalg as linalg;

/// One box of a level.
#[derive(Debug, Clone)]
pub(in crate::lsa) struct Part {
    /// The box.
    pub(in crate::lsa) query: GridBox,
    /// Its cells, ascending.
    pub(super) cells: Vec<usize>,
    /// The cumulative sums for the search, from the strategy without the level.
    pub(super) profiles: Vec<Profile>,
}

impl Part {
    fn new(inverse: &Inverse, shape: &[usize], query: GridBox) -> Self {
        let cells = query.cells(shape);
        let profiles = Profile::of_box(inverse, &query, &cells);
        Part { query, cells, profiles }
    }
}

/// A level: b boxes with indicator vectors as the columns of E, added to a strategy with `S = V⁻¹`
/// and `T = S G S`.
///
/// The n×n matrices of the strategy with the level are never formed. They are (Woodbury)
///
/// ```text
/// (V + EEᵀ)⁻¹ = S − Z Yᵀ,    T' = T − Z Hᵀ − H Zᵀ,    tr' = tr(SG) − ⟨K, Q⟩
/// Y = S E,  F = T E,  C = EᵀSE,  Q = EᵀTE,  K = (I + C)⁻¹,  Z = Y K,  H = F − ½ Z Q
/// ```
///
/// `I + C` is well conditioned: its eigenvalues are between 1 and 1 + n. Memory O(n·b).
#[derive(Debug, Clone)]
pub(in crate::lsa) struct Level {
    shape: Vec<usize>,
    pub(super) parts: Vec<Part>,
    /// The box of each cell.
    pub(super) owner: Vec<usize>,
    // Transposed (one row per box), so that a split appends a row.
    pub(super) y: Array2<f64>,
    pub(super) f: Array2<f64>,
    pub(super) z: Array2<f64>,
    pub(super) h: Array2<f64>,
    pub(super) q: Square,
    pub(super) k: Square,
    pub(super) trace: f64,
    trace_before: f64,
}

impl Level {
    /// Creates the level with one box, the whole domain.
    pub(super) fn whole(inverse: &Inverse, shape: &[usize]) -> Result<Self> {
        let part = Part::new(inverse, shape, GridBox::whole(shape));
        let row = |matrix: &Array2<f64>| sum_rows(matrix, &part.cells).insert_axis(Axis(0));
        let (y, f) = (row(&inverse.s), row(&inverse.t));
        let mut level = Level {
            shape: shape.to_vec(),
            owner: vec![0; part.cells.len()],
            parts: vec![part],
            z: y.clone(),
            h: f.clone(),
            q: Square::default(),
            k: Square::default(),
            y,
            f,
            trace: inverse.trace(),
            trace_before: inverse.trace(),
        };
        level.refactor()?;
        Ok(level)
    }

    /// Returns the boxes, which partition the cells.
    pub(in crate::lsa) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns `tr(S'G)` of the strategy with the level.
    pub(in crate::lsa) fn trace(&self) -> f64 {
        self.trace
    }

    /// Returns `Yᵀ`, `Zᵀ`, `Hᵀ`, with one row per box.
    pub(super) fn rows(&self) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
        (self.y.view(), self.z.view(), self.h.view())
    }

    /// Returns `Eᵀ v`, the sums of a vector over the boxes.
    pub(super) fn over_parts(&self, vector: ArrayView1<'_, f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.parts.len());
        for (&owner, x) in self.owner.iter().zip(vector) {
            out[owner] += x;
        }
        out
    }

    /// Recomputes all matrices from E, Y and F. O(b³ + n b²).
    pub(super) fn refactor(&mut self) -> Result<()> {
        let order = self.parts.len();
        let (mut c, mut q) = (Array2::zeros((order, order)), Array2::zeros((order, order)));
        for i in 0..order {
            c.row_mut(i).assign(&self.over_parts(self.y.row(i)));
            q.row_mut(i).assign(&self.over_parts(self.f.row(i)));
        }
        c.diag_mut().mapv_inplace(|d| d + 1.0);
        let k = linalg::spd_inverse(c.view())?;
        self.z = linalg::product(k.view(), self.y.view())?;
        self.h = linalg::product(q.view(), self.z.view())?;
        self.h.zip_mut_with(&self.f, |h, f| *h = f - 0.5 * *h);
        self.trace = self.trace_before - k.iter().zip(q.t()).map(|(k, q)| k * q).sum::<f64>();
        (self.k, self.q) = (Square::from(k), Square::from(q));
        Ok(())
    }

    /// Applies splits of different boxes together.
    ///
    /// A few splits are applied one by one, in O(n b) each; many are applied as a block, in
    /// O(n b²). All splits of a level cost O(n b²).
    pub(super) fn apply(&mut self, inverse: &Inverse, splits: &[(usize, Split)]) -> Result<()> {
        // A block uses matrix products. A single update is limited by memory bandwidth over Z and
        // H, and is about this many times slower per operation.
        const UPDATES_PER_BLOCK: usize = 20;
        if splits.len() * UPDATES_PER_BLOCK < self.parts.len() {
            for (part, split) in splits {
                self.split(inverse, *part, split)?;
            }
            return Ok(());
        }
        for (part, split) in splits {
            self.refine(inverse, *part, split)?;
        }
        self.refactor()
    }

    /// Splits a box in E, Y and F. The first half keeps the index; the second half becomes the last
    /// box.
    pub(super) fn refine(&mut self, inverse: &Inverse, part: usize, split: &Split) -> Result<()> {
        let (first, second) = self.parts[part].query.cut(split.dimension, split.position);
        let (first, second) =
            (Part::new(inverse, &self.shape, first), Part::new(inverse, &self.shape, second));
        for (rows, matrix) in [(&mut self.y, &inverse.s), (&mut self.f, &inverse.t)] {
            let first_is_smaller = first.cells.len() <= second.cells.len();
            let smaller =
                sum_rows(matrix, if first_is_smaller { &first.cells } else { &second.cells });
            let larger = &rows.row(part) - &smaller;
            let (to_first, to_second) =
                if first_is_smaller { (smaller, larger) } else { (larger, smaller) };
            rows.row_mut(part).assign(&to_first);
            append(rows, to_second.view())?;
        }
        for &cell in &second.cells {
            self.owner[cell] = self.parts.len();
        }
        self.parts[part] = first;
        self.parts.push(second);
        Ok(())
    }
}

/// Appends a row in amortised O(row length).
pub(super) fn append(rows: &mut Array2<f64>, row: ArrayView1<'_, f64>) -> Result<()> {
    rows.push_row(row).map_err(|e| {
        crate::error::Error::bug("level of boxes", "one row per box over the cells", e)
    })
}

/// Maximum fall of the trace, as a factor, between two inversions.
///
/// Rounding errors of updates are relative to the matrices they start from.
const MAX_FALL: f64 = 4.0;

/// Maximum number of levels between two inversions.
const MAX_UPDATES: usize = 16;

impl Inverse {
    /// Merges a finished level: `V += EEᵀ`, `S −= Z Yᵀ`, `T −= Z Hᵀ + H Zᵀ`.
    ///
    /// O(n²·boxes) by matrix products, or O(n³) if S and T are recomputed.
    ///
    /// # Errors
    /// The matrices are no longer finite.
    pub(in crate::lsa) fn accept(&mut self, level: &Level) -> Result<()> {
        for part in level.parts() {
            add_box(&mut self.v, &part.cells, 1.0);
        }
        self.updates += 1;
        if self.updates >= MAX_UPDATES || level.trace() * MAX_FALL < self.trace_when_inverted {
            return self.invert();
        }
        let (y, z, h) = level.rows();
        let update = linalg::product(z.t(), y)?;
        Zip::from(&mut self.s).and(&update).and(update.t()).for_each(|s, a, b| *s -= 0.5 * (a + b));
        drop(update);
        let update = linalg::product(z.t(), h)?;
        Zip::from(&mut self.t).and(&update).and(update.t()).for_each(|t, a, b| *t -= a + b);
        self.trace = level.trace();
        Ok(())
    }
}
