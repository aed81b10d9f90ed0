//! The config of one experiment.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matmech::hash::sha256_of_file;

use super::compare_spec::CompareSpec;
use super::document::line_of;
use super::figure_spec::FigureSpec;
use crate::entry::Entry;
use crate::error::{Document, Error};
use crate::files::{canonical, hex, sha256_of_fields};
use crate::layout::{Part, Profile};

/// The heading of experiments that reproduce nothing.
pub const OWN: &str = "Own experiments";

/// The changes of a profile: keys of the grid, and the expected cost.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// Keys that replace those of `[grid]`.
    #[serde(default)]
    pub grid: toml::Table,
    /// Expected wall time in seconds under this profile, if different.
    pub expected_seconds: Option<f64>,
    /// Expected peak memory in MB under this profile, if different.
    pub expected_mb: Option<f64>,
}

/// The changes of all profiles.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiles {
    /// The changes of the profile `quick`.
    #[serde(default)]
    pub quick: Overlay,
    /// The changes of the profile `paper`.
    #[serde(default)]
    pub paper: Overlay,
}

/// A loaded config: `configs/<experiment>.toml`.
///
/// The grid is an untyped table; [`crate::engine::ExperimentPlan`] applies the type of the
/// experiment's kind.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file.
    #[serde(skip)]
    pub file: PathBuf,
    /// Its text, for the line numbers of errors.
    #[serde(skip)]
    pub text: String,
    /// SHA-256 of the file, in hex.
    #[serde(skip)]
    pub hash: String,
    /// Experiment id, equal to the path below `configs/` without `.toml`.
    pub experiment: String,
    /// Name in [`crate::registry`].
    pub kind: String,
    /// Title, one line.
    pub title: String,
    /// Paper and item that it reproduces; without it, the experiment is one of [`OWN`].
    #[serde(default)]
    pub reproduces: Option<String>,
    /// Position of the item in its paper; items without it come last, by experiment id.
    pub order: Option<f64>,
    /// Seed of all random streams of the experiment.
    pub seed: u64,
    /// Expected wall time in seconds (profile `standard`, two cores).
    pub expected_seconds: f64,
    /// Expected peak memory in MB (profile `standard`).
    pub expected_mb: f64,
    /// Whether cells are computed one at a time, because their memory is a result.
    #[serde(default)]
    pub one_at_a_time: bool,
    /// The grid of the profile `standard`.
    pub grid: toml::Table,
    /// The changes of the other profiles.
    #[serde(default)]
    pub profile: Profiles,
    /// Ratios computed from the results.
    #[serde(default)]
    pub derive: Vec<Entry>,
    /// Known values to compare with.
    #[serde(default)]
    pub compare: Vec<CompareSpec>,
    /// Figures to draw.
    #[serde(skip)]
    pub figure: Vec<FigureSpec>,
    /// The figures as written.
    #[serde(default, rename = "figure")]
    pub(super) written_figures: Vec<toml::Table>,
}

impl Config {
    /// Returns the paper: `reproduces` up to the first comma, or [`OWN`] without it.
    #[must_use]
    pub fn paper(&self) -> &str {
        self.reproduces.as_deref().map_or(OWN, |text| split_outside_parentheses(text).0)
    }

    /// Returns the part that the experiment belongs to.
    #[must_use]
    pub fn part(&self) -> Part {
        match &self.reproduces {
            Some(text) if !text.starts_with("Beyond") => Part::Papers,
            _ => Part::Beyond,
        }
    }

    /// Returns the item of the paper: `reproduces` between the first and the second comma; may be
    /// empty.
    #[must_use]
    pub fn item(&self) -> &str {
        let reproduces = self.reproduces.as_deref().unwrap_or_default();
        split_outside_parentheses(split_outside_parentheses(reproduces).1).0
    }

