//! `cargo xtask lint`: formatting, clippy, and which file imports which.

pub(crate) mod imports;

use anyhow::Result;
use clap::Args;

use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, sdk};

/// What to check.
#[derive(Debug, Args)]
pub struct Options {
    /// Check only which file imports which, which takes seconds
    #[arg(long)]
    pub imports: bool,
}

/// Checks what the options ask for.
///
/// # Errors
///
/// When something is to be fixed.
pub fn check_selected(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.imports {
        return imports::check(workspace);
    }
    check(workspace)
}

/// Checks formatting, runs clippy, then checks the imports. The SDK is built first, because the bridge
/// embeds it.
///
/// # Errors
///
/// When something is to be fixed.
pub fn check(workspace: &Workspace) -> Result<()> {
    sdk::ensure(workspace)?;
    format(workspace)?;
    clippy(workspace)?;
    imports::check(workspace)
}

pub(crate) fn format(workspace: &Workspace) -> Result<()> {
    step("cargo fmt --check", || {
        run(
            cargo(workspace).args(["fmt", "--all", "--check"]),
            "run `cargo fmt`",
        )?;
        Ok(Outcome::Done(()))
    })
}

/// Everything is linted for the host: web-sys compiles there too, and a private wasm toolchain brings no clippy.
pub(crate) fn clippy(workspace: &Workspace) -> Result<()> {
    step("cargo clippy", || {
        let mut clippy = cargo(workspace);
        clippy.args([
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ]);
        run(&mut clippy, "fix what clippy says above")?;
        Ok(Outcome::Done(()))
    })
}
