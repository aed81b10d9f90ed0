//! Running a plan on records: measure, reconstruct and answer, group by group (S3, Sec. 6.4).

use std::collections::HashMap;

use ndarray::Array2;
use rand::Rng;

use crate::data::Records;
use crate::domain::{AttributeSet, cell_index, coordinates};
use crate::error::{Error, Result};
use crate::linalg;
use crate::planner::{Measurement, Plan, Reconstruction};
use crate::residual::add_spread;
use crate::workload::{Family, GroupQueries, GroupedWorkload, QueryGroup};

/// A full-domain measurement over more cells than this is refused: 1 GiB of estimates.
const MOST_CELLS: usize = 1 << 27;

/// Runs a plan: every measurement is made exactly once, when the first group needs it; `answers` receives each group's
/// place, its estimated marginal's answers in the order of the family's rows.
///
/// Memory: the records, the estimates of residual subspaces that a later group still needs, and one group's marginal and
/// answers. *Time*: O(records + cells · Σ sizes) per measurement and group. The exact variances are those of
/// [`Plan::groups`]. The noise comes from `rng`; with a seeded one the answers are **not private**.
///
/// # Errors
/// Another workload than the plan's, records of another schema, or a full-domain plan over too many cells; and what
/// `answers` returns.
pub fn run_plan(
    plan: &Plan,
    workload: &GroupedWorkload,
    records: &Records,
    rng: &mut dyn Rng,
    answers: &mut dyn FnMut(usize, Vec<f64>) -> Result<()>,
) -> Result<()> {
    let same = plan.schema() == workload.schema()
        && plan.groups().len() == workload.groups().len()
        && plan.groups().iter().zip(workload.groups()).all(|(p, w)| p.attributes == w.attributes());
    if !same {
        return Err(Error::invalid(
            "run of a plan",
            "the workload that the plan was made for",
            "another one",
            "plan this workload first",
        ));
    }
    let mut run = Run::new(plan, workload);
    for (place, group) in workload.groups().iter().enumerate() {
        let marginal = match plan.reconstruction() {
            Reconstruction::ResidualSubspaces => run.marginal_by_residuals(group, records, rng)?,
            Reconstruction::OwnMarginal => run.take(group.attributes(), records, rng)?.unwrap_or_default(),
            Reconstruction::FullDomain => run.marginal_of_full_domain(group, records, rng)?,
        };
        answers(place, answer(group, &marginal)?)?;
    }
    Ok(())
}

/// The measurements of a plan while groups are answered.
struct Run<'a> {
    sizes: Vec<usize>,
    measurements: HashMap<AttributeSet, &'a Measurement>,
    /// Groups that still need a measurement.
    needed: HashMap<AttributeSet, usize>,
    /// Estimates made and still needed.
    estimates: HashMap<AttributeSet, Vec<f64>>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, workload: &GroupedWorkload) -> Self {
        let measurements: HashMap<_, _> = plan.measurements().iter().map(|m| (m.attributes, m)).collect();
        let everything = plan.measurements().first().map(|m| m.attributes).unwrap_or_default();
        let mut needed: HashMap<AttributeSet, usize> = HashMap::new();
        for group in workload.groups() {
            match plan.reconstruction() {
                Reconstruction::ResidualSubspaces => {
                    for set in subsets(group) {
                        *needed.entry(set).or_default() += 1;
                    }
                }
                Reconstruction::OwnMarginal => *needed.entry(group.attributes()).or_default() += 1,
                Reconstruction::FullDomain => *needed.entry(everything).or_default() += 1,
            }
        }
        let sizes = plan.schema().attributes().iter().map(|a| a.size).collect();
        Run { sizes, measurements, needed, estimates: HashMap::new() }
    }

    /// The estimate of a measurement: made now if it is the first time, kept only while others need it. `None` if the plan
    /// does not measure it.
    fn take(&mut self, set: AttributeSet, records: &Records, rng: &mut dyn Rng) -> Result<Option<Vec<f64>>> {
        let Some(measurement) = self.measurements.get(&set) else { return Ok(None) };
        let estimate = match self.estimates.remove(&set) {
            Some(known) => known,
            None => {
                let positions: Vec<usize> = set.positions().collect();
                let marginal = records.marginal(&positions)?;
                measurement.strategy.measure(&marginal, measurement.privacy_cost, rng)?
            }
        };
        let left = self.needed.entry(set).or_insert(1);
        *left = left.saturating_sub(1);
        if *left > 0 {
            self.estimates.insert(set, estimate.clone());
        }
        Ok(Some(estimate))
    }

    /// The estimated marginal of a group: residual estimates spread evenly over the attributes they lack.
    fn marginal_by_residuals(&mut self, group: &QueryGroup, records: &Records, rng: &mut dyn Rng) -> Result<Vec<f64>> {
        let mut marginal = vec![0.0; group.sizes().iter().product()];
        for set in subsets(group) {
            if let Some(estimate) = self.take(set, records, rng)? {
                let kept: Vec<bool> = group.positions().iter().map(|&p| set.contains(p)).collect();
                add_spread(&mut marginal, group.sizes(), &kept, &estimate);
            }
        }
        Ok(marginal)
    }

    fn marginal_of_full_domain(
        &mut self,
        group: &QueryGroup,
        records: &Records,
        rng: &mut dyn Rng,
    ) -> Result<Vec<f64>> {
        let cells = self.sizes.iter().try_fold(1usize, |cells, &n| cells.checked_mul(n)).filter(|&n| n <= MOST_CELLS);
        if cells.is_none() {
            return Err(Error::TooLarge {
                what: "measurement of the full domain".into(),
                limit: format!("{MOST_CELLS} cells"),
                found: format!("{:e} cells", self.sizes.iter().map(|&n| n as f64).product::<f64>()),
                remedy: "use a planner that measures marginals or residual subspaces".into(),
            });
        }
        let everything = AttributeSet::from_positions(&(0..self.sizes.len()).collect::<Vec<_>>())?;
        let estimate = self.take(everything, records, rng)?.unwrap_or_default();
        let mut marginal = vec![0.0; group.sizes().iter().product()];
        for (cell, value) in estimate.into_iter().enumerate() {
            let at = coordinates(&self.sizes, cell);
            let own: Vec<usize> = group.positions().iter().map(|&p| at[p]).collect();
            marginal[cell_index(group.sizes(), &own)] += value;
        }
        Ok(marginal)
    }
}

