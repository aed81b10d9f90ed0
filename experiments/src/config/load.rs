//! Reading config files.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{CompareSpec, Config, DeriveSpec, FigureSpec, Overlay, document};
use crate::error::{Document, Error, Result};
use crate::hash::sha256_hex;
use crate::layout;
use crate::suggest::near;

/// The contents of a config file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    experiment: String,
    kind: String,
    title: String,
    reproduces: String,
    #[serde(default)]
    order: Option<f64>,
    seed: u64,
    expected_seconds: f64,
    expected_mb: f64,
    #[serde(default)]
    one_at_a_time: bool,
    grid: toml::Table,
    #[serde(default)]
    profile: Profiles,
    #[serde(default)]
    derive: Vec<DeriveSpec>,
    #[serde(default)]
    compare: Vec<CompareSpec>,
    #[serde(default)]
    figure: Vec<FigureSpec>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profiles {
    #[serde(default)]
    quick: Overlay,
    #[serde(default)]
    paper: Overlay,
}

/// Reads one config.
///
/// # Errors
/// An unreadable file; text that is not TOML; unknown, missing or mistyped keys; or an `experiment`
/// other than the path below `configs/`.
pub fn load(file: &Path) -> Result<Config> {
    let text = fs::read_to_string(file).map_err(|error| {
        Error::config(
            "",
            "a readable config file",
            error.to_string(),
            "check the path; `reproduce list` shows the configs",
        )
        .in_document(Document::Config, file)
    })?;
    parse(file, &text)
}

/// Parses the text of a config; `file` is its path.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &Path, text: &str) -> Result<Config> {
    parse_document(file, text).map_err(|error| {
        error.in_document(Document::Config, file).on_line(|key| document::line_of(text, key))
    })
}

fn parse_document(file: &Path, text: &str) -> Result<Config> {
    let mut table = document::table(text)?;
    inherit_figures(&mut table)?;
    let document: Written = document::typed(&table)?;
    check_experiment(file, &document.experiment)?;
    for (key, value) in [("title", &document.title), ("reproduces", &document.reproduces)] {
        if value.trim().is_empty() {
            return Err(Error::config(
                key,
                "a few words",
                "an empty string",
                "write one line of text",
            ));
        }
    }
    if let Some(order) = document.order
        && !order.is_finite()
    {
        let remedy = "write the position of the item in its paper, such as 3.1";
        return Err(Error::config("order", "a finite number", order.to_string(), remedy));
    }
    let quick = &document.profile.quick;
    let paper = &document.profile.paper;
    let costs = [
        ("expected_seconds", Some(document.expected_seconds)),
        ("expected_mb", Some(document.expected_mb)),
        ("profile.quick.expected_seconds", quick.expected_seconds),
        ("profile.quick.expected_mb", quick.expected_mb),
        ("profile.paper.expected_seconds", paper.expected_seconds),
        ("profile.paper.expected_mb", paper.expected_mb),
    ];
    for (key, value) in costs {
        if let Some(value) = value
            && !(value.is_finite() && value > 0.0)
        {
            return Err(Error::config(
                key,
                "a positive number",
                value.to_string(),
                "write the approximate cost of one run",
            ));
        }
    }
    for (index, spec) in document.derive.iter().enumerate() {
        spec.validate().map_err(|error| error.under(&format!("derive[{index}]")))?;
    }
    for (index, spec) in document.compare.iter().enumerate() {
        spec.validate().map_err(|error| error.under(&format!("compare[{index}]")))?;
    }
    for (index, spec) in document.figure.iter().enumerate() {
        spec.validate().map_err(|error| error.under(&format!("figure[{index}]")))?;
    }
    Ok(Config {
        file: file.to_owned(),
        text: text.to_owned(),
        hash: sha256_hex(text.as_bytes()),
        experiment: document.experiment,
        kind: document.kind,
        title: document.title,
        reproduces: document.reproduces,
        order: document.order,
        seed: document.seed,
        expected_seconds: document.expected_seconds,
        expected_mb: document.expected_mb,
        one_at_a_time: document.one_at_a_time,
        grid: document.grid,
        quick: document.profile.quick,
        paper: document.profile.paper,
        derive: document.derive,
        compare: document.compare,
        figure: document.figure,
    })
}

