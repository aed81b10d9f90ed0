//! Pages and their blocks.

use std::fs;
use std::path::{Path, PathBuf};

use super::block::Block;
use crate::error::{Error, FileRole, Result};
use crate::files::write_atomically;
use crate::layout::shown;

const BEGIN: &str = "<!-- results\n";
const HEAD_END: &str = "-->\n";
const END: &str = "<!-- end of results -->\n";

/// Returns the pages with blocks, in the order of their paths.
///
/// # Errors
/// A folder or page that cannot be read.
pub fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |path: &Path, error: &std::io::Error| {
        Error::file(FileRole::Input, shown(root, path), "a readable page", error, "restore it")
    };
    let below = |folder: &str| -> Result<Vec<PathBuf>> {
        let folder = root.join(folder);
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| unreadable(&folder, &error))?;
        Ok(entries.iter().map(fs::DirEntry::path).collect())
    };
    let mut pages = vec![root.join("README.md")];
    pages.extend(
        below("docs")?.into_iter().filter(|path| path.extension().is_some_and(|x| x == "md")),
    );
    pages.extend(below("results")?.into_iter().map(|folder| folder.join("README.md")));
    pages.retain(|page| page.is_file());
    pages.sort();
    let mut with_blocks = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).map_err(|error| unreadable(&page, &error))?;
        if text.contains(BEGIN) {
            with_blocks.push(page);
        }
    }
    Ok(with_blocks)
}

/// Returns the page with its tables generated from the committed results.
///
/// # Errors
/// A page that cannot be read, a block without an end, with unknown keys or without rows, and
/// results that lack what a block selects.
pub fn rendered(root: &Path, page: &Path) -> Result<String> {
    let name = shown(root, page);
    let text = fs::read_to_string(page).map_err(|error| {
        Error::file(FileRole::Input, &name, "a readable page", error, "restore it")
    })?;
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let parts = after
            .split_once(HEAD_END)
            .and_then(|(head, after)| Some((head, after.split_once(END)?.1)));
        let line = text.len() - rest.len() + before.len();
        let line = text[..line].lines().count() + 1;
        let Some((head, after)) = parts else {
            let expected = format!("`-->` and `{}` after the block's first line", END.trim());
            let name = format!("{name}, line {line}");
            return Err(Error::file(FileRole::Input, name, expected, "not both", "restore them"));
        };
        let block: Block = toml::from_str(head).map_err(|error| {
            let name = format!("{name}, line {line}");
            Error::file(FileRole::Input, name, "a block of results", error, "correct the block")
        })?;
        let table = block.table(root, &format!("{name}, line {line}"))?;
        out += &format!("{before}{BEGIN}{head}{HEAD_END}{table}{END}");
        rest = after;
    }
    Ok(out + rest)
}

/// Writes the pages, and returns those whose tables differed from the results.
///
/// # Errors
/// As [`pages`] and [`rendered`], and a page that cannot be written.
pub fn write(root: &Path) -> Result<Vec<PathBuf>> {
    let stale = stale(root)?;
    for (page, text) in &stale {
        write_atomically(page, text.as_bytes())
            .map_err(|error| Error::unwritable(FileRole::Report, page, &error))?;
    }
    Ok(stale.into_iter().map(|(page, _)| page).collect())
}

/// Returns the pages whose tables differ from the results, with their correct texts.
///
/// # Errors
/// As [`pages`] and [`rendered`].
pub fn stale(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut stale = Vec::new();
    for page in pages(root)? {
        let text = rendered(root, &page)?;
        if fs::read_to_string(&page).ok().as_deref() != Some(&text) {
            stale.push((page, text));
        }
    }
    Ok(stale)
}
