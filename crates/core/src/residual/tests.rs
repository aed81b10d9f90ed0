use super::axis::{self, AxisView};
use super::kronecker::{Factor, apply_dense, apply_structured, decomp_factors, recon_factors};
use super::*;
use crate::domain::AxisSet;
use approx::assert_abs_diff_eq;
use matmech_linalg as linalg;
use ndarray::{Array1, Array2, ArrayView2, concatenate};
use proptest::prelude::*;

/// S4, Fig. 1(a): age × education.
const EXAMPLE: [f64; 12] = [7.0, 5.0, 2.0, 3.0, 5.0, 11.0, 10.0, 2.0, 11.0, 9.0, 18.0, 17.0];

/// S4, App. A: the residual on each subset, and twelve times its part of the marginal.
///
/// The paper prints 32 in row 2, column 3 of the last part. Every row of a centred array sums to 0,
/// so the value is 33.
#[test]
fn the_worked_example_of_appendix_a() {
    let sizes = [4, 3];
    let cases: [(usize, &[f64], [f64; 12]); 4] = [
        (0b00, &[100.0], [100.0; 12]),
        (
            0b01,
            &[5.0, 9.0, 30.0],
            [-44.0, -44.0, -44.0, -24.0, -24.0, -24.0, -8.0, -8.0, -8.0, 76.0, 76.0, 76.0],
        ),
        (
            0b10,
            &[1.0, 12.0],
            [-13.0, -10.0, 23.0, -13.0, -10.0, 23.0, -13.0, -10.0, 23.0, -13.0, -10.0, 23.0],
        ),
        (
            0b11,
            &[4.0, 13.0, -6.0, 6.0, 11.0, 13.0],
            [41.0, 14.0, -55.0, -27.0, -6.0, 33.0, 41.0, -58.0, 17.0, -55.0, 50.0, 5.0],
        ),
    ];
    let mut sum = [0.0; 12];
    for (number, residual, twelvefold) in cases {
        let kept = AxisSet::from_number(number);
        let found = decomp(&EXAMPLE, &sizes, kept).unwrap();
        assert_eq!(found, residual);
        let part = recon(&found, &sizes, kept).unwrap();
        let expected: Vec<f64> = twelvefold.iter().map(|x| x / 12.0).collect();
        assert_abs_diff_eq!(part[..], expected[..], epsilon = 1e-14);
        sum.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
    }
    assert_abs_diff_eq!(sum[..], EXAMPLE[..], epsilon = 1e-13);
    // Fig. 1(b) and (c): the residual on age is that of the marginal on age alone.
    assert_eq!(decomp(&[14.0, 19.0, 23.0, 44.0], &[4], AxisSet::all(1)).unwrap(), [5.0, 9.0, 30.0]);
}

/// Generates sizes (some of them 1), kept axes, and the values of a marginal.
fn boxes() -> impl Strategy<Value = (Vec<usize>, AxisSet, Vec<f64>)> {
    prop::collection::vec((1usize..=6, any::<bool>()), 0..=5)
        .prop_filter("small enough for explicit matrices", |axes| {
            axes.iter().map(|a| a.0).product::<usize>() <= 240
        })
        .prop_flat_map(|axes| {
            let (sizes, kept): (Vec<usize>, Vec<bool>) = axes.into_iter().unzip();
            let cells = sizes.iter().product::<usize>();
            (Just(sizes), Just(set(&kept)), prop::collection::vec(-10.0..10.0f64, cells))
        })
}

fn set(kept: &[bool]) -> AxisSet {
    AxisSet::of(kept.len(), |axis| kept[axis])
}

/// Returns the matrix of S4, Eq. 3, as an explicit Kronecker product.
fn decomposition_matrix(sizes: &[usize], kept: AxisSet) -> Array2<f64> {
    sizes.iter().enumerate().fold(Array2::eye(1), |product, (axis, &n)| {
        let factor = if kept.contains(axis) {
            let ones = -Array2::<f64>::ones((n - 1, 1));
            concatenate(ndarray::Axis(1), &[ones.view(), Array2::eye(n - 1).view()]).unwrap()
        } else {
            Array2::ones((1, n))
        };
        linalg::kron(product.view(), factor.view())
    })
}

/// Returns the matrix of a linear map, column by column.
fn matrix_of(rows: usize, columns: usize, map: impl Fn(&[f64]) -> Vec<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((rows, columns));
    for (j, mut column) in out.columns_mut().into_iter().enumerate() {
        let mut unit = vec![0.0; columns];
        unit[j] = 1.0;
        column.assign(&Array1::from_vec(map(&unit)));
    }
    out
}

fn times(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    linalg::product(a, b).unwrap()
}

