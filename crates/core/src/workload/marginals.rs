//! Workloads over marginals: unions of workloads on sets of attributes.

use rand::{Rng, RngExt};

use super::family::Family;
use super::groups::are_distinct_ways;
use super::query_set::{Marginals, Queries, Workload};
use super::shape::format_shape;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};

impl Workload {
    /// Draws `count` marginals on nonempty sets of attributes, independently and uniformly.
    ///
    /// A marginal can occur several times. S2 does not specify the distribution of its random
    /// marginals; this is our reading.
    ///
    /// # Errors
    /// No marginal, or a domain too large to index.
    pub fn random_marginals<R: Rng + ?Sized>(
        shape: &[usize],
        count: usize,
        rng: &mut R,
    ) -> Result<Self> {
        if count == 0 {
            return Err(Error::bad_input(
                format!("workload `random-marginals:{}`", format_shape(shape)),
                "at least one marginal",
                "0",
                "use e.g. count=20",
            ));
        }
        crate::domain::Domain::from_shape(shape)?;
        let draw = |_| loop {
            let chosen: Vec<usize> = (0..shape.len()).filter(|_| rng.random_bool(0.5)).collect();
            if !chosen.is_empty() {
                let attributes = AttributeSet::from_positions(&chosen)?;
                break Ok((
                    attributes,
                    Workload::family(Family::IDENTITY, &attributes.select(shape))?,
                ));
            }
        };
        let parts = (0..count).map(draw).collect::<Result<_>>()?;
        Ok(Workload {
            name: format!("random-marginals(count={count}):{}", format_shape(shape)),
            shape: shape.to_vec(),
            queries: Queries::Marginals(Marginals(parts)),
        })
    }

    /// Creates the products of a family on all k-way marginals, for each k in `ways`.
    ///
    /// # Errors
    /// Empty `ways`, numbers that are not distinct or not between 1 and the number of attributes, a
    /// family on pairs, or sizes that do not fit the family.
    pub fn marginals(family: Family, shape: &[usize], ways: &[usize]) -> Result<Self> {
        let name = format!("{}-marginals", family.name());
        if family.arity() != 1 || family == Family::PREDICATE {
            return Err(Error::bad_input(
                format!("workload `{name}:{}`", format_shape(shape)),
                "a family on single attributes without query weights",
                format!("`{}`", family.name()),
                "use e.g. range-marginals, prefix-marginals or identity-marginals",
            ));
        }
        let written = ways.iter().map(usize::to_string).collect::<Vec<_>>().join("+");
        if !are_distinct_ways(ways, shape.len()) {
            return Err(Error::bad_input(
                format!("workload `{name}:{}`: ways", format_shape(shape)),
                format!("1 to {} attributes, each number once", shape.len()),
                format!("`{written}`"),
                "use e.g. ways=1 or ways=1+2",
            ));
        }
        crate::domain::Domain::from_shape(shape)?;
        let parts = ways
            .iter()
            .flat_map(|&way| AttributeSet::first(shape.len()).of_size(way))
            .map(|attributes| {
                Ok((attributes, Workload::family(family, &attributes.select(shape))?))
            })
            .collect::<Result<_>>()?;
        let options = if ways == [1] { String::new() } else { format!("(ways={written})") };
        Ok(Workload {
            name: format!("{name}{options}:{}", format_shape(shape)),
            shape: shape.to_vec(),
            queries: Queries::Marginals(Marginals(parts)),
        })
    }
}
