//! `cargo xtask version X.Y.Z`: writes a version into all files that have it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::Workspace;
use crate::process::{capture, cargo, run};

/// The version that this program was built with, which is that of the workspace.
const CURRENT: &str = env!("CARGO_PKG_VERSION");

/// The files with the version, each with the text before it. The packages of a release take theirs from the
/// workspace.
const PLACES: [(&str, &str); 16] = [
    ("Cargo.toml", "\nversion = \""),
    ("bridge/tests/integration/mcp_answers.txt", "\"version\":\""),
    ("demo-app/page/js/main.js", "version: \""),
    ("demo-app/page/js/order-page.js", "version: \""),
    ("demo-app/page/overview.html", "version: \""),
    ("docs/deploy/kubernetes-cluster.yml", "/mcp-web:"),
    ("docs/deploy/kubernetes.yml", "/mcp-web:"),
    ("e2e/native-window/Cargo.toml", "\nversion = \""),
    ("web-sdk/js/mcp-web/version.ts", "VERSION = \""),
    ("web-sdk/js/package.json", "\"version\": \""),
    (
        "web-sdk/lowdefy/package-lock.json",
        "  \"name\": \"mcp-web-lowdefy\",\n  \"version\": \"",
    ),
    (
        "web-sdk/lowdefy/package-lock.json",
        "      \"name\": \"mcp-web-lowdefy\",\n      \"version\": \"",
    ),
    ("web-sdk/lowdefy/package-lock.json", "\"mcp-web-sdk\": \""),
    ("web-sdk/lowdefy/package.json", "\"mcp-web-sdk\": \""),
    ("web-sdk/lowdefy/package.json", "\"version\": \""),
    ("web-sdk/native/slint/Cargo.toml", "\nversion = \""),
];

/// The folders with a Cargo.lock.
const WORKSPACES: [&str; 2] = ["", "e2e/native-window"];

/// The new version.
#[derive(Debug, Args)]
pub struct Options {
    /// The version, as in 0.3.0
    version: String,
}

/// Writes the version, and gives what is unreleased in CHANGELOG.md that version and today's date.
///
/// # Errors
///
/// Returns an error if the version is not one, or if a file does not have the present one.
pub fn set(workspace: &Workspace, options: &Options) -> Result<()> {
    let version = &options.version;
    let numbers: Vec<_> = version.split('.').map(str::parse::<u32>).collect();
    if numbers.len() != 3 || numbers.iter().any(Result::is_err) {
        bail!("{version} is not a version such as 0.3.0");
    }
    let today = capture(
        Command::new("date").args(["-u", "+%Y-%m-%d"]),
        "install date",
    )?;
    let heading = format!("## {version} – {}\n", today.trim());
    for (file, before) in PLACES {
        let text = |version: &str| format!("{before}{version}");
        replace(workspace, file, &text(CURRENT), &text(version))?;
    }
    replace(workspace, "CHANGELOG.md", "## Unreleased\n", &heading)?;
    for folder in WORKSPACES {
        let mut update = cargo(workspace);
        update
            .args(["update", "--workspace", "--offline"])
            .current_dir(workspace.path(folder));
        run(&mut update, "fix the errors above")?;
    }
    Ok(())
}

fn replace(workspace: &Workspace, file: &str, from: &str, to: &str) -> Result<()> {
    let path = workspace.path(file);
    let text = fs::read_to_string(&path).with_context(|| format!("restore {}", path.display()))?;
    if !text.contains(from) {
        bail!("{file} does not contain {from:?}");
    }
    fs::write(&path, text.replace(from, to))
        .with_context(|| format!("make {} writable", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_have_the_version_of_the_workspace() {
        let workspace = Workspace::here();
        for (file, before) in PLACES {
            let text = fs::read_to_string(workspace.path(file)).unwrap();
            let places: Vec<_> = text.match_indices(before).collect();
            let rest = |at: usize| &text[at + before.len()..];
            let current = places
                .iter()
                .filter(|(at, _)| rest(*at).starts_with(CURRENT));
            assert!(current.count() > 0, "{file} has no {before}{CURRENT}");
        }
        for folder in WORKSPACES {
            let lock = workspace.path(folder).join("Cargo.lock");
            let lock = fs::read_to_string(lock).unwrap();
            let own = format!("name = \"mcp-web-sdk\"\nversion = \"{CURRENT}\"\n");
            assert!(lock.contains(&own), "{folder}/Cargo.lock");
        }
    }

    /// Packages take their version from the workspace: no template has a number.
    #[test]
    fn the_templates_of_packages_have_no_version() {
        let templates = Workspace::here().path("e2e/xtask/src/release/templates");
        let mut folders = vec![templates];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(!text.contains(CURRENT), "{}", path.display());
                }
            }
        }
    }
}