    /// Compares by paper and by item within it: the four papers first, then experiments beyond
    /// them.
    #[must_use]
    pub fn cmp_by_paper(&self, other: &Self) -> Ordering {
        let paper = |config: &Self| (config.part(), config.paper().to_owned());
        let order = |config: &Self| config.order.unwrap_or(f64::INFINITY);
        paper(self)
            .cmp(&paper(other))
            .then(order(self).total_cmp(&order(other)))
            .then_with(|| self.experiment.cmp(&other.experiment))
    }

    /// Returns the changes of `profile`; `None` for `standard`.
    #[must_use]
    pub fn overlay(&self, profile: Profile) -> Option<&Overlay> {
        match profile {
            Profile::Quick => Some(&self.profile.quick),
            Profile::Standard => None,
            Profile::Paper => Some(&self.profile.paper),
        }
    }

    /// Returns the grid under a profile: `[grid]` overridden by `[profile.<name>.grid]`.
    #[must_use]
    pub fn grid(&self, profile: Profile) -> toml::Table {
        let mut grid = self.grid.clone();
        if let Some(overlay) = self.overlay(profile) {
            grid.extend(overlay.grid.clone());
        }
        grid
    }

    /// Returns the folder of the file, to which the files that its values name are relative.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    /// Returns the SHA-256, in hex, of every file of the folder that the texts in a value name.
    #[must_use]
    pub fn named_files(&self, value: &serde_json::Value) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for_each_text(value, &mut |text| {
            for name in matmech::named_file::names_in(text) {
                if let Ok(hash) = sha256_of_file(&self.folder().join(name)) {
                    files.insert(name.to_owned(), hash);
                }
            }
        });
        files
    }

    /// Returns the SHA-256, in hex, of every file that the grid of a profile names.
    #[must_use]
    pub fn grid_files(&self, profile: Profile) -> BTreeMap<String, String> {
        self.named_files(&serde_json::to_value(self.grid(profile)).unwrap_or_default())
    }

    /// Returns the SHA-256, in hex, of the parts that determine the values under a profile:
    /// experiment, kind, seed, grid, and the contents of the files that it names.
    ///
    /// Comments, figures, comparisons and derived rows can change without making a result stale.
    #[must_use]
    pub fn values_hash(&self, profile: Profile) -> String {
        // All keys of a grid are strings, so conversion to JSON succeeds.
        let grid = serde_json::to_value(self.grid(profile)).unwrap_or_default();
        let seed = self.seed.to_string();
        let (grid, files) = (canonical(&grid), self.named_files(&grid));
        let mut fields =
            vec!["matmech config values 1", &self.experiment, &self.kind, &seed, &grid];
        fields.extend(files.iter().flat_map(|(name, hash)| [name.as_str(), hash.as_str()]));
        hex(&sha256_of_fields(&fields))
    }

    /// Returns the expected wall time in seconds and peak memory in MB under a profile.
    #[must_use]
    pub fn expected(&self, profile: Profile) -> (f64, f64) {
        let overlay = self.overlay(profile);
        let seconds = overlay.and_then(|overlay| overlay.expected_seconds);
        let mb = overlay.and_then(|overlay| overlay.expected_mb);
        (seconds.unwrap_or(self.expected_seconds), mb.unwrap_or(self.expected_mb))
    }

    /// Adds file and line to an error in this config; the error's key must be complete.
    #[must_use]
    pub fn located(&self, error: Error) -> Error {
        error.in_document(Document::Config, &self.file).on_line(|key| line_of(&self.text, key))
    }

    /// Adds the table of the key, file and line to an error in the grid of `profile`.
    #[must_use]
    pub fn grid_error(&self, profile: Profile, error: Error) -> Error {
        let first = error.key().split(['.', '[']).next().unwrap_or_default();
        let in_overlay = self.overlay(profile).is_some_and(|overlay| {
            overlay.grid.contains_key(first) || (first.is_empty() && !overlay.grid.is_empty())
        });
        let table = if in_overlay { format!("profile.{profile}.grid") } else { "grid".to_owned() };
        self.located(error.under(&table))
    }
}