proptest! {
    /// Decomp against the explicit matrix (S4, App. C.3, Eq. 3).
    #[test]
    fn decomp_is_the_kronecker_matrix((sizes, kept, marginal) in boxes()) {
        let expected = decomposition_matrix(&sizes, kept).dot(&Array1::from_vec(marginal.clone()));
        let found = decomp(&marginal, &sizes, kept).unwrap();
        assert_abs_diff_eq!(Array1::from_vec(found), expected, epsilon = 1e-10);
    }

    /// Recon satisfies the four Moore–Penrose equations (S4, App. C.3, Eq. 4).
    #[test]
    fn recon_is_its_pseudoinverse((sizes, kept, marginal) in boxes()) {
        let t = decomposition_matrix(&sizes, kept);
        let r = matrix_of(marginal.len(), t.nrows(), |unit| recon(unit, &sizes, kept).unwrap());
        let (tr, rt) = (times(t.view(), r.view()), times(r.view(), t.view()));
        assert_abs_diff_eq!(times(tr.view(), t.view()), t, epsilon = 1e-11);
        assert_abs_diff_eq!(times(rt.view(), r.view()), r, epsilon = 1e-11);
        assert_abs_diff_eq!(tr.t(), tr.view(), epsilon = 1e-11);
        assert_abs_diff_eq!(rt.t(), rt.view(), epsilon = 1e-11);
    }

    #[test]
    fn in_axis_and_both_kronecker_forms_agree((sizes, kept, marginal) in boxes()) {
        let residual = decomp(&marginal, &sizes, kept).unwrap();
        let factors = decomp_factors(&sizes, kept);
        let dense = apply_dense(&factors, marginal.clone());
        for applied in [dense, apply_structured(&factors, marginal)] {
            assert_abs_diff_eq!(applied.unwrap()[..], residual[..], epsilon = 1e-10);
        }
        let part = recon(&residual, &sizes, kept).unwrap();
        let factors = recon_factors(&sizes, kept);
        let dense = apply_dense(&factors, residual.clone());
        for applied in [dense, apply_structured(&factors, residual)] {
            assert_abs_diff_eq!(applied.unwrap()[..], part[..], epsilon = 1e-10);
        }
    }

    /// Decomp and Recon against S4, Alg. 1 and 2, one axis after the other.
    #[test]
    fn fused_passes_equal_the_in_axis_operations((sizes, kept, marginal) in boxes()) {
        type Operation = fn(&[f64], AxisView, &mut [f64]);
        let along = |
            x: &mut Vec<f64>,
            shape: &mut Vec<usize>,
            axis: usize,
            length: usize,
            op: Operation,
        | {
            let view = AxisView { n: sizes[axis], ..AxisView::of(shape, axis) };
            shape[axis] = length;
            let mut to = vec![f64::NAN; shape.iter().product()];
            op(x, view, &mut to);
            *x = to;
        };
        let (mut x, mut shape) = (marginal.clone(), sizes.clone());
        for axis in (0..sizes.len()).filter(|&a| !kept.contains(a)) {
            along(&mut x, &mut shape, axis, 1, axis::sum);
        }
        for axis in (0..sizes.len()).filter(|&a| kept.contains(a)) {
            along(&mut x, &mut shape, axis, sizes[axis] - 1, axis::sub);
        }
        let residual = decomp(&marginal, &sizes, kept).unwrap();
        assert_abs_diff_eq!(residual[..], x[..], epsilon = 1e-10);
        for axis in (0..sizes.len()).filter(|&a| kept.contains(a)) {
            along(&mut x, &mut shape, axis, sizes[axis], axis::centre);
        }
        for axis in (0..sizes.len()).filter(|&a| !kept.contains(a)) {
            along(&mut x, &mut shape, axis, sizes[axis], axis::smear);
        }
        assert_abs_diff_eq!(recon(&residual, &sizes, kept).unwrap()[..], x[..], epsilon = 1e-10);
    }

    /// The parts of all residuals sum to the marginal (S4, Prop. 3.1), also with centred residuals.
    #[test]
    fn the_parts_of_a_marginal_sum_to_it((sizes, _, marginal) in boxes()) {
        let mut sum = vec![0.0; marginal.len()];
        let mut by_centred = sum.clone();
        for kept in AxisSet::subsets(sizes.len()) {
            let part = recon(&decomp(&marginal, &sizes, kept).unwrap(), &sizes, kept).unwrap();
            sum.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
            let kept_cells = kept.select(&sizes).iter().product::<usize>();
            let cells = marginal.len() as f64 / kept_cells as f64;
            let mut centred = averaged(&sizes, kept, marginal.clone());
            centred.iter_mut().for_each(|mean| *mean *= cells);
            centre_in_place(&kept.select(&sizes), &mut centred).unwrap();
            let before = by_centred.clone();
            add_spread(&mut by_centred, &sizes, kept, &centred).unwrap();
            let added: Vec<f64> =
                by_centred.iter().zip(&before).map(|(after, before)| after - before).collect();
            assert_abs_diff_eq!(added[..], part[..], epsilon = 1e-10);
        }
        assert_abs_diff_eq!(sum[..], marginal[..], epsilon = 1e-10);
        assert_abs_diff_eq!(by_centred[..], marginal[..], epsilon = 1e-10);
    }

    /// A residual is the same from every marginal that contains its attributes (S4, footnote 1).
    #[test]
    fn residuals_do_not_depend_on_the_marginal((sizes, kept, marginal) in boxes()) {
        let residual = decomp(&marginal, &sizes, kept).unwrap();
        for between in AxisSet::subsets(sizes.len()).filter(|&set| kept.is_subset(set)) {
            let inner = between.select(&sizes);
            let share = marginal.len() as f64 / inner.iter().product::<usize>() as f64;
            let mut smaller = averaged(&sizes, between, marginal.clone());
            smaller.iter_mut().for_each(|mean| *mean *= share);
            let inner_kept = kept.among(between);
            let found = decomp(&smaller, &inner, inner_kept).unwrap();
            assert_abs_diff_eq!(found[..], residual[..], epsilon = 1e-10);
        }
    }

    #[test]
    fn centring_is_recon_after_decomp((sizes, _, marginal) in boxes()) {
        let all = AxisSet::all(sizes.len());
        let expected = recon(&decomp(&marginal, &sizes, all).unwrap(), &sizes, all).unwrap();
        let mut centred = marginal;
        centre_in_place(&sizes, &mut centred).unwrap();
        assert_abs_diff_eq!(centred[..], expected[..], epsilon = 1e-10);
    }

    /// Kernels for short and long runs, against the definition cell by cell.
    #[test]
    fn spreading_adds_to_every_cell(
        axes in prop::collection::vec(
            (prop_oneof![1usize..=9, 10usize..=40], any::<bool>()),
            1..=3,
        ),
        seed in -1.0..1.0f64,
    ) {
        let (sizes, kept): (Vec<usize>, Vec<bool>) = axes.into_iter().unzip();
        let kept = set(&kept);
        let inner = kept.select(&sizes);
        let centred: Vec<f64> =
            (0..inner.iter().product()).map(|i: usize| (i as f64 + seed).sin()).collect();
        let start: Vec<f64> =
            (0..sizes.iter().product()).map(|i: usize| (i as f64 * seed).cos()).collect();
        let mut found = start.clone();
        add_spread(&mut found, &sizes, kept, &centred).unwrap();
        let share = centred.len() as f64 / start.len() as f64;
        for (cell, (found, start)) in found.iter().zip(&start).enumerate() {
            let position = kept.select(&crate::domain::coordinates(&sizes, cell));
            let expected = start + share * centred[crate::domain::cell_index(&inner, &position)];
            assert_abs_diff_eq!(*found, expected, epsilon = 1e-13);
        }
    }
}

