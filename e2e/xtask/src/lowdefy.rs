//! The host of Lowdefy apps (`web-sdk/lowdefy`), bundled into the package `target/lowdefy`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::process::capture;
use crate::step::{Outcome, step};
use crate::{Workspace, folder, node};

/// The folder of the sources.
const SOURCES: &str = "web-sdk/lowdefy";

/// The sources that become files of the package: the command, and the processes of builds and of sessions, which it starts.
const ENTRIES: [&str; 3] = [
    "src/mcp-web-lowdefy.ts",
    "src/engine/build-process.ts",
    "src/session-process.ts",
];

/// Makes sure that the package is what the current sources describe, and returns its folder.
///
/// # Errors
///
/// Returns an error if it cannot be bundled.
pub fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let _lock = Lock::acquire(&workspace.path("target/lowdefy.lock"))?;
    let package = workspace.path("target/lowdefy");
    let packages = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    step("the host of Lowdefy apps", || {
        let stamp = workspace.path("target/lowdefy.stamp");
        let sources = fingerprint(workspace)?;
        let is_current = fs::read_to_string(&stamp).is_ok_and(|text| text == sources);
        if is_current && package.join("package.json").exists() {
            return Ok(Outcome::UpToDate(()));
        }
        build(workspace, &packages, &package)?;
        fs::write(&stamp, sources).with_context(|| format!("make {} writable", stamp.display()))?;
        Ok(Outcome::Done(()))
    })?;
    Ok(package)
}

fn build(workspace: &Workspace, packages: &Path, package: &Path) -> Result<()> {
    let sources = workspace.path(SOURCES);
    folder::remove(package)?;
    folder::create(package)?;
    let mut esbuild = Command::new("node");
    esbuild
        .arg(packages.join("esbuild/bin/esbuild"))
        .args(ENTRIES)
        .args([
            "--bundle",
            "--platform=node",
            "--format=esm",
            "--target=node22",
            "--packages=external",
            "--entry-names=[name]",
            "--log-level=warning",
        ])
        .arg(format!("--outdir={}", package.join("dist").display()))
        .current_dir(&sources);
    capture(&mut esbuild, "fix the errors in web-sdk/lowdefy above")?;
    make_executable(&package.join("dist/mcp-web-lowdefy.js"))?;
    let manifest = sources.join("package.json");
    let text =
        fs::read_to_string(&manifest).with_context(|| format!("restore {}", manifest.display()))?;
    let mut manifest: Value =
        serde_json::from_str(&text).context("package.json is not valid JSON")?;
    if let Some(fields) = manifest.as_object_mut() {
        fields.remove("devDependencies");
    }
    let manifest = format!("{}\n", serde_json::to_string_pretty(&manifest)?);
    fs::write(package.join("package.json"), manifest)?;
    for (source, name) in [
        (sources.join("README.md"), "README.md"),
        (workspace.path("LICENSE"), "LICENSE"),
    ] {
        fs::copy(&source, package.join(name))
            .with_context(|| format!("restore {}", source.display()))?;
    }
    Ok(())
}

/// npm does this when it installs a package from an archive, and not when it links a folder.
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("make {} writable", path.display()))
}

fn fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for path in [
        "LICENSE",
        "web-sdk/lowdefy/README.md",
        "web-sdk/lowdefy/package.json",
        "web-sdk/lowdefy/src",
        "web-sdk/package-lock.json",
        "e2e/xtask/src/lowdefy.rs",
    ] {
        fingerprint.add_path(&workspace.path(path))?;
    }
    Ok(fingerprint.finish())
}