/// Adds to every `[[figure]]` with the key `like` the other keys of the figure that it names.
fn inherit_figures(table: &mut toml::Table) -> Result<()> {
    let Some(toml::Value::Array(figures)) = table.get_mut("figure") else { return Ok(()) };
    for index in 0..figures.len() {
        let (earlier, rest) = figures.split_at_mut(index);
        let Some(toml::Value::Table(figure)) = rest.first_mut() else { continue };
        let Some(like) = figure.remove("like") else { continue };
        let named = |other: &&toml::Value| other.get("file") == Some(&like);
        let Some(toml::Value::Table(inherited)) = earlier.iter().find(named) else {
            return Err(Error::config(
                format!("figure[{index}].like"),
                "the `file` of an earlier figure in this config",
                like.as_str().map_or("not a string".to_owned(), |file| format!("\"{file}\"")),
                "name such a figure, or write all keys",
            ));
        };
        let mut merged = inherited.clone();
        merged.extend(std::mem::take(figure));
        *figure = merged;
    }
    Ok(())
}

/// Checks that the id, which names results and cells on disk, is the path below `configs/`.
fn check_experiment(file: &Path, experiment: &str) -> Result<()> {
    let absolute = fs::canonicalize(file)
        .or_else(|_| std::path::absolute(file))
        .unwrap_or_else(|_| file.to_owned());
    let parts: Vec<String> =
        absolute.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let Some(configs) = parts.iter().rposition(|part| part == "configs") else {
        return Err(Error::config(
            "",
            "a file below a folder named configs",
            absolute.display().to_string(),
            "move it to configs/<paper>/<name>.toml",
        ));
    };
    let below = parts[configs + 1..].join("/");
    let Some(id) = below.strip_suffix(".toml") else {
        return Err(Error::config(
            "",
            "a file name that ends with .toml",
            below,
            "rename the file",
        ));
    };
    let portable = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !id.chars().all(portable) || id.split('/').any(|part| part.starts_with('.')) {
        return Err(Error::config(
            "",
            "a path below configs/ of letters, digits, '-', '_' and '.', no part of which starts \
             with '.'",
            below,
            "rename the file; results and cells are named after it",
        ));
    }
    if id.split('/').next().is_some_and(|first| layout::RESERVED.contains(&first)) {
        return Err(Error::config(
            "",
            format!("a first folder other than {}", layout::RESERVED.join(", ")),
            below,
            "move the file; results/ uses these folder names",
        ));
    }
    if experiment != id {
        return Err(Error::config(
            "experiment",
            format!("\"{id}\", the path below configs/ without .toml"),
            format!("\"{experiment}\""),
            format!("write experiment = \"{id}\", or move the file to configs/{experiment}.toml"),
        ));
    }
    Ok(())
}

/// Reads every config below `<root>/configs`, sorted by path.
///
/// # Errors
/// The first invalid config; an unreadable folder, or a folder without configs.
pub fn load_all(root: &Path) -> Result<Vec<Config>> {
    let dir = layout::configs_dir(root);
    let files = config_files(&dir)?;
    if files.is_empty() {
        return Err(Error::config(
            "",
            "at least one .toml file",
            "none",
            "run in the folder that contains configs/, or name that folder with --root",
        )
        .in_document(Document::Config, &dir));
    }
    files.iter().map(|file| load(file)).collect()
}

/// Returns every `.toml` file below `dir`, sorted.
fn config_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error: std::io::Error| {
        Error::config(
            "",
            "a folder with configs",
            error.to_string(),
            "run in the folder that contains configs/, or name that folder with --root",
        )
        .in_document(Document::Config, dir)
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            files.extend(config_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Finds the config with a name: a path, a path below the root, or an experiment id.
///
/// # Errors
/// None of these is a file; the message suggests similar names.
pub fn find(root: &Path, name: &str) -> Result<PathBuf> {
    let candidates = [
        PathBuf::from(name),
        root.join(name),
        layout::configs_dir(root).join(format!("{name}.toml")),
    ];
    if let Some(file) = candidates.into_iter().find(|file| file.is_file()) {
        return Ok(file);
    }
    let files = config_files(&layout::configs_dir(root))?;
    let names: Vec<String> = files
        .iter()
        .map(|file| file.strip_prefix(root).unwrap_or(file).display().to_string())
        .collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let remedy = match near(name, &known, 3).as_slice() {
        [] => "there are no configs below this root; name another root with --root".to_owned(),
        some => format!("did you mean {}?", some.join(", or ")),
    };
    Err(Error::config("", "a config file or an experiment id", "no such file", remedy)
        .in_document(Document::Config, Path::new(name)))
}
