//! Models from which synthetic records can be drawn.

use rand::Rng;

use super::graphical_model::CalibratedTree;
use super::soft_ipf::SoftIpf;
use crate::data::Records;
use crate::error::Result;
use crate::schema::Schema;

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
