//! Published values that cannot be reproduced: the list `data/expected/deviations.toml` and its
//! explanations in `docs/deviations.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::config;
use crate::error::{Document, Error, FileRole, Result};

/// The list, relative to the root.
pub const LIST: &str = "data/expected/deviations.toml";
/// The explanations, relative to the root.
pub const EXPLANATIONS: &str = "docs/deviations.md";

/// One published value that a correct computation does not give.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// Id of the published value.
    pub id: String,
    /// The value that we get, to the digits given here.
    pub expected: String,
    /// The reason, in one sentence.
    pub reason: String,
    /// The verdict on the documented value.
    #[serde(default)]
    pub verdict: DocumentedVerdict,
}

/// The verdict on a value that equals its documented deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentedVerdict {
    /// *Deviates*.
    #[default]
    Deviates,
    /// *Unexplained*: the cause of the difference is not proven.
    Unexplained,
    /// *Lower*: a lower error of a heuristic; *deviates* if it is not lower.
    Lower,
    /// *Improved*: better than published, because of errors that are certified optimal elsewhere.
    Improved,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    deviation: Vec<Deviation>,
}

/// All deviations of a root.
#[derive(Clone, Debug, Default)]
pub struct Deviations {
    entries: BTreeMap<String, Deviation>,
    explanations: String,
}

impl Deviations {
    /// Reads the list and its explanations; absent files are empty.
    ///
    /// # Errors
    /// An unreadable or malformed file, or a duplicate id.
    pub fn read(root: &Path) -> Result<Self> {
        let text = read_if_present(root, LIST)?;
        let document: Written = config::read(&text)
            .map_err(|error| error.in_document(Document::Deviations, Path::new(LIST)))?;
        let mut deviations =
            Self { explanations: read_if_present(root, EXPLANATIONS)?, ..Self::default() };
        for (index, entry) in document.deviation.into_iter().enumerate() {
            let id = entry.id.clone();
            if deviations.entries.insert(id.clone(), entry).is_some() {
                let (key, found) = (format!("deviation[{index}].id"), format!("\"{id}\" twice"));
                return Err(Error::config(key, "every id once", found, "merge the two entries")
                    .in_document(Document::Deviations, Path::new(LIST))
                    .on_line(|key| config::line_of(&text, key)));
            }
        }
        Ok(deviations)
    }

    /// Returns the entry of an id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Deviation> {
        self.entries.get(id)
    }

    /// Iterates over all entries, by id.
    pub fn entries(&self) -> impl Iterator<Item = &Deviation> {
        self.entries.values()
    }

    /// Returns the section of `docs/deviations.md` with the anchor of an id, without anchors.
    #[must_use]
    pub fn explanation(&self, id: &str) -> Option<String> {
        let start = self.explanations.find(&format!("<a id=\"{id}\">"))?;
        let mut lines = Vec::new();
        let mut has_text = false;
        for line in self.explanations[start..].lines() {
            let is_anchor = line.starts_with("<a id=");
            // The next section starts with its anchor or its heading.
            if has_text && (is_anchor || line.starts_with('#')) {
                break;
            }
            has_text |= !is_anchor && !line.starts_with('#') && !line.is_empty();
            if !is_anchor {
                lines.push(line);
            }
        }
        Some(lines.join("\n").trim().to_owned())
    }

    /// Returns whether `docs/deviations.md` has an anchor for the id.
    #[must_use]
    pub fn is_explained(&self, id: &str) -> bool {
        has_anchor(&self.explanations, id)
    }
}

/// Reads a text file below the root; an absent file is empty.
pub(super) fn read_if_present(root: &Path, file: &str) -> Result<String> {
    let path = root.join(file);
    if !path.exists() {
        return Ok(String::new());
    }
    fs::read_to_string(&path).map_err(|error| {
        Error::file(FileRole::Input, file, "a readable text file", error, "check its permissions")
    })
}

/// Returns whether a Markdown text has `<a id="ID">` (or `name="ID"`).
fn has_anchor(text: &str, id: &str) -> bool {
    ["id", "name"].iter().any(|attribute| text.contains(&format!("{attribute}=\"{id}\"")))
}
