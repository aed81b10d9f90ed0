//! The largest sum of terms that each depend on some binary choices.

use std::collections::BinaryHeap;

use crate::privacy::ExactRho;

/// Maximum number of choices in the search. With more, the terms' largest entries are added.
const MAX_CHOICES: usize = 128;

/// Maximum number of entries of all tables together.
const MAX_ENTRIES: usize = 1 << 22;

/// Maximum number of entries that the search reads.
const MAX_LOOKUPS: usize = 1 << 24;

/// Maximum number of partial choices in the queue.
const MAX_NODES: usize = 1 << 20;

/// Maximum number of bits of a sum in the search.
const BITS: u64 = 120;

/// A term: a table over its choices; the first choice is the highest bit of the index.
struct Table {
    choices: Vec<usize>,
    /// `levels[j][p]` is the largest entry whose first j choices are the bits of p.
    levels: Vec<Vec<u128>>,
}

/// The first `depth` choices, as bits. Ordered by its bound.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    bound: u128,
    depth: usize,
    chosen: u128,
}

/// Maximises Σ_A T_A over choices in {0, 1} by best-first search.
///
/// The bound of a partial choice is the sum of the terms' largest entries that agree with it.
pub(super) struct Corners {
    count: usize,
    tables: Vec<Table>,
    /// The search counts in multiples of 2^shift.
    shift: u64,
    trivial: ExactRho,
    fits: bool,
}

impl Corners {
    /// Creates the problem from terms with the costs of all their choices.
    ///
    /// A term with k choices, which must ascend, has 2^k costs.
    pub(super) fn new(count: usize, terms: Vec<(&[usize], Vec<ExactRho>)>) -> Self {
        let max = |costs: &[ExactRho]| costs.iter().max().cloned().unwrap_or_default();
        let trivial = terms.iter().fold(ExactRho::zero(), |sum, (_, costs)| sum.plus(&max(costs)));
        let entries: usize = terms.iter().map(|(_, costs)| 2 * costs.len()).sum();
        let fits = count <= MAX_CHOICES && entries <= MAX_ENTRIES;
        let shift = trivial.bits().saturating_sub(BITS);
        let table = |(choices, costs): (&[usize], Vec<ExactRho>)| {
            let mut levels =
                vec![costs.iter().map(|cost| cost.shifted_up(shift)).collect::<Vec<u128>>()];
            for _ in choices {
                let next =
                    levels[levels.len() - 1].chunks(2).map(|pair| pair[0].max(pair[1])).collect();
                levels.push(next);
            }
            levels.reverse();
            Table { choices: choices.to_vec(), levels }
        };
        let tables = if fits { terms.into_iter().map(table).collect() } else { Vec::new() };
        Corners { count, tables, shift, trivial, fits }
    }

    /// Returns the largest sum and `true`, or an upper bound on it and `false`.
    pub(super) fn largest(&self) -> (ExactRho, bool) {
        if !self.fits {
            return (self.trivial.clone(), false);
        }
        // For every choice: the tables that depend on it, and its position in each of them.
        let mut of_choice: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.count];
        for (index, table) in self.tables.iter().enumerate() {
            for (position, choice) in table.choices.iter().enumerate() {
                of_choice[*choice].push((index, position));
            }
        }
        let bound = self.tables.iter().map(|table| table.levels[0][0]).sum();
        let mut open = BinaryHeap::from([Node { bound, depth: 0, chosen: 0 }]);
        let mut lookups = 0;
        while let Some(node) = open.pop() {
            let is_complete = node.depth == self.count;
            if is_complete || lookups >= MAX_LOOKUPS || open.len() >= MAX_NODES {
                return (
                    ExactRho::of_shifted(node.bound, self.shift).min(self.trivial.clone()),
                    is_complete,
                );
            }
            lookups += of_choice[node.depth].len() + 1;
            let mut bounds = [node.bound; 2];
            for &(index, position) in &of_choice[node.depth] {
                let table = &self.tables[index];
                let before = table.choices[..position].iter();
                let prefix =
                    before.fold(0, |bits, choice| bits << 1 | (node.chosen >> choice & 1) as usize);
                for (choice, bound) in bounds.iter_mut().enumerate() {
                    *bound -= table.levels[position][prefix]
                        - table.levels[position + 1][prefix << 1 | choice];
                }
            }
            for (choice, bound) in bounds.into_iter().enumerate() {
                let chosen = node.chosen | (choice as u128) << node.depth;
                open.push(Node { bound, depth: node.depth + 1, chosen });
            }
        }
        (ExactRho::zero(), true)
    }
}
