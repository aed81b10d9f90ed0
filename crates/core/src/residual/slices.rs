//! Element-wise loops over slices.

use matmech_linalg::Loops;

/// The block width of loops: two or four vector registers.
const BLOCK: usize = 8;

/// Computes `to[i] = f(a[i])`.
///
/// All slices have the same length, here and below. The last block may overlap the one before it
/// and recompute the same values, so that there is no remainder loop.
#[inline(always)]
pub(super) fn fill1(to: &mut [f64], a: &[f64], f: impl Fn(f64) -> f64) {
    fill3(to, a, a, a, |a, _, _| f(a));
}

/// Computes `to[i] = f(a[i], b[i])`.
#[inline(always)]
pub(super) fn fill2(to: &mut [f64], a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) {
    fill3(to, a, b, b, |a, b, _| f(a, b));
}

/// Computes `to[i] = f(a[i], b[i], c[i])`.
#[inline(always)]
pub(super) fn fill3(
    to: &mut [f64],
    a: &[f64],
    b: &[f64],
    c: &[f64],
    f: impl Fn(f64, f64, f64) -> f64,
) {
    let length = to.len();
    assert!(a.len() == length && b.len() == length && c.len() == length);
    let block = |to: &mut [f64; BLOCK], a: &[f64; BLOCK], b: &[f64; BLOCK], c: &[f64; BLOCK]| {
        // Reads before writing, so that the compiler need not prove that the slices do not overlap.
        *to = std::array::from_fn(|i| f(a[i], b[i], c[i]));
    };
    let blocks = a.as_chunks().0.iter().zip(b.as_chunks().0).zip(c.as_chunks().0);
    for (to, ((a, b), c)) in to.as_chunks_mut().0.iter_mut().zip(blocks) {
        block(to, a, b, c);
    }
    if let (Some(to), Some(a), Some(b), Some(c)) =
        (to.last_chunk_mut(), a.last_chunk(), b.last_chunk(), c.last_chunk())
    {
        if !length.is_multiple_of(BLOCK) {
            block(to, a, b, c);
        }
    } else {
        for (((to, &a), &b), &c) in to.iter_mut().zip(a).zip(b).zip(c) {
            *to = f(a, b, c);
        }
    }
}

/// Computes `x[i] = f(x[i], a[i])`.
#[inline(always)]
pub(super) fn change1(x: &mut [f64], a: &[f64], f: impl Fn(f64, f64) -> f64) {
    change4(x, a, a, a, a, |x, a, _, _, _| f(x, a));
}

/// Computes `x[i] = f(x[i], a[i], b[i])`.
#[inline(always)]
pub(super) fn change2(x: &mut [f64], a: &[f64], b: &[f64], f: impl Fn(f64, f64, f64) -> f64) {
    change4(x, a, b, b, b, |x, a, b, _, _| f(x, a, b));
}

/// Computes `x[i] = f(x[i], a[i], b[i], c[i], d[i])`.
#[inline(always)]
pub(super) fn change4(
    x: &mut [f64],
    a: &[f64],
    b: &[f64],
    c: &[f64],
    d: &[f64],
    f: impl Fn(f64, f64, f64, f64, f64) -> f64,
) {
    let length = x.len();
    assert!(a.len() == length && b.len() == length && c.len() == length && d.len() == length);
    let (x, a, b, c, d) = change_blocks::<BLOCK>(x, a, b, c, d, &f);
    let (x, a, b, c, d) = change_blocks::<{ BLOCK / 2 }>(x, a, b, c, d, &f);
    change_blocks::<1>(x, a, b, c, d, &f);
}

/// The remainders of the slices of [`change4`].
type Rest<'a> = (&'a mut [f64], &'a [f64], &'a [f64], &'a [f64], &'a [f64]);

/// Sets `sums` to the sum of the slices of its length in `block`.
///
/// Adds four slices at a time, so that the sums are read and written a quarter as often.
#[inline(always)]
pub(super) fn add_slices(block: &[f64], sums: &mut [f64]) {
    let inner = sums.len();
    sums.fill(0.0);
    let mut fours = block.chunks_exact(4 * inner);
    for four in &mut fours {
        let (ab, cd) = four.split_at(2 * inner);
        let ((a, b), (c, d)) = (ab.split_at(inner), cd.split_at(inner));
        change4(sums, a, b, c, d, |sum, a, b, c, d| sum + ((a + b) + (c + d)));
    }
    for slice in fours.remainder().chunks_exact(inner) {
        change1(sums, slice, |sum, x| sum + x);
    }
}

/// [`change4`] in blocks of N.
///
/// Returns the remainders.
#[inline(always)]
fn change_blocks<'a, const N: usize>(
    x: &'a mut [f64],
    a: &'a [f64],
    b: &'a [f64],
    c: &'a [f64],
    d: &'a [f64],
    f: &impl Fn(f64, f64, f64, f64, f64) -> f64,
) -> Rest<'a> {
    let (xs, x) = x.as_chunks_mut::<N>();
    let ((as_, a), (bs, b)) = (a.as_chunks::<N>(), b.as_chunks::<N>());
    let ((cs, c), (ds, d)) = (c.as_chunks::<N>(), d.as_chunks::<N>());
    for ((((x, a), b), c), d) in xs.iter_mut().zip(as_).zip(bs).zip(cs).zip(ds) {
        *x = std::array::from_fn(|i| f(x[i], a[i], b[i], c[i], d[i]));
    }
    (x, a, b, c, d)
}

/// `to = a + b`.
pub(super) struct Sum<'a> {
    pub a: &'a [f64],
    pub b: &'a [f64],
    pub to: &'a mut [f64],
}

impl Loops for Sum<'_> {
    #[inline(always)]
    fn run(self) {
        fill2(self.to, self.a, self.b, |a, b| a + b);
    }
}

/// `to = Σ slices / count`, with slices as long as `to`.
pub(super) struct Mean<'a> {
    pub slices: &'a [f64],
    pub count: usize,
    pub to: &'a mut [f64],
}

impl Loops for Mean<'_> {
    #[inline(always)]
    fn run(self) {
        add_slices(self.slices, self.to);
        for sum in self.to {
            *sum /= self.count as f64;
        }
    }
}
