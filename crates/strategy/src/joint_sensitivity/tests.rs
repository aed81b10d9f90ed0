//! Tests of the joint cost against the maximum over all neighbours, by dense integer matrices.

use ndarray::{Array2, arr2};
use num_rational::Ratio;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::domain::AttributeSet;
use crate::domain::coordinates;
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation};
use crate::test_support::rng;
use crate::{IntegerFactor, IntegerStrategy};
use num_bigint::{BigInt, BigUint};
use std::sync::Arc;

pub(super) type Rational = Ratio<BigInt>;

/// Computes ρ by its definition, over all pairs of cells and with strategies as dense matrices.
fn by_definition(
    sizes: &[usize],
    terms: &[(AttributeSet, IntegerStrategy)],
    deviations: &[RationalDeviation],
    unit: PrivacyUnit,
) -> Rational {
    let dense: Vec<Array2<BigInt>> = terms
        .iter()
        .map(|(_, strategy)| {
            strategy.factors().iter().fold(
                Array2::from_elem((1, 1), BigInt::from(1)),
                |product, factor| {
                    let right = factor.rows();
                    let (m, n) = right.dim();
                    Array2::from_shape_fn((product.nrows() * m, product.ncols() * n), |(i, j)| {
                        &product[[i / m, j / n]] * right[[i % m, j % n]]
                    })
                },
            )
        })
        .collect();
    let cells: usize = sizes.iter().product();
    let column = |term: usize, cell: usize| -> Vec<BigInt> {
        let values = coordinates(sizes, cell);
        let index = terms[term].0.positions().fold(0, |index, p| index * sizes[p] + values[p]);
        dense[term].column(index).to_vec()
    };
    let cost = |difference: &dyn Fn(usize) -> Vec<BigInt>| {
        let mut sum = Rational::from(BigInt::ZERO);
        for (term, deviation) in deviations.iter().enumerate() {
            let square: BigInt = difference(term).iter().map(|x| x * x).sum();
            let sigma = Rational::new(deviation.numerator().into(), deviation.denominator().into());
            let rows = Rational::from(BigInt::from(unit.rows));
            if square > BigInt::ZERO {
                sum += Rational::from(square) * &rows * &rows / (&sigma * &sigma * BigInt::from(2));
            }
        }
        sum
    };
    let mut max = Rational::from(BigInt::ZERO);
    for a in 0..cells {
        if unit.neighbours != Neighbours::ReplaceOneRecord {
            max = max.max(cost(&|term| column(term, a)));
        }
        if unit.neighbours != Neighbours::AddOrRemoveOneRecord {
            for b in 0..a {
                let difference = |term| {
                    column(term, a).iter().zip(column(term, b)).map(|(x, y)| x - y).collect()
                };
                max = max.max(cost(&difference));
            }
        }
    }
    max
}

pub(super) fn exact(rho: &ExactRho) -> Rational {
    let shift = rho.bits().saturating_sub(127);
    let scaled = Rational::new(rho.shifted_up(shift).into(), BigInt::from(1) << 256u32);
    scaled * (BigInt::from(1) << shift)
}

pub(super) fn random_factor(random: &mut ChaCha20Rng, shape: &[usize]) -> Arc<IntegerFactor> {
    if let &[n] = shape
        && random.random_bool(0.5)
    {
        return Arc::new(IntegerFactor::centred_identity(n).unwrap());
    }
    let weights: Vec<Vec<i64>> =
        shape.iter().map(|n| (0..*n).map(|_| random.random_range(1..4)).collect()).collect();
    let cells = shape.iter().product();
    let rows = Array2::from_shape_fn((3, cells), |_| random.random_range(-5..6));
    match IntegerFactor::centring(shape, weights, &rows) {
        Ok(factor) if factor.squared_sensitivity() > BigUint::ZERO => Arc::new(factor),
        _ => random_factor(random, shape),
    }
}

