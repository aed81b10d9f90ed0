//! Many marginals of the same records, by bit sets of records.
//!
//! For every value of an attribute except the last, a bit set marks the records with that value. A
//! cell of the marginal on (a, b, c) without last values is |A ∩ B ∩ C|. The other cells follow
//! from the marginals on two attributes, such as
//!
//! ```text
//! n(a, b, last) = n(a, b) − Σ_{c < last} n(a, b, c)
//! ```
//!
//! so a marginal costs Π (n_i − 1) intersections of N/64 words, compared with N increments of
//! direct counting. The cheaper method is chosen for every marginal.

use std::collections::HashSet;
use std::fmt;
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Records;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use matmech_linalg::{Loops, Wide};

/// Maximum size of an attribute with bit sets; above it, direct counting is cheaper.
const MAX_SIZE_WITH_BIT_SETS: usize = 64;

/// Measured time of one increment of direct counting, in words of an intersection.
const WORDS_PER_INCREMENT: usize = 5;

/// A counter of many marginals: records with bit sets of their small attributes.
///
/// The marginals on pairs of these attributes are precomputed. *Memory*: N/8 bytes per value of a
/// small attribute and 8 bytes per cell of a pair's marginal: 10 MB for the 66 attributes and
/// 378,817 records of S4's ACS.
pub struct MarginalCounter<'a> {
    records: &'a Records,
    /// The counted records.
    part: Range<usize>,
    wide: Wide,
    /// The bit sets of every attribute; `None` for a large one.
    sets: Vec<Option<BitSets>>,
    /// The marginal on (p, q), row-major, at p · attributes + q, for p < q with bit sets; otherwise
    /// empty.
    pairs: Vec<Vec<f64>>,
}

/// Shows only public sizes, as for [`Records`].
impl fmt::Debug for MarginalCounter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarginalCounter")
            .field("sizes", &self.records.sizes())
            .finish_non_exhaustive()
    }
}

/// The bit sets of an attribute: block k has one row per value except the last, for the records
/// from 64 · WORDS · k on.
struct BitSets {
    values: usize,
    rows: Vec<[u64; WORDS]>,
    /// Records per value, including the last.
    totals: Vec<f64>,
}

impl BitSets {
    fn new(records: &Records, part: &Range<usize>, position: usize) -> Result<Self> {
        let values = records.sizes()[position] - 1;
        let blocks = part.len().div_ceil(64 * WORDS);
        let mut rows = vec![[0; WORDS]; values * blocks];
        if let Some(column) = records.column_at(position) {
            column.for_each(part.clone(), |record, value| {
                if value < values {
                    let (word, bit) = (record / 64, record % 64);
                    rows[word / WORDS * values + value][word % WORDS] |= 1 << bit;
                }
            });
        }
        let mut totals = Vec::new();
        records.count_part_into(AttributeSet::single(position), part.clone(), &mut totals)?;
        Ok(BitSets { values, rows, totals })
    }

    fn block(&self, k: usize) -> &[[u64; WORDS]] {
        &self.rows[k * self.values..][..self.values]
    }
}

/// What a counter prepares.
struct Needed {
    /// The attributes of marginals on two or three attributes.
    attributes: AttributeSet,
    /// The pairs inside marginals on three attributes; `None` for all pairs.
    pairs: Option<HashSet<AttributeSet>>,
}

impl Needed {
    fn everything(attributes: usize) -> Self {
        Needed { attributes: AttributeSet::first(attributes), pairs: None }
    }

    fn of_marginals(sets: &[AttributeSet]) -> Self {
        let small = || sets.iter().filter(|set| matches!(set.len(), 2 | 3));
        let triples = small().filter(|set| set.len() == 3);
        Needed {
            attributes: small().fold(AttributeSet::EMPTY, |all, set| all.union(*set)),
            pairs: Some(triples.flat_map(|set| set.of_size(2)).collect()),
        }
    }
}

/// An axis of a marginal: its bit sets, size and stride.
#[derive(Clone, Copy)]
struct Axis<'a> {
    position: usize,
    sets: &'a BitSets,
    size: usize,
    stride: usize,
}

