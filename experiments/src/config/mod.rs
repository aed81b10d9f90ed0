//! Configs: one typed TOML file per table or figure, refused before anything runs if it is not right.

mod compare_spec;
mod figure_spec;
mod load;
mod problem;
mod suggest;

use std::path::PathBuf;

pub use crate::profile::Profile;
pub use compare_spec::{CompareSpec, OurColumn};
pub use figure_spec::{Aggregate, FigureKind, FigureSpec, PublishedOverlay, ReferenceLine};
pub use load::{find, load, load_all, parse};
pub use problem::{ConfigError, Problem};
pub use suggest::{near, nearest};

use serde::de::DeserializeOwned;

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
/// The grid is still an untyped table; the experiment's kind has the type, and [`crate::engine::Plan`] applies it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
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

    /// Expected wall time in seconds and peak memory in MB under a profile.
    #[must_use]
    pub fn expected(&self, profile: Profile) -> (f64, f64) {
        let overlay = self.overlay(profile);
        let seconds = overlay.and_then(|overlay| overlay.expected_seconds);
        let mb = overlay.and_then(|overlay| overlay.expected_mb);
        (seconds.unwrap_or(self.expected_seconds), mb.unwrap_or(self.expected_mb))
    }

    /// Completes an error in the grid of `profile`: file, and the table in which the key stands.
    #[must_use]
    pub fn grid_error(&self, profile: Profile, error: ConfigError) -> ConfigError {
        let first = error.key.split(['.', '[']).next().unwrap_or_default();
        let in_overlay = self
            .overlay(profile)
            .is_some_and(|overlay| overlay.grid.contains_key(first) || (first.is_empty() && !overlay.grid.is_empty()));
        let table = if in_overlay { format!("profile.{profile}.grid") } else { "grid".to_owned() };
        error.under(&table).in_file(&self.file)
    }
}

/// Reads a grid into the type of an experiment kind; `T` should be `#[serde(deny_unknown_fields)]`.
///
/// # Errors
/// An unknown or missing key, or a value of the wrong type, with the key relative to the grid.
pub fn parse_grid<T: DeserializeOwned>(grid: &toml::Table) -> Result<T, ConfigError> {
    grid.clone().try_into().map_err(|error| ConfigError::from_toml(error, None))
}