/// Oracle: the maximum over all neighbours, for 300 random plans on small domains and all three
/// relations. An attained cost equals it up to a relative 2⁻¹⁰⁰, and no cost is below it.
#[test]
fn the_joint_cost_is_the_maximum_over_all_neighbours() {
    let mut random = rng(24);
    let mut saved = 0;
    for _ in 0..300 {
        let sizes: Vec<usize> =
            (0..random.random_range(1..4)).map(|_| random.random_range(2..5)).collect();
        let of_attribute: Vec<_> =
            sizes.iter().map(|n| random_factor(&mut random, &[*n])).collect();
        let sets: Vec<AttributeSet> = AttributeSet::first(sizes.len()).subsets().collect();
        let mut terms = Vec::new();
        for set in sets {
            let sizes_of_set = set.select(&sizes);
            let factors = if sizes_of_set.len() == 2 && random.random_bool(0.2) {
                vec![random_factor(&mut random, &sizes_of_set)]
            } else if random.random_bool(0.2) {
                sizes_of_set.iter().map(|n| random_factor(&mut random, &[*n])).collect()
            } else {
                set.positions().map(|p| of_attribute[p].clone()).collect()
            };
            if random.random_bool(0.8) {
                terms.push((set, IntegerStrategy::new(factors).unwrap()));
            }
        }
        let deviations: Vec<RationalDeviation> = terms
            .iter()
            .map(|_| RationalDeviation::rounded_up(random.random_range(1.0..50.0)).unwrap())
            .collect();
        for neighbours in [
            Neighbours::AddOrRemoveOneRecord,
            Neighbours::ReplaceOneRecord,
            Neighbours::ReplaceAddOrRemoveOneRecord,
        ] {
            let unit = PrivacyUnit { neighbours, rows: random.random_range(1..4), distinct: None };
            let joint =
                JointSensitivity::of(terms.iter().map(|(set, strategy)| (*set, strategy)), unit);
            let found = joint.cost(&deviations).unwrap();
            let (rho, expected) =
                (exact(&found.rho), by_definition(&sizes, &terms, &deviations, unit));
            let tolerance = Rational::from(BigInt::from(1))
                + Rational::new(1.into(), BigInt::from(1) << 100u32);
            assert!(found.is_attained, "all these domains are small");
            assert!(
                rho >= expected && rho <= &expected * tolerance,
                "{sizes:?} {unit}: {rho} {expected}"
            );
            let separate = terms.iter().zip(&deviations).fold(
                ExactRho::zero(),
                |sum, ((_, strategy), deviation)| {
                    let square = strategy.squared_sensitivity(neighbours).value;
                    sum.plus(
                        &ExactRho::of_discrete_gaussian(&square, *deviation, unit.rows).unwrap(),
                    )
                },
            );
            assert!(found.rho <= separate);
            if neighbours == Neighbours::ReplaceOneRecord {
                let (bound, _) = joint.of_replaced_at_corners(&deviations).unwrap();
                assert!(exact(&bound) >= expected, "{sizes:?} {unit}: {bound:?} {expected}");
                assert!(bound <= separate);
            }
            saved += usize::from(
                exact(&separate) > exact(&found.rho) * Rational::new(21.into(), 20.into()),
            );
        }
    }
    assert!(saved > 100, "{saved}");
}

/// Oracle: with identical attributes the cost depends only on how many of them differ.
#[test]
fn marginals_of_many_attributes_have_their_joint_cost() {
    for (n, d) in [(2usize, 16usize), (3, 12), (10, 15)] {
        let factor = Arc::new(IntegerFactor::centred_identity(n).unwrap());
        let deviation = RationalDeviation::rounded_up(37.0).unwrap();
        let sets: Vec<AttributeSet> = (0..d)
            .flat_map(|b| {
                (0..=b).map(move |a| {
                    AttributeSet::from_positions(&[a, b]).unwrap_or(AttributeSet::single(a))
                })
            })
            .collect();
        let terms: Vec<(AttributeSet, IntegerStrategy)> = sets
            .iter()
            .map(|set| (*set, IntegerStrategy::new(vec![factor.clone(); set.len()]).unwrap()))
            .collect();
        let unit =
            PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows: 1, distinct: None };
        let joint =
            JointSensitivity::of(terms.iter().map(|(set, strategy)| (*set, strategy)), unit);
        let found = joint.cost(&vec![deviation; terms.len()]).unwrap();
        // D and m of one attribute, and the squared distance if s attributes differ.
        let (max, min) = if n == 2 { (1i64, -1i64) } else { ((n * (n - 1)) as i64, -(n as i64)) };
        let square = |s: i64| {
            let d = d as i64;
            let pairs =
                (s * (s - 1) / 2) * (max * max - min * min) + s * (d - s) * (max * max - max * min);
            2 * (s * (max - min) + pairs)
        };
        let max_square = (0..=d as i64).map(square).max().unwrap();
        let expected =
            ExactRho::of_discrete_gaussian(&BigUint::from(max_square as u64), deviation, 1)
                .unwrap();
        assert!(found.is_attained, "{n} {d}");
        let ratio = found.rho.to_f64_rounded_up() / expected.to_f64_rounded_up();
        assert!((1.0..1.0 + 1e-12).contains(&ratio), "{n} {d}: {ratio}");
    }
}

/// If the column norms differ and there are too many pairs of cells, the cost is marked as an upper
/// bound.
#[test]
fn a_cost_that_is_not_attained_is_an_upper_bound() {
    let factor = Arc::new(
        IntegerFactor::centring(
            &[40],
            vec![vec![1; 40]],
            &Array2::from_shape_fn((40, 40), |(i, j)| ((i * j) % 7) as i64),
        )
        .unwrap(),
    );
    let strategy = IntegerStrategy::new(vec![factor.clone(), factor]).unwrap();
    let unit = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows: 1, distinct: None };
    let set = AttributeSet::first(2);
    let deviation = RationalDeviation::new(5, 1).unwrap();
    let found = JointSensitivity::of([(set, &strategy)], unit).cost(&[deviation]).unwrap();
    assert!(!found.is_attained);
    let alone = strategy.squared_sensitivity(Neighbours::ReplaceOneRecord);
    assert!(!alone.exact);
    assert!(found.rho <= ExactRho::of_discrete_gaussian(&alone.value, deviation, 1).unwrap());
}

