//! The tables of `docs/simulating.md` that hold the choices of a mechanism against other values:
//! functions of the committed results.

use std::collections::BTreeSet;
use std::path::Path;

use crate::columns::{DATA, METHOD, METRIC, VALUE};
use crate::config::Profile;
use crate::datasets::{REAL, SYNTHETIC};
use crate::error::{Error, FileRole, Result};
use crate::layout::{Results, shown};
use crate::table::Table;

/// A table of choices.
pub(super) struct Choices {
    /// The name of its block in the page.
    pub name: &'static str,
    experiment: &'static str,
    /// The mechanism with its defaults.
    default: &'static str,
    epsilons: &'static [&'static str],
    rows: &'static [Row],
}

/// A setting with its default, other values of it, and the mechanism with each of them.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// The tables of the page.
pub(super) const ALL: [Choices; 2] = [
    Choices {
        name: "hybrid-choices",
        experiment: "beyond/hybrid-choices",
        default: "aim-hybrid(switch=0)",
        epsilons: &["0.1", "1"],
        rows: &[
            (
                "`rounds` per attribute (16)",
                "6 / 40",
                &["aim-hybrid(switch=0,rounds=6)", "aim-hybrid(switch=0,rounds=40)"],
            ),
            (
                "`patience` (0.7)",
                "0.4 / 1",
                &["aim-hybrid(switch=0,patience=0.4)", "aim-hybrid(switch=0,patience=1)"],
            ),
            (
                "`last-rounds` (1): rounds that share what annealing leaves",
                "4 / 30",
                &["aim-hybrid(switch=0,last-rounds=4)", "aim-hybrid(switch=0,last-rounds=30)"],
            ),
            (
                "`width` of the priors (2)",
                "1 / 4",
                &["aim-hybrid(switch=0,width=1)", "aim-hybrid(switch=0,width=4)"],
            ),
            ("`max-mb` (2)", "0.1", &["aim-hybrid(switch=0,max-mb=0.1)"]),
            (
                "`width` and `last-rounds`",
                "1 and 4",
                &["aim-hybrid(switch=0,width=1,last-rounds=4)"],
            ),
        ],
    },
    Choices {
        name: "planned-choices",
        experiment: "beyond/planned-choices",
        default: "planned",
        epsilons: &["0.1", "1", "10"],
        rows: &[
            (
                "`exponent` and `width-3`, those of before",
                "⅔ and 0.3",
                &["planned(exponent=0.667,width-3=0.3)"],
            ),
            (
                "`singles` (0.1): share of ρ for residuals of one attribute",
                "0.05 / 0.2",
                &["planned(singles=0.05)", "planned(singles=0.2)"],
            ),
            (
                "`larger` (0.3): share for those of three and more",
                "0.15 / 0.45",
                &["planned(larger=0.15)", "planned(larger=0.45)"],
            ),
            (
                "`exponent` (0.5): λ ∝ n to this power",
                "⅓ / ⅔",
                &["planned(exponent=0.333)", "planned(exponent=0.667)"],
            ),
            ("`width-1` (3)", "1.5 / 6", &["planned(width-1=1.5)", "planned(width-1=6)"]),
            ("`width-2` (1)", "0.5 / 2", &["planned(width-2=0.5)", "planned(width-2=2)"]),
            (
                "`width-3` (0.15)",
                "0.075 / 0.3",
                &["planned(width-3=0.075)", "planned(width-3=0.3)"],
            ),
            ("`width-2` and `width-3`", "0.5 and 0.075", &["planned(width-2=0.5,width-3=0.075)"]),
        ],
    },
];

