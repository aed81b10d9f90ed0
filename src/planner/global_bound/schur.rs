//! Traces of square roots of matrices with a large diagonal block.
//!
//! ```text
//! K = [[A, Bᵀ], [B, D]], D diagonal:
//! tr √K = Σ √D + (2/π) ∫₀^∞ [ n_A − x² tr(S⁻¹ (I + Bᵀ(D+x²)⁻²B)) ] dx,   S = A + x² − Bᵀ(D+x²)⁻¹B
//! ```
//!
//! With x = eᵗ the trapezoidal rule converges as e^(−π²/h) in its step h. The integrand is
//! positive, because the eigenvalues of D interlace with those of K. So truncation at both ends
//! underestimates the trace, and a lower bound remains valid.

use ndarray::Array2;

use super::axis::{Axis, ByAxis};
use matmech_linalg as linalg;

/// The range of x, in units of the largest singular value.
const RANGE: (f64, f64) = (1e-7, 1e8);

/// A row of B with its entry of D, for the pair of basis vectors a of axis i and b of axis j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Couple {
    /// i and a.
    pub first: (usize, usize),
    /// j and b.
    pub second: (usize, usize),
    /// The columns of the entries `α₀ s_a s_b`, `α₁ w_a s_b` and `α₂ s_a w_b`.
    pub columns: [usize; 3],
    /// α.
    pub alpha: [f64; 3],
    /// `D = δ w_a w_b`.
    pub delta: f64,
}

/// The step of the quadrature in t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step(pub f64);

/// The trace of √K, its error and its derivative.
#[derive(Debug, Clone)]
pub(super) struct RootTrace {
    /// The trace.
    pub trace: f64,
    /// The absolute difference to the trace with twice the step.
    pub error: f64,
    /// The derivative by A, symmetric.
    pub by_a: Option<Array2<f64>>,
}

/// The values of a row of B and its entry of D.
struct Row {
    columns: [usize; 3],
    b: [f64; 3],
    d: f64,
}

/// Columns of A that no zero of A and B separates, with the rows of B that are not zero on them.
struct Block {
    columns: Vec<usize>,
    a: Array2<f64>,
    /// The rows, with columns of the block. An entry outside the block is 0, in any column.
    rows: Vec<Row>,
    /// The number of every row, and which of its entries are in the block.
    origins: Vec<(usize, [bool; 3])>,
}

/// The derivatives by A, and by the entries of B and D of every row.
struct Derivatives {
    a: Array2<f64>,
    rows: Vec<([f64; 3], f64)>,
}

/// Computes tr √K by quadrature, one integral per block of columns that are not coupled.
///
/// The error comes from every second node. If `by` is given, adds the derivatives times a
/// multiplicity to it. O(nodes · (Σ n_block³ + rows)) time.
pub(super) fn root_trace(
    a: &Array2<f64>,
    couples: &[Couple],
    axes: &[Axis],
    step: Step,
    by: Option<(&mut [ByAxis], f64)>,
) -> RootTrace {
    let rows: Vec<Row> = couples.iter().map(|couple| row(couple, axes)).collect();
    let largest = a.diag().sum() + rows.iter().map(|r| r.d).sum::<f64>();
    // The largest eigenvalue is at least the largest diagonal entry and at most the trace.
    let unit = a.diag().iter().copied().chain(rows.iter().map(|r| r.d)).fold(0.0, f64::max).sqrt();
    let count = ((RANGE.1 / RANGE.0 * (largest.sqrt() / unit)).ln() / step.0).ceil() as usize;
    let nodes: Vec<f64> =
        (0..=count).map(|node| RANGE.0 * unit * (step.0 * node as f64).exp()).collect();
    let mut derivatives = by.is_some().then(|| Derivatives {
        a: Array2::zeros(a.dim()),
        rows: vec![([0.0; 3], 0.0); rows.len()],
    });
    let (mut fine, mut coarse) = (0.0, 0.0);
    for block in blocks(a, &rows) {
        let (all, second) = block.integral(&nodes, step, derivatives.as_mut());
        fine += all;
        coarse += second;
    }
    let roots: f64 = rows.iter().map(|r| r.d.sqrt()).sum();
    let mut by_a = None;
    if let (Some((by, multiplicity)), Some(derivatives)) = (by, derivatives) {
        for ((couple, row), (by_b, by_d)) in couples.iter().zip(&rows).zip(derivatives.rows) {
            let by_d = if row.d > 0.0 { by_d + 0.5 / row.d.sqrt() } else { 0.0 };
            couple.pull_back(axes, by_b.map(|x| x * multiplicity), by_d * multiplicity, by);
        }
        by_a = Some(derivatives.a * multiplicity);
    }
    RootTrace { trace: roots + fine, error: (fine - coarse).abs(), by_a }
}

