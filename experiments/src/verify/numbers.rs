//! Numbers in the text of pages.

use std::collections::BTreeMap;
use std::path::Path;

use super::statement::{Holds, Statement, Values, ensure, of, page, says, table};
use crate::columns;

/// The statements on pages.
pub(super) const NUMBERS: [Statement; 12] = [
    Statement {
        says: "docs/reference-measures.md has the errors of Table 4",
        files: &["docs/reference-measures.md", "results/beyond/table4.csv"],
        check: reference_measures,
    },
    Statement {
        says: "docs/simulating.md compares both reconstructions",
        files: &["docs/simulating.md", "results/beyond/independence.csv"],
        check: reconstructions,
    },
    Statement {
        says: "README.md has the excess of streaming noise",
        files: &["README.md", "results/beyond/streams.csv"],
        check: streaming_noise,
    },
    Statement {
        says: "README.md and docs/streams.md compare noise with random allocation",
        files: &[
            "README.md",
            "docs/streams.md",
            "results/beyond/amplified.csv",
            "results/beyond/amplified-large.csv",
        ],
        check: random_allocation,
    },
    Statement {
        says: "docs/streams.md has the largest excess of four buffers over the free strategy",
        files: &[
            "docs/streams.md",
            "results/beyond/amplified.csv",
            "results/beyond/amplified-large.csv",
        ],
        check: four_buffers,
    },
    Statement {
        says: "errors with random allocation have their reference values at δ = 1e-4",
        files: &["results/beyond/amplified-laboratory.csv"],
        check: reference_errors,
    },
    Statement {
        says: "the fitted noise is more accurate than DP-SGD by two standard errors at ε = 8 only",
        files: &["results/beyond/README.md", "results/beyond/private-training.csv"],
        check: accuracy,
    },
    Statement {
        says: "results/beyond/README.md compares staged on tables of known dependence",
        files: &["results/beyond/README.md", "results/beyond/networks.csv"],
        check: networks,
    },
    Statement {
        says: "results/beyond/README.md compares staged with other constants",
        files: &["results/beyond/README.md", "results/beyond/staged-choices.csv"],
        check: constants_of_staged,
    },
    Statement {
        says: "docs/staged.md compares the parts of errors",
        files: &["docs/staged.md", "results/beyond/error-parts.csv"],
        check: parts_of_errors,
    },
    Statement {
        says: "README.md has whole tables of results, and the numbers of verdicts",
        files: &["README.md", "results/verdicts.csv"],
        check: tables_of_readme,
    },
    Statement {
        says: "docs/deviations.md has the numbers of the results",
        files: &["docs/deviations.md", "results/s2/alternative.csv"],
        check: deviations,
    },
];

/// Checks the table on affine queries and absolute differences: the errors, and their ratios to the
/// bounds in the table, which a test of the command computes.
fn reference_measures(root: &Path) -> Holds {
    let page = page(root, "docs/reference-measures.md")?;
    let results = Values::errors(root, "beyond/table4")?;
    let lines = page.lines().skip_while(|line| !line.contains("absolute differences: anova"));
    let mut rows = 0;
    for row in lines.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let name = cells.first().copied().unwrap_or_default();
        for (family, column) in [("affine", 1), ("abs", 4)] {
            let anova = results.value(&[name, "40", family], "anova")?;
            let [error, bound, ratio] = [column, column + 1, column + 2]
                .map(|column| cells.get(column).copied().unwrap_or_default());
            let number: f64 = bound.parse().map_err(|_| format!("{row}: {bound}"))?;
            let expected = [format!("{anova:.4}"), format!("{:.3}", anova / number)];
            ensure([error, ratio] == expected, || format!("{row}: expected {expected:?}"))?;
        }
        rows += 1;
    }
    ensure(rows == 5, || format!("{rows} instead of 5 rows"))
}

