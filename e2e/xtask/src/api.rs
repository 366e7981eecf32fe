//! `cargo xtask api`: the API reference of the npm package, which TypeDoc writes from its types into
//! `target/api-reference`.
//!
//! `e2e/xtask/api-reference` contains the configuration of TypeDoc, and a plugin that adapts what it
//! writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::capture;
use crate::step::{Outcome, step};
use crate::{Workspace, node};

/// The folder of the reference.
const FOLDER: &str = "target/api-reference";

/// The folder of the packages, the configuration and the plugin.
const TOOLS: &str = "e2e/xtask/api-reference";
const CONFIGURATION: &str = "typedoc.json";
/// The modules of the plugin.
const PLUGIN: [&str; 5] = [
    "entries.mjs",
    "index-page.mjs",
    "model.mjs",
    "plugin.mjs",
    "theme.mjs",
];

/// Installs TypeDoc where it is missing, and returns the `node_modules` folder.
pub(crate) fn ensure_packages(workspace: &Workspace) -> Result<PathBuf> {
    node::install_pinned(workspace, TOOLS, "api-reference")
}

/// Replaces the reference, and returns its folder.
///
/// # Errors
///
/// Returns an error if packages cannot be installed, if the types do not compile, or if something
/// that the package exports has no description.
pub fn generate(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path(FOLDER);
    let packages = ensure_packages(workspace)?;
    // The types of the frameworks are there.
    node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    step("API reference", || {
        let home = packages.parent().unwrap_or(&packages);
        copy_plugin(&workspace.path(TOOLS), home)?;
        let mut typedoc = Command::new("node");
        typedoc
            .arg(packages.join("typedoc/bin/typedoc"))
            .arg("--options")
            .arg(home.join(CONFIGURATION))
            .arg("--tsconfig")
            .arg(workspace.path("web-sdk/tsconfig.json"))
            .arg("--basePath")
            .arg(workspace.path("web-sdk/js"))
            .arg("--out")
            .arg(&folder);
        let advice = "fix what TypeDoc reports above about the comments in web-sdk/js";
        capture(&mut typedoc, advice)?;
        Ok(Outcome::Done(()))
    })?;
    println!("    {}", folder.join("README.md").display());
    Ok(folder)
}

/// Copies the plugin to the folder of the packages, where Node finds what it imports.
fn copy_plugin(source: &Path, home: &Path) -> Result<()> {
    for file in PLUGIN.into_iter().chain([CONFIGURATION]) {
        let path = source.join(file);
        fs::copy(&path, home.join(file)).with_context(|| format!("restore {}", path.display()))?;
    }
    Ok(())
}
