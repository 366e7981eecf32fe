//! The step `--native-window`: Slint's windows, which no other step needs.
//!
//! The test program and the crate with the driver have a separate workspace, and a separate target
//! folder, `target/native-window`, which is kept between runs.

use std::process::Command;

use anyhow::Result;

use super::reuse::{GreenResult, ProductFingerprint};
use super::runner::{self, SuiteRun};
use super::tools::Tools;
use crate::Workspace;
use crate::process::{cargo_with_clippy, run};
use crate::step::{Outcome, step};

/// The folder of the test program, whose workspace also has the crate of the driver.
const FOLDER: &str = "e2e/native-window";

/// The inputs of the suite besides the product.
const INPUTS: [&str; 4] = [
    "clippy.toml",
    "docs/native.md",
    "e2e/native-window",
    "e2e/tests/native_window",
];

/// Returns the result that is used again while nothing changes.
pub(super) fn green_result(workspace: &Workspace, tools: &Tools) -> Result<GreenResult> {
    let product = ProductFingerprint::new(workspace, tools)?;
    GreenResult::new(workspace, &product, "e2e: native_window", &INPUTS)
}

/// Checks formatting, which the checks of the other crates leave out.
pub(super) fn lint(workspace: &Workspace) -> Result<()> {
    step("cargo fmt --check of native windows", || {
        let mut format = own_cargo(workspace, "fmt");
        format.args(["--all", "--check"]);
        run(&mut format, &format!("run `cargo fmt --all` in {FOLDER}"))?;
        Ok(Outcome::Done(()))
    })
}

/// Builds the programs and tests of both crates. Their warnings, also those of clippy, are errors.
pub(super) fn build(workspace: &Workspace) -> Result<()> {
    step("building native windows, with clippy", || {
        let mut build = own_cargo(workspace, "build");
        build.args(["--workspace", "--all-targets", "--locked"]);
        run(&mut build, "fix the errors above")?;
        Ok(Outcome::Done(()))
    })
}

/// Runs the driver's own tests, and the examples in its documentation.
pub(super) fn run_unit_tests(workspace: &Workspace, filter: Option<&str>) -> SuiteRun {
    let mut test = own_cargo(workspace, "test");
    test.args(["--package", "mcp-web-slint", "--locked", "--quiet"]);
    test.args(["--no-fail-fast", "--"]).args(filter);
    runner::run_and_count("web-sdk/native/slint", test, runner::Output::Live)
}

fn own_cargo(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = cargo_with_clippy(workspace);
    cargo
        .arg(command)
        .current_dir(workspace.path(FOLDER))
        .env("CARGO_TARGET_DIR", workspace.path("target/native-window"));
    cargo
}
