//! Samples of range queries.
//!
//! Uniform without replacement and biased to the edge of the domain (S1, Fig. 2), of a given
//! coverage (S1, Fig. 3(b)), and two-step samples (S2).

use ndarray::{Array2, Axis};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, StandardNormal};

use super::gram::check_dense_size;
use crate::domain::{cell_index, coordinates};
use crate::error::{Error, Result};

/// A sample of multi-dimensional ranges over a box.
#[derive(Debug, Clone)]
pub struct RangeSample {
    shape: Vec<usize>,
    /// The lowest and the highest cell of every range.
    corners: Vec<(usize, usize)>,
}

/// Returns the number of ranges over a box, Π n(n+1)/2.
///
/// # Errors
/// A number that overflows `usize`.
pub fn range_count(shape: &[usize]) -> Result<usize> {
    shape
        .iter()
        .try_fold(1usize, |count, &n| {
            n.checked_add(1).and_then(|m| n.checked_mul(m)).and_then(|x| count.checked_mul(x / 2))
        })
        .ok_or_else(|| {
            let found = shape.iter().map(|&n| n as f64 * (n as f64 + 1.0) / 2.0).product();
            let what = format!("enumeration of all ranges over {shape:?}");
            Error::too_large(
                what,
                "ranges",
                usize::MAX as f64,
                found,
                "sample over fewer or smaller attributes",
            )
        })
}

/// Returns the lowest and the highest cell of the range with this index.
fn corners(shape: &[usize], index: usize) -> (usize, usize) {
    let (mut low, mut high) = (vec![0; shape.len()], vec![0; shape.len()]);
    let mut rest = index;
    for (axis, &n) in shape.iter().enumerate().rev() {
        let count = n * (n + 1) / 2;
        let mut k = rest % count;
        rest /= count;
        let mut start = 0;
        while k >= n - start {
            k -= n - start;
            start += 1;
        }
        (low[axis], high[axis]) = (start, start + k);
    }
    (cell_index(shape, &low), cell_index(shape, &high))
}

impl RangeSample {
    /// Checks a sample without replacement and returns the number of all ranges.
    fn check(shape: &[usize], queries: usize) -> Result<usize> {
        let all = range_count(shape)?;
        if shape.is_empty() || queries == 0 || queries > all {
            return Err(Error::bad_input(
                format!("sample of ranges over {shape:?}"),
                format!("1 to {all} distinct ranges"),
                queries.to_string(),
                "lower `queries`",
            ));
        }
        check_dense_size("Gram matrix of a range sample", shape.iter().product())?;
        Ok(all)
    }

    /// Draws distinct ranges uniformly, without replacement.
    ///
    /// # Errors
    /// No query or no attribute, or more queries than there are ranges.
    pub fn uniform<R: Rng + ?Sized>(shape: &[usize], queries: usize, rng: &mut R) -> Result<Self> {
        let all = Self::check(shape, queries)?;
        let mut chosen = rand::seq::index::sample(rng, all, queries).into_vec();
        chosen.sort_unstable();
        Ok(RangeSample {
            shape: shape.to_vec(),
            corners: chosen.into_iter().map(|k| corners(shape, k)).collect(),
        })
    }

    /// Draws distinct ranges without replacement, biased to the edge of the domain.
    ///
    /// A range has weight `exp(λ(r − 1))`, where r is the root mean square over the attributes of
    /// (centre − middle)/((n − 1)/2). Takes the ranges with the largest keys `ln weight + Gumbel`.
    /// O(all ranges) time.
    ///
    /// # Errors
    /// As [`RangeSample::uniform`], or a bias that is not finite.
    pub fn biased<R: Rng + ?Sized>(
        shape: &[usize],
        queries: usize,
        lambda: f64,
        rng: &mut R,
    ) -> Result<Self> {
        let all = Self::check(shape, queries)?;
        if !lambda.is_finite() {
            return Err(Error::bad_input(
                "biased range sample",
                "a finite bias",
                lambda.to_string(),
                "use e.g. bias=10",
            ));
        }
        let mut keyed: Vec<(f64, usize)> = (0..all)
            .map(|k| {
                let u: f64 = rng.random();
                // 1 − u is in (0, 1]; u = 0 gives the key +∞.
                (
                    lambda * (eccentricity(shape, corners(shape, k)) - 1.0)
                        - (-(1.0 - u).ln()).ln(),
                    k,
                )
            })
            .collect();
        keyed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<usize> = keyed[..queries].iter().map(|&(_, k)| k).collect();
        chosen.sort_unstable();
        Ok(RangeSample {
            shape: shape.to_vec(),
            corners: chosen.into_iter().map(|k| corners(shape, k)).collect(),
        })
    }

