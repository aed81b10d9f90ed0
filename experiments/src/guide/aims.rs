//! The blocks of `docs/simulating.md`: every mechanism against the best one of its table and
//! budget, the aims against what was found, and the tables of `choices`. They are functions of the
//! committed results, so that no number of them is stale.

use std::fs;
use std::path::{Path, PathBuf};

use super::choices;
use crate::atomic::write_atomically;
use crate::columns::{DATA, METHOD, METRIC, PEAK_MB, SECONDS, VALUE};
use crate::config::{Config, Profile};
use crate::datasets::{REAL, STAND_IN};
use crate::derive;
use crate::error::{Error, FileRole, Result};
use crate::layout::{Results, shown};
use crate::table::Table;

/// The page, below the root.
pub const PAGE: &str = "docs/simulating.md";

/// The block that is written here; the others are of [`choices`].
const BLOCK: &str = "over-best";

/// The experiment whose results are shown.
const EXPERIMENT: &str = "s4/fig4";

/// The mechanism whose aims they are.
const HYBRID: &str = "aim-hybrid";

/// The most that its error should be over that of the best mechanism.
const MOST_OVER_BEST: f64 = 1.05;

/// Mechanisms with their names, in the order of the columns.
const METHODS: [(&str, &str); 5] = [
    ("residual-planner", "ResidualPlanner"),
    ("aim-grem", "AIM+GReM"),
    ("aim-pgm", "AIM+PGM"),
    (HYBRID, "hybrid"),
    ("planned", "planned"),
];

/// The tables with their names.
const TABLES: [(&str, &str); 4] =
    [("adult", "Adult"), ("nltcs", "NLTCS"), ("salary", "Salary"), ("titanic", "Titanic")];

const EPSILONS: [&str; 3] = ["0.1", "1", "10"];

/// Something that was to be at most so much.
struct Aim {
    what: &'static str,
    dataset: &'static str,
    data: &'static str,
    epsilon: &'static str,
    method: &'static str,
    column: &'static str,
    most: f64,
}

/// An aim of the hybrid.
const fn aim(
    what: &'static str,
    dataset: &'static str,
    epsilon: &'static str,
    column: &'static str,
    most: f64,
) -> Aim {
    Aim { what, dataset, data: REAL, epsilon, method: HYBRID, column, most }
}

const AIMS: [Aim; 14] = [
    aim("mean L1, Adult, ε = 1", "adult", "1", VALUE, 0.105),
    aim("seconds, Adult, ε = 1", "adult", "1", SECONDS, 1.0),
    aim("seconds, Adult, ε = 10", "adult", "10", SECONDS, 10.0),
    Aim { data: STAND_IN, ..aim("seconds, ACS stand-in, ε = 1", "acs", "1", SECONDS, 60.0) },
    Aim { data: STAND_IN, ..aim("seconds, ACS stand-in, ε = 10", "acs", "10", SECONDS, 60.0) },
    Aim { data: STAND_IN, ..aim("seconds, Loans stand-in, ε = 1", "loans", "1", SECONDS, 60.0) },
    Aim { data: STAND_IN, ..aim("seconds, Loans stand-in, ε = 10", "loans", "10", SECONDS, 60.0) },
    Aim { data: STAND_IN, ..aim("MB, ACS stand-in, ε = 1", "acs", "1", PEAK_MB, 1000.0) },
    Aim { data: STAND_IN, ..aim("MB, ACS stand-in, ε = 10", "acs", "10", PEAK_MB, 1000.0) },
    Aim { data: STAND_IN, ..aim("MB, Loans stand-in, ε = 1", "loans", "1", PEAK_MB, 1000.0) },
    Aim { data: STAND_IN, ..aim("MB, Loans stand-in, ε = 10", "loans", "10", PEAK_MB, 1000.0) },
    Aim {
        method: "aim-pgm",
        ..aim("mean L1 of AIM+PGM, Adult, ε = 1", "adult", "1", VALUE, 0.125)
    },
    Aim {
        method: "aim-pgm",
        ..aim("seconds of AIM+PGM, Adult, ε = 1", "adult", "1", SECONDS, 90.0)
    },
    Aim {
        method: "planned",
        ..aim("mean L1 of planned, Adult, ε = 1", "adult", "1", VALUE, 0.175)
    },
];

/// Whether the page of this root has the block.
#[must_use]
pub fn is_wanted(root: &Path) -> bool {
    fs::read_to_string(root.join(PAGE)).is_ok_and(|page| page.contains(&marks(BLOCK)[0]))
}

/// Writes the page with its block and returns its path.
///
/// # Errors
/// As [`render`], and a page that cannot be written.
pub fn write(root: &Path, configs: &[Config]) -> Result<PathBuf> {
    let page = root.join(PAGE);
    let text = render(root, configs)?;
    write_atomically(&page, text.as_bytes())
        .map_err(|error| Error::unwritable(FileRole::Report, &page, &error))?;
    Ok(page)
}

/// The page as it should be: what is written by hand, and the blocks as the committed results have
/// them.
///
/// # Errors
/// No page, no marks, no config, or no results.
pub fn render(root: &Path, configs: &[Config]) -> Result<String> {
    let page = super::read(root, PAGE, "restore it")?;
    let Some(config) = configs.iter().find(|config| config.experiment == EXPERIMENT) else {
        let expected = format!("the config of {EXPERIMENT}");
        return Err(Error::file(FileRole::Input, "configs", expected, "none", "restore it"));
    };
    let mut page = with_block(&page, BLOCK, || {
        let path = Results::new(root, Profile::Standard).table(EXPERIMENT);
        let table =
            Table::read(&path, &shown(root, &path), &format!("run `reproduce run {EXPERIMENT}`"))?;
        block(&derive::extended(&table, &config.derive, Profile::Standard)?)
    })?;
    for choices in choices::ALL {
        page = with_block(&page, choices.name, || choices.block(root))?;
    }
    Ok(page)
}

