//! Recon along three axes, by inclusion and exclusion over the means (S4, Alg. 2).
//!
//! Let z be the residual with a slice of zeros before it along every axis. Then `(I − J/n)^{⊗3} z`
//! is `z[i,j,k] − a[j,k] − b[i,k] − c[i,j]`: a is the mean of z over i, centred along both its
//! axes, b the mean over j, centred along k, and c the mean over k. One sweep over z computes a and
//! b, a second one c and the result. This reads z twice from memory. Centring one axis after the
//! other inside each slice reads z four times from cache, which is slower.

use std::ops::Range;

use super::axis::total;
use super::centring;
use super::slices::{fill1, fill2, fill3};
use matmech_linalg::Loops;

/// The number of columns per block.
const BLOCK: usize = 8;

/// The minimum length of the last axis: its residual fills a block.
pub(super) const MIN_LAST_AXIS: usize = BLOCK + 1;

/// The number of rows that are summed together while the residual is in cache.
///
/// These rows of four slices stay in the L1 cache for all blocks of columns.
const ROWS: usize = 16;

/// The maximum number of entries of a residual in cache.
///
/// Larger residuals are summed row by row: four streams, which the processor can prefetch. The
/// order of the additions is the same.
const MAX_CACHED_ENTRIES: usize = 1 << 19;

/// Returns the scratch cells that [`ThreeAxes`] needs.
pub(super) fn scratch_cells([l, m, n]: [usize; 3]) -> usize {
    m * n + (l - 1) * n + n
}

/// `to = (S⁺ ⊗ S⁺ ⊗ S⁺) from`.
///
/// `sizes` are those of `to`, each at least 2 and the last at least [`MIN_LAST_AXIS`].
pub(super) struct ThreeAxes<'a> {
    pub from: &'a [f64],
    pub sizes: [usize; 3],
    pub to: &'a mut [f64],
    /// Scratch space, filled with zeros.
    pub scratch: &'a mut [f64],
}

impl Loops for ThreeAxes<'_> {
    #[inline(always)]
    fn run(self) {
        let ThreeAxes { from, sizes: [l, m, n], to, scratch } = self;
        let (a, scratch) = scratch.split_at_mut(m * n);
        let (b, mean) = scratch.split_at_mut((l - 1) * n);
        add_up(from, [m, n], &mut a[n..], b);
        scale(a, 1.0 / l as f64);
        scale(b, 1.0 / m as f64);
        centring::Plane { x: a, m, minus: None, mean }.run();
        for b in b.chunks_exact_mut(n) {
            centring::row(b, None);
        }
        let (first, others) = to.split_at_mut(m * n);
        fill1(first, a, |a| -a);
        subtract(from, [m, n], a, b, others);
    }
}

#[inline(always)]
fn scale(x: &mut [f64], factor: f64) {
    for x in x {
        *x *= factor;
    }
}

/// Adds z to `a` over its first axis and to `b` over its second.
///
/// z has n − 1 columns; `a` and `b` have one more column in front.
#[inline(always)]
fn add_up(from: &[f64], [m, n]: [usize; 2], a: &mut [f64], b: &mut [f64]) {
    let slice = (m - 1) * (n - 1);
    let group_rows = if from.len() > MAX_CACHED_ENTRIES { 1 } else { ROWS };
    let (mut fours, mut sums) = (from.chunks_exact(4 * slice), b.chunks_exact_mut(4 * n));
    for (z, b) in (&mut fours).zip(&mut sums) {
        add_slices::<4>(z, n, group_rows, a, b);
    }
    for (z, b) in
        fours.remainder().chunks_exact(slice).zip(sums.into_remainder().chunks_exact_mut(n))
    {
        add_slices::<1>(z, n, group_rows, a, b);
    }
}

/// [`add_up`] for I slices, in groups of `group_rows` rows.
#[inline(always)]
fn add_slices<const I: usize>(
    z: &[f64],
    n: usize,
    group_rows: usize,
    a: &mut [f64],
    b: &mut [f64],
) {
    let (rows, columns) = (a.len() / n, n - 1);
    let mut first = 0;
    while first < rows {
        let group = first..rows.min(first + group_rows);
        first = group.end;
        for column in 0..columns / BLOCK {
            add_block::<I, false>(z, n, group.clone(), column * BLOCK, a, b);
        }
        if !columns.is_multiple_of(BLOCK) {
            add_block::<I, true>(z, n, group, columns - BLOCK, a, b);
        }
    }
}

