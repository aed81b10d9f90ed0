//! Linear equations by GMRES.

/// Solves `A x = y` from a start, to a residual of Euclidean norm at most `tolerance`.
///
/// Returns `None` if `max_iterations` products with A do not suffice, or A is singular. One product
/// and O(m·iterations) per iteration for m unknowns. *Reference*: Saad & Schultz (1986).
pub(super) fn solve(
    apply: impl Fn(&[f64]) -> Vec<f64>,
    right: &[f64],
    mut x: Vec<f64>,
    tolerance: f64,
    max_iterations: usize,
) -> Option<Vec<f64>> {
    let mut residual: Vec<f64> = right.iter().zip(apply(&x)).map(|(y, a)| y - a).collect();
    let norm = dot(&residual, &residual).sqrt();
    if norm <= tolerance {
        return Some(x);
    }
    residual.iter_mut().for_each(|r| *r /= norm);
    let mut basis = vec![residual];
    // The triangular factor, column by column, the rotations and the rotated right-hand side.
    let (mut columns, mut rotations) = (Vec::<Vec<f64>>::new(), Vec::<(f64, f64)>::new());
    let mut rotated = vec![norm];
    loop {
        let mut next = apply(basis.last()?);
        let mut column = Vec::with_capacity(basis.len() + 1);
        for vector in &basis {
            let product = dot(vector, &next);
            next.iter_mut().zip(vector).for_each(|(x, v)| *x -= product * v);
            column.push(product);
        }
        let length = dot(&next, &next).sqrt();
        column.push(length);
        for (i, (c, s)) in rotations.iter().enumerate() {
            let (a, b) = (column[i], column[i + 1]);
            (column[i], column[i + 1]) = (c * a + s * b, c * b - s * a);
        }
        let last = columns.len();
        let pivot = column[last].hypot(column[last + 1]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        let (c, s) = (column[last] / pivot, column[last + 1] / pivot);
        column[last] = pivot;
        rotations.push((c, s));
        columns.push(column);
        let before = rotated[last];
        rotated[last] = c * before;
        rotated.push(-s * before);
        if rotated[last + 1].abs() <= tolerance || length == 0.0 {
            break;
        }
        if columns.len() == max_iterations {
            return None;
        }
        next.iter_mut().for_each(|x| *x /= length);
        basis.push(next);
    }
    let mut weights = vec![0.0; columns.len()];
    for i in (0..columns.len()).rev() {
        let known: f64 = (i + 1..columns.len()).map(|j| columns[j][i] * weights[j]).sum();
        weights[i] = (rotated[i] - known) / columns[i][i];
    }
    for (weight, vector) in weights.iter().zip(&basis) {
        x.iter_mut().zip(vector).for_each(|(x, v)| *x += weight * v);
    }
    Some(x)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
