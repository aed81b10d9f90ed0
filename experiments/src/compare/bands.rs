//! Intervals in which a noisy published value counts as reproduced: `data/expected/bands.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::deviations::read_if_present;
use crate::config;
use crate::error::{Document, Error, Result};

/// The list, relative to the root.
pub const LIST: &str = "data/expected/bands.toml";

/// One band.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Id of the published value.
    pub id: String,
    /// Half width of the interval around the printed value.
    pub within: f64,
    /// Source of the half width, in one sentence.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    band: Vec<Band>,
}

impl Band {
    /// Returns the interval: the printed value ± the half width.
    #[must_use]
    pub fn around(&self, printed: f64) -> (f64, f64) {
        (printed - self.within, printed + self.within)
    }
}

/// All bands of a root, by id.
#[derive(Clone, Debug, Default)]
pub struct Bands(BTreeMap<String, Band>);

impl Bands {
    /// Reads the list; an absent file is an empty list.
    ///
    /// # Errors
    /// An unreadable or malformed file, a duplicate id, or a width that is not positive.
    pub fn read(root: &Path) -> Result<Self> {
        let text = read_if_present(root, LIST)?;
        let located = |error: Error| {
            error
                .in_document(Document::Bands, Path::new(LIST))
                .on_line(|key| config::line_of(&text, key))
        };
        let document: Written = config::read(&text).map_err(located)?;
        let mut bands = BTreeMap::new();
        for (index, band) in document.band.into_iter().enumerate() {
            let (is_width, found) = (band.within > 0.0 && band.within.is_finite(), band.within);
            let (key, remedy) = (format!("band[{index}].within"), "write the half width");
            Error::check(is_width, key, "a positive number", found.to_string(), remedy)
                .map_err(located)?;
            let (key, found) = (format!("band[{index}].id"), format!("\"{}\" twice", band.id));
            let is_new = bands.insert(band.id.clone(), band).is_none();
            Error::check(is_new, key, "every id once", found, "merge the two entries")
                .map_err(located)?;
        }
        Ok(Self(bands))
    }

    /// Returns the entry of the value with this id.
    #[must_use]
    pub fn of(&self, id: &str) -> Option<&Band> {
        self.0.get(id)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Bands> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("data/expected")).unwrap();
        fs::write(root.path().join(LIST), text).unwrap();
        Bands::read(root.path())
    }

    #[test]
    fn band_is_found_by_any_id_of_a_value() {
        let bands = read("[[band]]\nid = 't/a/error'\nwithin = 0.5\nreason = 'r'\n").unwrap();
        let around = |band: &Band| band.around(9.0);
        assert_eq!(bands.of("t/a/error").map(around), Some((8.5, 9.5)));
        assert_eq!(bands.of("t/a/seconds"), None);
        assert_eq!(Bands::read(Path::new("/nowhere")).unwrap().of("t/a/error"), None);
    }

    #[test]
    fn invalid_entries_are_refused_with_their_line() {
        let entry = "[[band]]\nid = 'a'\nwithin = 0.5\nreason = 'r'\n";
        for (text, key) in [
            (format!("{entry}{entry}"), "band[1].id"),
            (entry.replace("0.5", "-0.5"), "band[0].within"),
            (entry.replace("reason", "raison"), ""),
        ] {
            let error = read(&text).unwrap_err();
            assert_eq!(error.key(), key, "{error}");
            assert!(error.to_string().contains(LIST), "{error}");
        }
    }
}
