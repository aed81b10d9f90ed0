//! Decomposition of a workload into residual subspaces (S3, Sec. 5 and 6.1).
//!
//! A query q on attributes S splits into one subquery per subset A ⊆ S,
//! `q (⊗_{i∈A} (I − J/n_i)) ⊗ (⊗_{i∉A} 1/n_i)`, over the marginal on A; subqueries of different A
//! are orthogonal and their answers add up to q's. The residual Gram of A is the sum over all
//! groups that contain A,
//!
//! ```text
//! G_A = Σ_groups w · Π_{i∉A} m_i · ⊗_{i∈A} C Γ_i C          C = I − J/n, m_i = 1ᵀΓ_i1/n_i²
//! ```
//!
//! for product families (for a reference measure ν_i, `I − ν_i 1ᵀ` from the right and ν_i take the
//! places of C and 1/n_i); joint queries contribute one dense matrix over A. Here it is kept as a
//! sum of such terms with equal ones merged: O(Σ_groups 2^|S|) time and memory, whatever the sizes.

use std::collections::{BTreeMap, HashMap};

use super::kernel::{Axis, Kernel};
use crate::domain::{AttributeKind, AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::ReferenceMeasure;
use crate::workload::{GroupQueries, GroupedWorkload, QueryGroup};

/// Groups over more attributes than this have too many subsets to go through.
const MOST_ATTRIBUTES_OF_A_GROUP: usize = 20;

/// The place of a kernel in its [`Decomposition`].
pub type KernelId = usize;

/// `coefficient · ⊗ kernels`: one kernel per attribute of A, or a single one over all of A.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The sum of the coefficients of all groups that contribute this product.
    pub coefficient: f64,
    /// The kernels, in the order of the attributes; empty for A = ∅.
    pub kernels: Vec<KernelId>,
}

/// The residual problem of one attribute set.
#[derive(Debug, Clone)]
pub struct ResidualProblem {
    /// A.
    pub attributes: AttributeSet,
    /// The sizes of A's attributes, in the order of the schema.
    pub sizes: Vec<usize>,
    /// The kinds of A's attributes.
    pub kinds: Vec<AttributeKind>,
    /// G_A, as a sum; no two terms have the same kernels.
    pub terms: Vec<Term>,
}

/// A workload split into residual subspaces.
#[derive(Debug)]
pub struct Decomposition {
    measure: ReferenceMeasure,
    kernels: Kernels,
    residuals: Vec<ResidualProblem>,
    position: HashMap<AttributeSet, usize>,
}

impl Decomposition {
    /// Decomposes a workload by uniform averages (S3).
    ///
    /// # Errors
    /// A group over more than 20 attributes, or a family whose Gram is too large.
    pub fn of(workload: &GroupedWorkload) -> Result<Self> {
        Self::for_measure(workload, &ReferenceMeasure::uniform(&workload.schema().sizes()))
    }

    /// Decomposes a workload for a reference measure.
    ///
    /// # Errors
    /// As [`Decomposition::of`], or a measure on other attributes than those of the schema.
    pub fn for_measure(workload: &GroupedWorkload, measure: &ReferenceMeasure) -> Result<Self> {
        measure.check_sizes(&workload.schema().sizes())?;
        let mut kernels = Kernels::default();
        let mut shares: BTreeMap<(usize, AttributeSet), BTreeMap<Vec<KernelId>, Vec<f64>>> =
            BTreeMap::new();
        for group in workload.groups() {
            for (attributes, term) in
                enumerate(group, measure, &mut |wanted| kernels.place_or_make(&wanted))?
            {
                shares
                    .entry((attributes.len(), attributes))
                    .or_default()
                    .entry(term.kernels)
                    .or_default()
                    .push(term.coefficient * group.weight());
            }
        }
        let schema = workload.schema().attributes();
        let residuals: Vec<ResidualProblem> = shares
            .into_iter()
            .map(|((_, attributes), terms)| ResidualProblem {
                attributes,
                sizes: attributes.positions().map(|p| schema[p].size).collect(),
                kinds: attributes.positions().map(|p| schema[p].kind).collect(),
                terms: terms
                    .into_iter()
                    .map(|(kernels, mut shares)| {
                        // Summed in ascending order, so that sets in the same situation get the
                        // same bits.
                        shares.sort_by(f64::total_cmp);
                        Term { coefficient: shares.iter().sum(), kernels }
                    })
                    .collect(),
            })
            .collect();
        let position = residuals.iter().enumerate().map(|(k, r)| (r.attributes, k)).collect();
        Ok(Decomposition { measure: measure.clone(), kernels, residuals, position })
    }

