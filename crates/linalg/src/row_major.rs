//! Row-major cell numbers of a box: the last axis varies fastest.

/// Returns the coordinates of cell `cell` in a row-major box of the given shape.
pub fn coordinates(shape: &[usize], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let mut out = vec![0; shape.len()];
    for (o, &size) in out.iter_mut().zip(shape).rev() {
        *o = rest % size;
        rest /= size;
    }
    out
}

/// Returns the cell at the given coordinates of a row-major box.
///
/// Inverse of [`coordinates`].
pub fn cell_index(shape: &[usize], coordinates: &[usize]) -> usize {
    shape.iter().zip(coordinates).fold(0, |index, (&size, &c)| index * size + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_and_index_are_inverse() {
        let shape = [3, 4, 2];
        for cell in 0..24 {
            assert_eq!(cell_index(&shape, &coordinates(&shape, cell)), cell);
        }
        assert_eq!(coordinates(&shape, 5), vec![0, 2, 1]);
    }
}
