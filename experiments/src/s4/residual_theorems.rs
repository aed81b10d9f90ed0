//! Numerical checks of Theorems 3.2 and 5.1 of S4: the cost of Decomp and Recon, and the privacy
//! cost of AIM+GReM.

use matmech::access::{CandidateSelection, Candidates, PaidAccess, PrivateTable, Question};
use matmech::data::Records;
use matmech::domain::{AttributeKind, AxisSet};
use matmech::estimation::MarginalEstimates;
use matmech::mechanism::aim_grem;
use matmech::privacy::{NoiseStream, Rho};
use matmech::residual::{decomp, recon};
use matmech::schema::Schema;
use matmech::workload::attribute_sets;
use rand_chacha::ChaCha20Rng;

use super::residual_matrices::{difference, random, squared_norm_of_a_record};
use crate::error::{Error, Result};

/// Sizes of the marginals on which Thm 3.2 is checked.
const SHAPES: [&[usize]; 4] = [&[5], &[3, 4, 2], &[2, 5, 3, 2], &[7, 2, 2, 3, 2]];

/// Returns the largest number of cells that Decomp and Recon visit, over |γ| n_γ (Thm 3.2).
///
/// Both are computed axis by axis: a pass applies Decomp or Recon of one attribute to every line of
/// the array along that axis, and visits the cells of the larger of the two arrays. The results are
/// those of [`decomp`] and [`recon`] for all residuals of marginals on one to five attributes.
///
/// # Errors
/// A result that differs.
pub(super) fn visits_per_cell(rng: &mut ChaCha20Rng) -> Result<f64> {
    let mut largest: f64 = 0.0;
    for sizes in SHAPES {
        let cells: usize = sizes.iter().product();
        let unit = (sizes.len() * cells) as f64;
        for kept in AxisSet::subsets(sizes.len()) {
            // Attributes that are summed out first, as in Alg. 1; last in Alg. 2.
            let (inside, outside): (Vec<usize>, Vec<usize>) =
                (0..sizes.len()).partition(|axis| kept.contains(*axis));
            let marginal = random(cells, rng);
            let mut array = Array { shape: sizes.to_vec(), values: marginal.clone() };
            let mut visited = 0;
            for &axis in outside.iter().chain(&inside) {
                let of_line = AxisSet::of(1, |_| kept.contains(axis));
                visited +=
                    array.pass(axis, &|line| Ok(decomp(line, &sizes[axis..=axis], of_line)?))?;
            }
            agree("Decomp", &array.values, &decomp(&marginal, sizes, kept)?)?;
            largest = largest.max(visited as f64 / unit);

            let residual = random(array.values.len(), rng);
            array.values.clone_from(&residual);
            visited = 0;
            for &axis in inside.iter().chain(&outside) {
                let of_line = AxisSet::of(1, |_| kept.contains(axis));
                visited +=
                    array.pass(axis, &|line| Ok(recon(line, &sizes[axis..=axis], of_line)?))?;
            }
            agree("Recon", &array.values, &recon(&residual, sizes, kept)?)?;
            largest = largest.max(visited as f64 / unit);
        }
    }
    Ok(largest)
}

fn agree(what: &str, found: &[f64], expected: &[f64]) -> Result<()> {
    if found.len() == expected.len() && difference(found, expected) < 1e-12 {
        return Ok(());
    }
    Err(Error::bug(what, "the same values axis by axis", "other values"))
}

/// A row-major array.
struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Array {
    /// Replaces every line along an axis, and returns the cells of the larger array.
    fn pass(&mut self, axis: usize, of_line: &dyn Fn(&[f64]) -> Result<Vec<f64>>) -> Result<usize> {
        let length = self.shape[axis];
        let inner: usize = self.shape[axis + 1..].iter().product();
        let outer: usize = self.shape[..axis].iter().product();
        let (before, mut result, mut new_length) = (self.values.len(), Vec::new(), 0);
        for block in 0..outer {
            for offset in 0..inner {
                let at = |k: usize| (block * length + k) * inner + offset;
                let line: Vec<f64> = (0..length).map(|k| self.values[at(k)]).collect();
                let line = of_line(&line)?;
                new_length = line.len();
                result.resize(outer * new_length * inner, 0.0);
                for (k, value) in line.into_iter().enumerate() {
                    result[(block * new_length + k) * inner + offset] = value;
                }
            }
        }
        self.shape[axis] = new_length;
        self.values = result;
        Ok(before.max(self.values.len()))
    }
}

/// Returns the largest privacy cost of a run of AIM+GReM over its budget (Thm 5.1).
///
/// The cost is that of the noise that was drawn, computed from what the mechanism asked: half the
/// squared norm of a record's residual over the variance for every measurement, and ε²/8 for every
/// selection (S4, App. B).
pub(super) fn cost_over_budget(rng: &mut ChaCha20Rng) -> Result<f64> {
    let schema = Schema::of_sizes(&[3, 4, 2, 5], AttributeKind::Categorical)?;
    let records = Records::uniform(&schema, 500, rng)?;
    let workload = attribute_sets(&schema, &[3])?;
    let mut largest: f64 = 0.0;
    for budget in [1e-3, 0.1, 2.0] {
        let rho = Rho::new(budget)?;
        let mut table = PrivateTable::of_records(&records, rho, rng)?;
        let mut recorded = Recorded { inner: &mut table, cost: 0.0 };
        aim_grem::run(&schema, &workload, &mut recorded)?;
        largest = largest.max(recorded.cost / budget);
    }
    Ok(largest)
}

/// Access that adds up the privacy cost of everything asked.
struct Recorded<'a> {
    inner: &'a mut dyn PaidAccess,
    cost: f64,
}

impl PaidAccess for Recorded<'_> {
    fn sizes(&self) -> &[usize] {
        self.inner.sizes()
    }

    fn total(&self) -> Rho {
        self.inner.total()
    }

    fn remaining(&self) -> Option<Rho> {
        self.inner.remaining()
    }

    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> matmech::Result<()>,
    ) -> matmech::Result<()> {
        self.cost += rho.get();
        self.inner.reserved(what, rho, measure)
    }

    fn measure(
        &mut self,
        question: &Question<'_>,
        stream: NoiseStream,
    ) -> matmech::Result<Vec<f64>> {
        self.cost += match *question {
            Question::Marginal { variance, .. } => 0.5 / variance,
            Question::Residual { attributes, variance } => {
                let sizes = attributes.select(self.inner.sizes());
                0.5 * squared_norm_of_a_record(&sizes)? / variance
            }
            Question::Strategy { privacy_cost, .. } => 0.5 * privacy_cost.get(),
        };
        self.inner.measure(question, stream)
    }

    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> matmech::Result<usize> {
        self.cost += selection.epsilon.powi(2) / 8.0;
        self.inner.select(selection, candidates, estimates)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn every_attribute_needs_at_most_one_pass_over_the_marginal() {
        let largest = visits_per_cell(&mut ChaCha20Rng::seed_from_u64(1)).unwrap();
        assert!((largest - 1.0).abs() < 1e-12, "{largest}");
    }

    #[test]
    fn the_budget_is_spent_and_not_exceeded() {
        let largest = cost_over_budget(&mut ChaCha20Rng::seed_from_u64(2)).unwrap();
        assert!(largest <= 1.0 && largest > 1.0 - 1e-9, "{largest}");
    }
}
