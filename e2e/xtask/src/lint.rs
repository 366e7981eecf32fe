//! `cargo xtask lint`: formatting, clippy, which file imports which, and what the SDK reads of pages.

pub(crate) mod clobbering;
pub(crate) mod imports;

use anyhow::Result;
use clap::Args;

use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, apt, sdk};

/// What to check.
#[derive(Debug, Args)]
pub struct Options {
    /// Check only which file imports which, which takes seconds
    #[arg(long)]
    pub imports: bool,
}

/// Runs the checks that the options select.
///
/// # Errors
///
/// Returns an error if a check fails.
pub fn check_selected(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.imports {
        return imports::check(workspace);
    }
    check(workspace)
}

/// Checks formatting, runs clippy, then checks the imports and what the SDK reads. The SDK is built
/// first, because the bridge embeds it.
///
/// # Errors
///
/// Returns an error if a check fails.
pub fn check(workspace: &Workspace) -> Result<()> {
    sdk::ensure(workspace)?;
    format(workspace)?;
    clippy(workspace)?;
    imports::check(workspace)?;
    clobbering::check(workspace)
}

/// Checks that all code is formatted as rustfmt does it.
pub(crate) fn format(workspace: &Workspace) -> Result<()> {
    step("cargo fmt --check", || {
        run(
            cargo(workspace).args(["fmt", "--all", "--check"]),
            "run `cargo fmt`",
        )?;
        Ok(Outcome::Done(()))
    })
}

/// Runs clippy on all targets, compiled for the host: web-sys compiles there, too, and a private
/// wasm toolchain has no clippy.
pub(crate) fn clippy(workspace: &Workspace) -> Result<()> {
    apt::ensure_program("make")?;
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
        run(&mut clippy, "fix what clippy reports above")?;
        Ok(Outcome::Done(()))
    })
}
