//! The tables that experiments run on, by name: the real file where it is on this machine, else the
//! seeded stand-in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use matmech::data::Records;
use matmech::schema::Schema;
use serde::{Deserialize, Serialize};

use super::fetch::obtain;
use super::folders::{Folders, Found, locate};
use super::manifest::Manifest;
use super::stand_in;
use super::tables::{self, File, Read};
use crate::error::{Error, FileRole, Result};
use crate::hash::sha256_of_file;
use crate::layout;

/// The value of the key column `data` for results on the real table.
pub const REAL: &str = "real";

/// The value of the key column `data` for results on the stand-in.
pub const STAND_IN: &str = "stand-in";

/// The value of the key column `data` for results on a table that was made up and stands in for
/// none.
pub const SYNTHETIC: &str = "synthetic";

/// Which table a name stands for on this machine. Part of a cell's params, so that a result on the
/// stand-in is not taken for one on the real table, nor a result on one file for one on another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataUse {
    /// Name of the table.
    pub name: String,
    /// Whether it is the real table and not the seeded stand-in.
    pub real: bool,
    /// SHA-256 of the real file; of several files, joined by `+`.
    pub sha256: Option<String>,
    /// Revision of the stand-in's definition.
    pub stand_in_revision: Option<u32>,
}

impl DataUse {
    /// The value of the key column `data`: [`REAL`], [`STAND_IN`] or [`SYNTHETIC`].
    #[must_use]
    pub fn label(&self) -> &'static str {
        match (self.real, tables::is_synthetic(&self.name)) {
            (true, _) => REAL,
            (false, true) => SYNTHETIC,
            (false, false) => STAND_IN,
        }
    }

    /// Whether it takes the place of a real table.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.label() == STAND_IN
    }
}

/// A table in memory.
#[derive(Clone, Debug)]
pub struct LoadedTable {
    /// Which it is.
    pub data: DataUse,
    /// Its attributes, coded as cell numbers.
    pub schema: Schema,
    /// Its records.
    pub records: Records,
}

/// What was found for a name.
#[derive(Debug, Clone)]
struct Source {
    data: DataUse,
    /// The files and how they are read; `None` for the stand-in.
    files: Option<(Vec<PathBuf>, Read)>,
}

type Loaded = Arc<Mutex<Option<Arc<LoadedTable>>>>;

/// All tables. Clones share what was found and read: each table is looked for, hashed and read once
/// per process.
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
    /// The tables of a project folder, with the folders of data sets of this process. Nothing is
    /// read yet.
    #[must_use]
    pub fn of_process(root: &Path) -> Self {
        Self::new(root, Folders::of_process(root))
    }

    /// The tables of a project folder, looked for in the given folders. Nothing is read yet.
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

    /// Names of all tables.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        tables::TABLES.iter().map(|table| table.name).collect()
    }

    /// Where the (first) file of a table would be downloaded to, or put by hand.
    #[must_use]
    pub fn place_of(&self, name: &str) -> PathBuf {
        let file = tables::origins(name).first().and_then(|origin| origin.files.first());
        self.inner.folders.downloads.join(file.map_or(name, |file| file.name))
    }

    /// What [`DataUse::sha256`] of the real table of a name can be by the manifest; nothing if a
    /// file of it is the user's own, or there is no manifest.
    ///
    /// # Errors
    /// A manifest that cannot be used.
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

    /// Which table a name stands for on this machine. Hashes the file at the first call.
    ///
    /// # Errors
    /// An unknown name, a file that cannot be read, or one whose SHA-256 is not that of the
    /// manifest.
    pub fn identify(&self, name: &str) -> Result<DataUse> {
        Ok(self.source(name)?.data)
    }

    /// A table, read or generated at the first call.
    ///
    /// # Errors
    /// As [`Catalogue::identify`], and what is wrong with the contents of the file.
    pub fn load(&self, name: &str) -> Result<Arc<LoadedTable>> {
        let source = self.source(name)?;
        let slot = Arc::clone(locked(&self.inner.tables).entry(name.to_owned()).or_default());
        // Whoever comes second waits for this table only, not for all.
        let mut slot = locked(&slot);
        if let Some(table) = &*slot {
            return Ok(Arc::clone(table));
        }
        let (schema, records) = match &source.files {
            Some((files, read)) => read(files),
            None => tables::stand_in(name)
                .ok_or_else(|| Error::unknown_name("", "data set", name, &Self::names()))?
                .generate(),
        }
        .map_err(|error| Error::library(format!("data set {name}"), error))?;
        let table = Arc::new(LoadedTable { data: source.data, schema, records });
        *slot = Some(Arc::clone(&table));
        Ok(table)
    }

    /// Tries to download the real tables of these names that are not here yet and that the manifest
    /// knows. Gives up at the first table that cannot be had, since the others would fail likewise.
    /// Returns whether any was fetched, and what failed.
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

    /// Downloads the files of an origin; `false` if the manifest does not know all of them.
    fn fetch_all(&self, manifest: &Manifest, files: &[File]) -> Result<bool> {
        let listed = |file: &File| {
            manifest.dataset.iter().find(|dataset| Some(dataset.name.as_str()) == file.in_manifest)
        };
        let Some(datasets) = files.iter().map(listed).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        for dataset in datasets {
            tracing::info!("fetching {} ({}) from {}", dataset.name, dataset.licence, dataset.url);
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
                    stand_in_revision: None,
                };
                return Ok(Source { data, files: Some((files, origin.read)) });
            }
        }
        let data = DataUse {
            name: name.to_owned(),
            real: false,
            sha256: None,
            stand_in_revision: Some(stand_in::REVISION),
        };
        Ok(Source { data, files: None })
    }

    /// All files of an origin with their SHA-256, or `None` if one is missing.
    fn find_all(&self, wanted: &[File]) -> Result<Option<(Vec<PathBuf>, Vec<String>)>> {
        let Folders { own, downloads } = &self.inner.folders;
        let (mut files, mut hashes) = (Vec::new(), Vec::new());
        for file in wanted {
            let found = match file.in_manifest {
                Some(entry) => self.find_listed(entry)?,
                None => own
                    .iter()
                    .chain([downloads])
                    .map(|folder| folder.join(file.name))
                    .find(|path| path.is_file()),
            };
            let Some(path) = found else { return Ok(None) };
            let hash = sha256_of_file(&path).map_err(|error| {
                let remedy = "make it readable, or take it away to use the stand-in";
                Error::file(FileRole::DataSet, &path, "a file that can be read", error, remedy)
            })?;
            files.push(path);
            hashes.push(hash);
        }
        Ok(Some((files, hashes)))
    }

    /// The file of a data set of the manifest. A project folder without manifest knows none.
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

/// A panic of another cell while it held the lock leaves the map as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
