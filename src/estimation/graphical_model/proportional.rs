//! The graphical model of given marginals, by iterative proportional fitting.

use super::calibrated::CalibratedTree;
use super::junction_tree::JunctionTree;
use super::table::Projection;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};

/// The criteria for the end of iterative proportional fitting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProportionalFit {
    /// Maximum number of sweeps.
    pub sweeps: usize,
    /// The fit ends when no marginal differed by more than this share of the records, in L1, when it
    /// was fitted.
    pub tolerance: f64,
}

/// The marginals that lie in one clique: the projection of the clique, and the cells.
type OfClique<'a> = Vec<(Projection, &'a [f64])>;

impl ProportionalFit {
    /// Returns the distribution of maximum entropy with the given marginals, and the number of sweeps.
    ///
    /// A sweep is one depth-first traversal of the junction tree of the sets. At a clique, its table is
    /// multiplied by y/μ for every marginal y in it, with μ the sum of the table; cells with μ = 0
    /// remain 0. Messages to a child and back keep all tables consistent with one distribution.
    /// Marginals of one table of records are consistent, and the fit converges to them. It is slow if
    /// the solution has zeros that no marginal has. Marginals on subsets of other sets follow from
    /// these and are not fitted. *Time* of a sweep: O(cells of the model · marginals per clique).
    /// *Reference*: Jiroušek and Přeučil, On the effective implementation of the iterative proportional
    /// fitting procedure (1995).
    ///
    /// # Errors
    /// No marginals, attributes that the schema lacks, a set that is not among the attributes, a wrong
    /// number of cells, cells that are negative or not finite, or a marginal without records.
    pub fn fit(
        &self,
        sizes: &[usize],
        attributes: AttributeSet,
        marginals: &[(AttributeSet, Vec<f64>)],
    ) -> Result<(CalibratedTree, usize)> {
        let mut largest: Vec<&(AttributeSet, Vec<f64>)> = Vec::new();
        for (index, marginal) in marginals.iter().enumerate() {
            let implies = |(other, (set, _)): (usize, &(AttributeSet, Vec<f64>))| {
                marginal.0.is_subset(*set) && (marginal.0 != *set || other < index)
            };
            if !marginals.iter().enumerate().any(implies) {
                largest.push(marginal);
            }
        }
        let sets: Vec<AttributeSet> = largest.iter().map(|(set, _)| *set).collect();
        let tree = JunctionTree::new(sizes, attributes, &sets)?;
        let mut of_cliques: Vec<OfClique<'_>> = vec![Vec::new(); tree.cliques().len()];
        for (set, cells) in &largest {
            let expected: usize = set.select(sizes).iter().product();
            let is_count = |x: &f64| *x >= 0.0 && x.is_finite();
            let sum: f64 = cells.iter().sum();
            if cells.len() != expected || !cells.iter().all(is_count) || sum <= 0.0 {
                return Err(Error::bad_input(
                    format!("iterative proportional fitting, marginal on {set:?}"),
                    format!("{expected} finite numbers of at least 0, not all 0"),
                    format!("{} numbers with sum {sum}", cells.len()),
                    "pass the exact marginals of a table of records",
                ));
            }
            let clique = tree.clique_of(sizes, *set).ok_or_else(|| {
                Error::bug("proportional fit", "a clique for every marginal", format!("{set:?}"))
            })?;
            let projection = Projection::new(sizes, tree.cliques()[clique], *set);
            of_cliques[clique].push((projection, cells));
        }
        let Some((_, cells)) = largest.first() else {
            return Err(Error::bad_input(
                "iterative proportional fitting",
                "at least one marginal",
                "none",
                "pass the marginals of a table of records",
            ));
        };
        let uniform = |set: &AttributeSet| vec![0.0; set.select(sizes).iter().product()];
        let potentials = tree.cliques().iter().map(uniform).collect();
        let total = cells.iter().sum();
        let mut model = CalibratedTree::of_potentials(sizes, &tree, potentials, total);
        let mut sweeps = 0;
        while sweeps < self.sweeps {
            sweeps += 1;
            let mut misfit = 0.0;
            traverse(&mut model, &of_cliques, 0, &mut misfit);
            for clique in 1..model.tree().cliques().len() {
                model.pass(clique, false);
            }
            if misfit <= self.tolerance * total {
                break;
            }
        }
        Ok((model, sweeps))
    }
}

/// Fits the marginals of a clique and of its subtree; raises `misfit` to the largest L1 difference.
fn traverse(
    model: &mut CalibratedTree,
    of_cliques: &[OfClique<'_>],
    clique: usize,
    misfit: &mut f64,
) {
    for (projection, target) in &of_cliques[clique] {
        let table = &mut model.tables[clique];
        let mut ratios = projection.reduced(table, 0.0, |sum, x| *sum += x);
        let differences = ratios.iter().zip(*target).map(|(sum, y)| (sum - y).abs());
        *misfit = misfit.max(differences.sum());
        for (ratio, y) in ratios.iter_mut().zip(*target) {
            *ratio = if *ratio > 0.0 { y / *ratio } else { 0.0 };
        }
        projection.apply(table, &ratios, |x, ratio| *x *= ratio);
    }
    for k in 0..model.tree().children(clique).len() {
        let child = model.tree().children(clique)[k];
        model.pass(child, false);
        traverse(model, of_cliques, child, misfit);
        model.pass(child, true);
    }
}
