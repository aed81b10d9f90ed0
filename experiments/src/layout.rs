//! Where things are below `--root`: the only file that knows the folder names.
//!
//! The tables, figures and reports of the profile `standard` are committed, so every other profile
//! has its own folder `results/<profile>/…`, and results on stand-ins never replace results on real
//! data: see [`Results`]. Finished cells are shared by all profiles: a cell is found by its inputs,
//! whoever asked for it.

use std::path::{Path, PathBuf};

use crate::profile::Profile;

/// `configs/`: one TOML file per table or figure.
#[must_use]
pub fn configs_dir(root: &Path) -> PathBuf {
    root.join("configs")
}

/// The result tables, figures and reports of one profile.
///
/// Their usual place is `results/` and `figures/` for the profile `standard`, `results/<profile>/`
/// for the others. Where a table there was computed on real data that this machine has stand-ins of
/// only, the machine's own results go to the folder `stand-in` of that place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results<'r> {
    root: &'r Path,
    profile: Profile,
    on_stand_ins: bool,
}

impl<'r> Results<'r> {
    /// The usual place.
    #[must_use]
    pub fn new(root: &'r Path, profile: Profile) -> Self {
        Self { root, profile, on_stand_ins: false }
    }

    /// The place beside it, for results on stand-ins that must not replace results on real data.
    #[must_use]
    pub fn on_stand_ins(self) -> Self {
        Self { on_stand_ins: true, ..self }
    }

    /// The folder of the tables and reports.
    #[must_use]
    pub fn dir(self) -> PathBuf {
        let results = self.root.join("results");
        let usual = match self.profile {
            Profile::Standard => results,
            Profile::Quick | Profile::Paper => results.join(self.profile.name()),
        };
        if self.on_stand_ins { usual.join(STAND_IN_DIR) } else { usual }
    }

    /// The tidy result table of an experiment.
    #[must_use]
    pub fn table(self, experiment: &str) -> PathBuf {
        self.dir().join(format!("{experiment}.csv"))
    }

    /// The provenance record beside the result table.
    #[must_use]
    pub fn provenance(self, experiment: &str) -> PathBuf {
        self.dir().join(format!("{experiment}.provenance.json"))
    }

    /// The folder of the figures. Those of the profile `standard` at the usual place are committed,
    /// and stand by themselves.
    #[must_use]
    pub fn figures(self) -> PathBuf {
        match self.profile {
            Profile::Standard if !self.on_stand_ins => self.root.join("figures"),
            _ => self.dir().join("figures"),
        }
    }
}

/// Folder of results on stand-ins, beside the results on real data that they do not replace.
const STAND_IN_DIR: &str = "stand-in";

/// Folders of `results/` that no experiment may be named after.
pub const RESERVED: [&str; 4] = ["cells", "quick", "paper", STAND_IN_DIR];

/// A path as messages show it: below the root where it is there.
#[must_use]
pub fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// The stored cells of an experiment, of all profiles.
#[must_use]
pub fn cells_dir(root: &Path, experiment: &str) -> PathBuf {
    root.join("results").join("cells").join(experiment)
}

/// Locks of the runs that compute cells of an experiment now.
#[must_use]
pub fn parts_dir(root: &Path, experiment: &str) -> PathBuf {
    root.join("results").join("cells").join("parts").join(experiment)
}

/// The list of data sets: address, checksum, licence.
#[must_use]
pub fn data_manifest(root: &Path) -> PathBuf {
    root.join("data").join("manifest.toml")
}

/// Downloaded data sets (ignored by git).
#[must_use]
pub fn downloads_dir(root: &Path) -> PathBuf {
    root.join("data").join("downloads")
}
