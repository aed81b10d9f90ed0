//! Configs: one typed TOML file per table or figure, refused before anything runs if it is not
//! right.

mod compare_spec;
mod derive_spec;
mod document;
mod figure_spec;
mod load;

use std::cmp::Ordering;
use std::path::PathBuf;

pub use crate::profile::Profile;
pub use compare_spec::{CompareSpec, OurColumn, Tolerance};
pub use derive_spec::{DeriveSpec, Take};
pub use document::{line_of, read, typed};
pub use figure_spec::{Aggregate, FigureSpec, PublishedOverlay, ReferenceLine, SecondAxis};
pub use load::{find, load, load_all, parse};

use crate::error::{Document, Error};
use crate::hash::{canonical, hex, sha256_of_fields};

/// What one profile changes: keys that replace those of `[grid]`, and the expected cost.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// Keys that replace those of `[grid]`.
    #[serde(default)]
    pub grid: toml::Table,
    /// Expected wall time in seconds under this profile, if it is not the standard one.
    pub expected_seconds: Option<f64>,
    /// Expected peak memory in MB under this profile, if it is not the standard one.
    pub expected_mb: Option<f64>,
}

/// A loaded config: `configs/<experiment>.toml`.
///
/// The grid is still an untyped table; the experiment's kind has the type, and
/// [`crate::engine::ExperimentPlan`] applies it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// Its text, in which errors have their lines.
    pub text: String,
    /// SHA-256 of the file, in hex.
    pub hash: String,
    /// Experiment id, equal to the path below `configs/` without `.toml`.
    pub experiment: String,
    /// Name in [`crate::registry`].
    pub kind: String,
    /// One line for people.
    pub title: String,
    /// What of which paper it reproduces.
    pub reproduces: String,
    /// Where the item stands in its paper; items without it come behind those with, by experiment
    /// id.
    pub order: Option<f64>,
    /// Seed of all random streams of the experiment.
    pub seed: u64,
    /// Expected wall time in seconds (profile `standard`, two cores).
    pub expected_seconds: f64,
    /// Expected peak memory in MB (profile `standard`).
    pub expected_mb: f64,
    /// Whether its cells are computed one after the other, because their memory is a result.
    pub one_at_a_time: bool,
    /// The grid of the profile `standard`.
    pub grid: toml::Table,
    /// What the profile `quick` changes.
    pub quick: Overlay,
    /// What the profile `paper` changes.
    pub paper: Overlay,
    /// Ratios that are made of the results.
    pub derive: Vec<DeriveSpec>,
    /// Published values to compare with.
    pub compare: Vec<CompareSpec>,
    /// Figures to draw.
    pub figure: Vec<FigureSpec>,
}

impl Config {
    /// The paper that it reproduces a part of: `reproduces` up to its first comma.
    #[must_use]
    pub fn paper(&self) -> &str {
        split_outside_parentheses(&self.reproduces).0
    }

    /// The item of the paper: what follows in `reproduces`, up to the next comma; empty if nothing
    /// does.
    #[must_use]
    pub fn item(&self) -> &str {
        split_outside_parentheses(split_outside_parentheses(&self.reproduces).1).0
    }

    /// The order of the papers, and of the items in each: published papers first, then what goes
    /// past them.
    #[must_use]
    pub fn in_order_of_papers(&self, other: &Self) -> Ordering {
        let place =
            |config: &Self| (config.paper().starts_with("Beyond"), config.paper().to_owned());
        let order = |config: &Self| config.order.unwrap_or(f64::INFINITY);
        place(self)
            .cmp(&place(other))
            .then(order(self).total_cmp(&order(other)))
            .then_with(|| self.experiment.cmp(&other.experiment))
    }

    /// What `profile` changes; nothing for `standard`.
    #[must_use]
    pub fn overlay(&self, profile: Profile) -> Option<&Overlay> {
        match profile {
            Profile::Quick => Some(&self.quick),
            Profile::Standard => None,
            Profile::Paper => Some(&self.paper),
        }
    }

