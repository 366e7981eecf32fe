//! `cargo xtask dependencies`: checks the licences, sources and known vulnerabilities of all
//! dependencies, and finds dependencies that no crate uses.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::process::run;
use crate::step::{Outcome, step};
use crate::{Workspace, install};

/// Checks licences, sources and advisories by the rules in `deny.toml`.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

/// Finds dependencies without a use.
const CARGO_MACHETE: &str = "cargo-machete@0.9.2";

/// The folders with crates.
const FOLDERS: [&str; 6] = [
    "agent",
    "bridge",
    "client-stdio",
    "demo-app",
    "e2e",
    "web-sdk",
];

/// The checks to run.
#[derive(Debug, Args)]
pub struct Options {
    /// Leave out the check of advisories, whose database is downloaded from GitHub
    #[arg(long)]
    offline: bool,
}

/// Runs the checks.
///
/// # Errors
///
/// Returns an error if a tool cannot be installed, or if a check fails.
pub fn check(workspace: &Workspace, options: &Options) -> Result<()> {
    let deny = install::ensure_cargo_program(workspace, CARGO_DENY, &[])?;
    let machete = install::ensure_cargo_program(workspace, CARGO_MACHETE, &[])?;
    let mut checks = vec!["bans", "licenses", "sources"];
    if !options.offline {
        checks.push("advisories");
    }
    for check in checks {
        step(&format!("cargo deny check {check}"), || {
            let mut command = Command::new(&deny);
            command
                .current_dir(workspace.root())
                .args(["--all-features", "check", check]);
            let advice = "see `deny.toml`; without access to GitHub, add `--offline`";
            run(&mut command, advice)?;
            Ok(Outcome::Done(()))
        })?;
    }
    step("unused dependencies", || {
        let mut command = Command::new(&machete);
        command.current_dir(workspace.root()).args(FOLDERS);
        run(&mut command, "remove what no crate uses")?;
        Ok(Outcome::Done(()))
    })
}