impl<'a> MarginalCounter<'a> {
    /// Prepares counting: O(records · attributes) plus the marginals on pairs.
    ///
    /// # Errors
    /// A marginal on two attributes of 2³² cells or more.
    pub fn new(records: &'a Records) -> Result<Self> {
        Self::of_part(records, 0..records.len(), &Needed::everything(records.sizes().len()))
    }

    /// [`MarginalCounter::new`] for consecutive records and some marginals.
    fn of_part(records: &'a Records, part: Range<usize>, needed: &Needed) -> Result<Self> {
        let count = records.sizes().len();
        let sets = (0..count)
            .map(|p| {
                let has_sets = needed.attributes.contains(p)
                    && records.sizes()[p] <= MAX_SIZE_WITH_BIT_SETS
                    && records.column_at(p).is_some();
                has_sets.then(|| BitSets::new(records, &part, p)).transpose()
            })
            .collect::<Result<Vec<_>>>()?;
        let mut counter =
            MarginalCounter { records, part, wide: Wide::detect(), sets, pairs: Vec::new() };
        let mut pairs = vec![Vec::new(); count * count];
        for (p, q) in (0..count).flat_map(|q| (0..q).map(move |p| (p, q))) {
            let pair = AttributeSet::single(p).union(AttributeSet::single(q));
            let is_needed = needed.pairs.as_ref().is_none_or(|pairs| pairs.contains(&pair));
            if is_needed && counter.sets[p].is_some() && counter.sets[q].is_some() {
                let marginal = &mut pairs[p * count + q];
                match counter.axes(pair) {
                    Some([a, b]) => counter.count_pair(a, b, marginal),
                    None => records.count_part_into(pair, counter.part.clone(), marginal)?,
                }
            }
        }
        counter.pairs = pairs;
        Ok(counter)
    }

    /// Counts a marginal, row-major in ascending order of attributes, into a reused vector.
    ///
    /// The counts are those of [`Records::count_into`], in less time if the attributes are small.
    ///
    /// # Errors
    /// An attribute outside the schema, or a marginal of 2³² cells or more.
    pub fn count_into(&self, attributes: AttributeSet, counts: &mut Vec<f64>) -> Result<()> {
        match self.axes(attributes) {
            Some(axes) => {
                self.count_triple(axes, counts);
                Ok(())
            }
            None => self.records.count_part_into(attributes, self.part.clone(), counts),
        }
    }

    /// Returns the axes of a marginal on K attributes if bit sets are the cheaper method.
    fn axes<const K: usize>(&self, attributes: AttributeSet) -> Option<[Axis<'_>; K]> {
        let positions: [usize; K] = attributes.positions().collect::<Vec<_>>().try_into().ok()?;
        let mut axes = Vec::with_capacity(K);
        let mut stride = 1;
        for &position in positions.iter().rev() {
            let sets = self.sets.get(position)?.as_ref()?;
            axes.push(Axis { position, sets, size: sets.values + 1, stride });
            stride *= sets.values + 1;
        }
        axes.reverse();
        let intersections: usize = axes.iter().map(|axis| axis.sets.values).product();
        let words = self.blocks() * WORDS;
        (intersections.saturating_mul(words) < WORDS_PER_INCREMENT * self.part.len())
            .then(|| axes.try_into().ok())?
    }

    fn blocks(&self) -> usize {
        self.part.len().div_ceil(64 * WORDS)
    }

    fn count_pair(&self, a: Axis<'_>, b: Axis<'_>, counts: &mut Vec<f64>) {
        counts.clear();
        counts.resize(a.size * b.size, 0.0);
        for k in 0..self.blocks() {
            for (i, row) in a.sets.block(k).iter().enumerate() {
                for (j, other) in b.sets.block(k).iter().enumerate() {
                    counts[i * a.stride + j * b.stride] +=
                        f64::from(intersection_size(self.wide, row, other));
                }
            }
        }
        infer_last(counts, b, &[(a, a.sets.values)], |at| a.sets.totals[at[0]]);
        infer_last(counts, a, &[(b, b.size)], |at| b.sets.totals[at[0]]);
    }

