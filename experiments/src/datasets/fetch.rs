//! Fetching a file with a program that is on most machines: this crate links no network code.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::folders::{DATA_VARIABLE, Folders, Found, check, locate};
use super::manifest::Dataset;
use crate::error::{Error, FileRole, Result};

/// A program that writes what is at an address into a file.
struct Downloader {
    program: &'static str,
    options: &'static [&'static str],
    /// The option that names the file.
    into: &'static str,
    /// The option before the address.
    from: &'static str,
}

/// In the order in which they are tried.
const DOWNLOADERS: [Downloader; 2] = [
    Downloader {
        program: "curl",
        // Slower than 1 kB/s for 30 s is a broken connection.
        options: &[
            "--fail",
            "--location",
            "--silent",
            "--show-error",
            "--connect-timeout",
            "20",
            "--speed-limit",
            "1000",
            "--speed-time",
            "30",
            "--retry",
            "1",
        ],
        into: "--output",
        from: "--url",
    },
    Downloader {
        program: "wget",
        options: &["--no-verbose", "--timeout=30", "--tries=3"],
        into: "-O",
        from: "--",
    },
];

/// Looks for a data set on this machine, and fetches it if it is not there.
///
/// # Errors
/// As [`locate`]; no program that downloads, no network, or a file with another SHA-256 at the
/// other end.
pub fn obtain(dataset: &Dataset, folders: &Folders) -> Result<Found> {
    if let Some(found) = locate(dataset, folders)? {
        return Ok(found);
    }
    let file = folders.downloads.join(&dataset.file);
    fetch(dataset, &file, &DOWNLOADERS)?;
    Ok(Found::Downloaded(file))
}

/// Fetches a data set into `file`, which appears only if it is complete and has the right SHA-256.
///
/// # Errors
/// None of the programs is there, the program fails, the file is another one, or the folder cannot
/// be written.
fn fetch(dataset: &Dataset, file: &Path, downloaders: &[Downloader]) -> Result<()> {
    let by_hand = format!(
        "get the file by hand from {}, put it in a folder as {}, and set {DATA_VARIABLE} to that folder",
        dataset.source, dataset.file
    );
    let cannot_write = |error: io::Error| {
        Error::file(FileRole::DataSet, file, "to be able to write it", error, by_hand.as_str())
    };
    let dir = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(cannot_write)?;
    let temporary = tempfile::Builder::new()
        .prefix(".fetching-")
        .suffix(".tmp")
        .tempfile_in(dir)
        .map_err(cannot_write)?;
    let failed = |found: String| {
        Error::file(
            FileRole::DataSet,
            file,
            format!("a download from {}", dataset.url),
            found,
            by_hand.as_str(),
        )
    };
    let output = downloaders.iter().find_map(|downloader| {
        match run(downloader, &dataset.url, temporary.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            outcome => Some((downloader.program, outcome)),
        }
    });
    match output {
        None => {
            let programs: Vec<&str> =
                downloaders.iter().map(|downloader| downloader.program).collect();
            return Err(failed(format!(
                "no program that downloads on this machine (tried {})",
                programs.join(", ")
            )));
        }
        Some((program, Err(error))) => {
            return Err(failed(format!("{program} could not be started: {error}")));
        }
        Some((program, Ok(output))) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().lines().last().unwrap_or("nothing more").to_owned();
            return Err(failed(format!("{program} ended with {}: {said}", output.status)));
        }
        Some((_, Ok(_))) => {}
    }
    // Checked under its temporary name; the message speaks of the address, since the file is gone
    // when it is read.
    check(dataset, temporary.path(), &by_hand).map_err(|error| match error {
        Error::File { expected, found, .. } => {
            failed(format!("a file with {found}, expected {expected}"))
        }
        other => other,
    })?;
    temporary.as_file().sync_all().map_err(cannot_write)?;
    temporary.persist(file).map_err(|error| cannot_write(error.error))?;
    Ok(())
}

fn run(downloader: &Downloader, url: &str, into: &Path) -> io::Result<Output> {
    Command::new(downloader.program)
        .args(downloader.options)
        .arg(downloader.into)
        .arg(into)
        .arg(downloader.from)
        .arg(url)
        .stdin(Stdio::null())
        .output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_that_no_program_downloads() {
        let dir = tempfile::tempdir().unwrap();
        let missing =
            Downloader { program: "no-such-downloader", options: &[], into: "-o", from: "-u" };
        let dataset = Dataset {
            name: "adult".to_owned(),
            file: "adult.csv".to_owned(),
            url: "https://example.org/adult.csv".to_owned(),
            sha256: "0".repeat(64),
            licence: "none".to_owned(),
            source: "the example archive".to_owned(),
            required: false,
        };
        let problem = fetch(&dataset, &dir.path().join("adult.csv"), &[missing]).unwrap_err();
        let message = problem.to_string();
        for part in [
            "no-such-downloader",
            "the example archive",
            "MATMECH_DATA",
            "https://example.org/adult.csv",
        ] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
    }
}