/// Factors that are equal but stored apart cost what a shared factor costs.
#[test]
fn equal_factors_share_their_columns() {
    let rows = Array2::from_shape_fn((39, 40), |(i, j)| ((i * j) % 7) as i64);
    let factor = || {
        let weights = vec![vec![1; 40]];
        Arc::new(IntegerFactor::centring(&[40], weights, &rows).unwrap())
    };
    let unit = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows: 1, distinct: None };
    let deviations = [5, 9, 7].map(|sigma| RationalDeviation::new(sigma, 1).unwrap());
    let sets = [AttributeSet::single(0), AttributeSet::single(1), AttributeSet::first(2)];
    let cost = |factors: [Vec<Arc<IntegerFactor>>; 3]| {
        let strategies = factors.map(|factors| IntegerStrategy::new(factors).unwrap());
        JointSensitivity::of(sets.into_iter().zip(&strategies), unit).cost(&deviations).unwrap()
    };
    let shared = factor();
    let expected = cost([vec![shared.clone()], vec![shared.clone()], vec![shared.clone(), shared]]);
    let apart = cost([vec![factor()], vec![factor()], vec![factor(), factor()]]);
    assert_eq!(apart, expected);
}

/// The bound for products whose columns have different norms, by the terms |f|² and |f ⊗ g|²: f has
/// two columns u and v of squared norm D with u·v = D/4, and shorter ones, g has columns ±1. The
/// pair (u, +), (v, −) costs more than every corner if the term |f|² is limited to its largest
/// value there, 2D − 2u·v.
#[test]
fn the_bound_holds_between_the_corners() {
    let (u, v) = ([1, 1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 1, 1]);
    let rows = Array2::from_shape_fn((7, 8), |(i, j)| match j {
        0 => 6 * u[i],
        1 => 6 * v[i],
        _ => -(u[i] + v[i]),
    });
    let f = Arc::new(IntegerFactor::new(&[8], vec![vec![1; 8]], rows).unwrap());
    let g = Arc::new(IntegerFactor::centred_identity(2).unwrap());
    let terms = vec![
        (AttributeSet::single(0), IntegerStrategy::new(vec![f.clone()]).unwrap()),
        (AttributeSet::first(2), IntegerStrategy::new(vec![f, g]).unwrap()),
    ];
    // The second term has larger values by the squared norm 2 of a column of g.
    let deviations = [10, 20].map(|sigma| RationalDeviation::new(sigma, 1).unwrap());
    for rows in [1, 3] {
        let unit = PrivacyUnit { neighbours: Neighbours::ReplaceOneRecord, rows, distinct: None };
        let joint =
            JointSensitivity::of(terms.iter().map(|(set, strategy)| (*set, strategy)), unit);
        let (bound, _) = joint.of_replaced_at_corners(&deviations).unwrap();
        let expected = by_definition(&[8, 2], &terms, &deviations, unit);
        assert!(exact(&bound) >= expected, "{} {expected}", exact(&bound));
    }
}

/// Zero noise has zero cost only if neighbours have the same answers.
#[test]
fn a_deviation_of_zero_requires_unchanged_answers() {
    let total = IntegerStrategy::new(Vec::new()).unwrap();
    let of = |neighbours| {
        let unit = PrivacyUnit { neighbours, rows: 1, distinct: None };
        JointSensitivity::of([(AttributeSet::EMPTY, &total)], unit).cost(&[RationalDeviation::ZERO])
    };
    assert_eq!(of(Neighbours::ReplaceOneRecord).unwrap().rho, ExactRho::zero());
    assert!(
        of(Neighbours::AddOrRemoveOneRecord).is_err()
            && of(Neighbours::ReplaceAddOrRemoveOneRecord).is_err()
    );
}

/// Above 512 cells the smallest product of two columns, here −9, has a lower bound.
#[test]
fn large_factors_have_a_lower_bound_on_their_products() {
    let n = 600;
    let rows = arr2(&[[3i64, -3, 0], [0, 2, -2]]);
    let wide = Array2::from_shape_fn((2, n), |(i, j)| if j < 3 { rows[[i, j]] } else { 0 });
    let factor = IntegerFactor::new(&[n], vec![vec![1; n]], wide).unwrap();
    let pairs = factor.column_pairs();
    assert!(
        pairs.min_product <= BigInt::from(-9)
            && pairs.min_product >= BigInt::from(-10)
            && !pairs.equal_norms,
        "{pairs:?}"
    );
}
