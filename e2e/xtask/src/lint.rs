//! `cargo xtask lint`: formatting, clippy, which file imports which, what the SDK reads of pages, the
//! names in ARCHITECTURE.md and in the log of public reports, and the English of comments and documents.

pub(crate) mod architecture;
pub(crate) mod clobbering;
pub(crate) mod english;
pub(crate) mod imports;
pub(crate) mod reports;

mod checkout_files;
mod prose;

use anyhow::Result;
use clap::Args;

use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, apt, sdk};

/// The checks to run; all of them if none is selected.
#[derive(Debug, Args)]
pub struct Options {
    /// Check only which file imports which, which takes seconds
    #[arg(long)]
    pub imports: bool,
    /// Check only the paths and names in ARCHITECTURE.md and the tests in the log of public reports, which
    /// takes seconds
    #[arg(long)]
    pub architecture: bool,
    /// Check only the English of comments and documents, which takes seconds
    #[arg(long)]
    pub english: bool,
}

/// Runs the checks that the options select.
///
/// # Errors
///
/// Returns an error if a check fails.
pub fn check_selected(workspace: &Workspace, options: &Options) -> Result<()> {
    let is_any_selected = options.imports || options.architecture || options.english;
    if !is_any_selected {
        return check(workspace);
    }
    if options.imports {
        imports::check(workspace)?;
    }
    if options.architecture {
        architecture::check(workspace)?;
        reports::check(workspace)?;
    }
    if options.english {
        english::check(workspace)?;
    }
    Ok(())
}

/// Runs all checks, the fastest first. The SDK is built before clippy, because the bridge embeds it.
///
/// # Errors
///
/// Returns an error if a check fails.
pub fn check(workspace: &Workspace) -> Result<()> {
    format(workspace)?;
    architecture::check(workspace)?;
    reports::check(workspace)?;
    english::check(workspace)?;
    sdk::ensure(workspace)?;
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

/// Runs clippy on all targets, compiled for the host: web-sys also compiles there, and a private
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
