//! The structure of a workload for the structured bound.

use std::collections::BTreeMap;

use ndarray::Array2;

use super::exchangeable::Exchangeable;
use super::pairs::Pairs;
use crate::planner::anova::Classes;
use crate::planner::minimise::logarithms;
use crate::residual::ReferenceMeasure;
use crate::workload::{Family, GroupQueries, GroupedWorkload};

/// The minimum weight of a start, as a share of the uniform weight.
const MIN_SHARE: f64 = 1e-6;

/// The Grams of one attribute.
#[derive(Debug, Clone)]
pub(super) struct AxisGrams {
    /// The class of attributes that share weights.
    pub class: usize,
    /// The Gram of its queries in pairs, or of its single queries if it is in no pair.
    pub gram: Array2<f64>,
    /// The weighted sum of the Grams of its single queries, if they are of another family.
    pub alone: Option<Array2<f64>>,
}

/// The block structure of the matrix.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// All attributes are alike: one axis represents all.
    Exchangeable(Exchangeable),
    /// Any other workload.
    Pairs(Pairs),
}

/// A workload of product queries on one and two attributes.
#[derive(Debug, Clone)]
pub(super) struct Structure {
    /// The attributes, or the one that represents all.
    pub axes: Vec<AxisGrams>,
    /// The class of every attribute of the schema.
    pub classes: Vec<usize>,
    /// The number of values of every class.
    pub class_sizes: Vec<usize>,
    /// The block structure of the matrix.
    pub form: Form,
}

impl Structure {
    /// Returns the structure of a workload, or the reason why it has none.
    pub fn of(workload: &GroupedWorkload) -> std::result::Result<Self, String> {
        let sizes = workload.schema().sizes();
        let mut pair_family: Vec<Option<Family>> = vec![None; sizes.len()];
        let mut pairs: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for group in workload.groups() {
            let positions: Vec<usize> = group.attributes().positions().collect();
            match (group.queries(), positions.as_slice()) {
                (_, [_]) => {}
                (GroupQueries::Product(families), &[i, j]) => {
                    for (position, family) in [i, j].into_iter().zip(families) {
                        let known = pair_family[position].get_or_insert(*family);
                        if known != family {
                            let name = &workload.schema().attributes()[position].name;
                            return Err(format!(
                                "pairs of `{}` and of `{}` on {name}",
                                known.name(),
                                family.name()
                            ));
                        }
                    }
                    *pairs.entry((i, j)).or_default() += group.weight();
                }
                (GroupQueries::Joint(_), _) => {
                    return Err(format!("joint queries of `{}`", group.family()));
                }
                (_, more) => return Err(format!("queries on {} attributes", more.len())),
            }
        }
        let gram = |family: Family, n: usize| family.gram(&[n]).map_err(|e| e.to_string());
        let mut singles = vec![0.0; sizes.len()];
        let mut alone: Vec<Option<Array2<f64>>> = vec![None; sizes.len()];
        for group in workload.groups().iter().filter(|group| group.attributes().len() == 1) {
            let Some(position) = group.attributes().positions().next() else { continue };
            let single_gram = match group.queries() {
                GroupQueries::Product(families)
                    if pair_family[position] == families.first().copied() =>
                {
                    singles[position] += group.weight();
                    continue;
                }
                GroupQueries::Product(families) => gram(families[0], sizes[position])?,
                GroupQueries::Joint(queries) => queries.gram().map_err(|e| e.to_string())?,
            };
            alone[position]
                .get_or_insert_with(|| Array2::zeros(single_gram.dim()))
                .scaled_add(group.weight(), &single_gram);
        }
        let classes = Classes::of(workload);
        let mut axes = Vec::with_capacity(sizes.len());
        for (position, &n) in sizes.iter().enumerate() {
            let (gram, alone) = match (pair_family[position], alone[position].take()) {
                (Some(family), alone) => (gram(family, n)?, alone),
                (None, Some(alone)) => {
                    singles[position] = 1.0;
                    (alone, None)
                }
                // No query depends on it: every query sums over it.
                (None, None) => (Array2::ones((n, n)), None),
            };
            axes.push(AxisGrams { class: classes.of[position], gram, alone });
        }
        let form = match exchangeable(&axes, &singles, &pairs) {
            Some(form) => {
                axes.truncate(1);
                Form::Exchangeable(form)
            }
            None => Form::Pairs(Pairs {
                singles,
                pairs: pairs.into_iter().map(|((i, j), p)| (i, j, p)).collect(),
            }),
        };
        Ok(Structure { axes, classes: classes.of, class_sizes: classes.sizes, form })
    }

    /// Returns the rows of the dense block.
    pub fn dense_rows(&self) -> usize {
        1 + self.axes.iter().map(|axis| axis.gram.nrows() - 1).sum::<usize>()
    }

    /// Returns the logarithms of a measure's weights, one block per class.
    ///
    /// Small and negative weights are raised to a minimum.
    pub fn logits(&self, measure: &ReferenceMeasure) -> Vec<f64> {
        logarithms(measure, &self.classes, MIN_SHARE).into_iter().flatten().collect()
    }
}

/// Returns the exchangeable form if all attributes are alike.
///
/// They have the same Gram, the same weight alone, and the same weight in all pairs.
fn exchangeable(
    axes: &[AxisGrams],
    singles: &[f64],
    pairs: &BTreeMap<(usize, usize), f64>,
) -> Option<Exchangeable> {
    let (d, pair) = (axes.len(), *pairs.values().next()?);
    let alike = axes
        .iter()
        .all(|a| a.alone.is_none() && a.class == axes[0].class && a.gram == axes[0].gram)
        && singles.iter().all(|p| *p == singles[0])
        && pairs.len() == d * (d - 1) / 2
        && pairs.values().all(|p| *p == pair);
    alike.then_some(Exchangeable { d, single: singles[0], pair })
}
