//! A strategy of one Kronecker factor in integers, as measured by a release.

use std::borrow::Cow;

use ndarray::{Array2, Axis};
use num_bigint::{BigInt, BigUint};
use num_traits::{FromPrimitive, ToPrimitive};

use super::StrategyFactor;
use crate::error::{Error, Result};

/// Maximum number of cells of a factor whose columns are compared pair by pair.
const MAX_COMPARED: usize = 512;

/// Queries with integer entries that annihilate a reference measure exactly.
///
/// `B (… ⊗ p_i ⊗ …) = 0` along every axis i, where the measure of axis i is ν_i = p_i/Σp_i with
/// integers p_i. Residual subspaces measured by such rows are separated exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct IntegerFactor {
    shape: Vec<usize>,
    weights: Vec<Vec<i64>>,
    rows: Rows,
}

#[derive(Debug, Clone, PartialEq)]
enum Rows {
    Dense(Array2<i64>),
    /// `nI − J` of one attribute with the uniform measure, which is not stored.
    CentredIdentity,
}

/// The extremes over all pairs of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnPairs {
    /// The smallest product of two columns, equal or not: exact, or a lower bound.
    pub min_product: BigInt,
    /// The largest squared distance of two columns, if it is known.
    pub max_squared_distance: Option<BigUint>,
    /// Whether all columns have the same norm and `min_product` is exact.
    pub equal_norms: bool,
}

