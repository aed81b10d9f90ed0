//! Profiles, and the paths below `--root` of each.
//!
//! The tables, figures and reports of the profile `standard` are committed. Every other profile has
//! the folder `results/<profile>/…`. Results on stand-ins are in the subfolder `stand-in`. All
//! profiles share the stored cells, which are found by their inputs.

use std::fmt;
use std::path::{Path, PathBuf};

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Profile {
    /// A part of every experiment, in minutes.
    Quick,
    /// Every table and figure; its results are committed.
    #[default]
    Standard,
    /// Every table and figure with all trials.
    Paper,
}

impl Profile {
    /// All profiles, the smallest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Paper];

    /// Returns the name in configs and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Paper => "paper",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A part of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Part {
    /// The tables, figures and claims of the four papers.
    Papers,
    /// Experiments beyond the papers.
    Beyond,
}

/// Returns `configs/`, the folder with one TOML file per table or figure.
#[must_use]
pub fn configs_dir(root: &Path) -> PathBuf {
    root.join("configs")
}

/// Paths of the result tables, figures and reports of one profile.
///
/// The default folders are `results/` and `figures/` for the profile `standard`, and
/// `results/<profile>/` for the others. Results on stand-ins are in the subfolder `stand-in`, and
/// their figures in `stand-in/figures/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Results<'r> {
    root: &'r Path,
    profile: Profile,
    on_stand_ins: bool,
}

impl<'r> Results<'r> {
    /// Returns the default folders.
    #[must_use]
    pub fn new(root: &'r Path, profile: Profile) -> Self {
        Self { root, profile, on_stand_ins: false }
    }

    /// Returns the folders for results on stand-ins.
    #[must_use]
    pub fn on_stand_ins(self) -> Self {
        Self { on_stand_ins: true, ..self }
    }

    /// Returns the profile.
    #[must_use]
    pub fn profile(self) -> Profile {
        self.profile
    }

    /// Formats a path for messages, relative to the root if it is below the root.
    #[must_use]
    pub fn shown(self, path: &Path) -> String {
        shown(self.root, path)
    }

    /// Returns the folder of the tables and reports.
    #[must_use]
    pub fn dir(self) -> PathBuf {
        let results = self.root.join("results");
        let default = match self.profile {
            Profile::Standard => results,
            Profile::Quick | Profile::Paper => results.join(self.profile.name()),
        };
        if self.on_stand_ins { default.join(STAND_IN_DIR) } else { default }
    }

    /// Returns the title of a figure in these folders, with a note on stand-ins.
    #[must_use]
    pub fn figure_title(self, title: &str) -> String {
        if self.on_stand_ins { format!("{title} (stand-in data)") } else { title.to_owned() }
    }

    /// Returns the result table of an experiment.
    #[must_use]
    pub fn table(self, experiment: &str) -> PathBuf {
        self.dir().join(format!("{experiment}.csv"))
    }

    /// Returns the derived rows of a result table.
    #[must_use]
    pub fn derived(self, experiment: &str) -> PathBuf {
        self.dir().join(format!("{experiment}.derived.csv"))
    }

    /// Returns the provenance record of a result table.
    #[must_use]
    pub fn provenance(self, experiment: &str) -> PathBuf {
        self.dir().join(format!("{experiment}.provenance.json"))
    }

    /// Returns the certificates of a result table.
    #[must_use]
    pub fn certificates(self, experiment: &str) -> PathBuf {
        self.dir().join(format!("{experiment}.certificates.npz"))
    }

    /// Returns the folder of the figures.
    ///
    /// The figures of the profile `standard` are committed in `figures/`.
    #[must_use]
    pub fn figures(self) -> PathBuf {
        match self.profile {
            Profile::Standard if !self.on_stand_ins => self.root.join("figures"),
            _ => self.dir().join("figures"),
        }
    }
}

/// The subfolder of results on stand-ins.
const STAND_IN_DIR: &str = "stand-in";

/// Folder names in `results/` that no experiment may have.
pub const RESERVED: [&str; 4] = ["cells", "quick", "paper", STAND_IN_DIR];

/// Formats a path for messages, relative to the root if it is below the root.
#[must_use]
pub fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// Returns the folder of the stored cells of an experiment, of all profiles.
#[must_use]
pub fn cells_dir(root: &Path, experiment: &str) -> PathBuf {
    root.join("results").join("cells").join(experiment)
}

/// Returns the folder with the locks of current runs of an experiment.
#[must_use]
pub fn parts_dir(root: &Path, experiment: &str) -> PathBuf {
    root.join("results").join("cells").join("parts").join(experiment)
}

/// Returns the file that lists the data sets with URL, checksum and licence.
#[must_use]
pub fn data_manifest(root: &Path) -> PathBuf {
    root.join("data").join("manifest.toml")
}

/// Returns the folder of the data sets that are part of the project.
#[must_use]
pub fn tables_dir(root: &Path) -> PathBuf {
    root.join("data").join("tables")
}

/// Returns the folder of downloaded data sets, which git ignores.
#[must_use]
pub fn downloads_dir(root: &Path) -> PathBuf {
    root.join("data").join("downloads")
}
