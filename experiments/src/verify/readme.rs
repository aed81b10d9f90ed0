//! The numbers in the README against the committed results that they are of.
//!
//! A table of the README stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`, its two
//! lines of head first.

use std::fs;
use std::path::Path;

use crate::columns::{DATA, GAP, METHOD, METRIC, VALUE};
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// The file, relative to the root.
pub const README: &str = "README.md";

/// A part of the README that is made of results.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name in the marks around a table; of a sentence, what it is about.
    pub name: &'static str,
    made: Made,
}

#[derive(Clone, Copy, Debug)]
enum Made {
    /// The body of the table between the marks.
    Table(fn(&Path) -> Result<String>),
    /// Words that the text has somewhere.
    Words(fn(&Path) -> Result<String>),
}

/// All parts.
pub const PARTS: [Part; 7] = [
    Part { name: "verdicts", made: Made::Table(verdicts) },
    Part { name: "example-3.1", made: Made::Table(example_3_1) },
    Part { name: "table4", made: Made::Table(past_s3) },
    Part { name: "fig4", made: Made::Table(of_s4) },
    Part { name: "alternative", made: Made::Table(alternative) },
    Part { name: "bench", made: Made::Table(bench) },
    Part { name: "the largest case of S3's Table 7", made: Made::Words(largest_case) },
];

/// What a part of the README should say and does not.
///
/// # Errors
/// No README, no marks of the part in it, or results that lack what it is made of.
pub fn should_say(root: &Path, part: &Part) -> Result<Option<String>> {
    let text = read(root, README)?;
    Ok(match part.made {
        Made::Table(made) => {
            let expected = made(root)?;
            let body = body(&text, part.name)?;
            (body != expected).then_some(expected)
        }
        Made::Words(made) => {
            let expected = made(root)?;
            let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            (!one_line.contains(&expected)).then_some(expected)
        }
    })
}

fn read(root: &Path, file: &str) -> Result<String> {
    fs::read_to_string(root.join(file)).map_err(|error| {
        Error::file(
            FileRole::Input,
            file,
            "a readable text file",
            error,
            "restore it, it is committed",
        )
    })
}

fn results(root: &Path, file: &str) -> Result<Table> {
    Table::read(&root.join(file), file, "restore it, it is committed")
}

fn lacks(table: &str, expected: impl Into<String>) -> Error {
    Error::file(
        FileRole::Input,
        table,
        expected.into(),
        "none",
        "run the experiment again, or mend the README's part",
    )
}

/// The lines of a table below its head.
fn body(text: &str, name: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let between = text.split_once(&begin).and_then(|(_, after)| after.split_once(&end));
    let (block, _) =
        between.ok_or_else(|| lacks(README, format!("a table between {begin} and {end}")))?;
    Ok(block.trim().lines().skip(2).map(|line| format!("{line}\n")).collect())
}

/// The rows with these fields.
fn rows(table: &Table, fields: &[(&str, &str)]) -> Result<Table> {
    fields.iter().try_fold(table.clone(), |rows, (column, field)| rows.with(column, field))
}

/// The number in `column` of the one row with these fields, if there is one.
fn number(table: &Table, fields: &[(&str, &str)], column: &str) -> Result<Option<f64>> {
    let rows = rows(table, fields)?;
    if rows.len() > 1 {
        return Err(lacks(
            table.name(),
            format!("one row with {fields:?}, and not {}", rows.len()),
        ));
    }
    Ok(if rows.is_empty() { None } else { rows.number(column, 0) })
}

fn required(table: &Table, fields: &[(&str, &str)], column: &str) -> Result<f64> {
    number(table, fields, column)?
        .ok_or_else(|| lacks(table.name(), format!("a {column} in the row with {fields:?}")))
}

/// Four decimals, or a dash.
fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"))
}

fn example_3_1(root: &Path) -> Result<String> {
    let tables =
        [results(root, "results/s1/example-3.1.csv")?, results(root, "results/s1/fig3a.csv")?];
    let get = |workload: &str, method: &str, metric: &str, column: &str| {
        let row = [("workload", workload), (METHOD, method), (METRIC, metric)];
        match number(&tables[0], &row, column)? {
            Some(value) => Ok(value),
            None => required(&tables[1], &row, column),
        }
    };
    let mut expected = String::new();
    for (workload, domain) in [
        ("range:1024", "1024"),
        ("range:32x32", "32×32"),
        ("range:16x8x8", "16×8×8"),
        ("range:8x8x4x4", "8×8×4×4"),
        ("range:2^10", "2^10"),
    ] {
        expected +=
            &format!("| {domain} | {:.2} |", get(workload, "svd-bound", "total_error", VALUE)?);
        for (method, digits) in [
            ("workload", 3),
            ("identity", 3),
            ("hierarchical", 4),
            ("wavelet", 4),
            ("lsa", 4),
            ("optimal", 6),
        ] {
            expected += &format!(" {:.digits$} |", get(workload, method, "ratio_to_svdb", VALUE)?);
        }
        let gap = get(workload, "optimal", "ratio_to_svdb", GAP)?;
        expected += &if gap < 1e-12 { " 0 |\n".to_owned() } else { format!(" {gap:.0e} |\n") };
    }
    Ok(expected)
}