/// Calls a function for every text in a value.
fn for_each_text(value: &serde_json::Value, see: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(text) => see(text),
        serde_json::Value::Array(values) => values.iter().for_each(|v| for_each_text(v, see)),
        serde_json::Value::Object(entries) => entries.values().for_each(|v| for_each_text(v, see)),
        _ => {}
    }
}

/// Splits at the first comma outside parentheses and trims both parts.
fn split_outside_parentheses(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (index, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return (text[..index].trim(), text[index + 1..].trim()),
            _ => {}
        }
    }
    (text.trim(), "")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::parse;

    fn config(id: &str, reproduces: &str, order: &str) -> Config {
        let text = format!(
            "experiment = 's/{id}'\nkind = 'k'\ntitle = 't'\nreproduces = \
             '{reproduces}'\n{order}\nseed = 1\n\
             expected_seconds = 1\nexpected_mb = 1\n[grid]\nn = [1, 2]\n[profile.quick.grid]\nn = \
             [1]\n"
        );
        parse(Path::new(&format!("/configs/s/{id}.toml")), &text).unwrap()
    }

    #[test]
    fn paper_and_item_are_the_first_parts_of_reproduces() {
        let parts = |reproduces: &str| {
            let config = config("x", reproduces, "");
            (config.paper().to_owned(), config.item().to_owned())
        };
        let pair = |paper: &str, item: &str| (paper.to_owned(), item.to_owned());
        assert_eq!(
            parts("S1, App. C (Thm C.1, Cor. C.1), and others"),
            pair("S1", "App. C (Thm C.1, Cor. C.1)")
        );
        assert_eq!(parts("Beyond S3"), pair("Beyond S3", ""));
    }

    #[test]
    fn papers_are_sorted_and_experiments_beyond_them_come_last() {
        let mut configs = [
            config("a", "Beyond S3, Table 2", "order = 1"),
            config("b", "S2, Sec. 5", ""),
            config("c", "S2, Sec. 5", "order = 5.2"),
            config("d", "S1, App. B", "order = 11"),
            config("e", "S1, Sec. 3", "order = 3"),
        ];
        configs.sort_by(Config::cmp_by_paper);
        assert_eq!(configs.map(|config| config.experiment), ["s/e", "s/d", "s/c", "s/b", "s/a"]);
    }

    #[test]
    fn values_hash_depends_on_experiment_kind_seed_and_grid_only() {
        let base = config("x", "S1, Sec. 3", "");
        let hash = base.values_hash(Profile::Standard);
        let parsed = |from: &str, to: &str| {
            assert!(base.text.contains(from), "{from}");
            parse(Path::new("/configs/s/x.toml"), &base.text.replacen(from, to, 1)).unwrap()
        };
        let others = "[[figure]]\nfile = 'f'\ntitle = 't'\nkind = 'bars'\nx = 'n'\nx_label = \
                      'n'\ny = 'e'\ny_label = 'e'\n";
        for (from, to) in
            [("title = 't'", "title = 'u' # why"), ("n = [1]\n", &format!("n = [1]\n{others}"))]
        {
            let other = parsed(from, to);
            assert_ne!(other.hash, base.hash);
            assert_eq!(other.values_hash(Profile::Standard), hash);
        }
        for (from, to) in
            [("kind = 'k'", "kind = 'l'"), ("seed = 1", "seed = 2"), ("n = [1, 2]", "n = [2, 1]")]
        {
            assert_ne!(parsed(from, to).values_hash(Profile::Standard), hash, "{to}");
        }
        assert_eq!(parsed("n = [1]\n", "n = [2]\n").values_hash(Profile::Standard), hash);
        assert_ne!(
            parsed("n = [1]\n", "n = [2]\n").values_hash(Profile::Quick),
            base.values_hash(Profile::Quick)
        );
    }
}
