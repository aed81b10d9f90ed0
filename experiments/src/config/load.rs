//! Reading config files.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Config, FigureSpec, document};
use crate::error::{Document, Error, Result, near};
use crate::files::sha256_hex;
use crate::layout;

/// Reads one config.
///
/// # Errors
/// An unreadable file; text that is not TOML; unknown, missing or mistyped keys; or an `experiment`
/// other than the path below `configs/`.
pub fn load(file: &Path) -> Result<Config> {
    parse(file, &text_of(file)?)
}

fn text_of(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| {
        Error::config(
            "",
            "a readable config file",
            error.to_string(),
            "check the path; `reproduce list` shows the configs",
        )
        .in_document(Document::Config, file)
    })
}

/// Parses the text of a config; `file` is its path.
///
/// # Errors
/// As [`load`]. The errors of all figures are reported together, with missing keys of the config.
pub fn parse(file: &Path, text: &str) -> Result<Config> {
    let (config, refused) = parse_usable(file, text);
    Error::all(refused)?;
    config.ok_or_else(|| Error::bug("a config", "a config or an error", "neither"))
}

/// Parses the usable part of a config: all of it but refused figures. Returns the errors too.
fn parse_usable(file: &Path, text: &str) -> (Option<Config>, Vec<Error>) {
    let mut config = parse_document(file, text);
    let tables = match &mut config {
        Ok(config) => std::mem::take(&mut config.written_figures),
        Err(_) => written_figures(text),
    };
    let (figures, mut errors) = figures(tables);
    let config = match config {
        Ok(config) => Some(Config { figure: figures, ..config }),
        Err(error) => {
            errors.insert(0, error);
            None
        }
    };
    let located = |error: Error| {
        error.in_document(Document::Config, file).on_line(|key| document::line_of(text, key))
    };
    (config, errors.into_iter().map(located).collect())
}

/// Returns the tables `[[figure]]` of a config that is refused for another reason.
fn written_figures(text: &str) -> Vec<toml::Table> {
    let figures = text.parse::<toml::Table>().ok().and_then(|mut table| table.remove("figure"));
    figures.and_then(|figures| figures.try_into().ok()).unwrap_or_default()
}

/// Parses a config without its figures.
fn parse_document(file: &Path, text: &str) -> Result<Config> {
    let mut config: Config = document::read(text)?;
    check_experiment(file, &config.experiment)?;
    let lines = [("title", Some(&config.title)), ("reproduces", config.reproduces.as_ref())];
    for (key, value) in lines.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        let (found, remedy) = ("an empty string", "write one line of text");
        Error::check(!value.trim().is_empty(), key, "a few words", found, remedy)?;
    }
    let order = config.order.unwrap_or_default();
    let remedy = "write the position of the item in its paper, such as 3.1";
    Error::check(order.is_finite(), "order", "a finite number", order.to_string(), remedy)?;
    let quick = &config.profile.quick;
    let paper = &config.profile.paper;
    let costs = [
        ("expected_seconds", Some(config.expected_seconds)),
        ("expected_mb", Some(config.expected_mb)),
        ("profile.quick.expected_seconds", quick.expected_seconds),
        ("profile.quick.expected_mb", quick.expected_mb),
        ("profile.paper.expected_seconds", paper.expected_seconds),
        ("profile.paper.expected_mb", paper.expected_mb),
    ];
    for (key, value) in costs.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        let (is_cost, found) = (value.is_finite() && value > 0.0, value.to_string());
        let remedy = "write the approximate cost of one run";
        Error::check(is_cost, key, "a positive number", found, remedy)?;
    }
    for (index, entry) in config.derive.iter().enumerate() {
        entry.validate(true).map_err(|error| error.under(&format!("derive[{index}]")))?;
    }
    for (index, spec) in config.compare.iter().enumerate() {
        spec.validate().map_err(|error| error.under(&format!("compare[{index}]")))?;
    }
    config.file = file.to_owned();
    config.text = text.to_owned();
    config.hash = sha256_hex(text.as_bytes());
    Ok(config)
}