/// Returns the blocks of coupled columns, in the order of their first columns. O(n_A² + rows) time.
fn blocks(a: &Array2<f64>, rows: &[Row]) -> Vec<Block> {
    let mut parents: Vec<usize> = (0..a.nrows()).collect();
    let root = |parents: &mut [usize], mut column: usize| {
        while parents[column] != column {
            parents[column] = parents[parents[column]];
            column = parents[column];
        }
        column
    };
    let mut join = |p: usize, q: usize| {
        let (p, q) = (root(&mut parents, p), root(&mut parents, q));
        parents[p.max(q)] = p.min(q);
    };
    for ((p, q), &x) in a.indexed_iter() {
        if q < p && x != 0.0 {
            join(p, q);
        }
    }
    for row in rows {
        let mut coupled = row.coupled();
        if let Some(first) = coupled.next() {
            coupled.for_each(|column| join(first, column));
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    // The block of every column, and its place in it.
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(a.nrows());
    for column in 0..a.nrows() {
        let first = root(&mut parents, column);
        let block = if first == column { blocks.len() } else { places[first].0 };
        if block == blocks.len() {
            blocks.push(Block {
                columns: Vec::new(),
                a: Array2::zeros((0, 0)),
                rows: Vec::new(),
                origins: Vec::new(),
            });
        }
        places.push((block, blocks[block].columns.len()));
        blocks[block].columns.push(column);
    }
    for block in &mut blocks {
        let columns = &block.columns;
        let size = (columns.len(), columns.len());
        block.a = Array2::from_shape_fn(size, |(i, j)| a[[columns[i], columns[j]]]);
    }
    for (number, row) in rows.iter().enumerate() {
        let Some(first) = row.coupled().next() else { continue };
        let (block, place) = places[first];
        let inside = row.columns.map(|column| places[column].0 == block);
        let columns =
            std::array::from_fn(|p| if inside[p] { places[row.columns[p]].1 } else { place });
        blocks[block].origins.push((number, inside));
        blocks[block].rows.push(Row { columns, ..*row });
    }
    blocks
}

impl Row {
    /// Returns the columns with an entry that is not 0.
    fn coupled(&self) -> impl Iterator<Item = usize> {
        self.columns.into_iter().zip(self.b).filter(|(_, b)| *b != 0.0).map(|(column, _)| column)
    }
}

impl Block {
    /// Returns the integral over all nodes, and over every second node with twice the step.
    ///
    /// The derivative by an entry of B that is 0 is 0 outside the block.
    fn integral(
        &self,
        nodes: &[f64],
        step: Step,
        mut derivatives: Option<&mut Derivatives>,
    ) -> (f64, f64) {
        let (mut fine, mut coarse) = (0.0, 0.0);
        for (node, &x) in nodes.iter().enumerate() {
            let weight = 2.0 / std::f64::consts::PI * step.0 * x;
            let square = x * x;
            // Below the range the derivative's integrand is constant: the omitted nodes are a
            // geometric series.
            let slope = if node == 0 { weight / (1.0 - (-step.0).exp()) } else { weight };
            let mut reduced = self.a.clone();
            for row in &self.rows {
                let scale = 1.0 / (row.d + square);
                for (p, bp) in row.columns.iter().zip(row.b) {
                    for (q, bq) in row.columns.iter().zip(row.b) {
                        reduced[[*p, *q]] -= scale * bp * bq;
                    }
                }
            }
            let mut schur = reduced.clone();
            schur.diag_mut().iter_mut().for_each(|s| *s += square);
            // If rounding makes S indefinite, at the low end of singular problems, skip the node.
            // This underestimates the trace.
            let Ok(inverse) = linalg::spd_inverse(schur.view()) else { continue };
            // n_A − x² tr S⁻¹ = tr S⁻¹(S − x²), without the cancellation at large x.
            let mut value = (&inverse * &reduced).sum();
            for (row, (number, inside)) in self.rows.iter().zip(&self.origins) {
                let image: [f64; 3] = std::array::from_fn(|p| {
                    let entries = row.columns.iter().zip(row.b);
                    entries.map(|(q, b)| inverse[[row.columns[p], *q]] * b).sum()
                });
                let form: f64 = image.iter().zip(row.b).map(|(x, b)| x * b).sum();
                let scale = 1.0 / (row.d + square);
                value -= square * form * scale * scale;
                if let Some(derivatives) = &mut derivatives {
                    let (by_b, by_d) = &mut derivatives.rows[*number];
                    for p in (0..3).filter(|&p| inside[p]) {
                        by_b[p] -= slope * scale * image[p];
                    }
                    *by_d += slope * form * scale * scale / 2.0;
                }
            }
            if let Some(derivatives) = &mut derivatives {
                for ((p, q), x) in inverse.indexed_iter() {
                    derivatives.a[[self.columns[p], self.columns[q]]] += slope / 2.0 * x;
                }
            }
            value *= weight;
            fine += value;
            if node % 2 == 0 {
                coarse += 2.0 * value;
            }
        }
        (fine, coarse)
    }
}

fn row(couple: &Couple, axes: &[Axis]) -> Row {
    let ((i, a), (j, b)) = (couple.first, couple.second);
    let (sa, wa, sb, wb) = (axes[i].s[a], axes[i].w[a], axes[j].s[b], axes[j].w[b]);
    let [x, y, z] = couple.alpha;
    Row {
        columns: couple.columns,
        b: [x * sa * sb, y * wa * sb, z * sa * wb],
        d: couple.delta * wa * wb,
    }
}

impl Couple {
    fn pull_back(&self, axes: &[Axis], by_b: [f64; 3], by_d: f64, by: &mut [ByAxis]) {
        let ((i, a), (j, b)) = (self.first, self.second);
        let (sa, wa, sb, wb) = (axes[i].s[a], axes[i].w[a], axes[j].s[b], axes[j].w[b]);
        let [x, y, z] = std::array::from_fn(|k| self.alpha[k] * by_b[k]);
        let d = self.delta * by_d;
        by[i].s[a] += x * sb + z * wb;
        by[i].w[a] += y * sb + d * wb;
        by[j].s[b] += x * sa + y * wa;
        by[j].w[b] += z * sa + d * wa;
    }
}
