//! Block-diagonalisation of Gram matrices by the workload's symmetries.
//!
//! A permutation of the cells that leaves G unchanged leaves the dual problem unchanged. Because
//! the problem is concave, some optimal μ is constant on the orbits. For a group of commuting
//! involutions (reflections of attributes, swaps of two attributes) the space splits into one block
//! per character χ. In the basis `b_O = |O|^(−½) Σ_{j ∈ O} χ(j) e_j` over the orbits O, both G and
//! diag(μ) are block-diagonal, and diag(μ) keeps its entries. One reflection reduces the cost of an
//! eigendecomposition to a quarter.

use ndarray::{Array2, ArrayView2};

use super::answered;
use crate::domain::{cell_index, coordinates};
use crate::error::Result;
use matmech_linalg as linalg;

/// Maximum number of involutions; the number of blocks doubles with each.
const MAX_INVOLUTIONS: usize = 10;

/// Relative tolerance for equal entries of workloads, as a share of the largest one.
pub(super) const EQUAL: f64 = 1e-12;

/// The same for strategies, which are symmetric up to the accuracy of their weights.
const EQUAL_WEIGHTS: f64 = 1e-10;

/// The orbits of the cells under the workload's symmetries, and the basis vectors of every
/// character.
pub(super) struct Orbits {
    /// The orbit of every cell.
    pub orbit_of: Vec<usize>,
    /// The number of cells of every orbit.
    pub sizes: Vec<f64>,
    /// The characters with at least one basis vector.
    pub characters: Vec<Character>,
    /// The first cell of every orbit.
    representatives: Vec<usize>,
    /// For every cell, the group element (a bit mask) that maps its orbit's representative to it.
    element_of: Vec<usize>,
}

/// One character of the group.
pub(super) struct Character {
    /// A bit mask over the involutions.
    mask: usize,
    /// The orbit of every basis vector.
    pub orbits: Vec<usize>,
}

/// A Gram matrix in symmetry-adapted coordinates.
pub(super) struct Reduction {
    /// The coordinates.
    pub orbits: Orbits,
    /// One block per character, basis vectors × basis vectors.
    pub blocks: Vec<Array2<f64>>,
}