/// Returns the figures, and the errors of those that are refused. One with the key `like` has the
/// other keys of the figure that it names.
fn figures(tables: Vec<toml::Table>) -> (Vec<FigureSpec>, Vec<Error>) {
    let mut complete: Vec<toml::Table> = Vec::new();
    let (mut figures, mut errors) = (Vec::new(), Vec::new());
    for (index, table) in tables.into_iter().enumerate() {
        match figure(table, &complete) {
            Ok((figure, table)) => {
                figures.push(figure);
                complete.push(table);
            }
            Err(error) => errors.push(error.under(&format!("figure[{index}]"))),
        }
    }
    (figures, errors)
}

/// Returns a figure and its table with all keys.
fn figure(mut table: toml::Table, earlier: &[toml::Table]) -> Result<(FigureSpec, toml::Table)> {
    if let Some(like) = table.remove("like") {
        let named = |other: &&toml::Table| other.get("file") == Some(&like);
        let Some(inherited) = earlier.iter().find(named) else {
            let expected = "the `file` of an earlier figure in this config";
            let remedy = "name such a figure, or write all keys";
            let found = like.as_str().unwrap_or("not a string");
            return Err(Error::config("like", expected, found, remedy));
        };
        let mut merged = inherited.clone();
        merged.extend(table);
        table = merged;
    }
    let figure: FigureSpec = document::typed(&table)?;
    figure.validate()?;
    Ok((figure, table))
}

/// Checks that the id, which names results and cells on disk, is the path below `configs/`.
fn check_experiment(file: &Path, experiment: &str) -> Result<()> {
    let absolute = fs::canonicalize(file)
        .or_else(|_| std::path::absolute(file))
        .unwrap_or_else(|_| file.to_owned());
    let parts: Vec<String> =
        absolute.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let Some(configs) = parts.iter().rposition(|part| part == "configs") else {
        let (expected, found) = ("a file below a folder named configs", absolute.display());
        let remedy = "move it to configs/<paper>/<name>.toml";
        return Err(Error::config("", expected, found.to_string(), remedy));
    };
    let below = parts[configs + 1..].join("/");
    let Some(id) = below.strip_suffix(".toml") else {
        let expected = "a file name that ends with .toml";
        return Err(Error::config("", expected, below, "rename the file"));
    };
    let portable = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_portable = id.chars().all(portable) && !id.split('/').any(|part| part.starts_with('.'));
    let expected = "a path below configs/ of letters, digits, '-', '_' and '.', no part of which \
                    starts with '.'";
    let remedy = "rename the file; results and cells are named after it";
    Error::check(is_portable, "", expected, &below, remedy)?;
    let is_free = id.split('/').next().is_none_or(|first| !layout::RESERVED.contains(&first));
    let expected = format!("a first folder other than {}", layout::RESERVED.join(", "));
    let remedy = "move the file; results/ uses these folder names";
    Error::check(is_free, "", expected, &below, remedy)?;
    let expected = format!("\"{id}\", the path below configs/ without .toml");
    let found = format!("\"{experiment}\"");
    let remedy =
        format!("write experiment = \"{id}\", or move the file to configs/{experiment}.toml");
    Error::check(experiment == id, "experiment", expected, found, remedy)
}

/// Reads every config below `<root>/configs`, sorted by path.
///
/// # Errors
/// The first invalid config; an unreadable folder, or a folder without configs.
pub fn load_all(root: &Path) -> Result<Vec<Config>> {
    all_files(root)?.iter().map(|file| load(file)).collect()
}

/// Reads what is usable of every config below `<root>/configs`, as [`load_all`], and returns the
/// errors of refused configs and figures.
///
/// # Errors
/// An unreadable folder, or a folder without configs.
pub fn load_usable(root: &Path) -> Result<(Vec<Config>, Vec<Error>)> {
    let (mut configs, mut errors) = (Vec::new(), Vec::new());
    for file in all_files(root)? {
        match text_of(&file) {
            Ok(text) => {
                let (config, refused) = parse_usable(&file, &text);
                configs.extend(config);
                errors.extend(refused);
            }
            Err(error) => errors.push(error),
        }
    }
    Ok((configs, errors))
}

fn all_files(root: &Path) -> Result<Vec<PathBuf>> {
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
    Ok(files)
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