impl IntegerFactor {
    /// Creates a factor from its rows.
    ///
    /// # Errors
    /// The length of the rows is not the number of cells, a row does not annihilate the measure
    /// along every axis, the weights are not a measure on the shape, or a number does not fit in 64
    /// bits.
    pub fn new(shape: &[usize], weights: Vec<Vec<i64>>, rows: Array2<i64>) -> Result<Self> {
        let cells = shape.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).unwrap_or(0);
        let refuse = |expected: &str, found: String| {
            let remedy = "let a release write the file again, and do not edit it";
            Err(Error::bad_input(
                format!("integer strategy over {shape:?}"),
                expected,
                found,
                remedy,
            ))
        };
        let fit =
            weights.len() == shape.len() && weights.iter().zip(shape).all(|(p, n)| p.len() == *n);
        if cells == 0 || !fit {
            return refuse(
                "one integer weight per value of every attribute",
                format!("weights of {} attributes", weights.len()),
            );
        }
        if weights.iter().any(|p| p.iter().map(|w| i128::from(*w)).sum::<i128>() <= 0) {
            return refuse("measures with a positive sum", "a sum that is not positive".into());
        }
        let is_shaped = !shape.is_empty() || rows.dim() == (1, 1) && rows[[0, 0]] > 0;
        if rows.ncols() != cells || rows.nrows() == 0 || !is_shaped {
            return refuse(
                &format!("rows of {cells} numbers"),
                format!("{} x {}", rows.nrows(), rows.ncols()),
            );
        }
        for (k, row) in rows.rows().into_iter().enumerate() {
            let row: Vec<i128> = row.iter().map(|x| i128::from(*x)).collect();
            if !annihilates(shape, &weights, &row) {
                return refuse(
                    "rows that annihilate the reference measure",
                    format!("row {}, which does not", k + 1),
                );
            }
        }
        let is_centred_identity = shape.len() == 1
            && weights[0].iter().all(|p| *p == 1)
            && rows.nrows() == cells
            && rows.indexed_iter().all(|((i, j), x)| *x == centred(cells, i, j));
        let rows = match is_centred_identity {
            true => Rows::CentredIdentity,
            false => Rows::Dense(rows.as_standard_layout().into_owned()),
        };
        Ok(IntegerFactor { shape: shape.to_vec(), weights, rows })
    }

    /// Creates a factor from integer rows, centred so that they annihilate the measure.
    ///
    /// Every row f becomes `P f − (f·p) 1ᵀ` along each axis in turn, with P = Σp: P times its
    /// centred part.
    ///
    /// # Errors
    /// As [`IntegerFactor::new`].
    pub fn centring(shape: &[usize], weights: Vec<Vec<i64>>, rows: &Array2<i64>) -> Result<Self> {
        let overflow = || {
            Error::too_large(
                format!("integer strategy over {shape:?}"),
                "bits",
                63.0,
                64.0,
                "use a uniform reference measure (--planner query-smasher)",
            )
        };
        let mut out = Vec::with_capacity(rows.len());
        for row in rows.rows() {
            let mut row: Vec<i128> = row.iter().map(|x| i128::from(*x)).collect();
            for (axis, p) in weights.iter().enumerate() {
                let sum: i128 = p.iter().map(|w| i128::from(*w)).sum();
                let inner: usize = shape[axis + 1..].iter().product();
                for block in row.chunks_exact_mut(p.len() * inner) {
                    for offset in 0..inner {
                        let means = p.iter().enumerate().try_fold(0i128, |mean, (value, w)| {
                            mean.checked_add(
                                block[value * inner + offset].checked_mul(i128::from(*w))?,
                            )
                        });
                        let mean = means.ok_or_else(overflow)?;
                        for value in 0..p.len() {
                            let cell = &mut block[value * inner + offset];
                            let scaled = cell.checked_mul(sum).and_then(|x| x.checked_sub(mean));
                            *cell = scaled.ok_or_else(overflow)?;
                        }
                    }
                }
            }
            for x in row {
                out.push(i64::try_from(x).map_err(|_| overflow())?);
            }
        }
        let common = out.iter().fold(0u64, |g, x| gcd(g, x.unsigned_abs())).max(1) as i64;
        out.iter_mut().for_each(|x| *x /= common);
        let rows = Array2::from_shape_vec(rows.dim(), out)
            .map_err(|e| Error::bug("integer strategy", "its shape", e))?;
        Self::new(shape, weights, rows)
    }

    /// Creates `nI − J` for the uniform measure, the strategy of interchangeable cells. O(n).
    ///
    /// # Errors
    /// `n` is 0.
    pub fn centred_identity(n: usize) -> Result<Self> {
        if n < 3 {
            // For n = 2 the second row is the negative of the first.
            let rows = Array2::from_shape_fn((1, n), |(i, j)| centred(n, i, j));
            return Self::new(&[n], vec![vec![1; n]], rows);
        }
        let rows = Rows::CentredIdentity;
        Ok(IntegerFactor { shape: vec![n], weights: vec![vec![1; n]], rows })
    }

    /// Creates a factor over no attributes: a positive number that scales the answers and their
    /// noise.
    ///
    /// # Errors
    /// The number is not positive.
    pub fn scalar(number: i64) -> Result<Self> {
        Self::new(&[], Vec::new(), Array2::from_elem((1, 1), number))
    }

    /// Returns whether the factor is over no attributes.
    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    /// Returns the sizes of the attributes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns p_i per axis.
    pub fn weights(&self) -> &[Vec<i64>] {
        &self.weights
    }

    /// Returns the number of cells: the length of the rows of B.
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of rows of B.
    pub fn row_count(&self) -> usize {
        match &self.rows {
            Rows::Dense(rows) => rows.nrows(),
            Rows::CentredIdentity => self.cells(),
        }
    }

    /// Returns B. O(rows · cells) if B is `nI − J`, which is not stored.
    pub fn rows(&self) -> Cow<'_, Array2<i64>> {
        let n = self.cells();
        match &self.rows {
            Rows::Dense(rows) => Cow::Borrowed(rows),
            Rows::CentredIdentity => {
                Cow::Owned(Array2::from_shape_fn((n, n), |(i, j)| centred(n, i, j)))
            }
        }
    }

    /// Returns whether B is `nI − J` for n ≥ 3 values of one attribute with the uniform measure.
    pub fn is_centred_identity(&self) -> bool {
        self.rows == Rows::CentredIdentity
    }

    /// Returns the number of a factor over no attributes; 1 for other factors.
    pub fn number(&self) -> i64 {
        match &self.rows {
            Rows::Dense(rows) if self.is_scalar() => rows[[0, 0]],
            _ => 1,
        }
    }

    /// Returns an upper bound on the answers and their partial sums, per record.
    pub(super) fn bound(&self) -> u64 {
        match &self.rows {
            Rows::Dense(rows) => rows.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0),
            Rows::CentredIdentity => 2 * self.cells() as u64,
        }
    }

    /// Returns `max_c Σ_r B_rc²`.
    pub fn squared_sensitivity(&self) -> BigUint {
        match &self.rows {
            Rows::Dense(_) => self.squared_columns().into_iter().max().unwrap_or_default(),
            Rows::CentredIdentity => centred_square(self.cells()),
        }
    }

    /// Returns the squared norms of all columns.
    pub(super) fn squared_columns(&self) -> Vec<BigUint> {
        match &self.rows {
            Rows::Dense(rows) => {
                let columns = rows.columns().into_iter();
                columns.map(|column| product(column, column).magnitude().clone()).collect()
            }
            Rows::CentredIdentity => vec![centred_square(self.cells()); self.cells()],
        }
    }

    /// Returns BᵀB. O(rows · cells²).
    pub(super) fn gram(&self) -> Array2<BigInt> {
        let (cells, rows) = (self.cells(), self.rows());
        let mut gram = Array2::from_elem((cells, cells), BigInt::ZERO);
        for a in 0..cells {
            for b in 0..=a {
                let entry = product(rows.column(a), rows.column(b));
                gram[[b, a]] = entry.clone();
                gram[[a, b]] = entry;
            }
        }
        gram
    }

    /// Returns the extremes over all pairs of columns.
    ///
    /// Up to 512 cells they are exact. For more cells the Gram matrix is computed in double
    /// precision, and the smallest entry minus its rounding error is a lower bound. Those of `nI − J`
    /// are always exact: its Gram matrix is n(nI − J).
    pub(super) fn column_pairs(&self) -> ColumnPairs {
        let (count, cells) = (self.row_count(), self.cells());
        let rows = match &self.rows {
            Rows::Dense(rows) => rows,
            Rows::CentredIdentity => {
                return ColumnPairs {
                    min_product: -BigInt::from(cells),
                    max_squared_distance: Some(BigUint::from(cells).pow(2) * 2u32),
                    equal_norms: true,
                };
            }
        };
        if cells > MAX_COMPARED {
            // The error of every entry is at most rows + 4 roundings of max_square.
            let max_square = self.squared_sensitivity().to_f64().unwrap_or(f64::INFINITY);
            let gram = matmech_linalg::gram_of(rows.mapv(|x| x as f64).view());
            let min_product = gram.iter().copied().fold(max_square, f64::min);
            let lower = min_product - (count as f64 + 4.0) * f64::EPSILON * max_square;
            let min_product = BigInt::from_f64(lower.floor())
                .unwrap_or_else(|| -BigInt::from(self.squared_sensitivity()));
            return ColumnPairs { min_product, max_squared_distance: None, equal_norms: false };
        }
        let gram = self.gram();
        let min_product = gram.iter().min().cloned().unwrap_or_default();
        let mut max_squared_distance = BigInt::ZERO;
        for a in 0..cells {
            for b in 0..a {
                max_squared_distance =
                    max_squared_distance.max(&gram[[a, a]] + &gram[[b, b]] - &gram[[a, b]] * 2u32);
            }
        }
        ColumnPairs {
            min_product,
            max_squared_distance: Some(max_squared_distance.magnitude().clone()),
            equal_norms: gram.diag().iter().all(|square| *square == gram[[0, 0]]),
        }
    }

    /// Returns `B x` along the factor's axes of an array.
    ///
    /// The array has blocks of cells, each cell with `inner` numbers.
    pub(super) fn apply(&self, values: &[i128], inner: usize) -> Vec<i128> {
        let (count, cells) = (self.row_count(), self.cells());
        let mut out = Vec::with_capacity(values.len() / cells * count);
        for block in values.chunks_exact(cells * inner) {
            let Rows::Dense(rows) = &self.rows else {
                let mut sums = vec![0; inner];
                for slice in block.chunks_exact(inner) {
                    sums.iter_mut().zip(slice).for_each(|(sum, x)| *sum += x);
                }
                let centred = |slice: &[i128]| -> Vec<i128> {
                    slice.iter().zip(&sums).map(|(x, sum)| cells as i128 * x - sum).collect()
                };
                block.chunks_exact(inner).for_each(|slice| out.extend(centred(slice)));
                continue;
            };
            for row in rows.rows() {
                let start = out.len();
                out.resize(start + inner, 0);
                for (weight, slice) in
                    row.iter().zip(block.chunks_exact(inner)).filter(|(weight, _)| **weight != 0)
                {
                    let to = &mut out[start..];
                    to.iter_mut().zip(slice).for_each(|(sum, x)| *sum += i128::from(*weight) * x);
                }
            }
        }
        out
    }

    /// Returns the same queries in floating point, scaled to unit privacy cost.
    ///
    /// # Errors
    /// All rows are zero.
    pub fn real(&self) -> Result<StrategyFactor> {
        let scale = self.scale();
        StrategyFactor::from_queries(&self.shape, self.rows().mapv(|x| x as f64 / scale))
    }

    /// Returns the L2 sensitivity rounded up; [`IntegerFactor::real`] divides by it.
    pub(super) fn scale(&self) -> f64 {
        let column =
            |c: ndarray::ArrayView1<'_, i64>| c.iter().map(|x| (*x as f64).powi(2)).sum::<f64>();
        let max = match &self.rows {
            Rows::Dense(rows) => rows.axis_iter(Axis(1)).map(column).fold(0.0, f64::max),
            Rows::CentredIdentity => self.cells() as f64 * (self.cells() as f64 - 1.0),
        };
        if self.is_scalar() {
            return max.sqrt();
        }
        max.sqrt() * (1.0 + 4.0 * f64::EPSILON)
    }
}

