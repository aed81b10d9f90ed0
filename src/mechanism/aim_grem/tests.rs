use rand::{RngExt, SeedableRng};
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};

use super::*;
use crate::data::Records;
use crate::domain::{Attribute, AttributeKind};
use crate::error::Error;
use crate::mechanism::measure_residual;
use crate::planner::privacy_coefficient;
use crate::privacy::ZcdpAccountant;

fn schema(sizes: &[usize]) -> Schema {
    let attribute =
        |(k, &size): (usize, &usize)| Attribute { name: format!("A{k}"), size, kind: AttributeKind::Categorical };
    Schema::new(sizes.iter().enumerate().map(attribute).collect()).unwrap()
}

fn all_ways(schema: &Schema, ways: usize) -> Vec<AttributeSet> {
    crate::workload::attribute_sets(schema, &[ways])
        .unwrap()
        .iter()
        .map(|set| AttributeSet::from_positions(set).unwrap())
        .collect()
}

/// Records whose attributes depend on each other: each value is the one before it, or anything.
fn dependent(schema: &Schema, count: usize, rng: &mut ChaCha20Rng) -> Records {
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); schema.attributes().len()];
    for _ in 0..count {
        let mut before = 0;
        for (column, attribute) in columns.iter_mut().zip(schema.attributes()) {
            let size = attribute.size as u32;
            before = if rng.random::<f64>() < 0.6 { before % size } else { rng.random_range(0..size) };
            column.push(before);
        }
    }
    Records::new(schema, columns).unwrap()
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Looks at every candidate in every round: the exponential mechanism as it is written.
struct Exhaustive<'a> {
    records: &'a Records,
    accountant: ZcdpAccountant,
    rng: ChaCha8Rng,
}

fn true_error(records: &Records, positions: &[usize], estimates: &ResidualEstimates) -> f64 {
    let (truth, estimate) = (records.marginal(positions).unwrap(), estimates.marginal(positions).unwrap());
    truth.iter().zip(&estimate).map(|(t, e)| (t - e).abs()).sum()
}

impl PaidAccess for Exhaustive<'_> {
    fn rho(&self) -> f64 {
        self.accountant.rho()
    }

    fn remaining(&self) -> f64 {
        self.accountant.remaining()
    }

    fn select(
        &mut self,
        selection: &Selection,
        candidates: &Candidates,
        estimates: &ResidualEstimates,
    ) -> Result<usize> {
        self.accountant.spend("selection", selection.epsilon.powi(2) / 8.0)?;
        let noise: Vec<f64> = candidates.list().iter().map(|_| private_table::standard_gumbel(&mut self.rng)).collect();
        let scale = 0.5 * selection.epsilon / candidates.largest_weight();
        let key = |(place, c): (usize, &Candidate)| {
            let error = true_error(self.records, &c.positions, estimates);
            scale * (c.weight * (error - selection.penalty_per_cell * c.cells as f64)) + noise[place]
        };
        let keys: Vec<f64> = candidates.list().iter().enumerate().map(key).collect();
        Ok((0..keys.len()).max_by(|&a, &b| keys[a].total_cmp(&keys[b]).then(b.cmp(&a))).unwrap())
    }

    fn measure(&mut self, attributes: AttributeSet, variance: f64) -> Result<Vec<f64>> {
        let positions: Vec<usize> = attributes.positions().collect();
        let sizes: Vec<usize> = positions.iter().map(|&p| self.records.sizes()[p]).collect();
        let price = privacy_coefficient(&sizes, (1 << sizes.len()) - 1);
        self.accountant.spend("measurement", price / (2.0 * variance))?;
        measure_residual(self.records.marginal(&positions)?, &sizes, variance, &mut self.rng)
    }
}

#[test]
fn looking_only_where_it_matters_changes_no_choice() {
    let schema = schema(&[4, 3, 5, 2, 6]);
    for (seed, rho) in [(1, 0.01), (2, 0.3), (3, 4.0), (4, 50.0)] {
        let records = dependent(&schema, 400, &mut rng(seed));
        let workload = all_ways(&schema, 3);
        let mut own = rng(seed + 100);
        let mut table = PrivateTable::new(&records, rho, &mut own).unwrap();
        let fast = run(&schema, &workload, &mut table).unwrap();
        let looks = table.looks();
        let mut exhaustive = Exhaustive {
            records: &records,
            accountant: ZcdpAccountant::new(rho).unwrap(),
            rng: ChaCha8Rng::from_rng(&mut rng(seed + 100)),
        };
        let slow = run(&schema, &workload, &mut exhaustive).unwrap();
        assert_eq!(fast.rounds, slow.rounds, "rho = {rho}");
        assert!(looks < 25 * fast.rounds.len(), "{looks} looks in {} rounds", fast.rounds.len());
    }
}