/// Checks on which tables and budgets independence has the lower error, and the largest ratio.
///
/// Lower means lower by more than two standard errors of the difference.
fn reconstructions(root: &Path) -> Holds {
    let means = Values::read(root, "beyond/independence", &["mean_l1"])?;
    let errors = Values::read(root, "beyond/independence", &["mean_l1_se"])?;
    let (mut lower, mut higher, mut largest) = (0, Vec::new(), (0.0, 0.0, 0.0));
    for (key, methods) in means.iter() {
        let [dataset, data, epsilon, ..] = key.as_slice() else { continue };
        if data != "real" {
            continue;
        }
        let independent = "aim-grem(reconstruction=independence)";
        let (additive, independence) = (of(methods, "aim-grem")?, of(methods, independent)?);
        let error = errors.value(key, "aim-grem")?.hypot(errors.value(key, independent)?);
        let distance = (additive - independence) / error;
        if distance > 2.0 {
            lower += 1;
        } else {
            higher.push((dataset.as_str(), epsilon.as_str(), distance < -2.0));
        }
        if additive / independence > largest.0 {
            largest = (additive / independence, independence, additive);
        }
    }
    higher.sort_unstable();
    let expected = [("nltcs", "1", true), ("nltcs", "10", true), ("titanic", "0.1", false)];
    ensure(lower == 9 && higher == expected, || format!("{lower} lower, others: {higher:?}"))?;
    let (ratio, independence, additive) = largest;
    let text = format!(
        "by up to a factor of {ratio:.1} (Adult at ε = 0.1: {independence:.3} instead of \
         {additive:.3})"
    );
    says(root, "docs/simulating.md", &text)
}

/// Checks the sentence on noise for training.
fn streaming_noise(root: &Path) -> Holds {
    let errors = Values::read(root, "beyond/streams", &["error"])?;
    let buffers = Values::read(root, "beyond/streams", &["buffers"])?;
    let fixed = errors.cell(&["prefix:1024", "mean", "epochs:4"])?;
    let separated_key = ["prefix:512", "mean", "min-sep:128,4"];
    let separated = errors.cell(&separated_key)?;
    let bound = errors.value(&["prefix:512", "mean", "epochs:4"], "optimal")?;
    let excess = |methods, method: &str, optimum: f64| {
        Ok::<f64, String>(100.0 * (of(methods, method)? / optimum - 1.0))
    };
    let optimum = of(fixed, "optimal")?;
    let best_blt = |methods, optimum: f64| {
        (2..=5).try_fold(f64::INFINITY, |best: f64, n| {
            Ok::<f64, String>(best.min(excess(methods, &format!("blt(buffers={n})"), optimum)?))
        })
    };
    let (ours, blt) = (excess(fixed, "recurrence(buffers=4)", optimum)?, best_blt(fixed, optimum)?);
    let root_excess = |excess: f64| 100.0 * ((1.0 + excess / 100.0).sqrt() - 1.0);
    let truncated = "truncated(buffers=3)";
    let text = format!(
        "four fixed epochs of 1024 steps in all, its squared error is {ours:.2} % above the \
         certified optimum (RMSE {:.2} %), that of BLT {blt:.1} % (RMSE {:.1} %). BLT's privacy \
         also holds under min-separation, where our noise, with {} numbers per coordinate, is \
         {:.1} % above the bound for 512 steps and BLT's {:.1} %:",
        root_excess(ours),
        root_excess(blt),
        buffers.value(&separated_key, truncated)?,
        excess(separated, truncated, bound)?,
        best_blt(separated, bound)?,
    );
    says(root, "README.md", &text)
}

/// The tables of errors at a budget.
const BUDGET_TABLES: [&str; 2] = ["beyond/amplified", "beyond/amplified-large"];