    /// Draws independent ranges that cover a fraction of about `coverage` of the cells.
    ///
    /// With c the coverage: on one attribute the length is `n·U(c ± min(0.05, c/2))`; on several
    /// attributes the lengths are `n_j·f^{a_j}` with `a ~ Dirichlet(1, …, 1)` and
    /// `f = min(1, c·exp(N(0, 0.1²)))`. Lengths are rounded to at least one cell; positions are
    /// uniform. S1 only says that random ranges are grouped by average coverage; this is our
    /// reading.
    ///
    /// # Errors
    /// No query, no attribute, or a coverage outside (0, 1].
    pub fn covering<R: Rng + ?Sized>(
        shape: &[usize],
        queries: usize,
        coverage: f64,
        rng: &mut R,
    ) -> Result<Self> {
        if shape.is_empty() || queries == 0 || !(coverage > 0.0 && coverage <= 1.0) {
            return Err(Error::bad_input(
                format!("ranges of given coverage over {shape:?}"),
                "at least one query and a coverage above 0 and up to 1",
                format!("{queries} queries, coverage {coverage}"),
                "use e.g. queries=1000 and coverage=0.25",
            ));
        }
        check_dense_size("Gram matrix of a range sample", shape.iter().product())?;
        let corners = (0..queries)
            .map(|_| {
                let shares = side_shares(shape.len(), coverage, rng);
                let (mut low, mut high) = (Vec::new(), Vec::new());
                for (&n, share) in shape.iter().zip(shares) {
                    let length = ((n as f64 * share).round() as usize).clamp(1, n);
                    let start = rng.random_range(0..=n - length);
                    low.push(start);
                    high.push(start + length - 1);
                }
                (cell_index(shape, &low), cell_index(shape, &high))
            })
            .collect();
        Ok(RangeSample { shape: shape.to_vec(), corners })
    }

    /// Draws independent ranges by two-step sampling.
    ///
    /// First the number of restricted attributes, uniform from 1 to all, and a uniform set of that
    /// size; then a uniform interval on each of them. S2 refers to Xiao et al. for the method; this
    /// is our reading.
    ///
    /// # Errors
    /// No query or no attribute.
    pub fn two_step<R: Rng + ?Sized>(shape: &[usize], queries: usize, rng: &mut R) -> Result<Self> {
        if shape.is_empty() || queries == 0 {
            return Err(Error::bad_input(
                format!("two-step sample of ranges over {shape:?}"),
                "at least one query and one attribute",
                format!("{queries} queries"),
                "use e.g. queries=1000",
            ));
        }
        check_dense_size("Gram matrix of a range sample", shape.iter().product())?;
        let draw = |_| {
            let restricted = rng.random_range(1..=shape.len());
            let chosen = rand::seq::index::sample(rng, shape.len(), restricted).into_vec();
            let (mut low, mut high) =
                (vec![0; shape.len()], shape.iter().map(|n| n - 1).collect::<Vec<_>>());
            for axis in chosen {
                let n = shape[axis];
                (low[axis], high[axis]) = corners(&[n], rng.random_range(0..n * (n + 1) / 2));
            }
            (cell_index(shape, &low), cell_index(shape, &high))
        };
        Ok(RangeSample { shape: shape.to_vec(), corners: (0..queries).map(draw).collect() })
    }