/// Large arrays, which use different code paths, against the structured baseline.
///
/// Slices longer than a vector register, sums of many slices, and Recon along three axes.
#[test]
fn large_arrays_agree_with_the_structured_baseline() {
    for (sizes, kept) in [
        (vec![33, 18, 41], vec![true; 3]),
        (vec![33, 18, 41], vec![false, true, false]),
        (vec![33, 18, 41], vec![true, false, true]),
        // Three axes kept: few and many slices, rows in full blocks and not.
        (vec![2, 2, 9], vec![true; 3]),
        (vec![3, 38, 17], vec![true; 3]),
        (vec![6, 17, 32], vec![true; 3]),
        (vec![9, 2, 5, 3, 25], vec![true, false, true, false, true]),
        (vec![7, 9, 6, 8, 5], vec![true; 5]),
        (vec![7, 9, 6, 8, 5], vec![false, true, true, false, true]),
    ] {
        let kept = set(&kept);
        let marginal: Vec<f64> =
            (0..sizes.iter().product()).map(|i: usize| ((i * i) as f64).sin()).collect();
        let residual = decomp(&marginal, &sizes, kept).unwrap();
        let by_shuffle = apply_structured(&decomp_factors(&sizes, kept), marginal.clone()).unwrap();
        assert_abs_diff_eq!(residual[..], by_shuffle[..], epsilon = 1e-10);
        let part = recon(&residual, &sizes, kept).unwrap();
        let by_shuffle = apply_structured(&recon_factors(&sizes, kept), residual.clone()).unwrap();
        assert_abs_diff_eq!(part[..], by_shuffle[..], epsilon = 1e-10);
    }
}

