//! The crates of the workspace, from cargo's metadata.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::Workspace;
use crate::process::{capture, cargo};

/// A crate, and where its code starts.
pub(super) struct CrateRoots {
    pub(super) name: String,
    /// The root files of its library and its programs.
    pub(super) files: Vec<PathBuf>,
}

/// Returns all crates of the workspace.
pub(super) fn all(workspace: &Workspace) -> Result<Vec<CrateRoots>> {
    let mut metadata = cargo(workspace);
    metadata.args(["metadata", "--no-deps", "--format-version", "1"]);
    let metadata = capture(&mut metadata, "fix the Cargo.toml that cargo names above")?;
    parse(&metadata)
}

fn parse(metadata: &str) -> Result<Vec<CrateRoots>> {
    let metadata: Value = serde_json::from_str(metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    packages
        .iter()
        .map(|package| {
            let targets = package["targets"].as_array().context("no targets")?;
            let files = targets
                .iter()
                .filter(|target| is_library_or_program(target));
            let files = files.filter_map(|target| target["src_path"].as_str());
            Ok(CrateRoots {
                name: package["name"].as_str().context("no name")?.to_owned(),
                files: files.map(PathBuf::from).collect(),
            })
        })
        .collect()
}

/// Returns whether a target is a library or a program, and not a test, an example or a build
/// script.
fn is_library_or_program(target: &Value) -> bool {
    let kinds = target["kind"].as_array().into_iter().flatten();
    kinds
        .filter_map(Value::as_str)
        .any(|kind| kind == "bin" || kind.ends_with("lib") || kind == "proc-macro")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_and_programs_are_roots() {
        let target =
            |kind: &str| serde_json::json!({ "kind": [kind], "src_path": format!("/{kind}") });
        let kinds = [
            "lib",
            "rlib",
            "bin",
            "test",
            "bench",
            "example",
            "custom-build",
        ];
        let targets: Vec<Value> = kinds.into_iter().map(target).collect();
        let packages = serde_json::json!([{ "name": "hub", "targets": targets }]);
        let crates = parse(&serde_json::json!({ "packages": packages }).to_string()).unwrap();
        assert_eq!(crates[0].name, "hub");
        assert_eq!(
            crates[0].files,
            ["/lib", "/rlib", "/bin"].map(PathBuf::from)
        );
    }
}