fn past_s3(root: &Path) -> Result<String> {
    let ours = results(root, "results/beyond/table4.csv")?;
    let published = results(root, "data/published/s3_table4.csv")?;
    let mut expected = String::new();
    for workload in ["marginal", "prefix", "range", "circular", "affine", "abs", "random"] {
        let cell = [("n", "50"), ("d", "40"), ("workload", workload)];
        let row = |method| [&cell[..], &[(METHOD, method), (METRIC, "rmse")]].concat();
        let optimum = required(&ours, &row("query-smasher"), VALUE)?;
        let anova = required(&ours, &row("anova"), VALUE)?;
        let bound = number(&ours, &row("global-bound"), VALUE)?;
        let printed = rows(&published, &[&cell[..], &[(METHOD, "QS")]].concat())?;
        let [optimum, anova, bound] = [Some(optimum), Some(anova), bound].map(or_dash);
        expected += &format!(
            "| {workload} | {} | {optimum} | {anova} | {bound} |\n",
            printed.field("rmse", 0)
        );
    }
    Ok(expected)
}

fn of_s4(root: &Path) -> Result<String> {
    let table = results(root, "results/s4/fig4.csv")?;
    let mut expected = String::new();
    for epsilon in ["0.1", "0.31", "1", "3.16", "10", "31.6", "100"] {
        let cell = [("dataset", "adult"), (DATA, "real"), ("epsilon", epsilon)];
        let mut fields = Vec::new();
        for method in ["residual-planner", "aim-grem", "aim-pgm", "aim-hybrid", "planned"] {
            let row = [&cell[..], &[(METHOD, method), (METRIC, "mean_l1")]].concat();
            // AIM+PGM takes hours at the larger budgets.
            let value = if method == "aim-pgm" {
                number(&table, &row, VALUE)?
            } else {
                Some(required(&table, &row, VALUE)?)
            };
            fields.push(or_dash(value));
        }
        expected += &format!("| {epsilon} | {} |\n", fields.join(" | "));
    }
    Ok(expected)
}

fn alternative(root: &Path) -> Result<String> {
    let table = results(root, "results/s2/alternative.csv")?;
    let get = |workload: &str, method: &str| {
        number(&table, &[("workload", workload), (METHOD, method), (METRIC, "over_eigen")], VALUE)
    };
    let mut expected = String::new();
    for (workload, name) in [
        ("permuted-range:2048", "permuted ranges"),
        ("range-marginals(ways=1):8x16x16", "1-way range marginals"),
        ("range-marginals(ways=2):8x16x16", "2-way range marginals"),
        ("cdf:2048", "CDF"),
        ("predicate-sample(queries=4096,p=0.5,seed=1):8x16x16", "4,096 random predicates"),
    ] {
        let mut found = Vec::new();
        for method in ["wavelet", "hierarchical", "fourier", "datacube"] {
            found.extend(get(workload, method)?.map(|value| (value, method)));
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ends = found
            .first()
            .zip(found.last())
            .zip(get(workload, "optimal")?)
            .zip(get(workload, "svd-bound")?);
        let (((best, worst), optimum), bound) = ends.ok_or_else(|| {
            lacks(
                table.name(),
                format!("over_eigen of {workload} for a competitor, the optimum and the SVD bound"),
            )
        })?;
        let pair = |(value, method): &(f64, &str)| format!("{value:.3} ({method})");
        expected +=
            &format!("| {name} | {} | {} | {optimum:.4} | {bound:.4} |\n", pair(best), pair(worst));
    }
    Ok(expected)
}

fn bench(root: &Path) -> Result<String> {
    let table = results(root, "results/bench.csv")?;
    let mut expected = String::new();
    for row in 0..table.len() {
        let [workload, cells, solves] = ["workload", "cells", "eigendecompositions"]
            .map(|column| table.field(column, row).to_owned());
        let seconds = table
            .number("seconds", row)
            .filter(|_| table.number(GAP, row).is_some_and(|gap| gap <= 1e-6));
        let seconds = seconds.filter(|_| !table.field("cpu", row).is_empty()).ok_or_else(|| {
            lacks(
                table.name(),
                format!("the time, a gap of at most 1e-6 and the machine of {workload}"),
            )
        })?;
        let time = if seconds < 0.1 {
            format!("{:.1} ms", seconds * 1e3)
        } else {
            format!("{seconds:.2} s")
        };
        expected += &format!("| `{workload}` | {cells} | {solves} | {time} |\n");
    }
    Ok(expected)
}

/// Time and memory of the paper's largest case.
fn largest_case(root: &Path) -> Result<String> {
    let table = results(root, "results/s3/table7.csv")?;
    let case = [("n", "40"), ("d", "40"), (METRIC, "phases")];
    let (seconds, mb) = (required(&table, &case, "seconds")?, required(&table, &case, "peak_mb")?);
    Ok(format!("takes {seconds:.0} s and {:.1} GB in all phases", mb / 1e3))
}

/// The totals of printed values, as the comparison has them, but for what was not run.
fn verdicts(root: &Path) -> Result<String> {
    const FILE: &str = "results/COMPARISON.md";
    let mut expected = String::new();
    for line in read(root, FILE)?.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [name, reproduced, improved, lower, deviates, not_comparable, _not_run, failed, all] =
            cells[..]
            && let Some(paper) = name.strip_suffix(" published")
        {
            expected += &format!(
                "| {paper} | {reproduced} | {improved} | {lower} | {deviates} | {not_comparable} | {failed} | {all} |\n"
            );
        }
    }
    if expected.is_empty() { Err(lacks(FILE, "a line of totals per paper")) } else { Ok(expected) }
}