    fn count_triple(&self, mut axes: [Axis<'_>; 3], counts: &mut Vec<f64>) {
        counts.clear();
        counts.resize(axes.iter().map(|axis| axis.size).product(), 0.0);
        // The largest axis is innermost: all its values share the intersection of the other two.
        axes.sort_by_key(|axis| axis.size);
        let [a, b, c] = axes;
        let mut both = [0; WORDS];
        for k in 0..self.blocks() {
            for (i, row) in a.sets.block(k).iter().enumerate() {
                for (j, other) in b.sets.block(k).iter().enumerate() {
                    for ((both, &x), &y) in both.iter_mut().zip(row).zip(other) {
                        *both = x & y;
                    }
                    let start = i * a.stride + j * b.stride;
                    for (l, third) in c.sets.block(k).iter().enumerate() {
                        counts[start + l * c.stride] +=
                            f64::from(intersection_size(self.wide, &both, third));
                    }
                }
            }
        }
        infer_last(counts, c, &[(a, a.sets.values), (b, b.sets.values)], |at| {
            self.pair(a, at[0], b, at[1])
        });
        infer_last(counts, b, &[(a, a.sets.values), (c, c.size)], |at| {
            self.pair(a, at[0], c, at[1])
        });
        infer_last(counts, a, &[(b, b.size), (c, c.size)], |at| self.pair(b, at[0], c, at[1]));
    }

    /// Returns the number of records with value `i` of one attribute and `j` of another.
    fn pair(&self, a: Axis<'_>, i: usize, b: Axis<'_>, j: usize) -> f64 {
        let count = self.sets.len();
        if a.position < b.position {
            self.pairs[a.position * count + b.position][i * b.size + j]
        } else {
            self.pairs[b.position * count + a.position][j * a.size + i]
        }
    }
}

/// Computes the cells with the last value along `axis` from the sums over the axis.
///
/// At every point of the other axes, up to the given numbers of values, the last cell is `total` of
/// the point minus the other cells. Sums of integers below 2⁵³ are exact.
fn infer_last(
    counts: &mut [f64],
    axis: Axis<'_>,
    others: &[(Axis<'_>, usize)],
    total: impl Fn([usize; 2]) -> f64,
) {
    let (first, firsts) = others[0];
    let (stride, seconds) =
        others.get(1).map_or((0, 1), |&(second, values)| (second.stride, values));
    for i in 0..firsts {
        for j in 0..seconds {
            let start = i * first.stride + j * stride;
            let known: f64 = (0..axis.sets.values).map(|l| counts[start + l * axis.stride]).sum();
            counts[start + axis.sets.values * axis.stride] = total([i, j]) - known;
        }
    }
}

/// Records that a thread counts at a time: the bit sets of a part take 16 KiB per value.
const PART: usize = 1 << 17;

/// Maximum cells of the marginals that are counted in one pass over the records.
const MAX_CELLS: usize = 1 << 22;

/// Returns an upper bound on the memory of [`Records::count_each`] in bytes, on this machine and
/// without the records, for marginals on some attributes that have `cells` cells in total.
pub fn counting_bytes(sizes: &[usize], attributes: AttributeSet, cells: f64) -> f64 {
    let small = attributes.select(sizes).into_iter().filter(|size| *size <= MAX_SIZE_WITH_BIT_SETS);
    let bit_sets = small.sum::<usize>() * PART.div_ceil(64 * WORDS) * size_of::<[u64; WORDS]>();
    // The sums of a pass and the counts of a part.
    let per_core = bit_sets as f64 + 8.0 * (cells.min(MAX_CELLS as f64) + cells.min(PART as f64));
    cores() as f64 * per_core
}

/// Returns the number of threads that count.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

impl Records {
    /// Returns the marginals on many sets of attributes, each row-major in ascending order.
    ///
    /// [`Records::count_each`] passes them on one at a time.
    ///
    /// # Errors
    /// An attribute outside the schema, or a marginal of 2³² cells or more.
    pub fn marginals(&self, sets: &[AttributeSet]) -> Result<Vec<Vec<f64>>> {
        let mut marginals = Vec::with_capacity(sets.len());
        self.count_each(sets, |counts| {
            marginals.push(counts.to_vec());
            Ok(())
        })?;
        Ok(marginals)
    }

    /// Counts many marginals on all cores, and passes them to `f` in the order of the sets. A
    /// marginal with more cells than a part has records is counted alone, on one core.
    ///
    /// *Memory*: 8 bytes per cell and core, for at most 2²² cells at a time, or 8 bytes per cell of
    /// one large marginal; and 16 KiB per core and value of a small attribute.
    ///
    /// # Errors
    /// Those of `f`; an attribute outside the schema, or a marginal of 2³² cells or more.
    pub fn count_each(
        &self,
        sets: &[AttributeSet],
        mut f: impl FnMut(&[f64]) -> Result<()>,
    ) -> Result<()> {
        let cells = sets.iter().map(|set| self.cells(*set)).collect::<Result<Vec<_>>>()?;
        let mut start = 0;
        while start < sets.len() {
            let (mut end, mut total) = (start, 0);
            while end < sets.len() && cells[end] <= PART && total + cells[end] <= MAX_CELLS {
                total += cells[end];
                end += 1;
            }
            if end == start {
                f(&self.marginal(sets[start])?)?;
                start += 1;
                continue;
            }
            for counts in self.count_pass(&sets[start..end], &cells[start..end])? {
                f(&counts)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Counts marginals in one pass over the records. Sums of integers do not depend on the order
    /// of threads.
    fn count_pass(&self, sets: &[AttributeSet], cells: &[usize]) -> Result<Vec<Vec<f64>>> {
        let parts = self.len().div_ceil(PART);
        let cores = cores().min(parts);
        let needed = Needed::of_marginals(sets);
        let next = AtomicUsize::new(0);
        let count_parts = || -> Result<Vec<Vec<f64>>> {
            let mut sums: Vec<Vec<f64>> = cells.iter().map(|&cells| vec![0.0; cells]).collect();
            let mut counts = Vec::new();
            loop {
                let start = next.fetch_add(1, Ordering::Relaxed).saturating_mul(PART);
                if start >= self.len() {
                    return Ok(sums);
                }
                let part = start..self.len().min(start + PART);
                let counter = MarginalCounter::of_part(self, part, &needed)?;
                for (set, sums) in sets.iter().zip(&mut sums) {
                    counter.count_into(*set, &mut counts)?;
                    add(sums, &counts);
                }
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..cores).map(|_| scope.spawn(count_parts)).collect();
            let mut sums = count_parts()?;
            for other in others {
                let counted = other.join().map_err(|_| {
                    Error::bug("counting of marginals", "a thread that returns", "a panic")
                })??;
                sums.iter_mut().zip(&counted).for_each(|(sums, counts)| add(sums, counts));
            }
            Ok(sums)
        })
    }
}

fn add(sums: &mut [f64], counts: &[f64]) {
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

/// Words of a block: 4 KiB, so that a few blocks fit the first-level cache.
const WORDS: usize = 512;

/// Returns |a ∩ b|, by the widest vector instructions of the processor at run time.
fn intersection_size(wide: Wide, a: &[u64; WORDS], b: &[u64; WORDS]) -> u32 {
    let mut size = 0;
    wide.run(Intersection { a, b, size: &mut size });
    size
}

struct Intersection<'a> {
    a: &'a [u64; WORDS],
    b: &'a [u64; WORDS],
    size: &'a mut u32,
}

impl Loops for Intersection<'_> {
    #[inline(always)]
    fn run(self) {
        *self.size = self.a.iter().zip(self.b).map(|(a, b)| (a & b).count_ones()).sum();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::test_support::{rng, schema, set};

    /// Skewed records: the square of a uniform number, so that last values are rare, and absent
    /// from small tables.
    fn skewed(sizes: &[usize], count: usize, seed: u64) -> Records {
        let mut rng = rng(seed);
        let schema = schema(sizes);
        let columns = sizes
            .iter()
            .map(|&n| (0..count).map(|_| (rng.random::<f64>().powi(2) * n as f64) as u32).collect())
            .collect();
        Records::new(&schema, columns).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn bit_sets_and_direct_counting_agree(
            sizes in prop::collection::vec(
                prop_oneof![4 => 1usize..6, 1 => 6usize..40, 1 => Just(65usize)],
                3..6,
            ),
            count in prop_oneof![
                Just(0usize),
                1usize..200,
                30_000usize..70_000,
                // Several parts.
                Just(2 * PART + 100),
            ],
            seed in 0u64..1000,
        ) {
            let records = skewed(&sizes, count, seed);
            let d = sizes.len();
            let sets: Vec<AttributeSet> =
                (0..=4.min(d)).flat_map(|size| AttributeSet::first(d).of_size(size)).collect();
            for (&set, counted) in sets.iter().zip(records.marginals(&sets).unwrap()) {
                let expected = records.marginal(set).unwrap();
                prop_assert_eq!(counted, expected, "{:?} of {:?}", set, &sizes);
            }
        }
    }

    #[test]
    fn large_marginals_are_counted_in_the_order_of_the_sets() {
        let records = skewed(&[400, 3, 500, 2, 40], 5000, 1);
        let sets: Vec<AttributeSet> =
            [&[0usize, 2][..], &[1, 3], &[2], &[0, 1, 2], &[], &[0, 4]].map(set).to_vec();
        const { assert!(400 * 500 > PART) };
        for (&set, counted) in sets.iter().zip(records.marginals(&sets).unwrap()) {
            assert_eq!(counted, records.marginal(set).unwrap(), "{set:?}");
        }
        let refuse = || Error::bug("a marginal", "none", "one");
        let mut passed = 0;
        let stopped = records.count_each(&sets, |_| {
            passed += 1;
            if passed == 3 { Err(refuse()) } else { Ok(()) }
        });
        assert!(stopped.is_err() && passed == 3);
    }

    #[test]
    fn the_memory_of_counting_is_that_of_bit_sets_and_sums() {
        let records = skewed(&[2, 3, 40, 70], PART, 1);
        let all = AttributeSet::first(4);
        let sets: Vec<AttributeSet> = all.of_size(2).collect();
        let cells: usize = sets.iter().map(|set| records.cells(*set).unwrap()).sum();
        let needed = Needed::of_marginals(&sets);
        let counter = MarginalCounter::of_part(&records, 0..PART, &needed).unwrap();
        let rows = counter.sets.iter().flatten().map(|sets| size_of_val(sets.rows.as_slice()));
        let used = (rows.sum::<usize>() + 8 * cells) as f64;
        let bound = counting_bytes(records.sizes(), all, cells as f64) / cores() as f64;
        assert!(used <= bound && bound <= 1.2 * used, "{used} of {bound}");
    }

    #[test]
    fn bit_sets_are_used_where_they_are_cheaper() {
        let records = skewed(&[2, 3, 4, 30, 40, 65], 40_000, 1);
        let counter = MarginalCounter::new(&records).unwrap();
        assert!(counter.axes::<3>(set(&[0, 1, 2])).is_some());
        assert!(counter.axes::<3>(set(&[2, 3, 4])).is_none());
        assert!(counter.axes::<3>(set(&[0, 1, 5])).is_none());
        assert!(counter.axes::<3>(set(&[0, 1])).is_none());
        assert!(counter.count_into(set(&[0, 1, 6]), &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn sizes_match_bit_by_bit_counts(
            a in prop::collection::vec(any::<u64>(), WORDS),
            b in prop::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()], WORDS),
        ) {
            let bits = |word: u64| (0..64).filter(|i| word >> i & 1 == 1).count();
            let expected: usize = a.iter().zip(&b).map(|(a, b)| bits(a & b)).sum();
            let a: [u64; WORDS] = a.try_into().unwrap();
            let b: [u64; WORDS] = b.try_into().unwrap();
            prop_assert_eq!(intersection_size(Wide::detect(), &a, &b) as usize, expected);
        }
    }

    #[test]
    fn full_sets_intersect_in_every_record() {
        assert_eq!(
            intersection_size(Wide::detect(), &[u64::MAX; WORDS], &[u64::MAX; WORDS]),
            64 * WORDS as u32
        );
    }
}
