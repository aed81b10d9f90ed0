//! Tests of sample.

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
    assert!(mean(&biased) > mean(&uniform) + 0.2, "{} against {}", mean(&biased), mean(&uniform));
}
