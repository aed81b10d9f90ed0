//! Files import only from lower layers, as listed in the tables of `docs/architecture.md`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Module → height of its layer, from the table below a heading: the first row is the highest.
fn layers(heading: &str) -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let section = text.split(heading).nth(1).unwrap();
    let table = section
        .lines()
        .skip_while(|line| !line.starts_with("| "))
        .take_while(|line| line.starts_with('|'));
    let rows: Vec<&str> = table.filter(|line| line.starts_with("| ")).skip(1).collect();
    let mut layers = BTreeMap::new();
    for (depth, row) in rows.iter().enumerate() {
        let paths = row.split('|').nth(2).unwrap();
        for path in paths.split('`').skip(1).step_by(2) {
            let module = path.trim_end_matches('/').trim_end_matches(".rs").to_owned();
            let previous = layers.insert(module, rows.len() - depth);
            assert_eq!(previous, None, "{path} twice");
        }
    }
    layers
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the modules of this crate that a source names: `crate::a::…`, `crate::{a, b as c}`.
fn named(source: &str) -> BTreeSet<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.map(|line| format!("{line}\n")).collect();
    let word = |text: &str| {
        text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let after = code.split("crate::").skip(1);
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap().split(',').map(word).collect(),
        None => vec![word(rest)],
    });
    // Items at the root of the crate belong to no layer.
    names.filter(|name| !name.is_empty() && name.starts_with(char::is_lowercase)).collect()
}

/// Returns the top-level module of a file below `src`.
fn module_of(file: &Path, src: &Path) -> String {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    path.components().next().unwrap().as_os_str().to_str().unwrap().to_owned()
}

/// Checks the files below `src`; `crates` are re-exported as modules. Test support has no layer.
/// The program of a library names its modules `name::`.
fn check(heading: &str, src: &Path, name: &str, crates: &[&str]) {
    let layers = layers(heading);
    let mut seen: BTreeSet<String> = crates.iter().map(|name| (*name).to_owned()).collect();
    for file in sources(src) {
        let module = module_of(&file, src);
        if ["lib", "test_support"].contains(&module.as_str()) {
            continue;
        }
        let file_name = file.display();
        let layer = *layers
            .get(&module)
            .unwrap_or_else(|| panic!("{module} is in no layer of docs/architecture.md"));
        let source = fs::read_to_string(&file).unwrap().replace(name, "crate::");
        for import in named(&source) {
            if import == module || import == "test_support" {
                continue;
            }
            let lower = *layers
                .get(&import)
                .unwrap_or_else(|| panic!("{file_name} imports {import}, which is in no layer"));
            assert!(lower < layer, "{file_name} imports {import}, which is not in a lower layer");
        }
        seen.insert(module);
    }
    assert_eq!(seen, layers.into_keys().collect(), "every path of the table exists");
}

#[test]
fn files_of_the_library_import_only_from_lower_layers() {
    check("### The library: layers", &root().join("src"), "matmech::", &["linalg"]);
}

#[test]
fn files_of_the_experiments_import_only_from_lower_layers() {
    check("### The experiments: layers", &root().join("experiments/src"), "crate::", &[]);
}

/// What the hash of the sources leaves out of the library decides no result: neither the rest of
/// the library nor an experiment names it.
#[test]
fn nothing_that_computes_names_what_the_hash_leaves_out() {
    let build = fs::read_to_string(root().join("experiments/build.rs")).unwrap();
    let list = build.lines().find_map(|line| line.trim().strip_prefix("(\"src\", &[")).unwrap();
    let parts: Vec<&str> =
        list.split('"').skip(1).step_by(2).map(|part| part.trim_end_matches(".rs")).collect();
    assert!(parts.contains(&"cli") && parts.contains(&"release"), "{parts:?}");
    let src = root().join("src");
    for file in sources(&src) {
        let module = module_of(&file, &src);
        if !parts.contains(&module.as_str()) && module != "lib" {
            let named = named(&fs::read_to_string(&file).unwrap());
            let file_name = file.display();
            assert!(parts.iter().all(|part| !named.contains(*part)), "{file_name}: {named:?}");
        }
    }
    for file in sources(&root().join("experiments/src")) {
        // Names of the library only: this crate has its own `cli`.
        let source = fs::read_to_string(&file)
            .unwrap()
            .replace("crate::", "")
            .replace("matmech::", "crate::");
        let named = named(&source);
        assert!(parts.iter().all(|part| !named.contains(*part)), "{}: {named:?}", file.display());
    }
}

#[test]
fn imports_are_found_in_every_form() {
    let source = "use crate::a::{B, c};\nuse crate::{d, e as f};\n    x(crate::g::h())\n\
                  /// [`crate::i`]\nuse crate::Result;\n";
    assert_eq!(named(source), ["a", "d", "e", "g"].map(str::to_owned).into());
}
