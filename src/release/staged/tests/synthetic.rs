//! The error bounds of synthetic records.

use super::*;
use crate::domain::AttributeSet;
use crate::release::records::{RecordCount, draw};
use crate::schema::Schema;
use crate::test_support::read_csv;

/// Returns the L1 distances of the marginals of two tables.
const AUTO: RecordCount = RecordCount::Released { at_most: 1 << 20 };

fn distances(a: &Records, b: &Records, sets: &[AttributeSet]) -> Vec<f64> {
    let of_set = |set: &AttributeSet| {
        let cells = counts(a, *set).into_iter().zip(counts(b, *set));
        cells.map(|(x, y)| f64::from(x.abs_diff(y))).sum()
    };
    sets.iter().map(of_set).collect()
}

/// The bounds are for the records as written: those of the published marginals plus the exact
/// distances, for any number of records.
#[test]
fn bounds_are_those_of_the_written_records() {
    let sizes = [3, 2, 4];
    let planned = planned(&sizes, PAIRS, "staged", 1.0, PrivacyUnit::default(), 0.1);
    let schema = planned.plan.schema();
    let records = records_of(schema, &rows(&sizes));
    let marginals = StagedMarginals::of(released(&planned, &records, 3)).unwrap();
    let (bounds, unit) = (marginals.bounds().unwrap(), (-f64::from(marginals.bits())).exp2());
    for count in [AUTO, RecordCount::Exactly(7)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.csv");
        let synthetic = marginals.write_records(&path, schema, count).unwrap();
        let text = std::fs::read(&path).unwrap();
        let written = read_csv(text, schema, OutOfDomain::Drop, None).unwrap();
        assert_eq!(written.len(), synthetic.count());
        let to_published: Vec<f64> = (marginals.published().iter())
            .map(|(set, t)| distance(&written, *set, t, marginals.bits()) as f64 * unit)
            .collect();
        let mean = to_published.iter().sum::<f64>() / to_published.len() as f64;
        let errors = *synthetic.errors().unwrap();
        assert_eq!(errors.marginals, 6);
        approx::assert_abs_diff_eq!(errors.mean_distance, mean, epsilon = 2e-6);
        assert!(errors.mean_distance >= mean);
        let expected = bounds.mean + mean;
        approx::assert_abs_diff_eq!(errors.bounds.mean_error_bound_95, expected, epsilon = 2e-6);
        let each = bounds.together.iter().zip(&to_published).map(|(a, b)| a + b);
        let largest = each.fold(0.0, f64::max);
        approx::assert_abs_diff_eq!(
            errors.bounds.largest_error_bound_95_of_all,
            largest,
            epsilon = 2e-6
        );
        assert!(format!("{:?}", synthetic.in_words()).contains("plus the exact distances"));
    }
    let without = planned_without_certificate(&records);
    let path = tempfile::tempdir().unwrap().path().join("none").join("records.csv");
    assert!(without.write_records(&path, schema, AUTO).is_err());
    let (drawn, _) = draw(schema, &without.estimates().unwrap().fit, AUTO).unwrap();
    assert!(without.errors_of_records(&drawn).unwrap().is_none());
}

fn planned_without_certificate(records: &Records) -> StagedMarginals {
    let planned = planned(&[3, 2, 4], PAIRS, "staged", 1.0, PrivacyUnit::default(), 0.0);
    StagedMarginals::of(released(&planned, records, 3)).unwrap()
}