    /// Returns the sizes of the attributes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.corners.len()
    }

    /// Returns whether the sample is empty, which constructors refuse.
    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Iterates over the ranges as 0/1 rows.
    pub fn rows(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        let cells: usize = self.shape.iter().product();
        self.corners.iter().map(move |&(low, high)| {
            let (low, high) = (coordinates(&self.shape, low), coordinates(&self.shape, high));
            (0..cells)
                .map(|cell| {
                    let cell = coordinates(&self.shape, cell);
                    let inside =
                        cell.iter().zip(&low).zip(&high).all(|((c, l), h)| l <= c && c <= h);
                    f64::from(u8::from(inside))
                })
                .collect()
        })
    }

    /// Answers the ranges by inclusion–exclusion over the 2^d corners of each box.
    /// O(cells · d + ranges · 2^d).
    pub(super) fn answers(&self, data: &[f64]) -> Vec<f64> {
        // The table of prefix sums starts with zeros along every axis.
        let wide: Vec<usize> = self.shape.iter().map(|n| n + 1).collect();
        let strides: Vec<usize> =
            (0..wide.len()).map(|axis| wide[axis + 1..].iter().product()).collect();
        let mut sums = vec![0.0; wide.iter().product()];
        let offset: usize = strides.iter().sum();
        for (cell, &x) in data.iter().enumerate() {
            let cell = coordinates(&self.shape, cell);
            let index: usize = cell.iter().zip(&strides).map(|(c, stride)| c * stride).sum();
            sums[offset + index] = x;
        }
        for (&stride, &size) in strides.iter().zip(&wide) {
            for k in 0..sums.len() {
                if k / stride % size > 0 {
                    sums[k] += sums[k - stride];
                }
            }
        }
        let answer = |&(low, high): &(usize, usize)| {
            let (low, high) = (coordinates(&self.shape, low), coordinates(&self.shape, high));
            (0..1usize << wide.len())
                .map(|choice| {
                    let corner = |axis: usize| {
                        if choice >> axis & 1 == 1 { low[axis] } else { high[axis] + 1 }
                    };
                    let index: usize = strides
                        .iter()
                        .enumerate()
                        .map(|(axis, stride)| corner(axis) * stride)
                        .sum();
                    if choice.count_ones().is_multiple_of(2) { sums[index] } else { -sums[index] }
                })
                .sum::<f64>()
        };
        self.corners.iter().map(answer).collect()
    }

    /// Computes the Gram matrix in O(ranges + attributes · cells²).
    ///
    /// Entry (i, j) counts the ranges whose lowest cell is at most min(i, j) and whose highest cell
    /// is at least max(i, j) along every axis: a sum over a table of corner counts.
    pub fn gram(&self) -> Array2<f64> {
        self.weighted_gram(|_, _| 1.0)
    }

    /// Computes the Gram matrix of the ranges scaled to unit length, `Σ_q qᵀq/|q|²`.
    pub(super) fn normalised_gram(&self) -> Array2<f64> {
        self.weighted_gram(|low, high| {
            let (low, high) = (coordinates(&self.shape, low), coordinates(&self.shape, high));
            low.iter().zip(&high).map(|(l, h)| 1.0 / (h - l + 1) as f64).product()
        })
    }

    /// Computes `Σ_q w qᵀq` with a weight by the corners of the range.
    fn weighted_gram(&self, weight: impl Fn(usize, usize) -> f64) -> Array2<f64> {
        let cells: usize = self.shape.iter().product();
        let mut counts = Array2::<f64>::zeros((cells, cells));
        for &(low, high) in &self.corners {
            counts[[low, high]] += weight(low, high);
        }
        let mut stride = 1;
        for &size in self.shape.iter().rev() {
            for low in 0..cells {
                if low / stride % size > 0 {
                    let (before, mut after) = counts.view_mut().split_at(Axis(0), low);
                    let mut after = after.row_mut(0);
                    after += &before.row(low - stride);
                }
            }
            for mut row in counts.rows_mut() {
                for high in (0..cells).rev() {
                    if high / stride % size + 1 < size {
                        row[high] += row[high + stride];
                    }
                }
            }
            stride *= size;
        }
        let coordinates: Vec<Vec<usize>> =
            (0..cells).map(|cell| coordinates(&self.shape, cell)).collect();
        let mut gram = Array2::zeros((cells, cells));
        for i in 0..cells {
            for j in 0..=i {
                let (mut low, mut high) = (0, 0);
                let pairs = coordinates[i].iter().zip(&coordinates[j]);
                for ((&a, &b), &n) in pairs.zip(&self.shape) {
                    low = low * n + a.min(b);
                    high = high * n + a.max(b);
                }
                let sum = counts[[low, high]];
                gram[[i, j]] = sum;
                gram[[j, i]] = sum;
            }
        }
        gram
    }
}

/// Draws the fraction of every attribute that a range of the given coverage spans.
fn side_shares<R: Rng + ?Sized>(dimensions: usize, coverage: f64, rng: &mut R) -> Vec<f64> {
    if dimensions == 1 {
        let spread = f64::min(0.05, coverage / 2.0);
        return vec![(coverage + rng.random_range(-spread..=spread)).min(1.0)];
    }
    let noise: f64 = StandardNormal.sample(rng);
    let volume = (coverage * (0.1 * noise).exp()).min(1.0);
    // Dirichlet(1, …, 1): exponentials divided by their sum.
    let exponentials: Vec<f64> = (0..dimensions).map(|_| Exp1.sample(rng)).collect();
    let sum: f64 = exponentials.iter().sum();
    exponentials.iter().map(|e| volume.powf(e / sum)).collect()
}

