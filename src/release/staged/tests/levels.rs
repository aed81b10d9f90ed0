//! Releases with levels: counts, costs and order by brute force, and the pair that attacks them.

use super::*;
use crate::access::{CountSource, LevelCounts};
use crate::domain::AttributeSet;
use crate::estimation::MarginalEstimates;
use crate::privacy::Neighbours;
use crate::release::records::{RecordCount, check, draw};
use crate::schema::{LevelSchema, Schema};
use crate::test_support::set;

/// Two regions with three counties each, and sex.
const SCHEMA: &str = "[[attribute]]\nname = \"county\"\nkind = \"categorical\"\n\
    values = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\n\
    levels = { region = [\"N\", \"S\", \"N\", \"S\", \"S\", \"N\"] }\n\
    [[attribute]]\nname = \"sex\"\nkind = \"categorical\"\nvalues = [\"f\", \"m\"]\n";

/// The region of every county.
const REGIONS: [u32; 6] = [0, 1, 0, 1, 1, 0];

const NESTED: &str = "[[queries]]\nfamily = \"nested\"\nattributes = [\"county\", \"sex\"]\n";
const REGION: &str =
    "[[queries]]\nfamily = \"level(region)\"\nattributes = [\"county\", \"sex\"]\n";

fn county_schema() -> Schema {
    Schema::from_toml(SCHEMA, "S.toml").unwrap()
}

fn planned_levels(workload: &str, mechanism: &str, budget: f64, unit: PrivacyUnit) -> Planned {
    planned_over(&county_schema(), SCHEMA.into(), workload, mechanism, budget, unit, 0.1)
}

/// `count` records of every county and sex, more of small numbers, none of county f.
fn table(count: u32) -> Vec<Vec<u32>> {
    let of = |cell: u32| vec![vec![cell / 2, cell % 2]; (count * (1 + (cell * 5) % 7)) as usize];
    (0..10).flat_map(of).collect()
}

/// Returns the cell of a record in the marginal on attributes and levels: county, sex, region.
fn cell(record: &[u32], set: AttributeSet) -> usize {
    let value = |position: usize| match position {
        2 => (2, REGIONS[record[0] as usize]),
        0 => (6, record[0]),
        _ => (2, record[1]),
    };
    set.positions().fold(0, |cell, p| cell * value(p).0 + value(p).1 as usize)
}

fn all_sets() -> Vec<AttributeSet> {
    [&[][..], &[0], &[1], &[2], &[0, 1], &[1, 2]].map(set).to_vec()
}

/// The counts of levels are those of the records, and sums of those of leaves.
#[test]
fn counts_of_levels_are_those_of_the_records() {
    let domain = LevelSchema::new(&county_schema()).unwrap();
    let rows = table(2);
    let records = records_of(&county_schema(), &rows);
    let counts = LevelCounts::new(&records, &domain);
    assert_eq!(counts.sizes(), [6, 2, 2]);
    let sets = all_sets();
    let mut found = Vec::new();
    let mut keep = |cells: &[f64]| {
        found.push(cells.to_vec());
        Ok(())
    };
    counts.count_each(&sets, &mut keep).unwrap();
    let extended = records.with_levels(&domain).unwrap();
    for (set, found) in sets.iter().zip(found) {
        let mut expected = vec![0.0; set.select(&[6, 2, 2]).iter().product()];
        rows.iter().for_each(|record| expected[cell(record, *set)] += 1.0);
        assert_eq!(found, expected, "{set:?}");
        assert_eq!(extended.marginal(*set).unwrap(), expected);
    }
}

/// Returns the largest Σ |B (e_a − e_b)|²/(2σ²) k² of a stage over neighbouring tables.
fn enumerated(stage: &[(IntegerMeasurement, Vec<i128>)], unit: PrivacyUnit) -> f64 {
    let records: Vec<Option<Vec<u32>>> =
        std::iter::once(None).chain((0..12).map(|cell| Some(vec![cell / 2, cell % 2]))).collect();
    let change = |(m, _): &(IntegerMeasurement, Vec<i128>), record: &Option<Vec<u32>>| {
        let mut cells = vec![0u32; m.attributes.select(&[6, 2, 2]).iter().product()];
        if let Some(record) = record {
            cells[cell(record, m.attributes)] = unit.rows;
        }
        m.strategy.answers(&cells).unwrap()
    };
    let mut largest = 0.0f64;
    for a in &records {
        for b in &records {
            let is_pair = match (a, b, unit.neighbours) {
                (None, Some(_), n) => n != Neighbours::ReplaceOneRecord,
                (Some(_), Some(_), n) => n != Neighbours::AddOrRemoveOneRecord,
                _ => false,
            };
            if is_pair {
                let term = |m: &(IntegerMeasurement, Vec<i128>)| {
                    let pairs = change(m, a).into_iter().zip(change(m, b));
                    let square: f64 = pairs.map(|(x, y)| ((x - y) as f64).powi(2)).sum();
                    if square > 0.0 { square / (2.0 * m.0.deviation.variance()) } else { 0.0 }
                };
                largest = largest.max(stage.iter().map(term).sum());
            }
        }
    }
    largest
}

