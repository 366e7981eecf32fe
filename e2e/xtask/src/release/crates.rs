//! The crates that the programs and the SDK inside of them consist of, from `cargo metadata`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::shipped_package::{Registry, ShippedPackage, package_url};
use super::targets::TARGETS;
use crate::Workspace;
use crate::process::{capture, cargo};

/// The crates of the programs, and those of the wasm that the bridge serves to pages.
const ROOTS: [&str; 4] = ["client-stdio", "mcp-web-cli", "page-tools", "web-sdk-wasm"];
/// The system of the wasm.
const WASM: &str = "wasm32-unknown-unknown";

/// Lists the crates of all systems, by name and version.
///
/// The features are those of the whole workspace, so that the list can have a crate that only tests use;
/// none is missing.
pub(super) fn list(workspace: &Workspace) -> Result<Vec<ShippedPackage>> {
    let mut metadata = cargo(workspace);
    metadata.args(["metadata", "--format-version=1", "--locked"]);
    for triple in TARGETS.iter().map(|target| target.triple).chain([WASM]) {
        metadata.args(["--filter-platform", triple]);
    }
    let text = capture(&mut metadata, "check that Cargo.lock fits the manifests")?;
    let metadata = serde_json::from_str(&text).context("cargo metadata printed no JSON")?;
    reachable(&metadata, &ROOTS)
}

fn reachable(metadata: &Value, roots: &[&str]) -> Result<Vec<ShippedPackage>> {
    let by_id = |list: &'static str, pointer: &str| -> Result<BTreeMap<String, Value>> {
        let values = metadata.pointer(pointer).and_then(Value::as_array);
        let values = values.with_context(|| format!("cargo metadata has no {list}"))?;
        Ok(values
            .iter()
            .filter_map(|value| Some((value["id"].as_str()?.to_owned(), value.clone())))
            .collect())
    };
    let packages = by_id("packages", "/packages")?;
    let nodes = by_id("graph", "/resolve/nodes")?;
    let is_own = |package: &Value| package["source"].is_null();
    let mut waiting: Vec<&str> = packages
        .iter()
        .filter(|(_, package)| {
            is_own(package)
                && package["name"]
                    .as_str()
                    .is_some_and(|it| roots.contains(&it))
        })
        .map(|(id, _)| id.as_str())
        .collect();
    let mut found = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if found.contains_key(id) {
            continue;
        }
        let package = packages.get(id).context("cargo metadata lacks a package")?;
        let uses: Vec<&str> = nodes.get(id).map(linked_crates).unwrap_or_default();
        waiting.extend(&uses);
        found.insert(id, (package, uses));
    }
    let mut crates = Vec::new();
    for (package, uses) in found.values().filter(|(package, _)| !is_own(package)) {
        let used = uses.iter().filter_map(|id| packages.get(*id));
        let mut uses: Vec<_> = used
            .map(|it| package_url(Registry::Cargo, &text(it, "name"), &text(it, "version")))
            .collect();
        uses.sort();
        let manifest = text(package, "manifest_path");
        crates.push(ShippedPackage {
            registry: Registry::Cargo,
            name: text(package, "name"),
            version: text(package, "version"),
            // Older manifests have a slash where SPDX has `OR`.
            license: text(package, "license").replace('/', " OR "),
            folder: Path::new(&manifest)
                .parent()
                .unwrap_or(Path::new(""))
                .into(),
            uses,
        });
    }
    crates.sort();
    Ok(crates)
}

/// The crates that are linked into the program: not those of build scripts and tests.
fn linked_crates(node: &Value) -> Vec<&str> {
    let dependencies = node["deps"].as_array();
    let linked = dependencies.into_iter().flatten().filter(|dependency| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    });
    linked.filter_map(|it| it["pkg"].as_str()).collect()
}

fn text(package: &Value, field: &str) -> String {
    package[field].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_crates_that_are_linked_into_a_root_are_listed() {
        let package = |id: &str, source: Option<&str>| {
            json!({
                "id": id, "name": id, "version": "1.0.0", "source": source,
                "license": "MIT/Apache-2.0", "manifest_path": format!("/crates/{id}/Cargo.toml"),
            })
        };
        let uses = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("cli", None),
                package("library", None),
                package("serde", Some("registry")),
                package("cc", Some("registry")),
                package("proptest", Some("registry")),
                package("itoa", Some("registry")),
                package("unrelated", Some("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "cli", "deps": [uses("library", Value::Null), uses("proptest", "dev".into())] },
                { "id": "library", "deps": [uses("serde", Value::Null), uses("cc", "build".into())] },
                { "id": "serde", "deps": [uses("itoa", Value::Null)] },
                { "id": "itoa", "deps": [uses("serde", Value::Null)] },
            ] },
        });
        let crates = reachable(&metadata, &["cli"]).unwrap();
        let names: Vec<_> = crates.iter().map(ShippedPackage::url).collect();
        assert_eq!(names, ["pkg:cargo/itoa@1.0.0", "pkg:cargo/serde@1.0.0"]);
        assert_eq!(crates[1].license, "MIT OR Apache-2.0");
        assert_eq!(crates[1].folder, Path::new("/crates/serde"));
        assert_eq!(crates[1].uses, ["pkg:cargo/itoa@1.0.0"]);
    }
}