    /// The grid under a profile: `[grid]`, with the keys of `[profile.<name>.grid]` in place of its
    /// own.
    #[must_use]
    pub fn grid(&self, profile: Profile) -> toml::Table {
        let mut grid = self.grid.clone();
        if let Some(overlay) = self.overlay(profile) {
            grid.extend(overlay.grid.clone());
        }
        grid
    }

    /// SHA-256, in hex, of what of the config decides the values under a profile: experiment, kind,
    /// seed and grid. Comments, figures, comparisons and derived rows can change without making a
    /// result stale.
    #[must_use]
    pub fn values_hash(&self, profile: Profile) -> String {
        // A grid has no key that is not a text, so it is JSON.
        let grid = serde_json::to_value(self.grid(profile)).unwrap_or_default();
        let seed = self.seed.to_string();
        let fields =
            ["matmech config values 1", &self.experiment, &self.kind, &seed, &canonical(&grid)];
        hex(&sha256_of_fields(&fields))
    }

    /// Expected wall time in seconds and peak memory in MB under a profile.
    #[must_use]
    pub fn expected(&self, profile: Profile) -> (f64, f64) {
        let overlay = self.overlay(profile);
        let seconds = overlay.and_then(|overlay| overlay.expected_seconds);
        let mb = overlay.and_then(|overlay| overlay.expected_mb);
        (seconds.unwrap_or(self.expected_seconds), mb.unwrap_or(self.expected_mb))
    }

    /// Completes an error in this config, whose key is complete: file and line.
    #[must_use]
    pub fn located(&self, error: Error) -> Error {
        error.in_document(Document::Config, &self.file).on_line(|key| line_of(&self.text, key))
    }

    /// Completes an error in the grid of `profile`: the table in which the key stands, file and
    /// line.
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

/// What is before and after the first comma that is in no parentheses, trimmed.
fn split_outside_parentheses(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return (text[..place].trim(), text[place + 1..].trim()),
            _ => {}
        }
    }
    (text.trim(), "")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(id: &str, reproduces: &str, order: &str) -> Config {
        let text = format!(
            "experiment = 's/{id}'\nkind = 'k'\ntitle = 't'\nreproduces = '{reproduces}'\n{order}\nseed = 1\n\
             expected_seconds = 1\nexpected_mb = 1\n[grid]\nn = [1, 2]\n[profile.quick.grid]\nn = [1]\n"
        );
        parse(Path::new(&format!("/configs/s/{id}.toml")), &text).unwrap()
    }

    #[test]
    fn paper_and_item_are_the_start_of_what_is_reproduced() {
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
    fn papers_come_in_their_order_and_what_is_past_them_last() {
        let mut configs = [
            config("a", "Beyond S3, Table 2", "order = 1"),
            config("b", "S2, Sec. 5", ""),
            config("c", "S2, Sec. 5", "order = 5.2"),
            config("d", "S1, App. B", "order = 11"),
            config("e", "S1, Sec. 3", "order = 3"),
        ];
        configs.sort_by(Config::in_order_of_papers);
        assert_eq!(configs.map(|config| config.experiment), ["s/e", "s/d", "s/c", "s/b", "s/a"]);
    }

    #[test]
    fn values_are_decided_by_experiment_kind_seed_and_grid() {
        let base = config("x", "S1, Sec. 3", "");
        let hash = base.values_hash(Profile::Standard);
        let parsed = |from: &str, to: &str| {
            assert!(base.text.contains(from), "{from}");
            parse(Path::new("/configs/s/x.toml"), &base.text.replacen(from, to, 1)).unwrap()
        };
        let others = "[[figure]]\nfile = 'f'\ntitle = 't'\nkind = 'bars'\nx = 'n'\nx_label = 'n'\ny = 'e'\ny_label = 'e'\n";
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