/// 800 releases of small tables: the bounds of the records miss in at most 5 % of releases (+ four
/// standard errors). They also hold for a record fewer or more than released.
#[test]
fn bounds_of_records_hold_with_the_stated_probability() {
    for budget in [0.05, 2.0] {
        let planned = planned(&[3, 2], PAIRS, "staged", budget, PrivacyUnit::default(), 0.03);
        let schema = planned.plan.schema();
        let table: Vec<Vec<u32>> = rows(&[3, 2]).into_iter().cycle().take(60).collect();
        let records = records_of(schema, &table);
        let trials = 400u32;
        let mut misses = [0.0; 3];
        for seed in 0..u64::from(trials) {
            let marginals = StagedMarginals::of(released(&planned, &records, seed)).unwrap();
            let fit = &marginals.estimates().unwrap().fit;
            let (drawn, _) = draw(schema, fit, AUTO).unwrap();
            let bounds = marginals.errors_of_records(&drawn).unwrap().unwrap().bounds;
            let errors = distances(&records, &drawn, planned.plan.marginals());
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let largest = errors.iter().copied().fold(0.0, f64::max);
            let missed = |error: f64, bound: f64| f64::from(u8::from(error > bound));
            misses[0] += missed(mean, bounds.mean_error_bound_95);
            misses[1] += missed(largest, bounds.largest_error_bound_95_of_all);
            let per_record = bounds.mean_error_bound_95_per_record;
            misses[2] += per_record.map_or(0.0, |bound| missed(mean / table.len() as f64, bound));
        }
        let trials = f64::from(trials);
        let most = 0.05 * trials + 4.0 * (0.05 * 0.95 * trials).sqrt();
        assert!(misses.iter().all(|misses| *misses <= most), "{budget}: {misses:?} above {most}");
    }
}

/// Neighbouring tables with the same noisy integers have the same bounds: nothing but the written
/// measurements is used.
#[test]
fn bounds_depend_on_the_measurements_only() {
    let planned = planned(&[3, 2], PAIRS, "staged", 1.0, PrivacyUnit::default(), 0.03);
    let schema = planned.plan.schema();
    let records = records_of(schema, &rows(&[3, 2]));
    let folder = tempfile::tempdir().unwrap();
    let measured = released(&planned, &records, 5);
    files::write(&measured, folder.path());
    drop(records);
    let again = StagedMeasurements::read(folder.path()).unwrap();
    let of = |measured: StagedMeasurements, name: &str| {
        let marginals = StagedMarginals::of(measured).unwrap();
        let path = folder.path().join(name);
        let synthetic = marginals.write_records(&path, schema, AUTO).unwrap();
        (synthetic, std::fs::read(path).unwrap())
    };
    assert_eq!(of(measured, "first.csv"), of(again, "again.csv"));
}

/// No published cell and no record has an impossible combination, also if the table has it.
#[test]
fn impossible_combinations_are_in_no_output() {
    let sizes = [3, 2, 4];
    let text = format!(
        "{}[[impossible]]\nwhere = {{ A1 = [0, 1], A3 = {{ from = 1, to = 3 }} }}\n\
         [[impossible]]\nwhere = {{ A1 = 2, A2 = 0 }}\n",
        schema_text(&sizes)
    );
    let schema = Schema::from_toml(&text, "S.toml").unwrap();
    let unit = PrivacyUnit::default();
    let planned = planned_over(&schema, text, PAIRS, "staged", 1.0, unit, 0.1);
    let records = records_of(&schema, &rows(&sizes));
    for seed in 0..20 {
        let marginals = StagedMarginals::of(released(&planned, &records, seed)).unwrap();
        for (set, cells) in marginals.published() {
            let shape = set.select(&sizes);
            for impossible in schema.impossible() {
                if impossible.attributes().is_subset(*set) {
                    let inside = impossible.cells(*set, &shape);
                    assert!(inside.iter().zip(cells).all(|(inside, x)| !inside || *x == 0));
                }
            }
        }
        let model = &marginals.estimates().unwrap().fit;
        let (drawn, _) = draw(&schema, model, RecordCount::Exactly(50)).unwrap();
        let columns: Vec<Vec<u32>> =
            (0..3).map(|p| drawn.column(p).into_iter().flatten().collect()).collect();
        for index in 0..50 {
            let record: Vec<usize> = columns.iter().map(|c| c[index] as usize).collect();
            assert!(schema.impossible().iter().all(|cells| !cells.contains(|p| record[p])));
        }
    }
}