#[test]
fn residuals_on_an_attribute_of_one_value_are_empty() {
    assert_eq!(decomp(&[3.0, 4.0], &[2, 1], AxisSet::all(2)).unwrap(), Vec::<f64>::new());
    assert_eq!(decomp(&[3.0, 4.0], &[2, 1], AxisSet::from_number(0b01)).unwrap(), [1.0]);
    assert_eq!(recon(&[], &[2, 1], AxisSet::from_number(0b10)).unwrap(), [0.0, 0.0]);
    assert_eq!(apply_dense(&[Factor::Smear(2), Factor::Centre(1)], vec![]).unwrap(), [0.0, 0.0]);
    assert_eq!(
        apply_structured(&[Factor::Sub(2), Factor::Sub(1)], vec![3.0, 4.0]).unwrap(),
        Vec::<f64>::new()
    );
}

#[test]
fn without_kept_axes_the_residual_is_the_total() {
    assert_eq!(decomp(&[5.0], &[], AxisSet::EMPTY).unwrap(), [5.0]);
    assert_eq!(recon(&[5.0], &[], AxisSet::EMPTY).unwrap(), [5.0]);
    assert_eq!(decomp(&EXAMPLE, &[4, 3], AxisSet::EMPTY).unwrap(), [100.0]);
    let mut total = [5.0];
    centre_in_place(&[], &mut total).unwrap();
    add_spread(&mut total, &[], AxisSet::EMPTY, &[2.0]).unwrap();
    assert_eq!(total, [7.0]);
}

/// The `_into` functions overwrite reused vectors, whatever they contain.
#[test]
fn reused_vectors_are_overwritten() {
    let (mut residual, mut part) = (vec![f64::NAN; 50], vec![f64::NAN; 5]);
    for kept in AxisSet::subsets(2) {
        decomp_into(&EXAMPLE, &[4, 3], kept, &mut residual).unwrap();
        assert_eq!(residual, decomp(&EXAMPLE, &[4, 3], kept).unwrap());
        recon_into(&residual, &[4, 3], kept, &mut part).unwrap();
        assert_eq!(part, recon(&residual, &[4, 3], kept).unwrap());
    }
    part = vec![f64::NAN; 2];
    recon_into(&[], &[2, 1], AxisSet::from_number(0b10), &mut part).unwrap();
    assert_eq!(part, [0.0, 0.0]);
}

#[test]
fn arrays_of_wrong_lengths_are_refused() {
    let (first, both) = (AxisSet::from_number(0b01), AxisSet::all(2));
    let centred = |sizes: &[usize], mut values: Vec<f64>| {
        centre_in_place(sizes, &mut values).map(|()| values)
    };
    let spread = |kept, mut marginal: Vec<f64>, part: &[f64]| {
        add_spread(&mut marginal, &[2, 3], kept, part).map(|()| marginal)
    };
    for (error, words) in [
        (decomp(&[1.0; 5], &[2, 3], first), ["Decomp", "marginal of 6 cells", "found 5"]),
        (
            decomp(&[1.0; 6], &[2, 3], AxisSet::from_number(0b100)),
            ["Decomp", "axes below 2", "found [2]"],
        ),
        (decomp(&[], &[2, 0], both), ["Decomp", "at least 1", "[2, 0]"]),
        (decomp(&[], &[usize::MAX, 2], both), ["Decomp", "fits in memory", "2]"]),
        (recon(&[1.0; 6], &[2, 3], both), ["Recon", "residual of 2 cells", "found 6"]),
        (recon(&[1.0; 2], &[2, 3], AxisSet::EMPTY), ["Recon", "residual of 1 cells", "found 2"]),
        (centred(&[2, 3], vec![0.0; 5]), ["centring", "box of 6 cells", "found 5"]),
        (centred(&[2, 0], vec![]), ["centring", "at least 1", "[2, 0]"]),
        (spread(first, vec![0.0; 6], &[1.0; 3]), ["spreading", "residual of 2 cells", "found 3"]),
        (spread(first, vec![0.0; 5], &[1.0; 2]), ["spreading", "marginal of 6 cells", "found 5"]),
        (apply_dense(&[Factor::Sum(3)], vec![1.0]), ["Kronecker", "3 cells", "found 1 cells"]),
        (
            apply_structured(&[Factor::Smear(3)], vec![1.0; 3]),
            ["Kronecker", "1 cells", "found 3 cells"],
        ),
    ] {
        let message = error.unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}
