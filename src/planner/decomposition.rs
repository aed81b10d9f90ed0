//! Decomposition of a workload into residual subspaces (S3, Sec. 5 and 6.1).
//!
//! A query q on attributes S splits into one subquery per subset A ⊆ S,
//! `q (⊗_{i∈A} (I − J/n_i)) ⊗ (⊗_{i∉A} 1/n_i)`, over the marginal on A. Subqueries of different A
//! are orthogonal, and their answers sum to the answer of q. The residual Gram of A is the sum over
//! all groups that contain A,
//!
//! ```text
//! G_A = Σ_groups w · Π_{i∉A} m_i · ⊗_{i∈A} C Γ_i C          C = I − J/n, m_i = 1ᵀΓ_i1/n_i²
//! ```
//!
//! for product families. For a reference measure ν_i, `I − ν_i 1ᵀ` from the right replaces C and
//! ν_i replaces 1/n_i. Joint queries contribute one dense matrix over A. The Gram is stored as a
//! sum of such terms, with equal products merged. O(Σ_groups 2^|S|) time and memory, independent of
//! the sizes.

use std::collections::{BTreeMap, HashMap};

use super::kernel::{Axis, Kernel};
use crate::domain::{AttributeKind, AttributeSet, AxisSet};
use crate::error::{Error, Result};
use crate::residual::ReferenceMeasure;
use crate::workload::{GroupQueries, GroupedWorkload, QueryGroup};

/// The maximum number of attributes of a group, which has one term per subset.
const MAX_ATTRIBUTES_OF_A_GROUP: usize = 20;

/// The index of a kernel in its [`Decomposition`].
pub type KernelId = usize;

/// A term `coefficient · ⊗ kernels`: one kernel per attribute of A, or a single one over all of A.
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
    /// G_A as a sum of terms.
    ///
    /// No two terms have the same kernels.
    pub terms: Vec<Term>,
}

/// Kernels with coefficients: a sum of products.
pub(super) type Terms = Vec<(f64, Vec<KernelId>)>;

impl ResidualProblem {
    /// Returns the terms with their coefficients relative to the first, and the first coefficient.
    pub(super) fn relative_terms(&self) -> (Terms, f64) {
        let scale = self.terms.first().map_or(1.0, |term| term.coefficient);
        let relative = |term: &Term| (term.coefficient / scale, term.kernels.clone());
        (self.terms.iter().map(relative).collect(), scale)
    }

    /// Returns whether G_A is a product over the attributes, which is solved factor by factor.
    pub(super) fn is_product(&self) -> bool {
        factors(&self.relative_terms().0).is_some_and(|factors| factors.len() == self.sizes.len())
    }
}

/// Returns the factors of a sum of products that is a product: terms of one kernel each.
///
/// It is one if its terms differ in at most one factor, as `(Σ_t c_t K_t) ⊗ L`; also a single term.
pub(super) fn factors(terms: &Terms) -> Option<Vec<Terms>> {
    let (_, first) = terms.first()?;
    let count = first.len();
    if terms.len() > 1 && (count < 2 || terms.iter().any(|(_, k)| k.len() != count)) {
        return None;
    }
    let varies = |factor: &usize| terms.iter().any(|(_, k)| k[*factor] != first[*factor]);
    let mut varying = (0..count).filter(varies);
    let (summed, None) = (varying.next(), varying.next()) else { return None };
    let of_factor = |factor: usize| match summed {
        Some(summed) if summed == factor => {
            terms.iter().map(|(c, kernels)| (*c, vec![kernels[factor]])).collect()
        }
        _ => vec![(1.0, vec![first[factor]])],
    };
    Some((0..count).map(of_factor).collect())
}

/// The decomposition of a workload into residual subspaces.
#[derive(Debug)]
pub struct Decomposition {
    measure: ReferenceMeasure,
    kernels: Kernels,
    residuals: Vec<ResidualProblem>,
    position: HashMap<AttributeSet, usize>,
}

impl Decomposition {
    /// Decomposes a workload for the uniform measure (S3).
    ///
    /// # Errors
    /// A group over more than 20 attributes, or a family whose Gram is too large.
    pub fn of(workload: &GroupedWorkload) -> Result<Self> {
        Self::for_measure(workload, &ReferenceMeasure::uniform(&workload.schema().sizes()))
    }

