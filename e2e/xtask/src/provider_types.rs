//! `cargo xtask provider-types`: checks the requests of the agent with the types of the providers' SDKs.
//!
//! The requests are in `agent/golden/requests`, which a test of the agent compares with what it sends.
//! `e2e/provider-types` contains the versions of the SDKs, and the program that compiles the requests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::process::run;
use crate::{Workspace, node};

/// The folder of the packages and the program.
const FOLDER: &str = "e2e/provider-types";

/// The folder of the requests.
pub const REQUESTS: &str = "agent/golden/requests";

/// Which versions check the requests.
#[derive(Debug, Args)]
pub struct Options {
    /// Print what the newest versions of the SDKs refuse, instead of the pinned ones
    #[arg(long)]
    newest: bool,
}

/// Checks the requests.
///
/// # Errors
///
/// Returns an error if packages cannot be installed, or if their types refuse a request.
pub fn check(workspace: &Workspace, options: &Options) -> Result<()> {
    let packages = if options.newest {
        node::install_newest(workspace, FOLDER, "provider-types-newest")?
    } else {
        ensure_packages(workspace)?
    };
    let mut check = command(workspace, &packages, &workspace.path(REQUESTS));
    let advice = "change the wires of the agent, or add to e2e/provider-types/differences.mjs why the \
                  requests differ from the types";
    run(&mut check, advice)
}

/// Installs the SDKs where they are missing, and returns the `node_modules` folder.
///
/// # Errors
///
/// Returns an error if npm fails.
pub fn ensure_packages(workspace: &Workspace) -> Result<PathBuf> {
    node::install_pinned(workspace, FOLDER, "provider-types")
}

/// Returns the command that checks a folder of requests with these packages.
pub fn command(workspace: &Workspace, packages: &Path, requests: &Path) -> Command {
    let mut command = Command::new("node");
    command
        .arg(workspace.path(FOLDER).join("check.mjs"))
        .arg(requests)
        .arg(packages.parent().unwrap_or(packages));
    command
}
