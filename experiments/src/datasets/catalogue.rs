//! The tables of the experiments, by name: the real file if it is on this machine, otherwise the
//! seeded stand-in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use matmech::data::Records;
use matmech::schema::Schema;
use serde::{Deserialize, Serialize};

use super::fetch::obtain;
use super::folders::{Folders, Found, locate};
use super::manifest::{Dataset, Manifest};
use super::tables::{self, File, Read};
use crate::error::{Error, FileRole, Result};
use crate::layout;
use crate::remembered::locked;
use matmech::hash::sha256_of_file;

/// The value of the key column `data` for results on the real table.
pub const REAL: &str = "real";

/// The value of the key column `data` for results on the stand-in.
pub const STAND_IN: &str = "stand-in";

/// The value of the key column `data` for results on a generated table, or on records of a
/// published network.
pub const SYNTHETIC: &str = "synthetic";

/// The table of a name on this machine.
///
/// It is part of a cell's params, which distinguishes results on different files and on the
/// stand-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataUse {
    /// Name of the table.
    pub name: String,
    /// Whether its files are on this machine: those of the real table, or that of a network.
    pub real: bool,
    /// SHA-256 of the file; those of several files are joined by `+`.
    pub sha256: Option<String>,
    /// Revision of the definition of the records, if they are drawn: of a stand-in, from a network,
    /// or of a generated table.
    pub stand_in_revision: Option<u32>,
}

impl DataUse {
    /// Returns the value of the key column `data`: [`REAL`], [`STAND_IN`] or [`SYNTHETIC`].
    #[must_use]
    pub fn label(&self) -> &'static str {
        let missing = !self.real && !tables::origins(&self.name).is_empty();
        match (missing, tables::is_synthetic(&self.name)) {
            (true, _) => STAND_IN,
            (false, true) => SYNTHETIC,
            (false, false) => REAL,
        }
    }

    /// Returns whether it replaces a real table.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.label() == STAND_IN
    }
}

/// A table in memory.
#[derive(Clone, Debug)]
pub struct LoadedTable {
    /// Its identity.
    pub data: DataUse,
    /// Its attributes, coded as cell numbers.
    pub schema: Schema,
    /// Its records.
    pub records: Records,
}

/// The source of a table on this machine.
#[derive(Debug, Clone)]
struct Source {
    data: DataUse,
    /// The files and their reader; `None` for the stand-in.
    files: Option<(Vec<PathBuf>, Read)>,
}

type Loaded = Arc<Mutex<Option<Arc<LoadedTable>>>>;

/// The tables of a project.
///
/// Clones share a cache: each table is searched, hashed and read once per process.
#[derive(Debug, Clone)]
pub struct Catalogue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    folders: Folders,
    root: PathBuf,
    sources: Mutex<BTreeMap<String, Source>>,
    tables: Mutex<BTreeMap<String, Loaded>>,
}

impl Catalogue {
    /// Creates the catalogue of a project folder, with the data folders of this process.
    ///
    /// Nothing is read yet.
    #[must_use]
    pub fn of_process(root: &Path) -> Self {
        Self::new(root, Folders::of_process(root))
    }