/// The stated cost of every stage is the largest one over all neighbouring tables: exactly for added
/// or removed records, at least that for replaced ones. Files are read back, and every question
/// follows from the written integers.
#[test]
fn costs_are_those_of_neighbouring_tables() {
    let records = records_of(&county_schema(), &table(3));
    let mut stages = 0;
    for (index, neighbours) in [
        Neighbours::AddOrRemoveOneRecord,
        Neighbours::ReplaceOneRecord,
        Neighbours::ReplaceAddOrRemoveOneRecord,
    ]
    .into_iter()
    .enumerate()
    {
        for (k, mechanism) in
            ["staged", "staged(switch=0)", "staged(switch=1000)"].into_iter().enumerate()
        {
            for budget in [0.01, 1.0, 50.0] {
                let unit = PrivacyUnit { neighbours, rows: 1 + k as u32, distinct: None };
                let planned = planned_levels(NESTED, mechanism, budget, unit);
                let measured = released(&planned, &records, index as u64);
                assert!(is_replayed(&planned.plan, &measured));
                let folder = tempfile::tempdir().unwrap();
                files::write(&measured, folder.path());
                let read = StagedMeasurements::read(folder.path()).unwrap();
                let marginals = StagedMarginals::of(read.clone()).unwrap();
                let again = read.estimates(&planned.plan).unwrap();
                assert_eq!(planned.plan.published(&again).unwrap(), marginals.published());
                let statement = StagedStatement::released(&marginals).unwrap().to_json().unwrap();
                let statement: serde_json::Value = serde_json::from_str(&statement).unwrap();
                let mut sum = statement["certificate"]["rho"].as_f64().unwrap();
                for (stage, list) in
                    statement["stages"].as_array().unwrap().iter().zip(&read.stages)
                {
                    let (stated, found) = (stage["rho"].as_f64().unwrap(), enumerated(list, unit));
                    let is_exact = stage["rho_is_exact_sum"].as_bool().unwrap();
                    assert_eq!(is_exact, index == 0);
                    assert!(stated >= found * (1.0 - 1e-12), "{stated} {found}");
                    if is_exact {
                        approx::assert_relative_eq!(stated, found, max_relative = 1e-9);
                    } else {
                        assert!(stated <= 1.5 * found, "{stated} {found}");
                    }
                    sum += stated;
                    stages += 1;
                }
                assert!(sum <= budget * (1.0 + 1e-9), "{sum}");
            }
        }
    }
    assert!(stages > 60);
}

/// Products of the region are measured before those of the county, which are measured with a large
/// budget only.
#[test]
fn coarser_products_are_measured_before_finer_ones() {
    let records = records_of(&county_schema(), &table(20));
    let (fine, coarse) = (set(&[0, 1]), set(&[1, 2]));
    for (budget, measured_fine) in [(1e-6, 0..8), (10.0, 20..21)] {
        let unit = PrivacyUnit::default();
        let planned = planned_levels(NESTED, "staged(switch=0)", budget, unit);
        let mut count = 0;
        for seed in 0..20 {
            let measured = released(&planned, &records, seed);
            let has = |list: &[(IntegerMeasurement, Vec<i128>)], set| {
                list.iter().any(|(m, _)| m.attributes == set)
            };
            let first = |set| measured.stages.iter().position(|list| has(list, set));
            assert_eq!(measured.stages.len(), 6);
            assert!([None, Some(1)].contains(&first(coarse)));
            assert!([None, Some(2)].contains(&first(fine)));
            count += usize::from(first(fine).is_some());
        }
        assert!(measured_fine.contains(&count), "{budget}: {count}");
    }
}

