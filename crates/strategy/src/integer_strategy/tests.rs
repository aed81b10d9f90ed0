//! Tests of integer strategies against explicit matrices.

use ndarray::{Array2, arr2};

use super::*;
use matmech_linalg::kron_all;

fn factors() -> Vec<Arc<IntegerFactor>> {
    let rows = arr2(&[[4, -1, 2], [0, 3, 7], [-5, 1, 1]]);
    vec![
        Arc::new(IntegerFactor::centring(&[3], vec![vec![2, 1, 5]], &rows).unwrap()),
        Arc::new(IntegerFactor::centred_identity(4).unwrap()),
        Arc::new(IntegerFactor::centred_identity(2).unwrap()),
    ]
}

fn dense(strategy: &IntegerStrategy) -> Array2<f64> {
    let matrices: Vec<Array2<f64>> =
        strategy.factors().iter().map(|f| f.rows().mapv(|x| x as f64)).collect();
    kron_all(matrices.iter().map(|m| m.view()))
}

/// Oracle: answers and both sensitivities by brute force over the explicit matrix.
#[test]
fn answers_and_sensitivities_are_those_of_the_matrix() {
    let all = factors();
    let joint = Arc::new(
        IntegerFactor::centring(
            &[2, 3],
            vec![vec![1, 1], vec![1, 3, 1]],
            &Array2::from_shape_fn((5, 6), |(i, j)| ((i * 7 + j * j * 3) % 11) as i64 - 4),
        )
        .unwrap(),
    );
    for chosen in [vec![0], vec![1], vec![0, 1], vec![1, 2], vec![1, 0, 2], vec![3], vec![3, 1]] {
        let of = |k: usize| if k == 3 { joint.clone() } else { all[k].clone() };
        let strategy = IntegerStrategy::new(chosen.iter().map(|&k| of(k)).collect()).unwrap();
        let matrix = dense(&strategy);
        let cells = matrix.ncols();
        let counts: Vec<u32> = (0..cells as u32).map(|c| c * c % 13).collect();
        let expected =
            matrix.dot(&ndarray::Array1::from_iter(counts.iter().map(|c| f64::from(*c))));
        let found: Vec<f64> =
            strategy.answers(&counts).unwrap().iter().map(|x| *x as f64).collect();
        assert_eq!(found, expected.to_vec());
        assert_eq!(found.len(), strategy.rows());
        let add = matrix.columns().into_iter().map(|c| c.dot(&c)).fold(0.0, f64::max);
        let sensitivity = strategy.squared_sensitivity(Neighbours::AddOrRemoveOneRecord);
        assert!(sensitivity.exact && sensitivity.value.to_f64() == Some(add));
        assert!(
            (strategy.scale().powi(2) / add - 1.0).abs() < 1e-13 && strategy.scale().powi(2) >= add
        );
        let mut replace: f64 = 0.0;
        for (a, b) in (0..cells).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let difference = &matrix.column(a) - &matrix.column(b);
            replace = replace.max(difference.dot(&difference));
        }
        let sensitivity = strategy.squared_sensitivity(Neighbours::ReplaceOneRecord);
        let value = sensitivity.value.to_f64().unwrap();
        assert!(
            if sensitivity.exact { value == replace } else { value >= replace },
            "{chosen:?}: {sensitivity:?}, {replace}"
        );
        assert_eq!(sensitivity.exact, chosen.len() == 1 || chosen == [1, 2], "{chosen:?}");
    }
    let total = IntegerStrategy::new(Vec::new()).unwrap();
    assert_eq!(total.answers(&[7]).unwrap(), [7]);
    assert_eq!(
        total.squared_sensitivity(Neighbours::AddOrRemoveOneRecord).value,
        BigUint::from(1u32)
    );
    assert_eq!(total.squared_sensitivity(Neighbours::ReplaceOneRecord).value, BigUint::ZERO);
}

#[test]
fn rows_that_do_not_annihilate_the_measure_are_refused() {
    let rows = arr2(&[[1, -1, 0]]);
    assert!(IntegerFactor::new(&[3], vec![vec![1, 1, 1]], rows.clone()).is_ok());
    assert!(IntegerFactor::new(&[3], vec![vec![1, 2, 1]], rows.clone()).is_err());
    assert!(IntegerFactor::new(&[3], vec![vec![1, 1]], rows.clone()).is_err());
    assert!(IntegerFactor::new(&[3], vec![vec![0, 0, 0]], rows.clone()).is_err());
    assert!(IntegerFactor::new(&[2], vec![vec![1, 1]], rows.clone()).is_err());
    assert!(IntegerFactor::new(&[], vec![], rows).is_err());
    let one_axis_only = arr2(&[[1, -1, 1, -1]]);
    assert!(IntegerFactor::new(&[2, 2], vec![vec![1, 1], vec![1, 1]], one_axis_only).is_err());
    assert!(
        IntegerFactor::new(&[2], vec![vec![i64::MAX, i64::MAX]], arr2(&[[i64::MAX, i64::MIN]]))
            .is_err()
    );
    let huge = arr2(&[[i64::MAX, 0, 1]]);
    assert!(IntegerFactor::centring(&[3], vec![vec![1, 1, 1]], &huge).is_err());
}

/// A strategy whose answers could exceed 128 bits is refused before it sees data; the largest
/// accepted strategy does not overflow.
#[test]
fn strategies_that_could_overflow_are_refused() {
    let wide = |bits: u32| {
        let rows = arr2(&[[1i64 << bits, -(1i64 << bits)]]);
        Arc::new(IntegerFactor::new(&[2], vec![vec![1, 1]], rows).unwrap())
    };
    let message = IntegerStrategy::new(vec![wide(60), wide(50)]).unwrap_err().to_string();
    assert!(message.contains("bits") && message.contains("remedy"), "{message}");
    let strategy = IntegerStrategy::new(vec![wide(44), wide(43)]).unwrap();
    assert_eq!(strategy.answers(&[u32::MAX, 0, 0, 0]).unwrap(), [i128::from(u32::MAX) << 87]);
    assert!(strategy.answers(&[u32::MAX, 1, 0, 0]).is_err());
    assert!(strategy.answers(&[1, 1]).is_err());
}