    /// Creates the catalogue of a project folder, with the given data folders.
    ///
    /// Nothing is read yet.
    #[must_use]
    pub fn new(root: &Path, folders: Folders) -> Self {
        let inner = Inner {
            folders,
            root: root.to_owned(),
            sources: Mutex::default(),
            tables: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the names of all tables.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        tables::TABLES.iter().map(|table| table.name).collect()
    }

    /// Returns the path to which the (first) file of a table is downloaded or can be copied.
    #[must_use]
    pub fn place_of(&self, name: &str) -> PathBuf {
        let file = tables::origins(name).first().and_then(|origin| origin.files.first());
        self.inner.folders.downloads.join(file.map_or(name, |file| file.name))
    }

    /// Returns the values of [`DataUse::sha256`] that the manifest allows for a real table.
    ///
    /// The result is empty for tables of user files, or without a manifest.
    ///
    /// # Errors
    /// Returns an error if the manifest is invalid.
    pub fn listed(&self, name: &str) -> Result<Vec<String>> {
        if !layout::data_manifest(&self.inner.root).is_file() {
            return Ok(Vec::new());
        }
        let manifest = Manifest::load(&self.inner.root)?;
        let hash_of = |file: &File| {
            let entry = file.in_manifest?;
            Some(manifest.dataset.iter().find(|dataset| dataset.name == entry)?.sha256.clone())
        };
        let hashes =
            |files: &[File]| Some(files.iter().map(hash_of).collect::<Option<Vec<_>>>()?.join("+"));
        Ok(tables::origins(name).iter().filter_map(|origin| hashes(origin.files)).collect())
    }

    /// Returns the table of a name on this machine. The first call hashes the file.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, a file cannot be read, or its SHA-256 is not that
    /// of the manifest.
    pub fn identify(&self, name: &str) -> Result<DataUse> {
        Ok(self.source(name)?.data)
    }

    /// Returns the table of a name with its records. The first call reads or generates them.
    ///
    /// # Errors
    /// As [`Catalogue::identify`]; also if the contents of a file are invalid.
    pub fn load(&self, name: &str) -> Result<Arc<LoadedTable>> {
        let source = self.source(name)?;
        let slot = Arc::clone(locked(&self.inner.tables).entry(name.to_owned()).or_default());
        // A concurrent request waits for this table only.
        let mut slot = locked(&slot);
        if let Some(table) = &*slot {
            return Ok(Arc::clone(table));
        }
        let (schema, records) = match &source.files {
            Some((files, read)) => read(files),
            None => tables::definition(name)
                .ok_or_else(|| Error::unknown_name("", "data set", name, &Self::names()))?
                .generate(name),
        }
        .map_err(|error| Error::library(format!("data set {name}"), error))?;
        let table = Arc::new(LoadedTable { data: source.data, schema, records });
        *slot = Some(Arc::clone(&table));
        Ok(table)
    }

    /// Downloads the missing tables of these names that are in the manifest.
    ///
    /// Stops at the first failure, since the others would probably fail too. Returns whether any
    /// table was downloaded, and the error.
    pub fn fetch(&self, names: &[String]) -> (bool, Option<Error>) {
        let Ok(manifest) = Manifest::load(&self.inner.root) else {
            return (false, None);
        };
        let mut fetched = false;
        for name in names {
            if self.identify(name).map_or(true, |data| data.real) {
                continue;
            }
            let mut problem = None;
            for origin in tables::origins(name) {
                match self.fetch_all(&manifest, origin.files) {
                    Ok(false) => {}
                    Ok(true) => {
                        locked(&self.inner.sources).remove(name);
                        locked(&self.inner.tables).remove(name);
                        (fetched, problem) = (true, None);
                        break;
                    }
                    Err(failed) => problem = problem.or(Some(failed)),
                }
            }
            if problem.is_some() {
                return (fetched, problem);
            }
        }
        (fetched, None)
    }

    /// Downloads the files of an origin; returns `false` if the manifest does not have all of them.
    fn fetch_all(&self, manifest: &Manifest, files: &[File]) -> Result<bool> {
        let listed = |file: &File| {
            manifest.dataset.iter().find(|dataset| Some(dataset.name.as_str()) == file.in_manifest)
        };
        let Some(datasets) = files.iter().map(listed).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        for dataset in datasets {
            let Dataset { name, licence, url, source, .. } = dataset;
            let from = url.as_deref().unwrap_or(source);
            tracing::info!("downloading {name} ({licence}) from {from}");
            obtain(dataset, &self.inner.folders)?;
        }
        Ok(true)
    }

    fn source(&self, name: &str) -> Result<Source> {
        if let Some(source) = locked(&self.inner.sources).get(name) {
            return Ok(source.clone());
        }
        let known = Self::names();
        if !known.contains(&name) {
            return Err(Error::unknown_name("", "data set", name, &known));
        }
        let source = self.find(name)?;
        locked(&self.inner.sources).insert(name.to_owned(), source.clone());
        Ok(source)
    }

    fn find(&self, name: &str) -> Result<Source> {
        for origin in tables::origins(name) {
            if let Some((files, hashes)) = self.find_all(origin.files)? {
                let data = DataUse {
                    name: name.to_owned(),
                    real: true,
                    sha256: Some(hashes.join("+")),
                    stand_in_revision: tables::revision_of_sampler(name),
                };
                return Ok(Source { data, files: Some((files, origin.read)) });
            }
        }
        let data = DataUse {
            name: name.to_owned(),
            real: false,
            sha256: None,
            stand_in_revision: tables::definition(name).map(|definition| definition.revision()),
        };
        Ok(Source { data, files: None })
    }

    /// Returns the files of an origin with their SHA-256, or `None` if one is missing.
    fn find_all(&self, wanted: &[File]) -> Result<Option<(Vec<PathBuf>, Vec<String>)>> {
        let Folders { user, downloads, .. } = &self.inner.folders;
        let (mut files, mut hashes) = (Vec::new(), Vec::new());
        for file in wanted {
            let found = match file.in_manifest {
                Some(entry) => self.find_listed(entry)?,
                None => user
                    .iter()
                    .chain([downloads])
                    .map(|folder| folder.join(file.name))
                    .find(|path| path.is_file()),
            };
            let Some(path) = found else { return Ok(None) };
            let hash = sha256_of_file(&path).map_err(|error| {
                let remedy = "make it readable, or remove it to use the stand-in";
                Error::file(FileRole::DataSet, &path, "a file that can be read", error, remedy)
            })?;
            files.push(path);
            hashes.push(hash);
        }
        Ok(Some((files, hashes)))
    }

    /// Returns the file of a data set of the manifest; `None` without a manifest.
    fn find_listed(&self, entry: &str) -> Result<Option<PathBuf>> {
        if !layout::data_manifest(&self.inner.root).is_file() {
            return Ok(None);
        }
        let manifest = Manifest::load(&self.inner.root)?;
        let Some(dataset) = manifest.dataset.iter().find(|dataset| dataset.name == entry) else {
            return Ok(None);
        };
        Ok(locate(dataset, &self.inner.folders)?.map(|found: Found| found.path().to_owned()))
    }
}
