//! The graph of imports between the files of each crate has no circle. Between crates the compiler
//! checks that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// A path of a module from the root of its crate.
type Module = Vec<String>;

/// What a file names.
#[derive(Default)]
struct Names {
    /// Paths, as written.
    paths: Vec<Vec<String>>,
    /// Name → path of every `pub use`.
    re_exports: BTreeMap<String, Vec<String>>,
}

impl Names {
    fn add_use(&mut self, tree: &syn::UseTree, before: &[String], is_public: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.add_use(&path.tree, &with(&path.ident), is_public),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.add_use(item, before, is_public));
            }
            syn::UseTree::Name(name) => self.add_name(&name.ident, with(&name.ident), is_public),
            syn::UseTree::Rename(name) => self.add_name(&name.rename, with(&name.ident), is_public),
            syn::UseTree::Glob(_) => self.paths.push(before.to_vec()),
        }
    }

    fn add_name(&mut self, name: &syn::Ident, path: Vec<String>, is_public: bool) {
        if is_public {
            self.re_exports.insert(name.to_string(), path.clone());
        }
        self.paths.push(path);
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    })
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        if !is_for_tests(&item.attrs) {
            self.add_use(&item.tree, &[], is_public);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.paths.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The files of a crate by module, without those of tests.
fn modules(src: &Path) -> BTreeMap<Module, Names> {
    let mut modules = BTreeMap::new();
    for file in sources(src) {
        let path = file.strip_prefix(src).unwrap().with_extension("");
        let mut module: Module =
            path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        let is_rust = file.extension().is_some_and(|ending| ending == "rs");
        let is_test = module.iter().any(|part| part == "tests" || part == "test_support");
        if !is_rust || is_test {
            continue;
        }
        if module.last().is_some_and(|name| name == "mod")
            || [["lib"], ["main"]].iter().any(|root| module == *root)
        {
            module.pop();
        }
        let mut names = Names::default();
        names.visit_file(&syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap());
        modules.insert(module, names);
    }
    modules
}

/// Returns a path from the root of the crate; `None` if it leads out of it.
fn absolute(modules: &BTreeMap<Module, Names>, from: &Module, path: &[String]) -> Option<Module> {
    let mut base = from.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (base, rest) = (Module::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        child => {
            let child = [from.as_slice(), &[child.to_owned()]].concat();
            modules.contains_key(&child).then_some(())?;
        }
    }
    Some([base.as_slice(), rest].concat())
}

/// Returns the module whose file defines what a path from the root names, through re-exports.
fn defining(modules: &BTreeMap<Module, Names>, path: &[String], depth: usize) -> Option<Module> {
    let length = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]))?;
    let (module, rest) = (path[..length].to_vec(), &path[length..]);
    let exported = rest.first().and_then(|name| modules[&module].re_exports.get(name));
    match exported.and_then(|target| absolute(modules, &module, target)) {
        Some(target) if depth < 20 => {
            defining(modules, &[target.as_slice(), &rest[1..]].concat(), depth + 1)
        }
        _ => Some(module),
    }
}

/// Module → modules that it imports. A module that re-exports its children does not import them.
fn imports(modules: &BTreeMap<Module, Names>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut graph = BTreeMap::new();
    for (module, names) in modules {
        let re_exported: BTreeSet<&Vec<String>> = names.re_exports.values().collect();
        let of_path = |path: &Vec<String>| {
            let target = defining(modules, &absolute(modules, module, path)?, 0)?;
            let is_child = target.starts_with(module) && re_exported.contains(path);
            (target != *module && !is_child).then_some(target)
        };
        graph.insert(module.clone(), names.paths.iter().filter_map(of_path).collect());
    }
    graph
}

