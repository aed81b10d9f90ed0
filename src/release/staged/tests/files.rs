//! Folders of interrupted and of damaged releases.

use std::path::Path;

use super::*;

/// Writes a release as `run` does, stage by stage.
pub(super) fn write(measured: &StagedMeasurements, folder: &Path) {
    measured.write_terms(folder).unwrap();
    let mut stages = StagedMeasurements { stages: Vec::new(), ..measured.clone() };
    for stage in &measured.stages {
        stages.stages.push(stage.clone());
        stages.write_last_stage(folder).unwrap();
    }
    measured.write_certificate(folder).unwrap();
}

/// A run that was interrupted after any stage, also while a folder was being written, leaves a
/// release of the complete stages.
#[test]
fn interrupted_releases_have_fewer_stages() {
    let planned = planned(&[3, 2], PAIRS, "staged(switch=0)", 1.0, PrivacyUnit::default(), 0.03);
    let records = records_of(planned.plan.schema(), &rows(&[3, 2]));
    let measured = released(&planned, &records, 1);
    assert_eq!(measured.stages.len(), 5);
    for complete in 0..=5 {
        let folder = tempfile::tempdir().unwrap();
        write(&measured, folder.path());
        std::fs::remove_file(folder.path().join("certificate/SHA256SUMS")).unwrap();
        for stage in complete..5 {
            let stage = folder.path().join(format!("stage-{stage}"));
            std::fs::remove_file(stage.join("SHA256SUMS")).unwrap();
            if stage.ends_with(format!("stage-{}", complete + 1)) {
                std::fs::remove_dir_all(&stage).unwrap();
            }
        }
        for stage in complete + 1..5 {
            let _ = std::fs::remove_dir_all(folder.path().join(format!("stage-{stage}")));
        }
        let read = StagedMeasurements::read(folder.path());
        if complete == 0 {
            let message = read.unwrap_err().to_string();
            assert!(message.contains("stage-0") && message.contains("complete"), "{message}");
            continue;
        }
        let marginals = StagedMarginals::of(read.unwrap()).unwrap();
        assert_eq!(marginals.measured().stages.len(), complete);
        assert!(marginals.bounds().is_none());
        assert_eq!(marginals.published().len(), 3);
        let statement = StagedStatement::released(&marginals).unwrap();
        assert!(statement.to_markdown().contains("no certificate"));
    }
}

/// A missing stage in the middle, and a certificate of other stages, are refused.
#[test]
fn missing_stages_are_refused() {
    let planned = planned(&[3, 2], PAIRS, "staged(switch=0)", 1.0, PrivacyUnit::default(), 0.03);
    let records = records_of(planned.plan.schema(), &rows(&[3, 2]));
    let measured = released(&planned, &records, 1);
    for (stage, said) in [(1, "stage-1"), (4, "stages of the release")] {
        let folder = tempfile::tempdir().unwrap();
        write(&measured, folder.path());
        let stage = folder.path().join(format!("stage-{stage}"));
        std::fs::remove_file(stage.join("SHA256SUMS")).unwrap();
        let message = StagedMeasurements::read(folder.path()).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
}

/// Queries on subsets of a marginal have its bound; others come from the model; attributes that
/// were not measured are refused.
#[test]
fn other_sets_are_summed_or_extrapolated_or_refused() {
    let workload = "[[queries]]\nfamily = \"identity\"\nattributes = [\"A1\", \"A2\"]\n\
                    [[queries]]\nfamily = \"prefix\"\nattributes = [\"A2\", \"A3\"]\n";
    let unit = PrivacyUnit::default();
    let planned = planned(&[3, 2, 4, 2], workload, "staged", 1.0, unit, 0.03);
    let records = records_of(planned.plan.schema(), &rows(&[3, 2, 4, 2]));
    let marginals = StagedMarginals::of(released(&planned, &records, 1)).unwrap();
    let set = crate::test_support::set;
    let pair = marginals.marginal(set(&[0, 1])).unwrap();
    let single = marginals.marginal(set(&[1])).unwrap();
    // A2 is in both marginals; the one on A1 and A2 has fewer cells.
    assert_eq!(single.errors, pair.errors);
    let sums = [0, 1].map(|b| (0..3).map(|a| pair.cells[2 * a + b]).sum::<f64>());
    assert_eq!(single.cells, sums);
    assert!(pair.errors.is_some() && single.of_published.is_some());
    let outside = marginals.marginal(set(&[0, 2])).unwrap();
    assert!(outside.of_published.is_none() && outside.errors.is_none());
    assert_eq!(outside.cells.len(), 12);
    let scale = f64::from(marginals.bits()).exp2();
    assert!(outside.cells.iter().all(|x| (x * scale).fract() == 0.0));
    let message = marginals.marginal(set(&[0, 3])).unwrap_err().to_string();
    assert!(message.contains("A4") && message.contains("remedy"), "{message}");
}

/// Equal tables have equal integers of every stage and distance from every source, with the noise
/// of one stream.
#[test]
fn equal_tables_have_equal_releases_from_every_source() {
    use crate::test_support::typed_tables::{Row, SCHEMA_OF_ALL_CELLS, count_sources};
    let schema = crate::schema::Schema::from_toml(SCHEMA_OF_ALL_CELLS, "S.toml").unwrap();
    let text = |k: usize| [Some("a"), Some("02139"), None, Some("b\r\nc")][k % 4];
    let row = |k: usize| -> Row {
        let (small, other) = ((k % 11) as i8 - 2, (7 * k % 130) as i8 - 10);
        (
            Some(small),
            Some(other),
            Some((k % 5) as i8),
            text(k),
            Some(k.is_multiple_of(3)),
            None,
            None,
        )
    };
    let rows: Vec<Row> = (0..60).map(row).collect();
    let workload = "[[queries]]\nfamily = \"identity\"\nways = [2]\n";
    let unit = PrivacyUnit::default();
    let planned =
        planned_over(&schema, SCHEMA_OF_ALL_CELLS.to_owned(), workload, "staged", 2.0, unit, 0.1);
    for variant in [0, 7, 26, 59] {
        let folder = tempfile::tempdir().unwrap();
        let counted = count_sources(&rows, variant, folder.path(), &schema);
        let expected = released(&planned, counted[0].as_ref(), 5);
        assert!(!expected.stages.is_empty());
        for source in &counted[1..] {
            let found = released(&planned, source.as_ref(), 5);
            let integers = |measured: &StagedMeasurements| -> Vec<Vec<i128>> {
                measured.stages.iter().flatten().map(|(_, answers)| answers.clone()).collect()
            };
            assert_eq!(integers(&found), integers(&expected));
            assert_eq!(found.certificate, expected.certificate);
        }
    }
}
