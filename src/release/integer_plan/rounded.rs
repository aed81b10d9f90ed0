//! The strategies and reference measure of a plan, rounded to integers.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::planner::{Plan, SubspaceStrategy};
use crate::release::rounding::{self, Precision};
use crate::residual::ReferenceMeasure;
use crate::strategy::{IntegerFactor, IntegerStrategy, StrategyFactor};
use crate::workload::GroupedWorkload;

/// Maximum relative excess of the rounded plan's total variance over the planned one, without the
/// cost of completing strategies.
const TOLERANCE: f64 = 1e-6;

/// Strategy bits of the first and the last attempt.
const BITS: std::ops::RangeInclusive<u32> = 16..=40;

/// The strategies of a plan as integers, and as doubles.
pub(super) struct Rounded {
    /// The reference measure ν = p/Σp of every measured attribute, as integers p.
    pub(super) weights: Vec<Vec<i64>>,
    /// The reference measure of these weights.
    pub(super) measure: ReferenceMeasure,
    /// The strategy of every measurement.
    pub(super) strategies: Vec<(IntegerStrategy, Arc<SubspaceStrategy>)>,
    /// The total variance at the plan's shares.
    pub(super) variance: f64,
}

/// The key of factors that become the same integers: the address of V, and the measures.
type FactorKey = (usize, Vec<Vec<i64>>);

/// Rows to be rounded, which are independent of the number of bits, by V and measures.
struct RowsByFactor {
    /// The share of the privacy cost for directions that a strategy does not measure.
    share: f64,
    /// The factor keeps V at its address.
    known: HashMap<FactorKey, (StrategyFactor, Arc<Array2<f64>>)>,
}

/// Returns the largest number of factors of a product that do not measure their whole subspace; at
/// most 1 if no strategy is a product.
fn completed_factors(plan: &Plan) -> Result<usize> {
    let mut spans: HashMap<usize, bool> = HashMap::new();
    let mut most = 0;
    for planned in plan.measurements() {
        let SubspaceStrategy::Kronecker(factors) = planned.strategy.as_ref() else { continue };
        let mut completed = 0;
        for factor in factors.iter().filter(|_| factors.len() > 1) {
            let key = Arc::as_ptr(&factor.gram()?) as usize;
            let spans = match spans.get(&key) {
                Some(known) => *known,
                None => *spans.entry(key).or_insert(rounding::spans(factor)?),
            };
            completed += usize::from(!spans);
        }
        most = most.max(completed);
    }
    Ok(most)
}

impl Rounded {
    /// Returns the coarsest rounding that is precise enough, and its precision; `None` if nothing
    /// was rounded.
    pub(super) fn precise_enough(
        plan: &Plan,
        workload: &GroupedWorkload,
    ) -> Result<(Self, Option<Precision>)> {
        let planned = plan.total_variance();
        let completed = completed_factors(plan)?;
        let share = rounding::completion_share(completed);
        // Each completed factor of a product costs about its share.
        let tolerance = TOLERANCE + completed as f64 * (share - rounding::completion_share(1));
        let mut rows = RowsByFactor { share, known: HashMap::new() };
        let (mut refused, mut ended, mut nearest) = (None, false, f64::INFINITY);
        for strategy_bits in BITS {
            // For an optimised measure, its rounding has only a second-order effect.
            let min_bits = strategy_bits / 2 + 2;
            for measure_bits in [min_bits, strategy_bits * 3 / 4 + 2, strategy_bits - 2] {
                let precision = Precision { strategy_bits, measure_bits };
                match Self::with(plan, workload, precision, &mut rows) {
                    Ok(Some((found, is_rounded))) => {
                        let excess = found.variance / planned - 1.0;
                        if excess <= tolerance {
                            return Ok((found, is_rounded.then_some(precision)));
                        }
                        nearest = nearest.min(excess);
                    }
                    Ok(None) => {}
                    // The measure has too many bits for this number of strategy bits; more strategy
                    // bits with fewer measure bits may work.
                    Err(error @ Error::TooLarge { .. }) => {
                        ended = measure_bits == min_bits;
                        refused = Some(error);
                        break;
                    }
                    Err(error) => return Err(error),
                }
                if plan.measure().is_uniform() {
                    break;
                }
            }
            if ended {
                break;
            }
        }
        Err(refused.unwrap_or_else(|| {
            Error::bad_input(
                format!("integer plan of `{}`", plan.planner()),
                format!("a total variance within {tolerance:.1e} of the planned one"),
                format!("a share of {nearest:.1e} more at {} bits", BITS.end()),
                "use --planner query-smasher, or remove queries of very small weight",
            )
        }))
    }