    /// The reference measure.
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }

    /// The residual problems, by number of attributes.
    pub fn residuals(&self) -> &[ResidualProblem] {
        &self.residuals
    }

    /// The place of an attribute set among the residual problems.
    pub fn position(&self, attributes: AttributeSet) -> Option<usize> {
        self.position.get(&attributes).copied()
    }

    /// Kernels by their places.
    pub fn kernels(&self, places: &[KernelId]) -> Vec<&Kernel> {
        places.iter().map(|&place| &self.kernels.list[place]).collect()
    }

    fn known(&self, wanted: &Wanted<'_>) -> Result<Found> {
        self.kernels.place(wanted).ok_or_else(|| {
            Error::bad_input(
                "query group",
                "a group of the workload that was decomposed",
                "another one",
                "decompose the workload that contains it",
            )
        })
    }

    /// The kernels whose mean energies a group's coefficients are made from, with these energies:
    /// one per attribute of a product, one for joint queries.
    ///
    /// # Errors
    /// As [`Decomposition::terms_of`].
    pub(super) fn factors_of(&self, group: &QueryGroup) -> Result<Vec<(KernelId, f64)>> {
        let axes = axes_of(group, &self.measure);
        let found = match group.queries() {
            GroupQueries::Product(families) => families
                .iter()
                .zip(&axes)
                .map(|(family, axis)| self.known(&Wanted::Family(*family, axis)))
                .collect::<Result<Vec<_>>>()?,
            GroupQueries::Joint(queries) => {
                vec![self.known(&Wanted::Joint(queries, AxisSet::EMPTY, &axes))?]
            }
        };
        Ok(found.into_iter().map(|f| (f.own, f.mean_energy)).collect())
    }

    /// The number of kernels.
    pub(super) fn kernel_count(&self) -> usize {
        self.kernels.list.len()
    }

    /// The terms that one group of the workload contributes, without the group's weight.
    ///
    /// # Errors
    /// A group that is not of the decomposed workload and brings queries of its own.
    pub fn terms_of(&self, group: &QueryGroup) -> Result<Vec<(AttributeSet, Term)>> {
        enumerate(group, &self.measure, &mut |wanted| self.known(&wanted))
    }
}

/// The distinct kernels of a workload.
#[derive(Debug, Default)]
struct Kernels {
    list: Vec<Kernel>,
    /// For every kernel the first one that looks the same.
    first: Vec<KernelId>,
}

/// What [`enumerate`] needs to know of a kernel.
#[derive(Clone, Copy)]
struct Found {
    /// The first kernel that looks the same.
    id: KernelId,
    /// The kernel itself.
    own: KernelId,
    negligible: bool,
    mean_energy: f64,
}

impl Kernels {
    fn place(&self, wanted: &Wanted<'_>) -> Option<Found> {
        let place = self.list.iter().position(|kernel| wanted.is(kernel))?;
        let kernel = &self.list[place];
        let (negligible, mean_energy) = (kernel.is_negligible(), kernel.mean_energy());
        Some(Found { id: self.first[place], own: place, negligible, mean_energy })
    }