/// All subsets of a group's attributes.
fn subsets(group: &QueryGroup) -> impl Iterator<Item = AttributeSet> + '_ {
    let positions = group.positions();
    (0u64..1 << positions.len()).filter_map(move |mask| {
        let chosen: Vec<usize> =
            positions.iter().enumerate().filter(|(k, _)| mask >> k & 1 == 1).map(|(_, &p)| p).collect();
        AttributeSet::from_positions(&chosen).ok()
    })
}

/// The answers of a group's queries on its marginal, in the order of the rows (for products the last attribute's queries
/// vary fastest). O(answers · Σ sizes) for products.
fn answer(group: &QueryGroup, marginal: &[f64]) -> Result<Vec<f64>> {
    match group.queries() {
        GroupQueries::Joint(joint) => {
            Ok(joint.rows()?.map(|row| row.iter().zip(marginal).map(|(q, x)| q * x).sum()).collect())
        }
        GroupQueries::Product(families) => {
            let mut made: Vec<(Family, usize, Array2<f64>)> = Vec::new();
            for (&family, &n) in families.iter().zip(group.sizes()) {
                if made.iter().all(|(f, size, _)| (*f, *size) != (family, n)) {
                    let rows: Vec<f64> = family.rows(&[n])?.flatten().collect();
                    let weight = family.query_weight(&[n]);
                    let matrix = Array2::from_shape_vec((rows.len() / n, n), rows).map_err(|e| {
                        Error::invalid("query matrix", "one value per cell", e.to_string(), "report this as a bug")
                    })?;
                    made.push((family, n, matrix * weight));
                }
            }
            let views: Vec<_> = families
                .iter()
                .zip(group.sizes())
                .filter_map(|(f, n)| made.iter().find(|(family, size, _)| (family, size) == (f, n)))
                .map(|(.., matrix)| matrix.view())
                .collect();
            linalg::kron_apply(&views, marginal)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::planner::planners;
    use crate::schema::Schema;
    use crate::workload::JointQueries;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    fn schema() -> Schema {
        let attribute = |(k, size): (usize, usize)| crate::domain::Attribute {
            name: format!("A{k}"),
            size,
            kind: crate::domain::AttributeKind::Numeric,
        };
        Schema::new([3, 2, 4].into_iter().enumerate().map(attribute).collect()).unwrap()
    }

    fn workload(joint: bool) -> GroupedWorkload {
        let schema = schema();
        let product = |positions: &[usize], families: &[Family], weight| {
            QueryGroup::product(&schema, positions, families, weight).unwrap()
        };
        let mut groups = vec![
            product(&[0, 1, 2], &[Family::Prefix, Family::Identity, Family::Range], 0.5),
            product(&[0, 2], &[Family::Identity, Family::Circular], 2.0),
            product(&[1], &[Family::Prefix], 3.0),
        ];
        if joint {
            let affine = Arc::new(JointQueries::family(Family::Affine, &[3, 4]).unwrap());
            groups.push(QueryGroup::joint(&schema, &[0, 2], affine, "affine", 1.5).unwrap());
        }
        GroupedWorkload::new(schema, groups).unwrap()
    }

    fn records() -> Records {
        Records::uniform(&schema(), 200, &mut ChaCha20Rng::seed_from_u64(1)).unwrap()
    }

    /// What the queries are, counted record by record.
    fn truth(workload: &GroupedWorkload, records: &Records) -> Vec<Vec<f64>> {
        workload.groups().iter().map(|g| answer(g, &records.marginal(g.positions()).unwrap()).unwrap()).collect()
    }

    #[test]
    fn without_noise_the_answers_are_the_counts() {
        let records = records();
        for planner in planners() {
            let workload = workload(planner.name() != "hdmm-kronecker");
            let plan = planner.plan(&workload, 1e20).unwrap();
            let expected = truth(&workload, &records);
            let mut rng = ChaCha20Rng::seed_from_u64(2);
            let mut seen = 0;
            run_plan(&plan, &workload, &records, &mut rng, &mut |place, answers| {
                seen += 1;
                approx::assert_abs_diff_eq!(answers.as_slice(), expected[place].as_slice(), epsilon = 1e-6);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, workload.groups().len(), "{}", planner.name());
        }
        // The first query of the first group by hand: records with A0 ≤ 0, A1 = 0, A2 in [0, 0].
        let by_hand = (0..200).filter(|&r| (0..3).all(|c| records.column(c).unwrap().nth(r) == Some(0))).count();
        assert_eq!(truth(&workload(true), &records)[0][0], by_hand as f64);
    }

    /// The mean squared error of a group over many runs, against the plan's exact variance. A run's error is a quadratic
    /// form in Gaussian noise, of variance at most twice its squared mean, so that the mean over the runs has a standard
    /// error of at most √(2/runs) of itself; five of them.
    #[test]
    fn monte_carlo_errors_agree_with_the_planned_variances() {
        const RUNS: usize = 3000;
        let records = records();
        for planner in planners() {
            let workload = workload(planner.name() != "hdmm-kronecker");
            let plan = planner.plan(&workload, 0.5).unwrap();
            let expected = truth(&workload, &records);
            let mut rng = ChaCha20Rng::seed_from_u64(3);
            let mut sums = vec![0.0; workload.groups().len()];
            for _ in 0..RUNS {
                run_plan(&plan, &workload, &records, &mut rng, &mut |place, answers| {
                    sums[place] += answers.iter().zip(&expected[place]).map(|(a, t)| (a - t).powi(2)).sum::<f64>();
                    Ok(())
                })
                .unwrap();
            }
            for (sum, group) in sums.iter().zip(plan.groups()) {
                let ratio = sum / RUNS as f64 / group.variance;
                let bound = 5.0 * (2.0 / RUNS as f64).sqrt();
                assert!((ratio - 1.0).abs() < bound, "{} {}: {ratio}", planner.name(), group.family);
            }
        }
    }

    #[test]
    fn misfits_are_refused() {
        let (mixed, products) = (workload(true), workload(false));
        let plan = planners()[0].plan(&mixed, 1.0).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let message = run_plan(&plan, &products, &records(), &mut rng, &mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(message.contains("plan this workload"), "{message}");
        assert!(Records::new(&schema(), vec![vec![0], vec![0]]).is_err());
        assert!(Records::new(&schema(), vec![vec![0], vec![0, 1], vec![0]]).is_err());
        let message = Records::new(&schema(), vec![vec![0, 3], vec![0, 1], vec![0, 0]]).unwrap_err().to_string();
        assert!(message.contains("`A0`") && message.contains("3 in record 2"), "{message}");
        assert!(records().marginal(&[5]).is_err());
        let large = Schema::uniform(40, 40).unwrap();
        let family = crate::workload::GroupFamily::Product(Family::Identity);
        let marginals = GroupedWorkload::all_ways(large.clone(), &family, &[1]).unwrap();
        let plan = crate::planner::by_name("hdmm-kronecker").unwrap().plan(&marginals, 1.0).unwrap();
        let few = Records::uniform(&large, 3, &mut rng).unwrap();
        let message = run_plan(&plan, &marginals, &few, &mut rng, &mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(message.contains("full domain"), "{message}");
    }
}
