//! Nothing: it makes Cargo build the macros' dependencies with the features that the manifest
//! names.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