/// Checks the sentences on random allocation: the fitted noise has the smallest error everywhere, its
/// ratios to the alternatives, and from which ε the optimum without amplification is below DP-SGD.
fn random_allocation(root: &Path) -> Holds {
    for table in BUDGET_TABLES {
        let errors = Values::read(root, table, &["error"])?;
        for (key, methods) in errors.iter().filter(|(key, _)| key[1].starts_with("random")) {
            let fitted = of(methods, "optimal")?.min(of(methods, "recurrence(buffers=4)")?);
            let smallest = methods.values().copied().fold(f64::INFINITY, f64::min);
            ensure(fitted <= smallest, || format!("{key:?}: {fitted} above {smallest}"))?;
        }
    }
    let errors = Values::read(root, "beyond/amplified", &["error"])?;
    let budgets = ["0.5", "1", "2", "4", "8"];
    let error = |workload: &str, participation: &str, epsilon: &str, method: &str| {
        errors.value(&[workload, participation, epsilon], method)
    };
    // ε from which the optimum without amplification is better than DP-SGD, and the ε before.
    let crossing = |workload: &str, fixed: &str, random: &str| {
        for pair in budgets.windows(2) {
            let optimum = error(workload, fixed, pair[1], "optimal")?;
            if optimum < error(workload, random, pair[1], "poisson")? {
                return Ok([pair[0], pair[1]]);
            }
        }
        Err(format!("{workload}: no crossing"))
    };
    let ratio = |participation: &str, epsilon: &str, method: &str| {
        let fitted = error("prefix:128", "random:4", epsilon, "optimal")?;
        Ok::<f64, String>(error("prefix:128", participation, epsilon, method)? / fitted)
    };
    let sampled = [ratio("random:4", "0.5", "poisson")?, ratio("random:4", "8", "poisson")?];
    let fixed = [ratio("epochs:4", "0.5", "optimal")?, ratio("epochs:4", "8", "optimal")?];
    let (one, four) = (
        crossing("prefix:64", "single", "random:1")?,
        crossing("prefix:128", "epochs:4", "random:4")?,
    );
    let text = format!(
        "For 128 steps in four epochs, the error of the free one (`matmech solve`) is smaller than \
         that of DP-SGD with Poisson sampling by a factor of {:.1} (ε = 0.5) to {:.1} (ε = 8), and \
         than the optimum without amplification by a factor of {:.1} to {:.1}.",
        sampled[0], sampled[1], fixed[0], fixed[1]
    );
    says(root, "docs/streams.md", &text)?;
    let text = format!(
        "for 64 steps in one epoch between ε = {} and {}, for 128 steps in four epochs between {} and \
         {}.",
        one[0], one[1], four[0], four[1]
    );
    says(root, "docs/streams.md", &text)?;
    let streamed = |epsilon: &str| {
        let error = |method: &str| error("prefix:128", "random:4", epsilon, method);
        Ok::<f64, String>(error("poisson")? / error("recurrence(buffers=4)")?)
    };
    let text = format!(
        "smaller than that of DP-SGD with Poisson sampling by a factor of {:.1} (ε = 0.5) to {:.1} \
         (ε = 8), for 128 steps in four epochs and δ = 10⁻⁶",
        streamed("0.5")?,
        streamed("8")?
    );
    says(root, "README.md", &text)
}

/// Checks the largest excess of noise with four buffers, its case, the excess of six buffers where it
/// is in the table, and the median.
fn four_buffers(root: &Path) -> Holds {
    let mut excesses = Vec::new();
    let mut of_six = BTreeMap::new();
    for table in BUDGET_TABLES {
        let errors = Values::read(root, table, &["error"])?;
        for (key, methods) in errors.iter().filter(|(key, _)| key[1].starts_with("random")) {
            let optimum = of(methods, "optimal")?;
            excesses.push((of(methods, "recurrence(buffers=4)")? / optimum - 1.0, key.clone()));
            if let Some(six) = methods.get("recurrence(buffers=6)") {
                of_six.insert(key.clone(), six / optimum - 1.0);
            }
        }
    }
    let cases = excesses.len();
    ensure(cases == 60, || format!("{cases} cases"))?;
    excesses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = (excesses[cases / 2 - 1].0 + excesses[cases / 2].0) / 2.0;
    let (largest, key) = &excesses[cases - 1];
    let six = of_six.get(key).map(|x| format!("; with six buffers {:.1} %", 100.0 * x));
    let text = format!(
        "their error was at most {:.1} % larger ({} steps in {} epochs, ε = {}{}), {:.1} % in the median.",
        100.0 * largest,
        key[0].trim_start_matches("prefix:"),
        key[1].trim_start_matches("random:"),
        key[2],
        six.unwrap_or_default(),
        100.0 * median
    );
    says(root, "docs/streams.md", &text)
}