/// Returns an entry of `nI − J`.
fn centred(n: usize, row: usize, column: usize) -> i64 {
    if row == column { n as i64 - 1 } else { -1 }
}

/// Returns n(n − 1), the squared norm of a column of `nI − J`.
fn centred_square(n: usize) -> BigUint {
    BigUint::from(n) * BigUint::from(n - 1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the exact inner product of two columns.
fn product(a: ndarray::ArrayView1<'_, i64>, b: ndarray::ArrayView1<'_, i64>) -> BigInt {
    // Partial sums are in 128 bits; on overflow they are added to the big integer.
    let mut sum = BigInt::ZERO;
    let mut part = 0i128;
    for (x, y) in a.iter().zip(b) {
        let next = i128::from(*x) * i128::from(*y);
        part = part.checked_add(next).unwrap_or_else(|| {
            sum += part;
            next
        });
    }
    sum + part
}

/// Returns whether a row annihilates the measure along every axis.
fn annihilates(shape: &[usize], weights: &[Vec<i64>], row: &[i128]) -> bool {
    weights.iter().enumerate().all(|(axis, p)| {
        let inner: usize = shape[axis + 1..].iter().product();
        row.chunks_exact(p.len() * inner).all(|block| {
            (0..inner).all(|offset| {
                let terms = p
                    .iter()
                    .enumerate()
                    .map(|(value, w)| block[value * inner + offset].checked_mul(i128::from(*w)));
                let sum = terms.into_iter().try_fold(0i128, |sum, term| sum.checked_add(term?));
                sum == Some(0)
            })
        })
    })
}