/// [`add_slices`] for some rows and the block of columns that starts at `column`.
///
/// The `LAST` block may overlap the block before it; it adds new columns only.
#[inline(always)]
fn add_block<const I: usize, const LAST: bool>(
    z: &[f64],
    n: usize,
    rows: Range<usize>,
    column: usize,
    a: &mut [f64],
    b: &mut [f64],
) {
    let (slice, columns) = (z.len() / I, n - 1);
    let mut slices: [&[f64]; I] = [&[]; I];
    let mut sums = [[0.0; BLOCK]; I];
    for (i, (slices, sums)) in slices.iter_mut().zip(&mut sums).enumerate() {
        *slices = &z[i * slice..][..slice];
        sums.copy_from_slice(&b[i * n + column + 1..][..BLOCK]);
    }
    let new = new_columns(columns);
    for row in rows {
        let a = &mut a[row * n + column + 1..][..BLOCK];
        let mut all = [0.0; BLOCK];
        for i in 0..I {
            let z = &slices[i][row * columns + column..][..BLOCK];
            for k in 0..BLOCK {
                let x = if LAST { only(z[k], new[k]) } else { z[k] };
                sums[i][k] += x;
                all[k] = if i == 0 { x } else { all[k] + x };
            }
        }
        for k in 0..BLOCK {
            a[k] += all[k];
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        b[i * n + column + 1..][..BLOCK].copy_from_slice(sums);
    }
}

/// Returns bit masks for the last block of a row.
///
/// All ones for a column that is in no full block, zero for the others.
#[inline(always)]
fn new_columns(columns: usize) -> &'static [u64; BLOCK] {
    const NONE: [u64; BLOCK] = [0; BLOCK];
    // A table in memory. Computed from `columns` in registers, the masks would be recomputed at
    // every use.
    static BITS: [[u64; BLOCK]; 2] = [NONE, [u64::MAX; BLOCK]];
    BITS.as_flattened()[columns % BLOCK..].first_chunk().unwrap_or(&NONE)
}

/// Returns x for a mask of ones, 0 for a mask of zeros.
#[inline(always)]
fn only(x: f64, bits: u64) -> f64 {
    f64::from_bits(x.to_bits() & bits)
}

/// Computes the result without its first slice: z − a − b − c.
///
/// Two slices at a time, so that a row of `a` is read once for both.
#[inline(always)]
fn subtract(from: &[f64], [m, n]: [usize; 2], a: &[f64], b: &[f64], to: &mut [f64]) {
    let slice = (m - 1) * (n - 1);
    let (mut slices, mut means, mut results) =
        (from.chunks_exact(2 * slice), b.chunks_exact(2 * n), to.chunks_exact_mut(2 * m * n));
    let pairs = (&mut slices).zip(&mut means).zip(&mut results);
    // Backwards: the last slices that were summed are still in cache.
    for ((z, b), to) in pairs.rev() {
        let (to0, to1) = to.split_at_mut(m * n);
        let ((z0, z1), (b0, b1)) = (z.split_at(slice), b.split_at(n));
        subtract_pair([z0, z1], a, [b0, b1], [to0, to1]);
    }
    let (z, b, to) = (slices.remainder(), means.remainder(), results.into_remainder());
    if let Some(b0) = b.first() {
        fill2(&mut to[..n], &a[..n], b, |a, b| -(a + b));
        let rows = z.chunks_exact(n - 1).zip(to.chunks_exact_mut(n).zip(a.chunks_exact(n)).skip(1));
        for (z, (to, a)) in rows {
            let c = total(z) / n as f64;
            to[0] = -c - (a[0] + b0);
            fill3(&mut to[1..], z, &a[1..], &b[1..], |z, a, b| (z - c) - (a + b));
        }
    }
}

