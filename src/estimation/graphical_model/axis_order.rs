//! Row-major tables with their axes in another order.

use crate::domain::AttributeSet;

/// Returns a row-major table with its axes in another order.
pub(super) fn permuted(sizes: &[usize], from: &[usize], to: &[usize], values: &[f64]) -> Vec<f64> {
    arranged(sizes, from, to, values, &mut Vec::new()).to_vec()
}

/// Writes a row-major table with its axes in another order into the scratch buffer.
///
/// Returns the table itself if no cell moves.
pub(super) fn arranged<'a>(
    sizes: &[usize],
    from: &[usize],
    to: &[usize],
    values: &'a [f64],
    scratch: &'a mut Vec<f64>,
) -> &'a [f64] {
    let Some(axes) = moved_axes(sizes, from, to) else { return values };
    let out = resized(scratch, values.len());
    strided(axes, values, out);
    out
}

/// Returns the first cells of a scratch buffer, with at least `cells` of them.
pub(super) fn resized(scratch: &mut Vec<f64>, cells: usize) -> &mut [f64] {
    if scratch.len() < cells {
        scratch.resize(cells, 0.0);
    }
    &mut scratch[..cells]
}

/// An axis of a reordered table: its size, and its strides before and after.
#[derive(Clone, Copy)]
pub(super) struct MovedAxis {
    n: usize,
    from: usize,
    to: usize,
}

/// Returns the axes in their new order, with neighbours in both orders merged.
///
/// `None` if no cell moves.
pub(super) fn moved_axes(sizes: &[usize], from: &[usize], to: &[usize]) -> Option<Vec<MovedAxis>> {
    let mut strides = [0; AttributeSet::CAPACITY];
    let mut stride = 1;
    for &p in from.iter().rev() {
        strides[p] = stride;
        stride *= sizes[p];
    }
    let mut axes: Vec<MovedAxis> = Vec::with_capacity(to.len());
    for &p in to.iter().filter(|&&p| sizes[p] != 1) {
        let (n, from) = (sizes[p], strides[p]);
        match axes.last_mut() {
            Some(last) if last.from == n * from => (last.n, last.from) = (last.n * n, from),
            _ => axes.push(MovedAxis { n, from, to: 1 }),
        }
    }
    for k in (1..axes.len()).rev() {
        axes[k - 1].to = axes[k].to * axes[k].n;
    }
    (axes.len() > 1).then_some(axes)
}

/// Copies a table of at least two axes into another order.
///
/// If the last axis remains the last one, rows are copied. Otherwise the old and the new last axis
/// are transposed.
pub(super) fn strided(mut axes: Vec<MovedAxis>, from: &[f64], to: &mut [f64]) {
    let Some(columns) = axes.pop() else { return to.copy_from_slice(from) };
    match axes.iter().position(|axis| axis.from == 1) {
        Some(index) => {
            let rows = axes.remove(index);
            each(&axes, from, to, &|from, to| transpose(rows, columns, from, to));
        }
        None => {
            each(&axes, from, to, &|from, to| to[..columns.n].copy_from_slice(&from[..columns.n]))
        }
    }
}

fn each(axes: &[MovedAxis], from: &[f64], to: &mut [f64], copy: &impl Fn(&[f64], &mut [f64])) {
    match *axes {
        [] => copy(from, to),
        [axis, ref rest @ ..] => {
            (0..axis.n)
                .for_each(|k| each(rest, &from[k * axis.from..], &mut to[k * axis.to..], copy));
        }
    }
}

/// Transposes the old and the new last axis, in blocks of one cache line.
fn transpose(rows: MovedAxis, columns: MovedAxis, from: &[f64], to: &mut [f64]) {
    const LINE: usize = 8;
    let whole = columns.n / LINE * LINE;
    for start in (0..whole).step_by(LINE) {
        let lines: [&[f64]; LINE] =
            std::array::from_fn(|k| &from[(start + k) * columns.from..][..rows.n]);
        for row in 0..rows.n {
            let to = &mut to[row * rows.to + start..][..LINE];
            for (to, line) in to.iter_mut().zip(lines) {
                *to = line[row];
            }
        }
    }
    for column in whole..columns.n {
        let line = &from[column * columns.from..][..rows.n];
        for (row, &x) in line.iter().enumerate() {
            to[row * rows.to + column] = x;
        }
    }
}
