//! Cells of a marginal that contain the cells of a box.

use crate::domain::AxisSet;

/// Returns the index of the marginal cell on the kept axes that contains a cell of a box.
pub fn projected(shape: &[usize], kept: AxisSet, mut cell: usize) -> usize {
    let (mut index, mut stride) = (0, 1);
    for (axis, &size) in shape.iter().enumerate().rev() {
        if kept.contains(axis) {
            index += cell % size * stride;
            stride *= size;
        }
        cell /= size;
    }
    index
}
