//! `cargo xtask lint`: formatting and clippy.

use anyhow::Result;

use crate::process::{cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, sdk};

/// Checks formatting, then runs clippy. The SDK is built first, because the bridge embeds it.
///
/// # Errors
///
/// When something is to be fixed.
pub fn check(workspace: &Workspace) -> Result<()> {
    sdk::ensure(workspace)?;
    format(workspace)?;
    clippy(workspace)
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
