//! Tests of the cost of records with different values, by dense matrices and enumeration.

use ndarray::Array2;
use num_bigint::BigInt;
use rand::RngExt;

use super::distinct::DistinctRecords;
use super::tests::{Rational, exact, random_factor};
use super::*;
use crate::domain::{AttributeSet, coordinates};
use crate::privacy::{Neighbours, PrivacyUnit, RationalDeviation};
use crate::test_support::rng;
use crate::{IntegerFactor, IntegerStrategy};
use std::sync::Arc;

type Terms = Vec<(AttributeSet, IntegerStrategy)>;

/// Returns all changes of the answers of all terms by at most `rows` records with different values
/// of an attribute, with the numbers of records.
fn changes(
    sizes: &[usize],
    terms: &Terms,
    (position, rows): (usize, usize),
) -> Vec<(usize, Vec<Vec<BigInt>>)> {
    let dense: Vec<Array2<BigInt>> = (terms.iter())
        .map(|(_, strategy)| {
            let one = Array2::from_elem((1, 1), BigInt::from(1));
            strategy.factors().iter().fold(one, |product, factor| {
                let right = factor.rows();
                let (m, n) = right.dim();
                Array2::from_shape_fn((product.nrows() * m, product.ncols() * n), |(i, j)| {
                    &product[[i / m, j / n]] * right[[i % m, j % n]]
                })
            })
        })
        .collect();
    let column = |term: usize, cell: usize| {
        let values = coordinates(sizes, cell);
        let index = terms[term].0.positions().fold(0, |index, p| index * sizes[p] + values[p]);
        dense[term].column(index).to_vec()
    };
    let none: Vec<Vec<BigInt>> =
        dense.iter().map(|matrix| vec![BigInt::ZERO; matrix.nrows()]).collect();
    let mut sets = vec![(0, none)];
    let cells: usize = sizes.iter().product();
    for value in 0..sizes[position] {
        let mut larger = Vec::new();
        for cell in (0..cells).filter(|cell| coordinates(sizes, *cell)[position] == value) {
            for (count, change) in sets.iter().filter(|(count, _)| *count < rows) {
                let mut changed = change.clone();
                for (term, answers) in changed.iter_mut().enumerate() {
                    answers.iter_mut().zip(column(term, cell)).for_each(|(x, y)| *x += y);
                }
                larger.push((count + 1, changed));
            }
        }
        sets.extend(larger);
    }
    sets
}

fn cost(change: &[Vec<BigInt>], deviations: &[RationalDeviation]) -> Rational {
    let mut sum = Rational::from(BigInt::ZERO);
    for (answers, deviation) in change.iter().zip(deviations) {
        let square: BigInt = answers.iter().map(|x| x * x).sum();
        let sigma = Rational::new(deviation.numerator().into(), deviation.denominator().into());
        sum += Rational::from(square) / (&sigma * &sigma * BigInt::from(2));
    }
    sum
}

/// Oracle: the maximum over all sets of records, and over all pairs of sets, by dense matrices. 60
/// random plans on small domains.
#[test]
fn the_cost_of_different_values_is_the_maximum_over_all_sets() {
    let mut random = rng(51);
    let (mut saved, mut saved_by_bound, mut attained, mut runs) = (0, 0, 0, 0);
    for _ in 0..60 {
        let sizes: Vec<usize> =
            (0..random.random_range(1..4)).map(|_| random.random_range(2..4)).collect();
        let position = random.random_range(0..sizes.len());
        let of_attribute: Vec<_> =
            sizes.iter().map(|n| random_factor(&mut random, &[*n])).collect();
        let mut terms: Terms = Vec::new();
        for set in AttributeSet::first(sizes.len()).subsets() {
            let of_set = set.select(&sizes);
            let factors = if of_set.len() == 2 && random.random_bool(0.2) {
                vec![random_factor(&mut random, &of_set)]
            } else if random.random_bool(0.2) {
                of_set.iter().map(|n| random_factor(&mut random, &[*n])).collect()
            } else {
                set.positions().map(|p| of_attribute[p].clone()).collect()
            };
            if random.random_bool(0.8) {
                terms.push((set, IntegerStrategy::new(factors).unwrap()));
            }
        }
        let deviations: Vec<RationalDeviation> = (terms.iter())
            .map(|_| RationalDeviation::rounded_up(random.random_range(1.0..50.0)).unwrap())
            .collect();
        let rows = random.random_range(2..5u32);
        let joint = |neighbours, distinct| {
            let unit = PrivacyUnit { neighbours, rows, distinct };
            JointSensitivity::of(terms.iter().map(|(set, strategy)| (*set, strategy)), unit)
        };
        let is_measured = terms.iter().any(|(set, _)| set.contains(position));
        if !is_measured {
            continue;
        }
        runs += 1;
        let sets = changes(&sizes, &terms, (position, rows as usize));
        let found = joint(Neighbours::AddOrRemoveOneRecord, Some(position));
        let one_set = found.cost(&deviations).unwrap();
        let expected = sets.iter().map(|(_, change)| cost(change, &deviations)).max().unwrap();
        let tolerance =
            Rational::from(BigInt::from(1)) + Rational::new(1.into(), BigInt::from(1) << 80u32);
        assert!(one_set.is_attained, "all these domains are small");
        let rho = exact(&one_set.rho);
        assert!(rho >= expected && rho <= &expected * &tolerance, "{sizes:?} {rho} {expected}");
        let any = joint(Neighbours::AddOrRemoveOneRecord, None).cost(&deviations).unwrap();
        assert!(one_set.rho <= any.rho);
        saved += usize::from(exact(&any.rho) > rho * Rational::new(11.into(), 10.into()));
        // The bound from pairs of records.
        let records = DistinctRecords::of(position, rows, &found.units, &found.terms).unwrap();
        let largest = joint(Neighbours::AddOrRemoveOneRecord, None);
        let one_record = JointSensitivity::of(
            terms.iter().map(|(set, strategy)| (*set, strategy)),
            PrivacyUnit::default(),
        );
        let bound = records
            .of_one_set(
                (&found.units, &found.terms),
                &deviations,
                &one_record.cost(&deviations).unwrap().rho,
            )
            .unwrap();
        let of_pairs = exact(&bound.rho);
        assert!(of_pairs >= expected, "{sizes:?} {of_pairs} {expected}");
        assert!(!bound.is_attained || of_pairs <= &expected * &tolerance, "{sizes:?}");
        attained += usize::from(bound.is_attained);
        saved_by_bound += usize::from(bound.rho < largest.cost(&deviations).unwrap().rho);
        // Pairs of sets, of equal sizes or not.
        for neighbours in [Neighbours::ReplaceOneRecord, Neighbours::ReplaceAddOrRemoveOneRecord] {
            let replaced = joint(neighbours, Some(position)).cost(&deviations).unwrap();
            let rho = exact(&replaced.rho);
            let step = sets.len().div_ceil(20);
            for (count, change) in sets.iter().step_by(step) {
                for (other_count, other) in &sets {
                    if neighbours == Neighbours::ReplaceOneRecord && count != other_count {
                        continue;
                    }
                    let difference: Vec<Vec<BigInt>> = (change.iter().zip(other))
                        .map(|(x, y)| x.iter().zip(y).map(|(x, y)| x - y).collect())
                        .collect();
                    assert!(rho >= cost(&difference, &deviations), "{sizes:?} {neighbours}");
                }
            }
            assert!(replaced.rho <= joint(neighbours, None).cost(&deviations).unwrap().rho);
        }
    }
    assert!(
        saved > 20 && saved_by_bound > 20 && attained > 4 && runs > 40,
        "{saved} {saved_by_bound} {attained} {runs}"
    );
}

