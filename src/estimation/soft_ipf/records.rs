//! Fitted models from which synthetic records can be drawn, and the records of a soft model with
//! measured sets outside its tree.

use rand::Rng;

use super::SoftIpf;
use super::record_fit::RecordFit;
use crate::data::{Column, Records};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::estimation::graphical_model::{CalibratedTree, Draws};
use crate::schema::Schema;

/// Number of sweeps over the records.
const SWEEPS: usize = 2;

/// Maximum total number of cells of the marginals that records are moved to.
const MAX_CELLS: usize = 1 << 23;

impl SoftIpf {
    /// Returns `count` synthetic records.
    ///
    /// They are drawn from the junction tree by systematic sampling: within the records of equal
    /// values on a separator, every cell of a clique gets its expected number, rounded up or down.
    /// Two sweeps then move them towards the estimates of all pairs and of the larger sets outside
    /// the tree that have at most `count` cells, so measurements outside the tree count too. The
    /// smallest marginals are used, up to 2²³ cells in total.
    ///
    /// No record has values that the schema declares impossible together. Levels that the model has
    /// after the attributes of the schema are functions of these; marginals on levels outside the
    /// tree do not enter the records.
    ///
    /// The records depend only on the model, `count` and `rng`. *Time*: O(cells of the model +
    /// count · (cliques · log cells + attributes · Σ sizes)). *Memory*: 16 bytes per cell of a
    /// pair, and the records.
    ///
    /// # Errors
    /// A schema of other sizes, an attribute that the model lacks, a model without records, or
    /// impossible combinations that leave some record without an allowed value.
    pub fn records(&self, schema: &Schema, count: usize, rng: &mut dyn Rng) -> Result<Records> {
        let columns = self.tree().columns(schema, count, Draws::Systematic, rng)?;
        let sizes = schema.sizes();
        let mut fit = RecordFit::new(&sizes, columns);
        let mut cells = 0;
        for set in self.sets_for_records(AttributeSet::first(sizes.len()), count) {
            cells += set.select(&sizes).iter().product::<usize>();
            if cells > MAX_CELLS {
                break;
            }
            fit.add(set.positions().collect(), &self.marginal(set)?);
        }
        for cells in schema.impossible() {
            fit.forbid(cells);
        }
        for _ in 0..SWEEPS {
            fit.sweep(rng);
        }
        fit.check(schema)?;
        Records::new(schema, fit.into_columns().into_iter().map(Column::from_iter).collect())
    }

    /// Returns the sets of the given attributes whose marginals the records are moved to, those of
    /// fewest cells first.
    fn sets_for_records(&self, among: AttributeSet, count: usize) -> Vec<AttributeSet> {
        let sizes = self.residuals.sizes();
        let cells = |set: AttributeSet| {
            set.select(sizes).iter().fold(1usize, |cells, n| cells.saturating_mul(*n))
        };
        let attributes = self.tree().attributes().intersection(among);
        let larger = self.outside.iter().copied();
        let larger = larger.filter(|set| set.len() > 2 && set.is_subset(among));
        let mut sets: Vec<AttributeSet> =
            attributes.of_size(2).chain(larger.filter(|set| cells(*set) <= count)).collect();
        if attributes.len() == 1 {
            sets.push(attributes);
        }
        sets.sort_by_key(|set| (cells(*set), *set));
        sets
    }
}

/// A fitted model from which synthetic records can be drawn.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a run has one model")]
pub enum FittedModel {
    /// A junction tree.
    Tree(CalibratedTree),
    /// A junction tree with measured sets outside it.
    Soft(SoftIpf),
}

impl FittedModel {
    /// Returns the junction tree.
    pub fn tree(&self) -> &CalibratedTree {
        match self {
            FittedModel::Tree(tree) => tree,
            FittedModel::Soft(soft) => soft.tree(),
        }
    }

    /// Returns the estimated number of records.
    pub fn total(&self) -> f64 {
        self.tree().total()
    }

    /// Returns `count` synthetic records.
    ///
    /// Those of a junction tree alone are independent draws; see [`SoftIpf::records`] for the others.
    ///
    /// # Errors
    /// A schema of other sizes, an attribute that the model lacks, or a model without records.
    pub fn records(&self, schema: &Schema, count: usize, rng: &mut dyn Rng) -> Result<Records> {
        match self {
            FittedModel::Tree(tree) => tree.sample(schema, count, rng),
            FittedModel::Soft(soft) => soft.records(schema, count, rng),
        }
    }
}