/// With a large budget all answers are true, of every level and of the root; with any budget,
/// estimates of the model agree over the levels.
#[test]
fn answers_are_true_without_noise_and_agree_over_levels() {
    let rows = table(4);
    let records = records_of(&county_schema(), &rows);
    for (workload, mechanism) in [
        (NESTED, "staged"),
        (NESTED, "staged(switch=0)"),
        (REGION, "staged"),
        (REGION, "staged(switch=0)"),
    ] {
        let planned = planned_levels(workload, mechanism, 1e7, PrivacyUnit::default());
        let marginals = StagedMarginals::of(released(&planned, &records, 6)).unwrap();
        for (of, _) in marginals.published() {
            let estimate = marginals.marginal(*of).unwrap();
            let mut expected = vec![0.0; estimate.cells.len()];
            rows.iter().for_each(|record| expected[cell(record, *of)] += 1.0);
            let error: f64 = estimate.cells.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
            assert!(error < 0.01 * rows.len() as f64, "{workload} {mechanism} {of:?} {error}");
            assert!(
                estimate.errors.unwrap().sum_alone >= error && estimate.of_published == Some(*of)
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.csv");
        let origin = std::path::Path::new("");
        let parsed = GroupedWorkload::from_toml(&county_schema(), workload, "W", origin).unwrap();
        answers::write(&path, &marginals, &parsed, &mut |_| ()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let group = &parsed.groups()[0];
        let truth = group.answers(&records.marginal(set(&[0, 1])).unwrap()).unwrap();
        let header = "estimate,error_bound_95,extrapolated,error_bound_is";
        assert!(text.lines().next().unwrap().ends_with(header), "{text}");
        // The last field is quoted, and no other of the last four has a comma.
        let found = text.lines().skip(1).map(|line| {
            let (rest, bounded) = line.split_once(",no,").unwrap();
            assert!(bounded.contains("county") && bounded.contains("sex"), "{line}");
            rest.rsplit(',').nth(1).unwrap().parse::<f64>().unwrap()
        });
        let found: Vec<f64> = found.collect();
        assert_eq!(found.len(), truth.len());
        for (found, truth) in found.iter().zip(&truth) {
            assert!((found - truth).abs() < 0.01 * rows.len() as f64, "{found} {truth}");
        }
        assert!(text.contains("county.region"), "{text}");
    }
    let planned = planned_levels(NESTED, "staged(switch=0)", 0.5, PrivacyUnit::default());
    let measured = released(&planned, &records, 6);
    let fit = measured.estimates(&planned.plan).unwrap().fit;
    assert_eq!(fit.outside(), 0);
    let domain = planned.plan.domain();
    let sums = domain.summed(set(&[0, 1]), &fit.marginal(set(&[0, 1])).unwrap(), set(&[1, 2]));
    for (a, b) in fit.marginal(set(&[1, 2])).unwrap().iter().zip(sums) {
        approx::assert_relative_eq!(*a, b, max_relative = 1e-9);
    }
    // The model gives a county outside its region nothing.
    for (index, x) in fit.marginal(set(&[0, 2])).unwrap().iter().enumerate() {
        assert_eq!(REGIONS[index / 2] == (index % 2) as u32, *x > 0.0, "{index} {x}");
    }
}

/// Synthetic records have counties; the bounds of their marginals on regions are those of the
/// records.
#[test]
fn records_have_leaves_and_bounds_of_levels() {
    let records = records_of(&county_schema(), &table(4));
    let planned = planned_levels(NESTED, "staged", 1.0, PrivacyUnit::default());
    check(&planned.plan).unwrap();
    let marginals = StagedMarginals::of(released(&planned, &records, 2)).unwrap();
    let fit = &marginals.estimates().unwrap().fit;
    let (drawn, _) = draw(&county_schema(), fit, RecordCount::Exactly(100)).unwrap();
    assert_eq!((drawn.sizes(), drawn.len()), (&[6, 2][..], 100));
    let extended = drawn.with_levels(planned.plan.domain()).unwrap();
    let unit = (-f64::from(marginals.bits())).exp2();
    let distances = (marginals.published().iter())
        .map(|(set, t)| distance(&extended, *set, t, marginals.bits()) as f64 * unit);
    let mean = distances.sum::<f64>() / marginals.published().len() as f64;
    let errors = marginals.errors_of_records(&drawn).unwrap().unwrap();
    approx::assert_abs_diff_eq!(errors.mean_distance, mean, epsilon = 2e-6);
    // An attribute that is only asked by level has no estimates, so there are no records.
    let planned = planned_levels(REGION, "staged", 1.0, PrivacyUnit::default());
    let message = check(&planned.plan).unwrap_err().to_string();
    assert!(message.contains("no marginal with county"), "{message}");
    let marginals = StagedMarginals::of(released(&planned, &records, 2)).unwrap();
    let message = marginals.check(set(&[0, 1])).unwrap_err().to_string();
    assert!(message.contains("county, not measured"), "{message}");
}

/// County f is in one table only: a record moves there from a county of the other region, or is
/// added. Whole transcripts are attacked, with the distances of the certificate.
#[test]
fn attacks_by_a_leaf_of_one_table_stay_within_the_budget() {
    let schema = county_schema();
    let domain = LevelSchema::new(&schema).unwrap();
    let with = |more: Option<[u32; 2]>| -> Vec<Vec<u32>> {
        table(1).into_iter().chain(more.map(|record| record.to_vec())).collect()
    };
    let replaced = Neighbours::ReplaceOneRecord;
    for (neighbours, first, second) in [
        (Neighbours::AddOrRemoveOneRecord, None, Some([5, 1])),
        (replaced, Some([4, 1]), Some([5, 1])),
        (replaced, Some([4, 0]), Some([5, 1])),
    ] {
        let unit = PrivacyUnit { neighbours, rows: 1, distinct: None };
        let planned = planned_levels(NESTED, "staged", 1.0, unit);
        let [a, b] = [first, second].map(|more| records_of(&schema, &with(more)));
        let tables = [&a, &b].map(|records| records.with_levels(&domain).unwrap());
        let found = audit::attack([&tables[0], &tables[1]], 2_000, &|of, seed| {
            let records = if std::ptr::eq(of, &tables[0]) { &a } else { &b };
            released(&planned, records, seed)
        });
        let mu = (2.0 * planned.plan.rho().get()).sqrt();
        assert!(found.mu <= mu + 4.4 * found.error && found.mu > 0.3 * mu, "{}", found.mu);
    }
}