/// Returns the value of a character on a group element.
fn sign(character: usize, element: usize) -> f64 {
    if (character & element).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

impl Orbits {
    /// Finds the orbits under the candidate symmetries of a box that leave the workload
    /// `invariant`.
    pub fn of(shape: &[usize], invariant: &dyn Fn(&[usize]) -> bool) -> Self {
        let cells = shape.iter().product();
        let elements = group(shape, cells, invariant);
        let (mut orbit_of, mut element_of) = (vec![usize::MAX; cells], vec![0; cells]);
        let mut representatives = Vec::new();
        let mut sizes: Vec<f64> = Vec::new();
        for cell in 0..cells {
            if orbit_of[cell] != usize::MAX {
                continue;
            }
            let mut size = 0.0;
            for (mask, image) in elements.iter().enumerate() {
                let image = image[cell];
                if orbit_of[image] == usize::MAX {
                    orbit_of[image] = representatives.len();
                    element_of[image] = mask;
                    size += 1.0;
                }
            }
            representatives.push(cell);
            sizes.push(size);
        }
        let characters = (0..elements.len())
            .map(|mask| {
                // A basis vector is zero if the character is −1 on an element that fixes the
                // orbit's cells.
                let is_non_zero = |o: &usize| {
                    let cell = representatives[*o];
                    elements.iter().enumerate().all(|(m, g)| g[cell] != cell || sign(mask, m) > 0.0)
                };
                Character { mask, orbits: (0..representatives.len()).filter(is_non_zero).collect() }
            })
            .filter(|character| !character.orbits.is_empty())
            .collect();
        Orbits { orbit_of, sizes, characters, representatives, element_of }
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.orbit_of.len()
    }

    /// Returns, for every cell, the basis vector that is non-zero there and its entry.
    ///
    /// `None` for a cell where all basis vectors of the character are zero.
    pub fn entries(&self, character: &Character) -> Vec<Option<(usize, f64)>> {
        let mut position = vec![None; self.sizes.len()];
        for (k, &o) in character.orbits.iter().enumerate() {
            position[o] = Some(k);
        }
        self.orbit_of
            .iter()
            .zip(&self.element_of)
            .map(|(&o, &element)| {
                Some((position[o]?, sign(character.mask, element) / self.sizes[o].sqrt()))
            })
            .collect()
    }

    /// Returns the blocks of an invariant matrix, one per character, basis vectors × basis vectors.
    ///
    /// O(cells²).
    fn blocks(&self, gram: ArrayView2<'_, f64>) -> Vec<Array2<f64>> {
        let mut members = vec![Vec::new(); self.sizes.len()];
        for (cell, &orbit) in self.orbit_of.iter().enumerate() {
            members[orbit].push(cell);
        }
        let block = |character: &Character| {
            let orbits = &character.orbits;
            let mut block = Array2::zeros((orbits.len(), orbits.len()));
            for (a, &o) in orbits.iter().enumerate() {
                let row = gram.row(self.representatives[o]);
                for (b, &p) in orbits.iter().enumerate() {
                    let sum: f64 = members[p]
                        .iter()
                        .map(|&j| sign(character.mask, self.element_of[j]) * row[j])
                        .sum();
                    block[[a, b]] = sum * (self.sizes[o] / self.sizes[p]).sqrt();
                }
            }
            (&block + &block.t()) / 2.0
        };
        self.characters.iter().map(block).collect()
    }
}

/// Returns whether a permutation of the cells leaves a matrix unchanged, up to `tolerance` times
/// its largest diagonal entry.
fn keeps(matrix: ArrayView2<'_, f64>, tolerance: f64, permutation: &[usize]) -> bool {
    let scale = tolerance * matrix.diag().iter().copied().fold(0.0, f64::max);
    matrix.rows().into_iter().zip(permutation).enumerate().all(|(i, (row, &image))| {
        let image = matrix.row(image);
        row.iter().zip(permutation).take(i + 1).all(|(x, &j)| (x - image[j]).abs() <= scale)
    })
}

impl Reduction {
    /// Finds the symmetries of `gram` over a box of the given shape and splits it.
    ///
    /// O(candidates · cells²).
    pub fn of(shape: &[usize], gram: ArrayView2<'_, f64>) -> Self {
        let orbits = Orbits::of(shape, &|candidate| keeps(gram, EQUAL, candidate));
        let blocks = orbits.blocks(gram);
        Reduction { orbits, blocks }
    }

    /// Assembles blocks into cell coordinates: `Σ_χ B_χ X_χ B_χᵀ`. O(blocks · cells²).
    pub fn assemble(&self, parts: &[Array2<f64>]) -> Array2<f64> {
        let cells = self.orbits.orbit_of.len();
        let mut out = Array2::zeros((cells, cells));
        for (character, part) in self.orbits.characters.iter().zip(parts) {
            let entries = self.orbits.entries(character);
            for (i, first) in entries.iter().enumerate() {
                let Some((a, x)) = first else { continue };
                for (j, second) in entries.iter().enumerate() {
                    if let Some((b, y)) = second {
                        out[[i, j]] += x * y * part[[*a, *b]];
                    }
                }
            }
        }
        out
    }
}

/// Returns `tr(G V⁺)` of a strategy over a box, in the blocks of the common symmetries.
///
/// O(cells³ / blocks²) time.
///
/// # Errors
/// The strategy does not answer the workload, or the eigensolver fails.
pub(super) fn error_trace(
    strategy: &str,
    shape: &[usize],
    g: &Array2<f64>,
    v: &Array2<f64>,
) -> Result<f64> {
    let both = |candidate: &[usize]| {
        keeps(g.view(), EQUAL, candidate) && keeps(v.view(), EQUAL_WEIGHTS, candidate)
    };
    let orbits = Orbits::of(shape, &both);
    let (workload_blocks, strategy_blocks) = (orbits.blocks(g.view()), orbits.blocks(v.view()));
    // In a block with only rounding errors the workload has no queries, and the strategy may be
    // zero.
    let rounding = g.nrows() as f64 * f64::EPSILON * g.diag().sum();
    let parts =
        workload_blocks.iter().zip(&strategy_blocks).filter(|(g, _)| g.diag().sum() > rounding);
    parts.map(|(g, v)| answered(strategy, linalg::trace_of_quotient(g.view(), v.view())?)).sum()
}

/// Returns all elements of a group of commuting involutions under which the workload is invariant.
///
/// Elements are permutations of the cells; element k is the product of the involutions whose bits
/// are set in k.
fn group(shape: &[usize], cells: usize, invariant: &dyn Fn(&[usize]) -> bool) -> Vec<Vec<usize>> {
    let mut elements: Vec<Vec<usize>> = vec![(0..cells).collect()];
    let mut involutions = 0;
    for candidate in candidates(shape, cells) {
        if involutions == MAX_INVOLUTIONS || elements.contains(&candidate) {
            continue;
        }
        let commutes =
            elements.iter().all(|g| (0..cells).all(|c| g[candidate[c]] == candidate[g[c]]));
        if commutes && invariant(&candidate) {
            let composed: Vec<Vec<usize>> =
                elements.iter().map(|g| candidate.iter().map(|&c| g[c]).collect()).collect();
            elements.extend(composed);
            involutions += 1;
        }
    }
    elements
}

/// Returns reflections of single attributes, the reflection of all, and swaps of attributes of
/// equal size.
fn candidates(shape: &[usize], cells: usize) -> Vec<Vec<usize>> {
    let permutation = |f: &dyn Fn(&mut Vec<usize>)| -> Vec<usize> {
        (0..cells)
            .map(|cell| {
                let mut coordinates_of_cell = coordinates(shape, cell);
                f(&mut coordinates_of_cell);
                cell_index(shape, &coordinates_of_cell)
            })
            .collect()
    };
    let mut out = Vec::new();
    for axis in 0..shape.len() {
        out.push(permutation(&|coordinates_of_cell| {
            coordinates_of_cell[axis] = shape[axis] - 1 - coordinates_of_cell[axis]
        }));
    }
    if shape.len() > 1 {
        out.push(permutation(&|coordinates_of_cell| {
            coordinates_of_cell.iter_mut().zip(shape).for_each(|(c, n)| *c = n - 1 - *c)
        }));
    }
    for a in 0..shape.len() {
        for b in a + 1..shape.len() {
            if shape[a] == shape[b] {
                out.push(permutation(&|coordinates_of_cell| coordinates_of_cell.swap(a, b)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::gram;
    use crate::workload::Workload;
    use approx::assert_abs_diff_eq;

    #[test]
    fn assembled_blocks_are_the_gram() {
        for (text, orbits, blocks) in [
            ("range:7", 4, 2),
            ("prefix:5", 5, 1),
            ("residual(affine:6x6)", 12, 4),
            ("residual(abs:5x5)", 9, 4),
            ("range-sample(queries=9):3x3", 9, 1),
        ] {
            let workload = Workload::parse(text).unwrap();
            let gram = workload.gram().unwrap().to_dense().unwrap();
            let reduction = Reduction::of(workload.shape(), gram.view());
            assert_eq!(
                (reduction.orbits.sizes.len(), reduction.blocks.len()),
                (orbits, blocks),
                "{text}"
            );
            assert_eq!(
                reduction.blocks.iter().map(|b| b.nrows()).sum::<usize>(),
                workload.cells(),
                "{text}"
            );
            assert_abs_diff_eq!(reduction.assemble(&reduction.blocks), gram, epsilon = 1e-11);
        }
    }

    #[test]
    fn reflections_of_every_attribute_diagonalise_binary_domains() {
        let gram = gram("range:2^6").to_dense().unwrap();
        let reduction = Reduction::of(&[2; 6], gram.view());
        assert_eq!((reduction.orbits.sizes.len(), reduction.blocks.len()), (1, 64));
    }
}