/// Returns the distance of a range's centre from the middle of the box, in [0, 1]: the root mean
/// square over the attributes.
fn eccentricity(shape: &[usize], (low, high): (usize, usize)) -> f64 {
    let (low, high) = (coordinates(shape, low), coordinates(shape, high));
    let sum: f64 = shape
        .iter()
        .zip(low.iter().zip(&high))
        .map(|(&n, (&l, &h))| {
            let half = (n as f64 - 1.0) / 2.0;
            if half == 0.0 { 0.0 } else { (((l + h) as f64 / 2.0 - half) / half).powi(2) }
        })
        .sum();
    (sum / shape.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::rng;

    fn gram_from_rows(sample: &RangeSample) -> Array2<f64> {
        let rows: Vec<Vec<f64>> = sample.rows().collect();
        let cells = rows[0].len();
        Array2::from_shape_fn((cells, cells), |(i, j)| rows.iter().map(|r| r[i] * r[j]).sum())
    }

    #[test]
    fn grams_match_the_rows() {
        let mut rng = rng(3);
        for shape in [vec![9], vec![4, 5], vec![3, 2, 4]] {
            let uniform = RangeSample::uniform(&shape, 17, &mut rng).unwrap();
            assert_eq!(uniform.gram(), gram_from_rows(&uniform));
            let biased = RangeSample::biased(&shape, 17, 10.0, &mut rng).unwrap();
            assert_eq!(biased.gram(), gram_from_rows(&biased));
        }
    }

    #[test]
    fn a_sample_of_all_ranges_is_the_range_family() {
        let mut rng = rng(4);
        let all = range_count(&[6]).unwrap();
        let sample = RangeSample::uniform(&[6], all, &mut rng).unwrap();
        assert_eq!(sample.gram(), crate::workload::Family::RANGE.gram(&[6]).unwrap());
        assert!(RangeSample::uniform(&[6], all + 1, &mut rng).is_err());
        assert!(RangeSample::biased(&[6], 0, 1.0, &mut rng).is_err());
    }

    #[test]
    fn ranges_have_the_given_coverage() {
        let mut rng = rng(6);
        for (shape, coverage, tolerance) in
            [(vec![256], 0.3, 0.01), (vec![32, 32], 0.25, 0.02), (vec![16, 16, 16], 0.5, 0.03)]
        {
            let cells: usize = shape.iter().product();
            let sample = RangeSample::covering(&shape, 600, coverage, &mut rng).unwrap();
            let covered: f64 = sample.rows().map(|row| row.iter().sum::<f64>()).sum();
            let mean = covered / (600 * cells) as f64;
            assert!((mean - coverage).abs() < tolerance, "{shape:?}: {mean} for {coverage}");
            if cells == 1024 {
                assert_eq!(sample.gram(), gram_from_rows(&sample));
            }
        }
        assert!(RangeSample::covering(&[8], 5, 0.0, &mut rng).is_err());
        assert!(RangeSample::covering(&[8], 0, 0.5, &mut rng).is_err());
    }

    #[test]
    fn two_step_samples_restrict_attributes_with_equal_probability() {
        let mut rng = rng(8);
        let shape = [6, 5, 4];
        let sample = RangeSample::two_step(&shape, 6000, &mut rng).unwrap();
        // An attribute is restricted with probability (1 + 2 + 3)/(3·3) = 2/3, and one of the
        // n(n+1)/2 intervals is the full range.
        for (axis, &n) in shape.iter().enumerate() {
            let full = sample.corners.iter().filter(|&&(low, high)| {
                coordinates(&shape, low)[axis] == 0 && coordinates(&shape, high)[axis] == n - 1
            });
            let expected = 1.0 / 3.0 + 2.0 / 3.0 / (n * (n + 1) / 2) as f64;
            let fraction = full.count() as f64 / 6000.0;
            // Four standard errors.
            assert!(
                (fraction - expected).abs() < 4.0 * (0.25f64 / 6000.0).sqrt(),
                "{axis}: {fraction} for {expected}"
            );
        }
        assert_eq!(RangeSample::two_step(&[7], 9, &mut rng).unwrap().len(), 9);
        assert!(RangeSample::two_step(&[7], 0, &mut rng).is_err());
    }

    #[test]
    fn bias_favours_the_edge() {
        let mut rng = rng(5);
        let mean = |s: &RangeSample| {
            s.corners.iter().map(|&c| eccentricity(&[64], c)).sum::<f64>() / s.len() as f64
        };
        let uniform = RangeSample::uniform(&[64], 200, &mut rng).unwrap();
        let biased = RangeSample::biased(&[64], 200, 10.0, &mut rng).unwrap();
        assert!(
            mean(&biased) > mean(&uniform) + 0.2,
            "{} against {}",
            mean(&biased),
            mean(&uniform)
        );
    }
}
