//! The names, addresses, version and time that all artifacts of a release share.

use std::env;
use std::process::Command;

use anyhow::{Context, Result};

use crate::Workspace;
use crate::process::capture;

/// The name of the program, and of its package wherever there is one.
pub(super) const NAME: &str = "mcp-web";
/// The stdio client alone, for clients that bring a program in a bundle.
pub(super) const STDIO_NAME: &str = "mcp-web-stdio";
/// The version of everything in the workspace.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The address that all others begin with.
pub(super) const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
pub(super) const LICENSE: &str = env!("CARGO_PKG_LICENSE");
pub(super) const DESCRIPTION: &str =
    "Lets AI clients use web apps through the apps' own tools (MCP)";
/// The maintainer that packages name.
pub(super) const AUTHOR: &str = "The MCP-Web authors";
/// The name in the registry of MCP servers, which is derived from the owner of the repository.
pub(super) const REGISTRY_NAME: &str = "io.github.mcp-web/mcp-web";
/// The image without its tag.
pub(super) const IMAGE: &str = "ghcr.io/mcp-web/mcp-web";
/// The text that package registries and archives show: see [`fill`].
pub(super) const README: &str = include_str!("templates/README.md");

/// Returns the address below which the files of this version can be downloaded.
pub(super) fn download_url() -> String {
    format!("{REPOSITORY}/releases/download/v{VERSION}")
}

/// Returns a template with the values of the product in place of `@NAME@`, `@VERSION@` and the others.
pub(super) fn fill(template: &str) -> String {
    template
        .replace("@NAME@", NAME)
        .replace("@VERSION@", VERSION)
        .replace("@REPOSITORY@", REPOSITORY)
        .replace("@DOWNLOADS@", &download_url())
        .replace("@REGISTRY_NAME@", REGISTRY_NAME)
        .replace("@DESCRIPTION@", DESCRIPTION)
        .replace("@LICENSE@", LICENSE)
        .replace("@AUTHOR@", AUTHOR)
}

/// Returns the time of all files in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the last commit.
pub(super) fn source_time(workspace: &Workspace) -> Result<u64> {
    let text = match env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds,
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"])
                .current_dir(workspace.root());
            capture(&mut git, "set SOURCE_DATE_EPOCH, or run this in a clone")?
        }
    };
    let seconds = text.trim().parse();
    seconds.context("SOURCE_DATE_EPOCH must be a number of seconds")
}