/// Returns the modules on circles: what is left after removing, again and again, modules that
/// import none of the others or that none of the others imports.
fn on_circles(mut graph: BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    loop {
        let imported: BTreeSet<Module> = graph.values().flatten().cloned().collect();
        let left: BTreeSet<Module> = graph
            .iter()
            .filter(|(module, imports)| !imports.is_empty() && imported.contains(*module))
            .map(|(module, _)| module.clone())
            .collect();
        if left.len() == graph.len() {
            return left;
        }
        graph.retain(|module, _| left.contains(module));
        graph.values_mut().for_each(|imports| imports.retain(|module| left.contains(module)));
    }
}

/// Returns the folders of all packages.
fn packages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    crates.chain(["", "experiments", "python"].map(|name| root.join(name))).collect()
}

#[test]
fn no_import_circles_between_files() {
    for package in packages() {
        let circles = on_circles(imports(&modules(&package.join("src"))));
        let names: Vec<String> = circles.iter().map(|module| module.join("::")).collect();
        assert!(names.is_empty(), "{}: circles through {names:#?}", package.display());
    }
}

/// `mod.rs` has documentation, modules and imports only, and a module with a folder is a `mod.rs`;
/// in tests too.
#[test]
fn definitions_are_in_named_files() {
    let mut elsewhere = Vec::new();
    let folders =
        packages().into_iter().flat_map(|package| ["src", "tests"].map(|f| package.join(f)));
    for src in folders.filter(|folder| folder.is_dir()) {
        let files = sources(&src).into_iter();
        for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
            if !file.ends_with("mod.rs") {
                let is_root = file.parent() == Some(src.as_path());
                let is_crate = is_root && (file.ends_with("lib.rs") || file.ends_with("main.rs"));
                if !is_crate && file.with_extension("").is_dir() {
                    elsewhere.push(file);
                }
                continue;
            }
            let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
            let only_names = parsed.items.iter().all(|item| match item {
                syn::Item::Use(_) => true,
                syn::Item::Mod(module) => module.content.is_none(),
                _ => false,
            });
            if !only_names {
                elsewhere.push(file);
            }
        }
    }
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}

/// What the hash of the sources leaves out of this crate decides no result: no experiment names it.
#[test]
fn nothing_that_computes_names_what_the_hash_leaves_out() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let build = fs::read_to_string(package.join("build.rs")).unwrap();
    let list = build.split("REPORTING: ").nth(1).unwrap().split(';').nth(1).unwrap();
    let parts: BTreeSet<&str> =
        list.split('"').skip(1).step_by(2).map(|part| part.trim_end_matches(".rs")).collect();
    assert!(parts.contains("cli") && parts.contains("pages"), "{parts:?}");
    let modules = modules(&package.join("src"));
    let is_report =
        |module: &Module| module.first().is_none_or(|top| parts.contains(&top.as_str()));
    for (module, imported) in imports(&modules).iter().filter(|(module, _)| !is_report(module)) {
        // The registry lists kinds of figures too.
        if module.first().is_some_and(|top| top == "registry") {
            continue;
        }
        let found: Vec<&Module> =
            imported.iter().filter(|m| !m.is_empty() && is_report(m)).collect();
        assert!(found.is_empty(), "{module:?} names {found:?}");
    }
}

#[test]
fn circles_are_found_through_re_exports() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\npub use a::{b::B as Renamed, c::C};");
    write("a/mod.rs", "pub mod b;\npub mod c;\npub use b::B;");
    write("a/b.rs", "pub struct B(pub crate::C);");
    write("a/c.rs", "pub struct C;\n#[cfg(test)]\nmod tests { use super::super::b::B; }");
    let circles = || on_circles(imports(&modules(folder.path())));
    assert!(circles().is_empty());
    write("a/c.rs", "use crate::Renamed;\npub struct C(Box<Renamed>);");
    let names = |parts: [&str; 2]| parts.map(str::to_owned).to_vec();
    assert_eq!(circles(), [names(["a", "b"]), names(["a", "c"])].into());
    write("a/c.rs", "pub struct C(Option<Box<super::B>>);");
    assert_eq!(circles().len(), 2);
}