/// The lines around a block.
fn marks(name: &str) -> [String; 2] {
    [format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->\n")]
}

/// The page with another text in a block.
fn with_block(page: &str, name: &str, text: impl FnOnce() -> Result<String>) -> Result<String> {
    let [begin, end] = marks(name);
    let parts =
        page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = parts else {
        let expected = format!("the lines {} and {}", begin.trim(), end.trim());
        return Err(Error::file(
            FileRole::Input,
            PAGE,
            expected,
            "not both",
            "restore them around the block",
        ));
    };
    Ok(format!("{before}{begin}{}{end}{after}", text()?))
}

/// The rows with these fields.
fn rows(table: &Table, fields: &[(&str, &str)]) -> Result<Table> {
    fields.iter().try_fold(table.clone(), |rows, (column, field)| rows.with(column, field))
}

/// The number in `column` of the row of a cell, if there is one.
fn number(
    table: &Table,
    [dataset, data, epsilon]: [&str; 3],
    method: &str,
    metric: &str,
    column: &str,
) -> Result<Option<f64>> {
    let cell = [
        ("dataset", dataset),
        (DATA, data),
        ("epsilon", epsilon),
        (METHOD, method),
        (METRIC, metric),
    ];
    let found = rows(table, &cell)?;
    Ok(if found.is_empty() { None } else { found.number(column, 0) })
}

fn block(table: &Table) -> Result<String> {
    let names: String = METHODS.iter().map(|(_, name)| format!(" {name} |")).collect();
    let mut text = format!(
        "| data | ε | the best one's mean L1 |{names}\n|---|---|---:|---:|---:|---:|---:|---:|\n"
    );
    let (mut missed, mut without) = (Vec::new(), Vec::new());
    for (dataset, name) in TABLES {
        for epsilon in EPSILONS {
            let cell = [dataset, REAL, epsilon];
            let mut best = f64::INFINITY;
            let mut ratios = String::new();
            for (method, label) in METHODS {
                best = number(table, cell, method, "mean_l1", VALUE)?
                    .map_or(best, |value| best.min(value));
                let ratio = number(table, cell, method, "over_best", VALUE)?;
                ratios += &match ratio {
                    None => " – |".to_owned(),
                    Some(ratio) if ratio <= 1.0 => " **1** |".to_owned(),
                    Some(ratio) if method == HYBRID && ratio > MOST_OVER_BEST => {
                        format!(" {ratio:.3} (fails) |")
                    }
                    Some(ratio) => format!(" {ratio:.3} |"),
                };
                match ratio {
                    None => without.push(format!("{label} on {name} at {epsilon}")),
                    Some(ratio) if method == HYBRID && ratio > MOST_OVER_BEST => {
                        missed.push(format!("{name} at {epsilon}"))
                    }
                    Some(_) => {}
                }
            }
            text += &format!("| {name} | {epsilon} | {best:.4} |{ratios}\n");
        }
    }
    let list =
        |items: &[String]| if items.is_empty() { "nowhere".to_owned() } else { items.join(", ") };
    text += &format!(
        "\nAbove the aim of {MOST_OVER_BEST} for the hybrid: {}. –: not run by the profile `standard`, only by `paper` ({}); there the\n\
         best is that of the others.\n\n| aim | at most | found | |\n|---|---:|---:|---|\n",
        list(&missed),
        list(&without)
    );
    for aim in AIMS {
        let found =
            number(table, [aim.dataset, aim.data, aim.epsilon], aim.method, "mean_l1", aim.column)?;
        let digits = if aim.column == VALUE { 4 } else { usize::from(aim.column == SECONDS) };
        let verdict = match found {
            None => "not measured",
            Some(found) if found <= aim.most => "holds",
            // What the process held before the cell counts, so that more than the aim says nothing.
            Some(_) if aim.column == PEAK_MB => "not known",
            Some(_) => "**missed**",
        };
        let bound = if aim.column == PEAK_MB { "≤ " } else { "" };
        let found =
            found.map_or_else(|| "–".to_owned(), |found| format!("{bound}{found:.digits$}"));
        text += &format!("| {} | {} | {found} | {verdict} |\n", aim.what, aim.most);
    }
    let [models, switches] = times(table)?;
    text += &format!(
        "\nThe time of AIM+PGM over that of the hybrid: {}. Where the hybrid switched to ResidualPlanner: {}.\n",
        list(&models),
        list(&switches)
    );
    Ok(text)
}

/// How many times the hybrid's time AIM+PGM takes: where the hybrid has a model, and where it
/// switched.
fn times(table: &Table) -> Result<[Vec<String>; 2]> {
    let (mut models, mut switches) = (Vec::new(), Vec::new());
    for (dataset, name) in TABLES {
        for epsilon in EPSILONS {
            let cell = [dataset, REAL, epsilon];
            let seconds = |method| number(table, cell, method, "mean_l1", SECONDS);
            let (Some(slow), Some(fast)) = (seconds("aim-pgm")?, seconds(HYBRID)?) else {
                continue;
            };
            let ratio = slow / fast;
            let digits = usize::from(ratio < 10.0);
            let text = format!("{ratio:.digits$} on {name} at {epsilon}");
            let switched = number(table, cell, HYBRID, "residual_planner", VALUE)?
                .is_some_and(|share| share > 0.5);
            if switched { switches.push(text) } else { models.push(text) }
        }
    }
    Ok([models, switches])
}
