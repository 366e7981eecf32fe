//! The table in `docs/bundlers.md`.

use std::fs;

use e2e::program_paths;
use serde_json::Value;

use crate::project::packages;

/// The versions that the document names are those that run.
#[test]
fn the_table_names_the_versions_that_run() {
    let path = program_paths::workspace().join("docs/bundlers.md");
    let table = fs::read_to_string(path).unwrap();
    let node_modules = program_paths::node_modules();
    for (title, packages, package) in [
        ("Vite", packages("vite6"), "vite"),
        ("Vite", packages("vite7"), "vite"),
        ("Vite", node_modules, "vite"),
        ("webpack", packages("webpack"), "webpack"),
        ("Next", packages("next"), "next"),
        ("esbuild", packages("tools"), "esbuild"),
        ("Rollup", packages("tools"), "rollup"),
        ("pnpm", packages("tools"), "pnpm"),
    ] {
        let manifest = fs::read_to_string(packages.join(package).join("package.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let named = format!("{title} {}", manifest["version"].as_str().unwrap());
        assert!(
            table.contains(&named),
            "docs/bundlers.md does not name {named}"
        );
    }
}
