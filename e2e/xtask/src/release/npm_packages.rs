//! The packages of npm in the SDK, which the bridge serves to pages.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::shipped_package::{Registry, ShippedPackage};
use crate::sdk::BUNDLED_PACKAGES;
use crate::{Workspace, node};

/// Lists the packages, by name.
pub(super) fn list(workspace: &Workspace) -> Result<Vec<ShippedPackage>> {
    let modules = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    let load = |name: &&str| {
        let folder = modules.join(name);
        let manifest = folder.join("package.json");
        let text = fs::read_to_string(&manifest)
            .with_context(|| format!("{} is missing", manifest.display()))?;
        let manifest: Value = serde_json::from_str(&text).context("not a package.json")?;
        let field = |name: &str| manifest[name].as_str().unwrap_or_default().to_owned();
        Ok(ShippedPackage {
            registry: Registry::Npm,
            name: field("name"),
            version: field("version"),
            license: field("license").trim_matches(['(', ')']).to_owned(),
            folder,
            uses: Vec::new(),
        })
    };
    BUNDLED_PACKAGES.iter().map(load).collect()
}
