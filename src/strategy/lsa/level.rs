//! A level under construction: a partition of the cells into boxes, and the strategy as it would be
//! with it.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use super::boxes::GridBox;
use super::inverse::{Inverse, sum_rows};
use super::profile::{Profile, Split};
use super::square::Square;
use crate::error::Result;
use crate::linalg;

/// One box of a level.
#[derive(Debug, Clone)]
pub(in crate::strategy::lsa) struct Part {
    /// The box.
    pub(in crate::strategy::lsa) query: GridBox,
    /// Its cells, ascending.
    pub(super) cells: Vec<usize>,
    /// What the search for splits needs from the strategy without the level.
    pub(super) profiles: Vec<Profile>,
}

impl Part {
    fn new(inverse: &Inverse, shape: &[usize], query: GridBox) -> Self {
        let cells = query.cells(shape);
        let profiles = Profile::of_box(inverse, &query, &cells);
        Part { query, cells, profiles }
    }
}

/// A level: b boxes with indicator vectors as the columns of E, on top of a strategy with `S = V⁻¹`
/// and `T = S G S`.
///
/// Never forms the n×n matrices of the strategy with the level, which are (Woodbury)
///
/// ```text
/// (V + EEᵀ)⁻¹ = S − Z Yᵀ,    T' = T − Z Hᵀ − H Zᵀ,    tr' = tr(SG) − ⟨K, Q⟩
/// Y = S E,  F = T E,  C = EᵀSE,  Q = EᵀTE,  K = (I + C)⁻¹,  Z = Y K,  H = F − ½ Z Q
/// ```
///
/// `I + C` is as well conditioned as a matrix can be here (eigenvalues between 1 and 1 + n). Memory
/// O(n·b).
#[derive(Debug, Clone)]
pub(in crate::strategy::lsa) struct Level {
    shape: Vec<usize>,
    pub(super) parts: Vec<Part>,
    /// The box that each cell is in.
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
    /// The level that consists of the whole domain.
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

    /// The boxes, which partition the cells.
    pub(in crate::strategy::lsa) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// `tr(S'G)` of the strategy with the level.
    pub(in crate::strategy::lsa) fn trace(&self) -> f64 {
        self.trace
    }

    /// `Yᵀ`, `Zᵀ`, `Hᵀ`: one row per box.
    pub(super) fn rows(&self) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
        (self.y.view(), self.z.view(), self.h.view())
    }

    /// `Eᵀ v`: the sums of a vector over the boxes.
    pub(super) fn over_parts(&self, vector: ArrayView1<'_, f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.parts.len());
        for (&owner, x) in self.owner.iter().zip(vector) {
            out[owner] += x;
        }
        out
    }

    /// Everything from E, Y and F. O(b³ + n b²).
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

    /// Applies splits of different boxes together: one by one where they are few, O(n b) each, else
    /// as one block, O(n b²). Either way all splits of a level cost O(n b²).
    pub(super) fn apply(&mut self, inverse: &Inverse, splits: &[(usize, Split)]) -> Result<()> {
        // A block goes through matrix products, a single update passes over Z and H at the speed of
        // memory: about as many times slower per operation.
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

    /// Cuts a box in E, Y and F. The first half takes its place, the second half becomes the last
    /// box.
    pub(super) fn refine(&mut self, inverse: &Inverse, part: usize, split: &Split) -> Result<()> {
        let (first, second) = self.parts[part].query.cut(split.dimension, split.position);
        let (first, second) =
            (Part::new(inverse, &self.shape, first), Part::new(inverse, &self.shape, second));
        for (rows, matrix) in [(&mut self.y, &inverse.s), (&mut self.f, &inverse.t)] {
            let one_is_first = first.cells.len() <= second.cells.len();
            let one = sum_rows(matrix, if one_is_first { &first.cells } else { &second.cells });
            let other = &rows.row(part) - &one;
            let (to_first, to_second) = if one_is_first { (one, other) } else { (other, one) };
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

/// Appends a row in amortised O(row).
pub(super) fn append(rows: &mut Array2<f64>, row: ArrayView1<'_, f64>) -> Result<()> {
    rows.push_row(row)
        .map_err(|e| crate::Error::bug("level of boxes", "one row per box over the cells", e))
}