    /// Rounds with a given precision; `None` if the rounded rows lose a query.
    ///
    /// Also returns whether anything was rounded.
    fn with(
        plan: &Plan,
        workload: &GroupedWorkload,
        precision: Precision,
        rows: &mut RowsByFactor,
    ) -> Result<Option<(Self, bool)>> {
        let measured = plan
            .measurements()
            .iter()
            .fold(AttributeSet::EMPTY, |all, planned| all.union(planned.attributes));
        let of_attribute = |(position, measure)| match measured.contains(position) {
            true => rounding::weights(measure, precision.measure_bits),
            false => Ok(Vec::new()),
        };
        let weights: Vec<Vec<i64>> = plan
            .measure()
            .measures()
            .iter()
            .enumerate()
            .map(of_attribute)
            .collect::<Result<_>>()?;
        let measure = rounding::reference_measure(&weights, &plan.schema().sizes())?;
        let mut made = Made { precision, rows, factors: HashMap::new(), is_rounded: false };
        made.is_rounded = !measure.is_uniform();
        let mut known: HashMap<FactorKey, (IntegerStrategy, Arc<SubspaceStrategy>)> =
            HashMap::new();
        let mut strategies = Vec::with_capacity(plan.measurements().len());
        for planned in plan.measurements() {
            let measures: Vec<Vec<i64>> =
                planned.attributes.positions().map(|p| weights[p].clone()).collect();
            let key = (Arc::as_ptr(&planned.strategy) as usize, measures);
            if let Some(found) = known.get(&key) {
                strategies.push(found.clone());
                continue;
            }
            let Some(found) = made.strategy(&planned.strategy, &key.1)? else { return Ok(None) };
            strategies.push(found.clone());
            known.insert(key, found);
        }
        let shares = strategies
            .iter()
            .zip(plan.measurements())
            .map(|((_, real), m)| (real.clone(), Some(m.privacy_cost)));
        let rounded = plan.with_strategies(workload, &measure, &shares.collect::<Vec<_>>())?;
        let variance = rounded.total_variance();
        Ok(Some((Rounded { weights, measure, strategies, variance }, made.is_rounded)))
    }
}

/// A factor as integers, as doubles, and as planned, which keeps V at its address.
type MadeFactor = (Arc<IntegerFactor>, StrategyFactor, StrategyFactor);

/// The rounding of factors, with a cache.
struct Made<'a> {
    precision: Precision,
    rows: &'a mut RowsByFactor,
    factors: HashMap<FactorKey, MadeFactor>,
    is_rounded: bool,
}

impl Made<'_> {
    fn strategy(
        &mut self,
        planned: &SubspaceStrategy,
        weights: &[Vec<i64>],
    ) -> Result<Option<(IntegerStrategy, Arc<SubspaceStrategy>)>> {
        let factors = match planned {
            SubspaceStrategy::Kronecker(factors) => factors.clone(),
            SubspaceStrategy::Fourier { shape, .. } => {
                vec![StrategyFactor::from_gram(shape, Arc::new(planned.gram()?))]
            }
        };
        let (mut whole, mut real) =
            (Vec::with_capacity(factors.len()), Vec::with_capacity(factors.len()));
        let mut start = 0;
        for factor in &factors {
            let end = start + factor.shape().len();
            let weights = weights[start..end].to_vec();
            let Some((integer, double)) = self.factor(factor, weights)? else {
                return Ok(None);
            };
            whole.push(integer);
            real.push(double);
            start = end;
        }
        Ok(Some((IntegerStrategy::new(whole)?, Arc::new(SubspaceStrategy::Kronecker(real)))))
    }

    fn factor(
        &mut self,
        factor: &StrategyFactor,
        weights: Vec<Vec<i64>>,
    ) -> Result<Option<(Arc<IntegerFactor>, StrategyFactor)>> {
        let key = (Arc::as_ptr(&factor.gram()?) as usize, weights);
        if let Some(known) = self.factors.get(&key) {
            return Ok(Some((known.0.clone(), known.1.clone())));
        }
        let uniform = key.1.iter().all(|p| p.iter().all(|w| *w == 1));
        let made = if rounding::is_centred_identity(factor, uniform)? {
            IntegerFactor::centred_identity(factor.cells())?
        } else {
            self.is_rounded = true;
            let rows = match self.rows.known.get(&key) {
                Some((_, rows)) => rows.clone(),
                None => {
                    let share = self.rows.share;
                    let rows = Arc::new(rounding::spanning_rows(factor, &key.1, share)?);
                    self.rows.known.insert(key.clone(), (factor.clone(), rows.clone()));
                    rows
                }
            };
            match rounding::rounded(
                factor.shape(),
                &rows,
                key.1.clone(),
                self.precision.strategy_bits,
            )? {
                Some(made) => made,
                None => return Ok(None),
            }
        };
        let made = Arc::new(made);
        let real = made.real()?;
        self.factors.insert(key, (made.clone(), real.clone(), factor.clone()));
        Ok(Some((made, real)))
    }
}
