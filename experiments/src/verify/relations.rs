//! Relations between values: proved ones, and those to published values.

use std::path::Path;

use super::statement::{Holds, Statement, Values, ensure, of};

/// The relations.
pub(super) const RELATIONS: [Statement; 4] = [
    Statement {
        says: "plans for reference measures are between the bound and other planners",
        files: &["results/beyond/table2.csv", "results/beyond/table2-bound.csv"],
        check: plans_are_between,
    },
    Statement {
        says: "plans for reference measures are not above the Kronecker strategies of S3, Table 4",
        files: &["results/beyond/table4.csv", "results/s3/table4.csv"],
        check: plans_are_below_kronecker,
    },
    Statement {
        says: "plans for reference measures cover the tables of S3",
        files: &["results/beyond/table2.csv", "results/s3/table2.csv"],
        check: plans_cover_tables,
    },
    Statement {
        says: "scores of pairs match the published ones of subsamples",
        files: &["results/beyond/records.csv"],
        check: scores_match,
    },
];

/// Checks Propositions 1 and 2 and the lower bound over all matrix mechanisms.
///
/// Plans for reference measures have at most the errors of QuerySmasher and of one Kronecker
/// strategy, and at least the lower bound.
fn plans_are_between(root: &Path) -> Holds {
    let (mut plans, mut kronecker, mut bounds) = (0, 0, 0);
    for table in ["table2", "table2-bound", "table3", "table4", "table5", "table8"] {
        for (key, methods) in Values::errors(root, &format!("beyond/{table}"))?.iter() {
            let Some(anova) = methods.get("anova") else { continue };
            plans += 1;
            let at_most = |error: f64| {
                ensure(*anova <= error * (1.0 + 1e-7), || format!("{table} {key:?}: {methods:?}"))
            };
            at_most(of(methods, "query-smasher")?)?;
            if let Some(single) = methods.get("hdmm-kronecker") {
                kronecker += 1;
                at_most(*single)?;
            }
            if let Some(bound) = methods.get("global-bound") {
                bounds += 1;
                ensure(*anova >= bound * (1.0 - 1e-7), || format!("{table} {key:?}: {methods:?}"))?;
            }
        }
    }
    ensure(plans >= 100 && kronecker >= 45 && bounds >= 40, || {
        format!("{plans} plans, {kronecker} Kronecker strategies, {bounds} bounds")
    })
}

fn plans_are_below_kronecker(root: &Path) -> Holds {
    let beyond = Values::errors(root, "beyond/table4")?;
    let mut compared = 0;
    for (key, methods) in Values::errors(root, "s3/table4")?.iter() {
        if let (Some(single), Ok(ours)) = (methods.get("hdmm-kronecker"), beyond.cell(key)) {
            ensure(of(ours, "anova")? <= single * (1.0 + 1e-7), || format!("{key:?}"))?;
            compared += 1;
        }
    }
    ensure(compared == 15, || format!("{compared} instead of 15 plans"))
}

/// Checks that every row of S3's tables with the certified optimum has a plan for a reference
/// measure, on the same queries.
fn plans_cover_tables(root: &Path) -> Holds {
    for (table, rows) in
        [("table2", 12), ("table3", 6), ("table4", 35), ("table5", 15), ("table8", 28)]
    {
        let beyond = Values::errors(root, &format!("beyond/{table}"))?;
        let mut compared = 0;
        for (key, methods) in Values::errors(root, &format!("s3/{table}"))?.iter() {
            let Some(optimum) = methods.get("query-smasher") else { continue };
            let ours = beyond.value(key, "query-smasher")?;
            ensure((ours / optimum - 1.0).abs() <= 1e-6, || {
                format!("{table} {key:?}: {optimum} and {ours}")
            })?;
            beyond.value(key, "anova")?;
            compared += 1;
        }
        ensure(compared == rows, || format!("{table}: {compared} instead of {rows} plans"))?;
    }
    Ok(())
}

/// The scores of subsamples in the reports of NIST's Collaborative Research Cycle (bundle 1.1) on
/// the records of MST at ε = 1 and 10, national2019, demographic-focused, truncated to integers.
const PUBLISHED_SUBSAMPLES: [(&str, [f64; 2]); 10] = [
    ("0.01", [884.0, 893.0]),
    ("0.05", [952.0, 953.0]),
    ("0.1", [964.0, 969.0]),
    ("0.2", [977.0, 979.0]),
    ("0.3", [985.0, 985.0]),
    ("0.4", [987.0, 986.0]),
    ("0.5", [990.0, 989.0]),
    ("0.6", [991.0, 990.0]),
    ("0.7", [993.0, 993.0]),
    ("0.8", [995.0, 994.0]),
];

/// The published score of the records of AIM at ε = 1; that of MST is 958.
const PUBLISHED_AIM: f64 = 976.0;

/// Checks that NIST's score without the column PUMA is over pairs.
///
/// The published scores of subsamples are within three standard deviations, those of the subsample
/// and of the 100 drawn pairs. Triples are not.
fn scores_match(root: &Path) -> Holds {
    let read = |metric: &str| Values::read(root, "beyond/records", &[metric]);
    let key = ["nist-demographic", "real"];
    let (pairs, errors, drawn) = (read("score_2")?, read("score_2_se")?, read("drawn_sd")?);
    let triples = read("score_3")?;
    let mut triples_differ = 0;
    for (share, published) in PUBLISHED_SUBSAMPLES {
        let method = format!("subsample(share={share})");
        // Ten trials.
        let variance = errors.value(&key, &method)?.powi(2) * 10.0;
        let deviation = (variance + drawn.value(&key, &method)?.powi(2)).sqrt();
        for score in published {
            let off = |ours: f64| (score + 0.5 - ours).abs() - 0.5;
            let of_pairs = pairs.value(&key, &method)?;
            ensure(off(of_pairs) <= 3.0 * deviation, || format!("{share}: {score}, {of_pairs}"))?;
            triples_differ += usize::from(off(triples.value(&key, &method)?) > 3.0 * deviation);
        }
    }
    ensure(triples_differ == 20, || format!("{triples_differ} of 20 scores of triples differ"))?;
    let (staged, error) = (pairs.value(&key, "staged")?, errors.value(&key, "staged")?);
    ensure(staged - 3.0 * error > PUBLISHED_AIM, || format!("staged: {staged}"))
}