/// [`subtract`] for two slices.
#[inline(always)]
fn subtract_pair(z: [&[f64]; 2], a: &[f64], b: [&[f64]; 2], to: [&mut [f64]; 2]) {
    let ([z0, z1], [b0, b1], [to0, to1]) = (z, b, to);
    let n = b0.len();
    let (first, a) = a.split_at(n);
    let ((first0, to0), (first1, to1)) = (to0.split_at_mut(n), to1.split_at_mut(n));
    fill2(first0, first, b0, |a, b| -(a + b));
    fill2(first1, first, b1, |a, b| -(a + b));
    let new = new_columns(n - 1);
    let share = 1.0 / n as f64;
    let rows = z0.chunks_exact(n - 1).zip(z1.chunks_exact(n - 1));
    let results = to0.chunks_exact_mut(n).zip(to1.chunks_exact_mut(n));
    for (((z0, z1), (to0, to1)), a) in rows.zip(results).zip(a.chunks_exact(n)) {
        let [sum0, sum1] = totals([z0, z1], new);
        let (c0, c1) = (sum0 * share, sum1 * share);
        to0[0] = -c0 - (a[0] + b0[0]);
        to1[0] = -c1 - (a[0] + b1[0]);
        subtract_row(
            [z0, z1],
            [c0, c1],
            &a[1..],
            [&b0[1..], &b1[1..]],
            [&mut to0[1..], &mut to1[1..]],
        );
    }
}

/// Returns the sums of two rows of the same length, at least a block.
#[inline(always)]
fn totals([z0, z1]: [&[f64]; 2], new: &[u64; BLOCK]) -> [f64; 2] {
    let mut sums = [[0.0; BLOCK]; 2];
    for (z0, z1) in z0.as_chunks::<BLOCK>().0.iter().zip(z1.as_chunks::<BLOCK>().0) {
        for k in 0..BLOCK {
            sums[0][k] += z0[k];
            sums[1][k] += z1[k];
        }
    }
    if let (Some(z0), Some(z1)) = (z0.last_chunk::<BLOCK>(), z1.last_chunk::<BLOCK>()) {
        for k in 0..BLOCK {
            sums[0][k] += only(z0[k], new[k]);
            sums[1][k] += only(z1[k], new[k]);
        }
    }
    sums.map(|[a, b, c, d, e, f, g, h]| ((a + e) + (c + g)) + ((b + f) + (d + h)))
}

/// Computes `to = (z − c) − (a + b)` for two rows with the same a.
///
/// All rows have the same length, at least a block.
#[inline(always)]
fn subtract_row(z: [&[f64]; 2], c: [f64; 2], a: &[f64], b: [&[f64]; 2], to: [&mut [f64]; 2]) {
    let ([z0, z1], [c0, c1], [b0, b1], [to0, to1]) = (z, c, b, to);
    {
        let a = a.as_chunks().0;
        // Equal lengths that the compiler knows: no bounds checks remain in the loop.
        let blocks = a.len();
        let (z0, z1) = (&z0.as_chunks().0[..blocks], &z1.as_chunks().0[..blocks]);
        let (b0, b1) = (&b0.as_chunks().0[..blocks], &b1.as_chunks().0[..blocks]);
        let (to0, to1) =
            (&mut to0.as_chunks_mut().0[..blocks], &mut to1.as_chunks_mut().0[..blocks]);
        for k in 0..blocks {
            subtract_block(&z0[k], c0, &a[k], &b0[k], &mut to0[k]);
            subtract_block(&z1[k], c1, &a[k], &b1[k], &mut to1[k]);
        }
    }
    // The last block overlaps the one before it and recomputes the same values.
    if let (Some(a), Some(z0), Some(b0), Some(to0), Some(z1), Some(b1), Some(to1)) = (
        a.last_chunk(),
        z0.last_chunk(),
        b0.last_chunk(),
        to0.last_chunk_mut(),
        z1.last_chunk(),
        b1.last_chunk(),
        to1.last_chunk_mut(),
    ) {
        subtract_block(z0, c0, a, b0, to0);
        subtract_block(z1, c1, a, b1, to1);
    }
}

#[inline(always)]
fn subtract_block(
    z: &[f64; BLOCK],
    c: f64,
    a: &[f64; BLOCK],
    b: &[f64; BLOCK],
    to: &mut [f64; BLOCK],
) {
    let mut block = [0.0; BLOCK];
    for k in 0..BLOCK {
        block[k] = (z[k] - c) - (a[k] + b[k]);
    }
    *to = block;
}
