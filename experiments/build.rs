//! Records what the binary was built from: compiler, lock file and a hash of everything that
//! decides a result.
//!
//! The hash is finer than a git commit: a commit of results does not change it, an uncommitted edit
//! does.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// Parts of this crate that only read results and report on them, and what only the command and the
/// Python package use. Everything else decides values: experiments and the engine, and no less the
/// data sets (how records are read), the configs (which cells there are) and the statistics.
const NOT_COMPUTING: [(&str, &[&str]); 3] = [
    ("src", &["cli", "commands", "main.rs", "release"]),
    ("python", &["Cargo.toml", "src"]),
    (
        "experiments/src",
        &["cli", "compare", "figures", "main.rs", "pages", "pages.rs", "printed.rs", "verify"],
    ),
];

fn main() -> io::Result<()> {
    let root = Path::new("..");
    let lock = root.join("Cargo.lock");
    let mut sources = vec![PathBuf::from("build.rs"), lock.clone()];
    for package in packages(root)? {
        // Features and profiles decide which code of the dependencies runs.
        sources.push(package.join("Cargo.toml"));
        sources.extend(files_below(&package.join("src"))?);
    }
    for (folder, parts) in NOT_COMPUTING {
        sources.retain(|file| {
            !parts.iter().any(|part| file.starts_with(root.join(folder).join(part)))
        });
    }
    sources.sort();
    let mut source = Sha256::new();
    for file in &sources {
        println!("cargo::rerun-if-changed={}", file.display());
        let content = fs::read(file)?;
        source.update(file.to_string_lossy().as_bytes());
        source.update((content.len() as u64).to_le_bytes());
        source.update(&content);
    }
    println!("cargo::rustc-env=MATMECH_SOURCE_HASH={:x}", source.finalize());
    println!("cargo::rustc-env=MATMECH_LOCK_HASH={:x}", Sha256::digest(fs::read(lock)?));
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(compiler).arg("--version").output()?;
    let version = String::from_utf8_lossy(&version.stdout);
    println!("cargo::rustc-env=MATMECH_RUSTC={}", version.trim());
    Ok(())
}

/// Returns the packages of the workspace: its root, and the folders in it, or one level deeper,
/// that have a manifest. Folders are watched, so that a package or file that is added is noticed.
fn packages(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![root.to_owned()];
    let mut folders = folders_in(root)?;
    for folder in folders.clone() {
        folders.extend(folders_in(&folder)?);
    }
    found.extend(folders.into_iter().filter(|folder| folder.join("Cargo.toml").is_file()));
    for package in &found {
        println!("cargo::rerun-if-changed={}", package.join("src").display());
    }
    Ok(found)
}

/// Folders in a folder, but hidden ones and what cargo builds.
fn folders_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            folders.push(path);
        }
    }
    Ok(folders)
}

fn files_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