/// The frequencies of 20,000 first selections against the exact probabilities: with 41 candidates the χ² statistic exceeds
/// 40 + 5 √80 (five standard deviations) with probability below 1e-4.
#[test]
fn selection_follows_the_exponential_mechanism() {
    const DRAWS: usize = 20_000;
    let schema = schema(&[2, 3, 2, 3, 2, 2]);
    let records = dependent(&schema, 60, &mut rng(5));
    let candidates = Candidates::of_workload(&schema, &all_ways(&schema, 3)).unwrap();
    let mut estimates = ResidualEstimates::new(&schema);
    estimates.update(AttributeSet::empty(), &[60.0], 1.0).unwrap();
    let selection = Selection { epsilon: 0.2, penalty_per_cell: 0.9 };
    let scores = candidates.list().iter().map(|c| {
        let error = true_error(&records, &c.positions, &estimates);
        0.1 / candidates.largest_weight() * c.weight * (error - 0.9 * c.cells as f64)
    });
    let weights: Vec<f64> = scores.map(f64::exp).collect();
    let total: f64 = weights.iter().sum();
    let mut seen = vec![0usize; weights.len()];
    let mut own = rng(6);
    let mut table = PrivateTable::new(&records, 1e9, &mut own).unwrap();
    for _ in 0..DRAWS {
        seen[table.select(&selection, &candidates, &estimates).unwrap()] += 1;
    }
    let statistic: f64 = seen
        .iter()
        .zip(&weights)
        .map(|(&s, w)| {
            let expected = DRAWS as f64 * w / total;
            (s as f64 - expected).powi(2) / expected
        })
        .sum();
    let freedom = (weights.len() - 1) as f64;
    assert!(statistic < freedom + 5.0 * (2.0 * freedom).sqrt(), "{statistic} for {freedom}");
    assert_eq!(weights.len(), 41);
}

#[test]
fn the_budget_is_never_exceeded_and_is_used_up() {
    let mut shapes = rng(7);
    for seed in 0..10_000 {
        let sizes: Vec<usize> = (0..shapes.random_range(1..5)).map(|_| shapes.random_range(1..5)).collect();
        let schema = schema(&sizes);
        let records = dependent(&schema, shapes.random_range(1..30), &mut shapes);
        let ways = shapes.random_range(1..=sizes.len());
        let rho = 10f64.powf(shapes.random_range(-6.0..3.0));
        let mut own = rng(seed);
        let mut table = PrivateTable::new(&records, rho, &mut own).unwrap();
        let outcome = run(&schema, &all_ways(&schema, ways), &mut table).unwrap();
        let spent = table.accountant().spent();
        assert!(spent <= rho, "{spent} of {rho}");
        // Attributes with one value cost nothing to measure: only then may something be left.
        assert!(spent >= rho * (1.0 - 1e-9) || sizes.contains(&1), "{spent} of {rho}, {sizes:?}");
        assert_eq!(outcome.rounds.iter().filter(|round| round.budget.last).count(), 1);
        assert!(outcome.rounds.last().unwrap().budget.last);
    }
}

/// What crossed the line between the loop and the data.
#[derive(Debug, PartialEq, Clone)]
enum Exchange {
    Selected(Selection, usize),
    Measured(AttributeSet, f64, Vec<f64>),
    Changed(AttributeSet, Vec<f64>),
}

/// Answers from a table, or the answers that another table gave; either way everything is written down.
struct Witness<'a, 'b> {
    table: &'a mut PrivateTable<'b>,
    replay: Option<std::vec::IntoIter<Exchange>>,
    seen: Vec<Exchange>,
}

impl PaidAccess for Witness<'_, '_> {
    fn rho(&self) -> f64 {
        self.table.rho()
    }

    fn remaining(&self) -> f64 {
        self.table.remaining()
    }

    fn select(
        &mut self,
        selection: &Selection,
        candidates: &Candidates,
        estimates: &ResidualEstimates,
    ) -> Result<usize> {
        let mut place = self.table.select(selection, candidates, estimates)?;
        if let Some(replay) = &mut self.replay {
            let Some(Exchange::Selected(_, other)) = replay.next() else { return Err(lost()) };
            place = other;
        }
        self.seen.push(Exchange::Selected(*selection, place));
        Ok(place)
    }

    fn measure(&mut self, attributes: AttributeSet, variance: f64) -> Result<Vec<f64>> {
        let mut answer = self.table.measure(attributes, variance)?;
        if let Some(replay) = &mut self.replay {
            let Some(Exchange::Measured(.., other)) = replay.next() else { return Err(lost()) };
            answer = other;
        }
        self.seen.push(Exchange::Measured(attributes, variance, answer.clone()));
        Ok(answer)
    }

