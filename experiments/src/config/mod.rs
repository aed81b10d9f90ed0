//! Configs: one typed TOML file per table or figure, refused before anything runs if it is not right.

mod compare_spec;
mod derive_spec;
mod document;
mod figure_spec;
mod load;

use std::path::PathBuf;

pub use crate::profile::Profile;
pub use compare_spec::{CompareSpec, OurColumn};
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
/// The grid is still an untyped table; the experiment's kind has the type, and [`crate::engine::ExperimentPlan`] applies it.
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
    /// Seed of all random streams of the experiment.
    pub seed: u64,
    /// Expected wall time in seconds (profile `standard`, two cores).
    pub expected_seconds: f64,
    /// Expected peak memory in MB (profile `standard`).
    pub expected_mb: f64,
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
    /// What `profile` changes; nothing for `standard`.
    #[must_use]
    pub fn overlay(&self, profile: Profile) -> Option<&Overlay> {
        match profile {
            Profile::Quick => Some(&self.quick),
            Profile::Standard => None,
            Profile::Paper => Some(&self.paper),
        }
    }

    /// The grid under a profile: `[grid]`, with the keys of `[profile.<name>.grid]` in place of its own.
    #[must_use]
    pub fn grid(&self, profile: Profile) -> toml::Table {
        let mut grid = self.grid.clone();
        if let Some(overlay) = self.overlay(profile) {
            grid.extend(overlay.grid.clone());
        }
        grid
    }

    /// SHA-256, in hex, of what of the config decides the values under a profile: experiment, kind, seed and grid. Comments, figures,
    /// comparisons and derived rows can change without making a result stale.
    #[must_use]
    pub fn values_hash(&self, profile: Profile) -> String {
        // A grid has no key that is not a text, so it is JSON.
        let grid = serde_json::to_value(self.grid(profile)).unwrap_or_default();
        let seed = self.seed.to_string();
        let fields = ["matmech config values 1", &self.experiment, &self.kind, &seed, &canonical(&grid)];
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

    /// Completes an error in the grid of `profile`: the table in which the key stands, file and line.
    #[must_use]
    pub fn grid_error(&self, profile: Profile, error: Error) -> Error {
        let first = error.key().split(['.', '[']).next().unwrap_or_default();
        let in_overlay = self
            .overlay(profile)
            .is_some_and(|overlay| overlay.grid.contains_key(first) || (first.is_empty() && !overlay.grid.is_empty()));
        let table = if in_overlay { format!("profile.{profile}.grid") } else { "grid".to_owned() };
        self.located(error.under(&table))
    }
}