/// Returns the residuals of a marginal on all attributes, with equal noise in the answers.
fn marginal(sizes: &[usize]) -> (Terms, Vec<RationalDeviation>) {
    let factors: Vec<_> =
        sizes.iter().map(|n| Arc::new(IntegerFactor::centred_identity(*n).unwrap())).collect();
    // nI − J is n times a projection, and its first row for two values has half the square norm.
    let square = |p: usize| if sizes[p] == 2 { 2.0 } else { (sizes[p] * sizes[p]) as f64 };
    let all: f64 = sizes.iter().map(|n| *n as f64).product();
    AttributeSet::first(sizes.len())
        .subsets()
        .map(|set| {
            let of_set = set.positions().map(|p| factors[p].clone()).collect();
            let scale: f64 = set.positions().map(square).product();
            // The total of a table is the sum of its cells: its share of e_c is 1/cells.
            let others: f64 = all / set.positions().map(|p| sizes[p] as f64).product::<f64>();
            let deviation = 1000.0 * (scale * others).sqrt();
            let deviation = RationalDeviation::rounded_up(deviation).unwrap();
            ((set, IntegerStrategy::new(of_set).unwrap()), deviation)
        })
        .unzip()
}

/// A table by year that is measured as its cells are costs K times one record, and replacing all
/// records costs twice that, whatever else the table has.
#[test]
fn a_table_by_year_costs_one_record_per_year() {
    for sizes in [&[5usize, 2][..], &[5, 2, 3], &[12, 2, 7, 4, 30], &[70, 3]] {
        let (terms, deviations) = marginal(sizes);
        for rows in [2, 5] {
            let cost = |neighbours, distinct| {
                let unit = PrivacyUnit { neighbours, rows, distinct };
                let terms = terms.iter().map(|(set, strategy)| (*set, strategy));
                JointSensitivity::of(terms, unit).cost(&deviations).unwrap()
            };
            let k = f64::from(rows);
            let one = 1.0 / 2e6;
            let added = cost(Neighbours::AddOrRemoveOneRecord, Some(0));
            let ratio = added.rho.to_f64_rounded_up() / (k * one);
            assert!((ratio - 1.0).abs() < 1e-5, "{sizes:?} {rows} {ratio}");
            assert!(added.is_attained || sizes.iter().product::<usize>() > 100);
            let any = cost(Neighbours::AddOrRemoveOneRecord, None);
            let ratio = any.rho.to_f64_rounded_up() / (k * k * one);
            assert!((ratio - 1.0).abs() < 1e-5, "{sizes:?} {rows} {ratio}");
            let replaced = cost(Neighbours::ReplaceAddOrRemoveOneRecord, Some(0));
            let ratio = replaced.rho.to_f64_rounded_up() / (2.0 * k * one);
            assert!((ratio - 1.0).abs() < 1e-5 && !replaced.is_attained, "{sizes:?} {ratio}");
        }
    }
}

/// Without a factor on the attribute, the records can be equal in all answers.
#[test]
fn other_tables_cost_the_square() {
    let (terms, deviations) = marginal(&[5, 2]);
    let cost = |distinct| {
        let unit = PrivacyUnit { rows: 3, distinct, ..PrivacyUnit::default() };
        let others = terms.iter().filter(|(set, _)| !set.contains(0));
        let joint = JointSensitivity::of(others.map(|(set, strategy)| (*set, strategy)), unit);
        let kept = terms.iter().zip(&deviations).filter(|((set, _), _)| !set.contains(0));
        joint.cost(&kept.map(|(_, deviation)| *deviation).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(cost(Some(0)), cost(None));
}
