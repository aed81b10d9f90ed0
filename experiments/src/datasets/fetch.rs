//! Downloads with `curl` or `wget`; this crate links no network code.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::folders::{DATA_VARIABLE, Folders, Found, check, locate};
use super::manifest::Dataset;
use crate::error::{Error, FileRole, Result};

/// A program that downloads a URL to a file.
struct Downloader {
    program: &'static str,
    options: &'static [&'static str],
    /// The option before the file.
    into: &'static str,
    /// The option before the URL.
    from: &'static str,
}

/// The programs, in the order in which they are tried.
const DOWNLOADERS: [Downloader; 2] = [
    Downloader {
        program: "curl",
        // Below 1 kB/s for 30 s the connection counts as broken.
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

/// Searches for a data set on this machine, and downloads it if it is missing.
///
/// # Errors
/// As [`locate`]; also if there is no download program or no network, or if the downloaded file has
/// a different SHA-256.
pub fn obtain(dataset: &Dataset, folders: &Folders) -> Result<Found> {
    if let Some(found) = locate(dataset, folders)? {
        return Ok(found);
    }
    let Some(url) = &dataset.url else {
        let file = folders.tables.join(&dataset.file);
        let remedy = "restore the file of the project: git checkout data/tables";
        return Err(Error::file(
            FileRole::DataSet,
            file,
            "the file of the project",
            "none",
            remedy,
        ));
    };
    let file = folders.downloads.join(&dataset.file);
    fetch(dataset, url, &file, &DOWNLOADERS)?;
    Ok(Found::Downloaded(file))
}

/// Downloads a data set to `file`.
///
/// The file is created only if the download is complete and has the right SHA-256.
///
/// # Errors
/// Returns an error if there is no download program, the program fails, the SHA-256 is different,
/// or the folder cannot be written.
fn fetch(dataset: &Dataset, url: &str, file: &Path, downloaders: &[Downloader]) -> Result<()> {
    let remedy = format!(
        "download the file manually from {}, save it in a folder as {}, and set {DATA_VARIABLE} to \
         that folder",
        dataset.source, dataset.file
    );
    let cannot_write = |error: io::Error| {
        Error::file(FileRole::DataSet, file, "write access", error, remedy.as_str())
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
            format!("a download from {url}"),
            found,
            remedy.as_str(),
        )
    };
    let output =
        downloaders.iter().find_map(|downloader| match run(downloader, url, temporary.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            outcome => Some((downloader.program, outcome)),
        });
    match output {
        None => {
            let programs: Vec<&str> =
                downloaders.iter().map(|downloader| downloader.program).collect();
            return Err(failed(format!(
                "no download program on this machine (tried {})",
                programs.join(", ")
            )));
        }
        Some((program, Err(error))) => {
            return Err(failed(format!("{program} could not be started: {error}")));
        }
        Some((program, Ok(output))) if !output.status.success() => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let message = stderr.trim().lines().last().unwrap_or("no message").to_owned();
            return Err(failed(format!("{program} ended with {}: {message}", output.status)));
        }
        Some((_, Ok(_))) => {}
    }
    // The message names the URL, since the temporary file is deleted.
    check(dataset, temporary.path(), &remedy).map_err(|error| match error {
        Error::File { expected, found, .. } => {
            failed(format!("a file with {found}, expected {expected}"))
        }
        error => error,
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
    fn a_missing_download_program_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let missing =
            Downloader { program: "no-such-downloader", options: &[], into: "-o", from: "-u" };
        let dataset = Dataset {
            name: "adult".to_owned(),
            file: "adult.csv".to_owned(),
            url: Some("https://example.org/adult.csv".to_owned()),
            sha256: "0".repeat(64),
            licence: "none".to_owned(),
            source: "the example archive".to_owned(),
            required: false,
        };
        let problem = fetch(
            &dataset,
            "https://example.org/adult.csv",
            &dir.path().join("adult.csv"),
            &[missing],
        )
        .unwrap_err();
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
