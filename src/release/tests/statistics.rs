//! Bias and standard errors over many releases.

use super::*;

/// Bias, spread and coverage over many releases.
pub(super) struct Outcome {
    /// The largest |mean error|, in standard errors of the mean.
    pub bias: f64,
    /// The largest |variance/stated − 1|, in its standard errors.
    pub spread: f64,
    /// The share of releases whose simultaneous intervals contain all true answers.
    pub covered: f64,
    /// The share of answers whose single interval contains the true answer.
    pub single: f64,
}

/// Releases `count` times and compares all answers with the truth.
pub(super) fn over_releases(
    workload: &GroupedWorkload,
    records: &Records,
    count: u64,
    release: &(dyn Fn(u64) -> Measurements + Sync),
) -> Outcome {
    let truth: Vec<f64> = (workload.groups().iter())
        .flat_map(|group| group.answers(&records.marginal(group.attributes()).unwrap()).unwrap())
        .collect();
    let reach = Reach::of(truth.len() as f64);
    let part = |seeds: std::ops::Range<u64>| {
        let (mut sums, mut squares) = (vec![0.0; truth.len()], vec![0.0; truth.len()]);
        let (mut covered, mut single) = (0.0, 0.0);
        for seed in seeds {
            let estimates = Estimates::of(&release(seed)).unwrap();
            let found =
                workload.groups().iter().flat_map(|g| answers::of_group(&estimates, g).unwrap());
            let mut all = true;
            for (query, (answer, truth)) in found.zip(&truth).enumerate() {
                let z = (answer.estimate - truth) / answer.standard_error;
                sums[query] += z;
                squares[query] += z * z;
                let away = z.abs();
                all &= away <= reach.simultaneous;
                single += f64::from(u8::from(away <= reach.single));
            }
            covered += f64::from(u8::from(all));
        }
        (sums, squares, covered, single)
    };
    let (second, first) = std::thread::scope(|scope| {
        let half = scope.spawn(|| part(0..count / 2));
        (part(count / 2..count), half.join().unwrap())
    });
    let n = count as f64;
    let largest = |scores: &mut dyn Iterator<Item = f64>| {
        scores.fold(0.0f64, |largest, score| largest.max(score.abs()))
    };
    let bias = largest(&mut second.0.iter().zip(&first.0).map(|(a, b)| (a + b) / n.sqrt()));
    let spread = largest(
        &mut second.1.iter().zip(&first.1).map(|(a, b)| ((a + b) / n - 1.0) * (n / 2.0).sqrt()),
    );
    Outcome {
        bias,
        spread,
        covered: (second.2 + first.2) / n,
        single: (second.3 + first.3) / (n * truth.len() as f64),
    }
}

/// 20,000 releases of 19 answers: |z| of a mean or a variance exceeds 5 with probability below
/// 19 · 2 · 6e-7 < 3e-5. Simultaneous intervals miss in at most 5 % of releases, single intervals
/// for at most 5 % of answers.
#[test]
fn estimates_are_unbiased_and_standard_errors_exact() {
    let (workload, plan) = plan_of("query-smasher", &[3, 2], SMALL, 0.5, PrivacyUnit::default());
    let records = records_of(workload.schema(), &rows(&[3, 2]));
    let found = over_releases(&workload, &records, 20_000, &|seed| released(&plan, &records, seed));
    assert!(found.bias < 5.0 && found.spread < 5.0, "{} {}", found.bias, found.spread);
    assert!(found.covered > 0.95, "{}", found.covered);
    assert!(found.single > 0.95 && found.single < 0.999, "{}", found.single);
}

