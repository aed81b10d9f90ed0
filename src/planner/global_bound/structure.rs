//! What a workload must look like for the structured bound, and its parts.

use std::collections::BTreeMap;

use ndarray::Array2;

use super::exchangeable::Exchangeable;
use super::pairs::Pairs;
use crate::planner::anova::Classes;
use crate::residual::ReferenceMeasure;
use crate::workload::{Family, GroupQueries, GroupedWorkload};

/// Weights are at least this share of the uniform ones.
const LEAST: f64 = 1e-6;

/// One attribute's Grams.
#[derive(Debug, Clone)]
pub(super) struct AxisGrams {
    /// The class of attributes that share weights.
    pub class: usize,
    /// That of its queries in pairs; of its queries alone if it is in none.
    pub gram: Array2<f64>,
    /// The weighted sum of those of its queries alone, if they are of another family.
    pub alone: Option<Array2<f64>>,
}

/// How the matrix is taken apart.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// All attributes alike: one axis stands for all.
    Exchangeable(Exchangeable),
    /// Anything else.
    Pairs(Pairs),
}

/// A workload of product queries on one and two attributes.
#[derive(Debug, Clone)]
pub(super) struct Structure {
    /// The attributes, or the one that stands for all.
    pub axes: Vec<AxisGrams>,
    /// The class of every attribute of the schema.
    pub classes: Vec<usize>,
    /// The number of values of every class.
    pub class_sizes: Vec<usize>,
    /// How the matrix is taken apart.
    pub form: Form,
}

impl Structure {
    /// The structure of a workload, or why it has none.
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
            let own = match group.queries() {
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
                .get_or_insert_with(|| Array2::zeros(own.dim()))
                .scaled_add(group.weight(), &own);
        }
        let classes = Classes::of(workload);
        let mut axes = Vec::with_capacity(sizes.len());
        for (position, &n) in sizes.iter().enumerate() {
            let (own, alone) = match (pair_family[position], alone[position].take()) {
                (Some(family), alone) => (gram(family, n)?, alone),
                (None, Some(alone)) => {
                    singles[position] = 1.0;
                    (alone, None)
                }
                // Nothing is asked of it: every query sums over it.
                (None, None) => (Array2::ones((n, n)), None),
            };
            axes.push(AxisGrams { class: classes.of[position], gram: own, alone });
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

    /// The rows of the dense block.
    pub fn dense_rows(&self) -> usize {
        1 + self.axes.iter().map(|axis| axis.gram.nrows() - 1).sum::<usize>()
    }

    /// The logarithms of a measure's weights, one stretch per class; those that are tiny or
    /// negative are raised.
    pub fn logits(&self, measure: &ReferenceMeasure) -> Vec<f64> {
        let first = |class: usize| self.classes.iter().position(|&c| c == class).unwrap_or(0);
        let one = |class: usize| {
            let weights = measure.of_attribute(first(class)).to_vec();
            let least = LEAST / weights.len() as f64;
            weights.into_iter().map(move |w| w.max(least).ln())
        };
        (0..self.class_sizes.len()).flat_map(one).collect()
    }
}

/// Whether all attributes have the same Gram, the same weight alone, and the same in all pairs.
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
