//! Records what the binary was built from: compiler, lock file and a hash of everything that
//! decides a result.
//!
//! The hash is finer than a git commit: a commit of results does not change it, an uncommitted edit
//! does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// The crates that decide values, with this one; no experiment uses the others.
const COMPUTING: [&str; 5] =
    [".", "crates/linalg", "crates/privacy", "crates/core", "crates/strategy"];

/// Parts of this crate that only read results and report on them. Everything else decides values:
/// experiments and the engine, and no less the data sets (how records are read), the configs (which
/// cells there are) and the statistics.
const REPORTING: [&str; 7] =
    ["cli", "compare", "figures", "main.rs", "pages", "pages.rs", "verify"];

fn main() -> io::Result<()> {
    let root = Path::new("..");
    let lock = root.join("Cargo.lock");
    let mut sources = vec![PathBuf::from("build.rs"), lock.clone()];
    for package in COMPUTING.map(|name| root.join(name)).into_iter().chain([".".into()]) {
        // Features and profiles decide which code of the dependencies runs.
        sources.push(package.join("Cargo.toml"));
        // Folders are watched, so that a file that is added is noticed.
        println!("cargo::rerun-if-changed={}", package.join("src").display());
        sources.extend(files_below(&package.join("src"))?);
    }
    sources.retain(|file| {
        !REPORTING.iter().any(|part| file.starts_with(Path::new("./src").join(part)))
    });
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