/// The same for a non-uniform reference measure, joint queries, completed strategies, and replaced
/// records.
#[test]
fn estimates_are_unbiased_for_other_measures_and_joint_queries() {
    let workload = "[[queries]]\nfamily = \"prefix\"\nways = [1, 2]\n\
                    [[queries]]\nfamily = \"affine\"\nattributes = [\"A1\", \"A2\"]\n";
    let unit = PrivacyUnit {
        neighbours: crate::privacy::Neighbours::ReplaceOneRecord,
        rows: 2,
        distinct: None,
    };
    let (workload, plan) = plan_of("anova", &[3, 3], workload, 0.5, unit);
    assert!(!plan.plan().measure().is_uniform());
    let records = records_of(workload.schema(), &rows(&[3, 3]));
    let found = over_releases(&workload, &records, 4_000, &|seed| released(&plan, &records, seed));
    assert!(found.bias < 5.0 && found.spread < 5.0, "{} {}", found.bias, found.spread);
    // Joint queries alone have low rank: the rest of their subspace is measured at a share 10⁻⁷ of
    // the cost.
    let affine = "[[queries]]\nfamily = \"affine\"\nattributes = [\"A1\", \"A2\"]\n";
    let (workload, plan) = plan_of("query-smasher", &[4, 4], affine, 0.5, PrivacyUnit::default());
    let records = records_of(workload.schema(), &rows(&[4, 4]));
    let found = over_releases(&workload, &records, 4_000, &|seed| released(&plan, &records, seed));
    assert!(found.bias < 5.0 && found.spread < 5.0, "{} {}", found.bias, found.spread);
}

/// The same for the nodes of a hierarchy, alone and in a product.
#[test]
fn estimates_of_nodes_are_unbiased_and_standard_errors_exact() {
    let schema = "[[attribute]]\nname = \"A1\"\nkind = \"categorical\"\nsize = 4\n\
                  levels = { county = [1, 2, 1, 3], region = [\"N\", \"S\", \"N\", \"S\"] }\n\
                  [[attribute]]\nname = \"A2\"\nkind = \"categorical\"\nsize = 2\n";
    let schema = Schema::from_toml(schema, "S.toml").unwrap();
    let workload = "[[queries]]\nfamily = \"nested\"\nattributes = [\"A1\"]\n\
                    [[queries]]\nfamily = \"level(region)\"\nattributes = [\"A1\", \"A2\"]\n";
    for planner in ["query-smasher", "anova"] {
        let (workload, plan) = plan_over(planner, &schema, workload, 0.5, PrivacyUnit::default());
        let records = records_of(workload.schema(), &rows(&[4, 2]));
        let found =
            over_releases(&workload, &records, 4_000, &|seed| released(&plan, &records, seed));
        assert!(found.bias < 5.0 && found.spread < 5.0, "{} {}", found.bias, found.spread);
        assert!(found.covered > 0.93, "{}", found.covered);
    }
}

/// Adjusted answers are nonnegative integers, and consistent if one set of attributes contains all
/// others.
#[test]
fn adjusted_answers_are_nonnegative_integers_and_consistent() {
    let text = "[[queries]]\nfamily = \"identity\"\nways = [1, 2]\n";
    let (workload, plan) = plan_of("query-smasher", &[3, 2], text, 0.05, PrivacyUnit::default());
    let records = records_of(workload.schema(), &rows(&[3, 2]));
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..5 {
        let estimates = Estimates::of(&released(&plan, &records, seed)).unwrap();
        let path = folder.path().join(format!("{seed}.csv"));
        let consistency = adjust::write(&path, &estimates, &workload, &mut |_| ()).unwrap();
        assert_eq!(consistency, adjust::Consistency::OneMarginal);
        let mut table = csv::Reader::from_path(&path).unwrap();
        let values: Vec<f64> =
            table.records().map(|row| row.unwrap()[4].parse().unwrap()).collect();
        assert!(values.iter().all(|x| *x >= 0.0 && x.fract() == 0.0), "{values:?}");
        // A1, A2, then the six cells of both.
        let pairs = &values[5..];
        let sums: Vec<f64> = pairs.chunks(2).map(|pair| pair.iter().sum()).collect();
        assert_eq!(values[..3], sums);
        assert_eq!(values[3], pairs[0] + pairs[2] + pairs[4]);
    }
}
