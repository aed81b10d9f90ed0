//! Tests of `reproduce verify --proofs`: lower bounds proved again from certificates.

use std::fs;

use experiments::config::{self, Profile};
use experiments::datasets::Catalogue;
use experiments::engine::{ExperimentPlan, prepare};
use experiments::registry;
use experiments::verify::{self, Check, Verified};
use matmech::matrix_file::{NpzArray, npz_arrays, npz_bytes};

use crate::engine::toy::{Project, finish, jobs};

/// One config per kind of certificate: id and lines after the header.
const CONFIGS: [(&str, &str); 6] = [
    (
        "t/gram",
        "kind = 'strategy-errors'\n[grid]\nworkloads = ['range:24', 'range:6x4']\n\
         methods = ['svd-bound', 'wavelet', 'optimal']",
    ),
    (
        "t/samples",
        "kind = 'skewed-ranges'\n[grid]\nfamilies = ['range', 'skew-range']\ncells = [16]\n\
         methods = ['wavelet', 'optimal']\nlambda = 10.0\nshare = 0.2\nleast = 20\n\
         samples = 2\nsample_seed = 1",
    ),
    (
        "t/problems",
        "kind = 'problem-errors'\n[grid]\nruns = [{ workloads = ['prefix:16'], \
         objectives = ['mean', 'max'], participations = ['single', 'epochs:4'], \
         methods = ['optimal', 'recurrence(buffers=2)'] }, { workloads = ['prefix:16'], \
         objectives = ['mean'], participations = ['min-sep:4,3'], methods = ['optimal'] }]",
    ),
    (
        "t/laplace",
        "kind = 'laplace-designs'\n[grid]\nworkloads = ['range:16', 'range:4x4']\n\
         methods = ['wavelet']",
    ),
    (
        "t/plans",
        "kind = 'plan-errors'\n[grid]\nweight_seed = 3\nparts = [{ n = [4], d = [3, 6], \
         workloads = ['prefix'], methods = ['weighted-fourier', 'hdmm-union', 'query-smasher', \
         'anova', 'global-bound'] }, { n = [5], d = [3], workloads = ['affine', 'random'], \
         methods = ['query-smasher', 'anova'] }]",
    ),
    (
        "t/schemas",
        "kind = 'dataset-plan-errors'\n[grid]\nproduct_above = 20\nworkloads = ['abs_diff', \
         '2-way']\nmethods = ['query-smasher', 'anova']\nbounded = ['2-way']\n\
         datasets = [{ name = 'A', numeric = [7, 5], categorical = [4, 2] }]",
    ),
];

/// Runs all configs.
fn computed() -> Project {
    let project = Project::new();
    fs::remove_dir_all(project.root().join("configs/toy")).unwrap();
    for (id, lines) in CONFIGS {
        let header = format!(
            "experiment = '{id}'\ntitle = 'T'\nreproduces = 'Nothing'\nseed = 1\n\
             expected_seconds = 1\nexpected_mb = 20\n{lines}\n"
        );
        project.write(&format!("configs/{id}.toml"), &header);
    }
    let catalogue = Catalogue::new(project.root(), project.folders());
    let kinds = registry::experiments(&catalogue);
    for config in &config::load_all(project.root()).unwrap() {
        let plan = ExperimentPlan::new(config, &kinds, Profile::Standard).unwrap();
        let prepared = prepare(project.root(), vec![plan], &jobs(2)).unwrap();
        let summary = finish(prepared, &jobs(2)).unwrap();
        assert!(summary.failed.is_empty(), "{summary:?}");
    }
    project
}

fn verified(project: &Project, proofs: bool) -> Verified {
    let configs = config::load_all(project.root()).unwrap();
    let catalogue = Catalogue::new(project.root(), project.folders());
    let kinds = registry::experiments(&catalogue);
    let profile = Profile::Standard;
    verify::run(project.root(), &configs, &kinds, &catalogue, profile, proofs).unwrap()
}

/// Returns the findings about proofs: check, table and text.
fn findings(project: &Project) -> Vec<(Check, String, String)> {
    let about = |check| [Check::NoProof, Check::Proofs].contains(&check);
    let all = verified(project, true).findings.into_iter();
    all.filter(|f| about(f.check)).map(|f| (f.check, f.location, f.found)).collect()
}

/// Changes the numbers of the largest array of a file of certificates.
fn change(project: &Project, table: &str, change: impl Fn(&mut Vec<f32>)) {
    let file = project.root().join(format!("results/{table}.certificates.npz"));
    let mut arrays: Vec<(String, NpzArray)> =
        npz_arrays(&fs::read(&file).unwrap()).unwrap().into_iter().collect();
    let numbers = arrays.iter_mut().filter_map(|(_, array)| match array {
        NpzArray::Numbers(numbers) => Some(numbers),
        NpzArray::Bytes(_) => None,
    });
    change(numbers.max_by_key(|numbers| numbers.len()).unwrap());
    fs::write(file, npz_bytes(&arrays).unwrap()).unwrap();
}

/// All lower bounds, those of other methods and closed forms too, are proved again. Every kind of
/// damage is found, and only with proofs.
#[test]
fn lower_bounds_are_proved_again_and_damage_is_found() {
    let project = computed();
    assert_eq!(findings(&project), []);
    let found = verified(&project, true);
    // Each value of the method that bounds all others is one more lower bound.
    assert_eq!(found.proved, found.certificates + 3);
    assert_eq!(found.certificates, 39, "{found}");
    for (table, _) in CONFIGS {
        let file = project.root().join(format!("results/{table}.certificates.npz"));
        let kept = fs::read(&file).unwrap();
        // Other weights prove a smaller bound, or a larger error.
        change(&project, table, |numbers| numbers[0] *= 3.0);
        let wrong = findings(&project);
        assert!(matches!(&wrong[..], [(Check::Proofs, of, _)] if of == table), "{wrong:?}");
        change(&project, table, |numbers| numbers[0] = f32::NAN);
        assert!(findings(&project)[0].2.contains(table), "{:?}", findings(&project));
        fs::write(&file, &kept[..kept.len() / 2]).unwrap();
        assert!(findings(&project)[0].2.contains("archive"), "{:?}", findings(&project));
        fs::remove_file(&file).unwrap();
        let missing = findings(&project);
        assert!(matches!(&missing[..], [(Check::NoProof, of, _)] if of == table), "{missing:?}");
        let plain = verified(&project, false);
        assert!(!plain.findings.iter().any(|finding| finding.check == Check::NoProof));
        fs::write(&file, kept).unwrap();
    }
    assert_eq!(findings(&project), []);
}

/// A lower bound that was raised in the table is not proved.
#[test]
fn a_raised_lower_bound_is_refused() {
    let project = computed();
    let file = "results/t/problems.csv";
    let table = project.table(file);
    let row = (0..table.len()).find(|&row| !table.field("lower_bound", row).is_empty()).unwrap();
    let bound = table.field("lower_bound", row);
    let raised = (bound.parse::<f64>().unwrap() * 1.000_001).to_string();
    let text = project.read(file).replacen(&format!(",{bound},"), &format!(",{raised},"), 1);
    project.write(file, &text);
    let found = findings(&project);
    assert!(matches!(&found[..], [(Check::Proofs, _, why)] if why.contains(&raised)), "{found:?}");
}