    fn place_or_make(&mut self, wanted: &Wanted<'_>) -> Result<Found> {
        if let Some(found) = self.place(wanted) {
            return Ok(found);
        }
        let kernel = match wanted {
            Wanted::Family(family, axis) => Kernel::of_family(*family, axis)?,
            Wanted::Joint(queries, kept, axes) => Kernel::of_joint(queries, *kept, axes)?,
        };
        let (id, negligible, mean_energy) =
            (self.list.len(), kernel.is_negligible(), kernel.mean_energy());
        let mut first = id;
        for (place, other) in self.list.iter().enumerate() {
            if self.first[place] == place && kernel.looks_like(other)? {
                first = place;
                break;
            }
        }
        self.first.push(first);
        self.list.push(kernel);
        Ok(Found { id: first, own: id, negligible, mean_energy })
    }
}

/// A kernel that a group needs.
enum Wanted<'a> {
    Family(crate::workload::Family, &'a Axis),
    Joint(&'a std::sync::Arc<crate::workload::JointQueries>, AxisSet, &'a [Axis]),
}

impl Wanted<'_> {
    fn is(&self, kernel: &Kernel) -> bool {
        match self {
            Wanted::Family(family, axis) => kernel.is_family(*family, axis),
            Wanted::Joint(queries, kept, axes) => kernel.is_joint(queries, *kept, axes),
        }
    }
}

/// A group's attributes as its kernels see them.
fn axes_of(group: &QueryGroup, measure: &ReferenceMeasure) -> Vec<Axis> {
    let axis =
        |p: usize| Axis { measure: measure.of_attribute(p).clone(), class: measure.classes()[p] };
    group.attributes().positions().map(axis).collect()
}

/// All (A, term) of a group; `find` places its kernels.
fn enumerate(
    group: &QueryGroup,
    measure: &ReferenceMeasure,
    find: &mut dyn FnMut(Wanted<'_>) -> Result<Found>,
) -> Result<Vec<(AttributeSet, Term)>> {
    let attributes = group.attributes();
    if attributes.len() > MOST_ATTRIBUTES_OF_A_GROUP {
        return Err(Error::too_large(
            format!("query group of 2^{} residual subspaces", attributes.len()),
            "attributes",
            MOST_ATTRIBUTES_OF_A_GROUP as f64,
            attributes.len() as f64,
            "ask for queries on fewer attributes at a time",
        ));
    }
    let axes = axes_of(group, measure);
    let factors: Option<Vec<Found>> = match group.queries() {
        GroupQueries::Product(families) => Some(
            families
                .iter()
                .zip(&axes)
                .map(|(family, axis)| find(Wanted::Family(*family, axis)))
                .collect::<Result<_>>()?,
        ),
        GroupQueries::Joint(_) => None,
    };
    let mut out = Vec::with_capacity(1 << attributes.len());
    for (kept, chosen) in AxisSet::subsets(attributes.len()).zip(attributes.subsets()) {
        let (mut coefficient, mut kernels) = (1.0, Vec::new());
        match (group.queries(), &factors) {
            (GroupQueries::Joint(queries), _) => {
                let kernel = find(Wanted::Joint(queries, kept, &axes))?;
                if kernel.negligible {
                    continue;
                }
                if chosen.is_empty() {
                    coefficient = kernel.mean_energy;
                } else {
                    kernels.push(kernel.id);
                }
            }
            (GroupQueries::Product(_), Some(factors)) => {
                if factors
                    .iter()
                    .enumerate()
                    .any(|(axis, kernel)| kept.contains(axis) && kernel.negligible)
                {
                    continue;
                }
                for (axis, kernel) in factors.iter().enumerate() {
                    if kept.contains(axis) {
                        kernels.push(kernel.id);
                    } else {
                        coefficient *= kernel.mean_energy;
                    }
                }
            }
            (GroupQueries::Product(_), None) => {}
        }
        out.push((chosen, Term { coefficient, kernels }));
    }
    Ok(out)
}