    fn estimates_changed(&mut self, measured: AttributeSet, norms: &[f64], candidates: &Candidates) {
        self.table.estimates_changed(measured, norms, candidates);
        if let Some(replay) = &mut self.replay {
            replay.next();
        }
        self.seen.push(Exchange::Changed(measured, norms.to_vec()));
    }
}

fn lost() -> Error {
    Error::invalid("replay", "the same questions", "other ones", "the loop looked at data it did not pay for")
}

/// Two neighbouring tables, the second one forced to give the first one's answers: then nothing else may differ, neither a
/// question, nor a budget, nor an estimate.
#[test]
fn nothing_but_paid_answers_depends_on_the_data() {
    let schema = schema(&[3, 4, 2, 5]);
    let workload = all_ways(&schema, 2);
    for seed in 0..20 {
        let mut data = rng(seed);
        let records = dependent(&schema, 80, &mut data);
        let columns: Vec<Vec<u32>> = (0..4).map(|p| records.column(p).unwrap().take(79).collect()).collect();
        let neighbour = Records::new(&schema, columns).unwrap();
        let rho = 0.5;
        let (mut first, mut second) = (rng(seed + 50), rng(seed + 90));
        let mut table = PrivateTable::new(&records, rho, &mut first).unwrap();
        let mut witness = Witness { table: &mut table, replay: None, seen: Vec::new() };
        let outcome = run(&schema, &workload, &mut witness).unwrap();
        let seen = witness.seen;
        let mut table = PrivateTable::new(&neighbour, rho, &mut second).unwrap();
        let mut witness = Witness { table: &mut table, replay: Some(seen.clone().into_iter()), seen: Vec::new() };
        let again = run(&schema, &workload, &mut witness).unwrap();
        assert_eq!(witness.seen, seen);
        assert_eq!((again.rounds, again.rho_spent), (outcome.rounds, outcome.rho_spent));
        for set in &workload {
            let positions: Vec<usize> = set.positions().collect();
            assert_eq!(again.estimates.marginal(&positions).unwrap(), outcome.estimates.marginal(&positions).unwrap());
        }
    }
}

#[test]
fn a_large_budget_finds_the_marginals() {
    let schema = schema(&[3, 4, 2]);
    let records = dependent(&schema, 500, &mut rng(8));
    let workload = all_ways(&schema, 3);
    let mut own = rng(9);
    let mut table = PrivateTable::new(&records, 1e8, &mut own).unwrap();
    let outcome = run(&schema, &workload, &mut table).unwrap();
    assert!(true_error(&records, &[0, 1, 2], &outcome.estimates) < 0.1);
    assert!(outcome.residuals_per_round() >= 1.0);
}

#[test]
fn impossible_requests_are_refused() {
    let schema = schema(&[3, 4]);
    let records = dependent(&schema, 10, &mut rng(10));
    let mut own = rng(11);
    for rho in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(PrivateTable::new(&records, rho, &mut own).is_err(), "{rho}");
    }
    let none = Records::new(&schema, vec![vec![], vec![]]).unwrap();
    let message = PrivateTable::new(&none, 1.0, &mut own).err().unwrap().to_string();
    assert!(message.contains("records") && message.contains("remedy"), "{message}");
    let set = |positions: &[usize]| AttributeSet::from_positions(positions).unwrap();
    for (workload, part) in [
        (vec![], "no marginal"),
        (vec![set(&[])], "empty"),
        (vec![set(&[0]), set(&[0])], "twice"),
        (vec![set(&[2])], "attribute 2"),
    ] {
        let mut table = PrivateTable::new(&records, 1.0, &mut own).unwrap();
        let message = run(&schema, &workload, &mut table).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let large = Schema::uniform(usize::MAX / 2, 2).unwrap();
    assert!(Candidates::of_workload(&large, &[set(&[0, 1])]).is_err());
}

#[test]
fn candidates_are_the_closure_with_its_weights() {
    let schema = schema(&[28, 9, 30, 16, 16, 7, 15, 6, 5, 2, 12, 24, 32, 42, 2]);
    let candidates = Candidates::of_workload(&schema, &all_ways(&schema, 3)).unwrap();
    assert_eq!(candidates.closure_size(), 576);
    let of_size = |size: usize| candidates.list().iter().filter(move |c| c.positions.len() == size);
    assert_eq!(of_size(3).map(|c| c.cells).sum::<usize>(), 1_788_864);
    // Brute force over the workload for one candidate of each size.
    for size in 1..=3 {
        let candidate = of_size(size).nth(7).unwrap();
        let expected: usize =
            all_ways(&schema, 3).iter().map(|marginal| candidate.attributes.intersection(*marginal).len()).sum();
        assert_eq!(candidate.weight, expected as f64);
    }
    assert_eq!(candidates.largest_weight(), 3.0 * 91.0);
}