impl Choices {
    /// The table as the committed results have it: geometric means over data sets and budgets of an
    /// error over that of the default.
    ///
    /// # Errors
    /// No results, or none for one of the values.
    pub(super) fn block(&self, root: &Path) -> Result<String> {
        let path = Results::new(root, Profile::Standard).table(self.experiment);
        let table = Table::read(
            &path,
            &shown(root, &path),
            &format!("run `reproduce run {}`", self.experiment),
        )?;
        let errors = table.with(METRIC, "mean_l1")?;
        let default = errors.with(METHOD, self.default)?;
        let mut text =
            "| setting (default) | other value | synthetic tables | real tables |\n|---|---|---:|---:|\n".to_owned();
        for (setting, values, methods) in self.rows {
            let absent =
                |method: &&&str| errors.with(METHOD, method).is_ok_and(|rows| rows.is_empty());
            if let Some(method) = methods.iter().find(absent) {
                let remedy = "name it as the config does, or add it there";
                return Err(Error::file(
                    FileRole::Input,
                    shown(root, &path),
                    format!("rows of {method}"),
                    "none",
                    remedy,
                ));
            }
            let mut cells = Vec::new();
            for kind in [SYNTHETIC, REAL] {
                let ratios = methods
                    .iter()
                    .map(|method| self.ratio(&errors.with(METHOD, method)?, &default, kind));
                let ratios = ratios.collect::<Result<Vec<_>>>()?;
                let shown = ratios.iter().map(|ratio| {
                    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
                });
                let shown: Vec<String> = shown.collect();
                let none = ratios.iter().all(Option::is_none);
                cells.push(if none { "–".to_owned() } else { shown.join(" / ") });
            }
            text += &format!("| {setting} | {values} | {} |\n", cells.join(" | "));
        }
        Ok(text)
    }

    /// The geometric mean over the tables of a kind that both were run on.
    fn ratio(&self, other: &Table, default: &Table, kind: &str) -> Result<Option<f64>> {
        let (other, default) = (other.with(DATA, kind)?, default.with(DATA, kind)?);
        let datasets: BTreeSet<&str> = default.fields("dataset").collect();
        let (mut sum, mut count) = (0.0, 0);
        for dataset in datasets {
            for epsilon in self.epsilons {
                let value = |table: &Table| -> Result<Option<f64>> {
                    let row = table.with("dataset", dataset)?.with("epsilon", epsilon)?;
                    Ok(if row.is_empty() { None } else { row.number(VALUE, 0) })
                };
                if let (Some(other), Some(default)) = (value(&other)?, value(&default)?) {
                    sum += (other / default).ln();
                    count += 1;
                }
            }
        }
        Ok((count > 0).then(|| (sum / f64::from(count)).exp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: Choices = Choices {
        name: "choices",
        experiment: "beyond/choices",
        default: "a",
        epsilons: &["0.1", "1"],
        rows: &[("`x` (1)", "2 / 3", &["a(x=2)", "a(x=3)"])],
    };

    /// 2 and 8 times the default's error: 4 in the geometric mean. Other budgets and tables on
    /// which one of both is missing do not count.
    #[test]
    fn ratios_are_geometric_means_over_what_both_were_run_on() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("results/beyond")).unwrap();
        let rows = "dataset,data,epsilon,method,metric,value\n\
                    s,synthetic,0.1,a,mean_l1,0.5\ns,synthetic,1,a,mean_l1,0.25\ns,synthetic,10,a,mean_l1,1\nr,real,1,a,mean_l1,2\n\
                    s,synthetic,0.1,a(x=2),mean_l1,1\ns,synthetic,1,a(x=2),mean_l1,2\ns,synthetic,10,a(x=2),mean_l1,9\n";
        let path = dir.path().join("results/beyond/choices.csv");
        std::fs::write(&path, rows).unwrap();
        let error = CHOICES.block(dir.path()).unwrap_err().to_string();
        assert!(error.contains("rows of a(x=3)"), "{error}");
        std::fs::write(
            &path,
            format!("{rows}s,synthetic,1,a(x=3),mean_l1,0.125\nr,real,1,a(x=3),mean_l1,3\n"),
        )
        .unwrap();
        let text = CHOICES.block(dir.path()).unwrap();
        assert!(text.ends_with("| `x` (1) | 2 / 3 | 4.00 / 0.50 | – / 1.50 |\n"), "{text}");
    }
}