/// A value of a table that another program computed: workload, participation, ε and method, the
/// value, and the relative difference that its own accuracy allows.
type Reference = ([&'static str; 3], &'static str, f64, f64);

/// Errors at δ = 10⁻⁴, from NumPy with Monte Carlo estimates of the noise. Ours have a confidence
/// bound of the noise, which is larger.
const REFERENCE_ERRORS: [Reference; 12] = [
    (["prefix:64", "single", "1"], "optimal", 44.7, 0.005),
    (["prefix:64", "single", "4"], "optimal", 4.05, 0.005),
    (["prefix:64", "random:1", "1"], "identity", 23.0, 0.02),
    (["prefix:64", "random:1", "4"], "identity", 9.34, 0.02),
    (["prefix:128", "random:4", "1"], "identity", 237.6, 0.02),
    // The other program's noise is too small: δ = (1.62 ± 0.05)·10⁻⁴ in 3·10⁶ plain samples.
    (["prefix:128", "random:4", "4"], "identity", 81.4, 0.05),
    (["prefix:64", "random:1", "1"], "bsr(bands=8)", 9.04, 0.02),
    (["prefix:64", "random:1", "4"], "bsr(bands=32)", 1.647, 0.02),
    (["prefix:128", "random:4", "1"], "bsr(bands=8)", 103.7, 0.02),
    (["prefix:128", "random:4", "4"], "bsr(bands=32)", 12.99, 0.02),
    (["prefix:64", "random:1", "1"], "optimal(form=toeplitz)", 8.1, 0.02),
    (["prefix:128", "random:4", "1"], "optimal(form=toeplitz)", 97.5, 0.02),
];

/// The errors of the free fitted strategies at δ = 10⁻⁴ are at most these.
const MOST_ERRORS: [([&str; 3], f64); 4] = [
    (["prefix:64", "random:1", "1"], 7.8),
    (["prefix:64", "random:1", "4"], 1.49),
    (["prefix:128", "random:4", "1"], 90.0),
    (["prefix:128", "random:4", "4"], 11.2),
];

/// Checks the errors at δ = 10⁻⁴, that noise with four buffers is within 3 % of the free strategy, and
/// that a certified optimum for the chi-square divergence is no better at (ε, δ) than the strategy
/// that is fitted to it.
fn reference_errors(root: &Path) -> Holds {
    let errors = Values::read(root, "beyond/amplified-laboratory", &["error"])?;
    for (key, method, expected, allowed) in REFERENCE_ERRORS {
        let found = errors.value(&key, method)?;
        let difference = (found / expected - 1.0).abs();
        ensure(difference <= allowed, || format!("{key:?} {method}: {found}, not {expected}"))?;
    }
    let name = "optimal(divergence=chi-square)";
    let bounds = Values::read(root, "beyond/amplified-laboratory", &["chi_square_lower_bound"])?;
    for (key, most) in MOST_ERRORS {
        let (free, certified) = (errors.value(&key, "optimal")?, errors.value(&key, name)?);
        ensure(free <= most && free < certified, || format!("{key:?}: {free}, {certified}"))?;
        let excess = errors.value(&key, "recurrence(buffers=4)")? / free - 1.0;
        ensure(excess <= 0.03, || format!("{key:?}: excess {excess}"))?;
        let gap = certified / bounds.value(&key, name)? - 1.0;
        ensure((0.0..=1e-3).contains(&gap), || format!("{key:?}: gap {gap}"))?;
    }
    Ok(())
}

/// Checks at which ε the fitted noise is more accurate than DP-SGD, by more than two standard errors
/// of the difference.
fn accuracy(root: &Path) -> Holds {
    let means = Values::read(root, "beyond/private-training", &["accuracy"])?;
    let errors = Values::read(root, "beyond/private-training", &["accuracy_se"])?;
    let mut better = Vec::new();
    for (key, methods) in means.iter().filter(|(_, methods)| methods.contains_key("poisson")) {
        for fitted in ["optimal", "recurrence(buffers=4)"] {
            let gap = of(methods, fitted)? - of(methods, "poisson")?;
            let error = errors.value(key, fitted)?.hypot(errors.value(key, "poisson")?);
            if gap > 2.0 * error {
                better.push((key.last().map(String::as_str), fitted));
            }
        }
    }
    let expected = ["optimal", "recurrence(buffers=4)"].map(|fitted| (Some("8"), fitted));
    ensure(better == expected, || format!("{better:?}"))
}

/// Checks the errors of `staged` over those of the best other mechanism, geometric means and maxima of
/// tables of one kind.
fn networks(root: &Path) -> Holds {
    let errors = Values::read(root, "beyond/networks", &["mean_l1"])?;
    let ratios = |tables: &str, epsilon: &str| {
        let mut ratios = Vec::new();
        for (_, methods) in errors.iter().filter(|(key, _)| {
            key[0].starts_with(tables) && key.last().is_some_and(|last| last == epsilon)
        }) {
            let others = methods.iter().filter(|(method, _)| match epsilon {
                "10" => *method != "staged",
                _ => ["aim-pgm", "aim-hybrid"].contains(&method.as_str()),
            });
            let best = others.map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
            ratios.push(of(methods, "staged")? / best);
        }
        let mean = ratios.iter().map(|x| x.ln()).sum::<f64>() / ratios.len() as f64;
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        Ok::<_, String>(format!("{:.2} ({largest:.2})", mean.exp()))
    };
    let text = format!(
        "{} at ε = 0.1 and {} at ε = 1 on the held-out tables, {} and {} on the networks, {} and {} on \
         the ten other generated tables. Over the best of all others at ε = 10: {}, {} and {}.",
        ratios("held-out", "0.1")?,
        ratios("held-out", "1")?,
        ratios("network", "0.1")?,
        ratios("network", "1")?,
        ratios("generated", "0.1")?,
        ratios("generated", "1")?,
        ratios("held-out", "10")?,
        ratios("network", "10")?,
        ratios("generated", "10")?,
    );
    says(root, "results/beyond/README.md", &text)
}

/// Checks the table of `staged` with other constants, and the largest gain of a change.
fn constants_of_staged(root: &Path) -> Holds {
    let errors = Values::read(root, "beyond/staged-choices", &["mean_l1"])?;
    let mut ratios: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for (key, methods) in errors.iter() {
        let default = of(methods, "staged")?;
        for (method, error) in methods.iter().filter(|(method, _)| *method != "staged") {
            let epsilon = key.last().map_or("", String::as_str);
            ratios.entry(method).or_default().push((epsilon, error / default));
        }
    }
    let mut best = (1.0, "");
    for (method, ratios) in &ratios {
        let mean = |epsilon: Option<&str>| {
            let chosen = ratios.iter().filter(|(of, _)| epsilon.is_none_or(|one| one == *of));
            let logarithms: Vec<f64> = chosen.map(|(_, ratio)| ratio.ln()).collect();
            (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
        };
        let name = method.trim_start_matches("staged(").trim_end_matches(')');
        let (smallest, largest) = ratios
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(low, high), (_, x)| (low.min(*x), high.max(*x)));
        let text = format!(
            "| {name} | {:.3} | {:.3} | {:.3} | {:.3} | {smallest:.2} | {largest:.2} |",
            mean(Some("0.1")),
            mean(Some("1")),
            mean(Some("10")),
            mean(None),
        );
        says(root, "results/beyond/README.md", &text)?;
        if mean(None) < best.0 {
            best = (mean(None), name);
        }
    }
    let gain = 100.0 * (1.0 - best.0);
    let text = format!("No change lowers the mean by more than {gain:.1} % (`{}`).", best.1);
    says(root, "results/beyond/README.md", &text)
}

/// Checks the comparison of the parts of errors of `staged` with those of AIM+PGM.
fn parts_of_errors(root: &Path) -> Holds {
    let ratio = |table: &str, metric: &str| {
        let values = Values::read(root, "beyond/error-parts", &[metric])?;
        let (_, methods) = values
            .iter()
            .find(|(key, _)| key[0] == table)
            .ok_or_else(|| format!("beyond/error-parts: no {table}"))?;
        Ok::<f64, String>(of(methods, "staged")? / of(methods, "aim-pgm")?)
    };
    let gain = |table: &str| Ok::<f64, String>(100.0 * (1.0 - ratio(table, "not_measured")?));
    let text = format!(
        "by {:.0} % on CHILD, {:.0} % on ALARM, {:.0} % on INSURANCE and {:.0} % on Adult;",
        gain("network-child")?,
        gain("network-alarm")?,
        gain("network-insurance")?,
        gain("adult")?
    );
    says(root, "docs/staged.md", &text)?;
    let noise = |table: &str| ratio(table, "imprecise");
    let (titanic, alarm) = (noise("titanic")?, noise("network-alarm")?);
    ensure(format!("{titanic:.1}") == format!("{alarm:.1}"), || format!("{titanic}, {alarm}"))?;
    let text = format!(
        "{titanic:.1} times on Titanic and ALARM, {:.1} on INSURANCE, {:.0} on CHILD, {:.0} on Salary, \
         {:.0} on Adult.",
        noise("network-insurance")?,
        noise("network-child")?,
        noise("salary")?,
        noise("adult")?
    );
    says(root, "docs/staged.md", &text)?;
    let metric = |metric: &str| Values::read(root, "beyond/error-parts", &[metric]);
    let (errors, estimators) = (metric("mean_l1")?, metric("estimator")?);
    let (noises, planned) = (metric("imprecise")?, metric("true_widths")?);
    for (key, methods) in estimators.iter() {
        let estimator = of(methods, "staged")?;
        ensure(estimator < 0.0, || format!("{key:?}: a positive estimator"))?;
        if ["adult", "salary"].contains(&key[0].as_str()) {
            let share = -estimator / noises.value(&[&key[0], &key[1]], "staged")?;
            ensure(share > 0.9 && share < 1.0, || format!("{key:?}: {share} of the noise"))?;
        }
    }
    let insurance = ["network-insurance", "synthetic"];
    let likelihood = |method: &str| {
        let error = errors.value(&insurance, method)?;
        Ok::<f64, String>(error - estimators.value(&insurance, method)?)
    };
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for (key, methods) in planned.iter() {
        let ratio = of(methods, "staged")? / errors.value(&[&key[0], &key[1]], "staged")?;
        (smallest, largest) = (smallest.min(ratio), largest.max(ratio));
    }
    let text = format!(
        "an error of {:.4} with the measurements of `staged` and {:.4} with those of AIM+PGM, and the \
         widths win back {:.4}. A plan for the true widths has {:.4},",
        likelihood("staged")?,
        likelihood("aim-pgm")?,
        -estimators.value(&insurance, "staged")?,
        planned.value(&insurance, "staged")?
    );
    says(root, "docs/staged.md", &text)?;
    let text =
        format!("is {smallest:.2} to {largest:.2} times that of `staged` (largest on CHILD).");
    says(root, "docs/staged.md", &text)
}

/// Checks the numbers of evaluation values by verdict.
fn verdicts_of_readme(root: &Path) -> Holds {
    let verdicts = table(root, "verdicts")?;
    let number = |paper: &str, verdict: &str| {
        let name = format!("{paper}: evaluation values");
        let mut rows = (0..verdicts.len()).filter(|row| verdicts.field("values", *row) == name);
        let found = rows.next().and_then(|row| verdicts.number(verdict, row));
        found.ok_or_else(|| format!("verdicts: no `{verdict}` of {paper}"))
    };
    let fitted = "reproduced (reading fitted)";
    let reproduced =
        |paper: &str| Ok::<f64, String>(number(paper, "reproduced")? + number(paper, fitted)?);
    let text = format!(
        "Of {} evaluation values of S3, {} are reproduced or improved ({} with a fitted reading); of {} \
         of S2, {} are reproduced ({} with a fitted reading), {} unexplained, {} not comparable",
        number("S3", "all")?,
        reproduced("S3")? + number("S3", "improved")?,
        number("S3", fitted)?,
        number("S2", "all")?,
        reproduced("S2")?,
        number("S2", fitted)?,
        number("S2", "unexplained")?,
        number("S2", "not comparable")?,
    );
    says(root, "README.md", &text)
}

/// Checks the lengths of the tables, which results without some rows would shorten, and the verdicts.
fn tables_of_readme(root: &Path) -> Holds {
    let readme = page(root, "README.md")?;
    let tables = readme.split("\n-->\n").skip(1).filter_map(|rest| rest.split_once("<!-- end of"));
    let lines: Vec<usize> = tables.map(|(table, _)| table.lines().count()).collect();
    let expected = [6, 6, 6, 5];
    ensure(lines == expected, || format!("tables of {lines:?} instead of {expected:?} lines"))?;
    verdicts_of_readme(root)
}

/// A number in the text of a page: its text there, the result table, the columns that select the
/// row, and the decimals.
type InText = (&'static str, &'static str, &'static [(&'static str, &'static str)], usize);

/// The numbers of docs/deviations.md that no entry of data/expected/deviations.toml has.
const IN_DEVIATIONS: [InText; 21] = [
    ("1.0078", "s2/alternative", &[("workload", "cdf:128"), ("method", "wavelet")], 4),
    ("1.0134", "s2/alternative", &[("workload", "cdf:128"), ("method", "hierarchical")], 4),
    ("1.0015", "s2/alternative", &[("workload", "cdf:256"), ("method", "wavelet")], 4),
    ("1.0071", "s2/alternative", &[("workload", "cdf:256"), ("method", "hierarchical")], 4),
    ("0.802", "s2/alternative", &[("workload", "cdf:256"), ("method", "svd-bound")], 3),
    ("0.987", "s2/alternative", &[("workload", "cdf:2048"), ("method", "wavelet")], 3),
    ("0.992", "s2/alternative", &[("workload", "cdf:2048"), ("method", "hierarchical")], 3),
    ("0.780", "s2/alternative", &[("workload", "cdf:2048"), ("method", "svd-bound")], 3),
    ("1.3879", "s2/alternative", &[("workload", PREDICATES), ("method", "fourier")], 4),
    ("1.94498", "s2/alternative", &[("workload", PREDICATES), ("method", "wavelet")], 5),
    ("4.65", "s2/alternative", &[("workload", PREDICATES), ("method", "hierarchical")], 2),
    ("12.961", "s2/alternative", &[("workload", PERMUTED), ("method", "hierarchical")], 3),
    ("1.2260", "s2/claims", &[("workload", RANGES), ("metric", "smallest_gain")], 4),
    ("1.6096", "s2/claims", &[("workload", RANGES), ("metric", "largest_gain")], 4),
    ("2.04", "s2/claims", &[("metric", "largest_over_bound")], 2),
    ("1.0212", "s2/claims", &[("metric", "smallest_over_bound")], 4),
    ("3.28", "s1/claims", &[("metric", "exponent_of_n")], 2),
    ("9.52238", "s4/table2", &[("dataset", "adult"), ("method", "lazy+crp"), EXPECTED], 5),
    ("0.0018", "s4/table2", &[("dataset", "adult"), ("method", "lazy+crp"), DEVIATION], 4),
    ("10.17251", "s4/table2", &[("dataset", "adult"), ("method", "lazy+iid"), EXPECTED], 5),
    ("0.813", "s2/alternative", &[("workload", "cdf:128"), ("method", "svd-bound")], 3),
];

const PREDICATES: &str = "predicate-sample(queries=100000,p=0.5,seed=1):8x16x16";
const PERMUTED: &str = "permuted-range:2048";
const RANGES: &str = "all and random ranges";
const EXPECTED: (&str, &str) = ("metric", "expected_error");
const DEVIATION: (&str, &str) = ("metric", "standard_error");

/// The metric of a row that selects none.
const DEFAULT_METRIC: (&str, &str) = ("metric", "over_eigen");

/// Checks the numbers that no entry of data/expected/deviations.toml has.
fn deviations(root: &Path) -> Holds {
    let text = page(root, "docs/deviations.md")?;
    for (written, name, selected, digits) in IN_DEVIATIONS {
        let table = table(root, name)?;
        let mut wanted = selected.to_vec();
        if !wanted.iter().any(|(column, _)| *column == columns::METRIC) {
            wanted.push(DEFAULT_METRIC);
        }
        let is_wanted =
            |row: &usize| wanted.iter().all(|(column, value)| table.field(column, *row) == *value);
        let rows: Vec<usize> = (0..table.len()).filter(is_wanted).collect();
        let [row] = *rows.as_slice() else {
            return Err(format!("{} rows of {name} with {wanted:?}", rows.len()));
        };
        let value = table.number(columns::VALUE, row).map(|value| format!("{value:.digits$}"));
        ensure(value.as_deref() == Some(written) && text.contains(written), || {
            format!("{written} in the text, {value:?} in {name}, {wanted:?}")
        })?;
    }
    Ok(())
}
