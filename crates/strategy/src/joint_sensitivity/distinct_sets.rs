//! The largest cost over sets of records with different values, by enumeration.

use num_bigint::BigInt;

use super::cells::{Domain, gram};
use super::measurement::Term;
use crate::error::Result;
use crate::privacy::{ExactRho, RationalDeviation};

/// Maximum number of sets that are enumerated.
const MAX_SETS: usize = 1 << 17;

/// Maximum number of pairs of cells times terms.
const MAX_PAIRS: usize = 1 << 22;

/// Bits of sums in an enumeration.
const BITS: u64 = 120;

/// Returns the largest `j · largest + Σ_{v≠v'} (pair(v, v') − sum)` over sets of j ≤ `rows` values,
/// and whether it is that maximum; otherwise it is an upper bound.
///
/// With 0 values, all pairs are equal.
pub(super) fn largest_of_values<'a>(
    rows: usize,
    values: usize,
    largest: &ExactRho,
    sum: &ExactRho,
    pair: &dyn Fn(usize, usize) -> &'a ExactRho,
) -> (ExactRho, bool) {
    let total = |j: usize, of_pairs: &ExactRho| {
        let records = largest.times(j as u64).plus(of_pairs);
        records.minus(&sum.times(ordered_pairs(j))).unwrap_or_default()
    };
    let best = |of_pairs: &dyn Fn(usize) -> ExactRho| {
        (1..=rows).map(|j| total(j, &of_pairs(j))).max().unwrap_or_default()
    };
    if values == 0 {
        let one = pair(1, 0);
        return (best(&|j| one.times(ordered_pairs(j))), true);
    }
    let mut most = ExactRho::zero();
    for high in 1..values {
        (0..high).for_each(|low| most = most.clone().max(pair(high, low).clone()));
    }
    let shift = most.times(ordered_pairs(rows)).bits().saturating_sub(BITS);
    let table: Vec<Vec<u128>> =
        (0..values).map(|v| (0..v).map(|low| pair(v, low).shifted_up(shift)).collect()).collect();
    let of_pair = |v: usize, w: usize| table[v.max(w)][v.min(w)];
    if sets(&vec![1; values], rows).is_some() {
        let mut most = vec![0u128; rows + 1];
        visit(&vec![1; values], rows, &of_pair, &mut |count, sum, _| {
            most[count] = most[count].max(sum);
        });
        return (best(&|j| ExactRho::of_shifted(2 * most[j], shift)), true);
    }
    // Every value has at most the largest entries of its row.
    let mut most = vec![0u128; rows + 1];
    for v in 0..values {
        let mut row: Vec<u128> = (0..values).filter(|w| *w != v).map(|w| of_pair(v, w)).collect();
        row.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = 0;
        for (j, entry) in row.iter().enumerate().take(rows - 1) {
            sum += entry;
            most[j + 2] = most[j + 2].max(sum);
        }
    }
    (best(&|j| ExactRho::of_shifted(most[j], shift).times(j as u64)), false)
}

/// Returns the largest cost of at most `rows` records with different values of the attribute at
/// `position`, or `None` if there are too many sets of records.
pub(super) fn of_one_set(
    terms: &[Term<'_>],
    deviations: &[RationalDeviation],
    position: usize,
    rows: usize,
) -> Result<Option<ExactRho>> {
    let Some(domain) = Domain::of(terms, true) else { return Ok(None) };
    let pairs = domain.cells().checked_pow(2).and_then(|pairs| pairs.checked_mul(terms.len()));
    if pairs.is_none_or(|pairs| pairs > MAX_PAIRS) {
        return Ok(None);
    }
    let Some(cells) = domain.cells_by_value(position) else { return Ok(None) };
    let sizes: Vec<usize> = cells.iter().map(Vec::len).collect();
    if sets(&sizes, rows).is_none() {
        return Ok(None);
    }
    let n = domain.cells();
    // Σ c_A (Π D + G_A), and a lower bound on Σ c_A Π D.
    let mut products = vec![ExactRho::zero(); n * n];
    let mut sum = ExactRho::zero();
    for (term, deviation) in terms.iter().zip(deviations) {
        let gram = gram(term.strategy.factors());
        let largest = gram.diag().iter().max().cloned().unwrap_or_default();
        let cost =
            |square: BigInt| ExactRho::of_discrete_gaussian(square.magnitude(), *deviation, 1);
        let costs = gram.iter().map(|entry| cost(&largest + entry));
        let costs = costs.collect::<std::result::Result<Vec<_>, _>>()?;
        sum = sum.plus(&cost(largest)?);
        let of_term = domain.marginal_cells(term);
        for a in 0..n {
            for b in 0..n {
                let entry = &costs[of_term[a] * gram.ncols() + of_term[b]];
                products[a * n + b] = products[a * n + b].plus(entry);
            }
        }
    }
    let sum = sum.before_rounding(terms.len());
    let most = products.iter().max().cloned().unwrap_or_default();
    let shift = most.times(ordered_pairs(rows) + rows as u64).bits().saturating_sub(BITS);
    let products: Vec<u128> = products.iter().map(|cost| cost.shifted_up(shift)).collect();
    // The records of all values, one after the other.
    let order: Vec<usize> = cells.into_iter().flatten().collect();
    let mut most = vec![0u128; rows + 1];
    visit(&sizes, rows, &|a, b| products[order[a] * n + order[b]], &mut |count, pairs, chosen| {
        let records: u128 = chosen.iter().map(|&a| products[order[a] * (n + 1)]).sum();
        most[count] = most[count].max(records + 2 * pairs);
    });
    let largest = (1..=rows).map(|j| {
        let square = (j as u64).pow(2);
        ExactRho::of_shifted(most[j], shift).minus(&sum.times(square)).unwrap_or_default()
    });
    Ok(largest.max())
}

/// Returns j(j − 1).
fn ordered_pairs(j: usize) -> u64 {
    (j * j.saturating_sub(1)) as u64
}

/// Returns the number of sets with at most one record of every value, or `None` if there are too
/// many. `sizes` has the number of records of every value.
fn sets(sizes: &[usize], rows: usize) -> Option<usize> {
    let mut counts = vec![0usize; rows + 1];
    counts[0] = 1;
    for size in sizes {
        for j in (1..=rows).rev() {
            counts[j] = counts[j].checked_add(counts[j - 1].checked_mul(*size)?)?;
        }
    }
    let all = counts.iter().try_fold(0usize, |sum, count| sum.checked_add(*count))?;
    (all <= MAX_SETS).then_some(all)
}

/// Calls `found` with the number of records of every set, the sum over its pairs, and its records.
///
/// Records are numbered by value.
fn visit(
    sizes: &[usize],
    rows: usize,
    pair: &dyn Fn(usize, usize) -> u128,
    found: &mut dyn FnMut(usize, u128, &[usize]),
) {
    let records: Vec<std::ops::Range<usize>> = (sizes.iter())
        .scan(0, |end, size| {
            *end += size;
            Some(*end - size..*end)
        })
        .collect();
    // Sets whose last record has the value before the first of the range.
    let mut open: Vec<(Vec<usize>, usize, u128)> = vec![(Vec::new(), 0, 0)];
    while let Some((chosen, first, sum)) = open.pop() {
        for (value, records) in records.iter().enumerate().skip(first) {
            for record in records.clone() {
                let sum = sum + chosen.iter().map(|other| pair(record, *other)).sum::<u128>();
                let mut larger = chosen.clone();
                larger.push(record);
                found(larger.len(), sum, &larger);
                if larger.len() < rows {
                    open.push((larger, value + 1, sum));
                }
            }
        }
    }
}