    /// Decomposes a workload for a reference measure.
    ///
    /// # Errors
    /// As [`Decomposition::of`], or the measure does not match the schema.
    pub fn for_measure(workload: &GroupedWorkload, measure: &ReferenceMeasure) -> Result<Self> {
        measure.check_sizes(&workload.schema().sizes())?;
        let mut kernels = Kernels::default();
        let mut shares: BTreeMap<(usize, AttributeSet), BTreeMap<Vec<KernelId>, Vec<f64>>> =
            BTreeMap::new();
        for group in workload.groups() {
            for (attributes, term) in
                enumerate(group, measure, &mut |wanted| kernels.find_or_create(&wanted))?
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
                        // Summed in ascending order, so that sets with the same shares get the same
                        // bits.
                        shares.sort_by(f64::total_cmp);
                        Term { coefficient: shares.iter().sum(), kernels }
                    })
                    .collect(),
            })
            .collect();
        let position = residuals.iter().enumerate().map(|(k, r)| (r.attributes, k)).collect();
        Ok(Decomposition { measure: measure.clone(), kernels, residuals, position })
    }

    /// Returns the reference measure.
    pub fn measure(&self) -> &ReferenceMeasure {
        &self.measure
    }

    /// Returns the residual problems, by number of attributes.
    pub fn residuals(&self) -> &[ResidualProblem] {
        &self.residuals
    }

    /// Returns the index of an attribute set's residual problem.
    pub fn position(&self, attributes: AttributeSet) -> Option<usize> {
        self.position.get(&attributes).copied()
    }

    /// Returns the kernels with the given indices.
    pub fn kernels(&self, ids: &[KernelId]) -> Vec<&Kernel> {
        ids.iter().map(|&id| &self.kernels.list[id]).collect()
    }

    fn known(&self, wanted: &Wanted<'_>) -> Result<Found> {
        self.kernels.find(wanted).ok_or_else(|| {
            Error::bad_input(
                "query group",
                "a group of the decomposed workload",
                "a group of another workload",
                "decompose the workload that contains it",
            )
        })
    }

    /// Returns the kernels whose mean energies give a group's coefficients, with these energies.
    ///
    /// One per attribute of a product, one for joint queries.
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
        Ok(found.into_iter().map(|f| (f.id, f.mean_energy)).collect())
    }

    /// Returns the number of kernels.
    pub(super) fn kernel_count(&self) -> usize {
        self.kernels.list.len()
    }

    /// Returns the terms that one group of the workload contributes, without its weight.
    ///
    /// # Errors
    /// The group has queries that the decomposed workload does not have.
    pub fn terms_of(&self, group: &QueryGroup) -> Result<Vec<(AttributeSet, Term)>> {
        enumerate(group, &self.measure, &mut |wanted| self.known(&wanted))
    }
}

/// The distinct kernels of a workload.
#[derive(Debug, Default)]
struct Kernels {
    list: Vec<Kernel>,
    /// For every kernel, the first kernel with the same Gram.
    first: Vec<KernelId>,
}

/// The properties of a kernel that [`enumerate`] needs.
#[derive(Clone, Copy)]
struct Found {
    /// The first kernel with the same Gram.
    first: KernelId,
    /// The kernel itself.
    id: KernelId,
    negligible: bool,
    mean_energy: f64,
}

impl Kernels {
    fn find(&self, wanted: &Wanted<'_>) -> Option<Found> {
        let id = self.list.iter().position(|kernel| wanted.matches(kernel))?;
        let kernel = &self.list[id];
        let (negligible, mean_energy) = (kernel.is_negligible(), kernel.mean_energy());
        Some(Found { first: self.first[id], id, negligible, mean_energy })
    }

    fn find_or_create(&mut self, wanted: &Wanted<'_>) -> Result<Found> {
        if let Some(found) = self.find(wanted) {
            return Ok(found);
        }
        let kernel = match wanted {
            Wanted::Family(family, axis) => Kernel::of_family(*family, axis)?,
            Wanted::Joint(queries, kept, axes) => Kernel::of_joint(queries, *kept, axes)?,
        };
        let (id, negligible, mean_energy) =
            (self.list.len(), kernel.is_negligible(), kernel.mean_energy());
        let mut first = id;
        for (earlier, other) in self.list.iter().enumerate() {
            if self.first[earlier] == earlier && kernel.has_same_gram(other)? {
                first = earlier;
                break;
            }
        }
        self.first.push(first);
        self.list.push(kernel);
        Ok(Found { first, id, negligible, mean_energy })
    }
}

/// A kernel that a group needs, by its source.
enum Wanted<'a> {
    Family(crate::workload::Family, &'a Axis),
    Joint(&'a std::sync::Arc<crate::workload::JointQueries>, AxisSet, &'a [Axis]),
}

impl Wanted<'_> {
    fn matches(&self, kernel: &Kernel) -> bool {
        match self {
            Wanted::Family(family, axis) => kernel.is_family(*family, axis),
            Wanted::Joint(queries, kept, axes) => kernel.is_joint(queries, *kept, axes),
        }
    }
}

/// Returns the axes of a group's attributes.
fn axes_of(group: &QueryGroup, measure: &ReferenceMeasure) -> Vec<Axis> {
    let axis =
        |p: usize| Axis { measure: measure.of_attribute(p).clone(), class: measure.classes()[p] };
    group.attributes().positions().map(axis).collect()
}

/// Returns all (A, term) of a group.
///
/// `find` looks up or creates its kernels.
fn enumerate(
    group: &QueryGroup,
    measure: &ReferenceMeasure,
    find: &mut dyn FnMut(Wanted<'_>) -> Result<Found>,
) -> Result<Vec<(AttributeSet, Term)>> {
    let attributes = group.attributes();
    if attributes.len() > MAX_ATTRIBUTES_OF_A_GROUP {
        return Err(Error::too_large(
            format!("query group of 2^{} residual subspaces", attributes.len()),
            "attributes",
            MAX_ATTRIBUTES_OF_A_GROUP as f64,
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
                    kernels.push(kernel.first);
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
                        kernels.push(kernel.first);
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
