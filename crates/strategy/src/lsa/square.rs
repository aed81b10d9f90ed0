//! A symmetric matrix that grows by one row and column at a time.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

/// A symmetric matrix in the upper left corner of an allocation that doubles when full.
#[derive(Debug, Clone, Default)]
pub(super) struct Square {
    values: Array2<f64>,
    order: usize,
}

impl From<Array2<f64>> for Square {
    fn from(values: Array2<f64>) -> Self {
        Square { order: values.nrows(), values: values.as_standard_layout().into_owned() }
    }
}

impl Square {
    /// Returns the matrix.
    pub(super) fn view(&self) -> ArrayView2<'_, f64> {
        let (rows, _) = self.values.view().split_at(Axis(0), self.order);
        rows.split_at(Axis(1), self.order).0
    }

    /// Appends a row and a column of zeros.
    pub(super) fn grow(&mut self) {
        if self.order == self.values.nrows() {
            let mut larger = Array2::zeros((2 * self.order + 2, 2 * self.order + 2));
            for (mut to, from) in larger.rows_mut().into_iter().zip(self.view().rows()) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from;
                }
            }
            self.values = larger;
        }
        self.order += 1;
        self.set(self.order - 1, ArrayView1::from(&vec![0.0; self.order]));
    }

    /// Sets a row and the same column.
    pub(super) fn set(&mut self, index: usize, row: ArrayView1<'_, f64>) {
        for (i, &x) in row.iter().enumerate() {
            self.values[[index, i]] = x;
            self.values[[i, index]] = x;
        }
    }

    /// Returns the product with a vector.
    pub(super) fn times(&self, vector: &Array1<f64>) -> Array1<f64> {
        self.view().dot(vector)
    }

    /// Adds `a₀ b₀ᵀ + a₁ b₁ᵀ`, which must be symmetric.
    pub(super) fn add_outer(&mut self, a: &[Array1<f64>; 2], b: &[Array1<f64>; 2]) {
        for (i, row) in self.values.rows_mut().into_iter().take(self.order).enumerate() {
            add_pair(row.into_slice(), [a[0][i], a[1][i]], b);
        }
    }
}

/// Adds `w₀ v₀ + w₁ v₁` to a row, over the length of the row.
pub(super) fn add_pair(row: Option<&mut [f64]>, [w0, w1]: [f64; 2], [v0, v1]: &[Array1<f64>; 2]) {
    if let (Some(row), Some(v0), Some(v1)) = (row, v0.as_slice(), v1.as_slice()) {
        for ((x, v0), v1) in row.iter_mut().zip(v0).zip(v1) {
            *x += w0 * v0 + w1 * v1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_and_keeps_its_entries() {
        let mut square = Square::from(ndarray::array![[1.0, 2.0], [2.0, 5.0]]);
        for order in 3..8 {
            square.grow();
            let row: Array1<f64> = (0..order).map(|i| (i + order) as f64).collect();
            square.set(order - 1, row.view());
            assert_eq!(square.view().dim(), (order, order));
            assert_eq!(square.view().row(order - 1), row);
            assert_eq!(square.view(), square.view().t());
            assert_eq!(square.view()[[1, 1]], 5.0);
        }
        let ones = Array1::ones(7);
        let before = square.times(&ones);
        square.add_outer(&[ones.clone(), ones.clone()], &[ones.clone(), -2.0 * &ones]);
        assert_eq!(square.times(&ones), before - 7.0);
    }
}
