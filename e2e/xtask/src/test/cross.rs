//! The step `--cross`: programs for other systems, which are checked, or built and run.
//!
//! They are built without optimizations, because a release build takes long and changes nothing about how
//! they start.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::build;
use super::options::Suite;
use super::runner::{self, SuiteRun};
use crate::chromium::Chromium;
use crate::cross::CrossBuilder;
use crate::step::step;
use crate::{Workspace, apt, install, sdk};

/// The module of the tests, which are in the program of those of packages.
pub(super) const TESTS: &str = "cross::";

/// Checks, builds and runs the programs.
pub(super) fn run_tests(workspace: &Workspace, filter: Option<&str>) -> Result<SuiteRun> {
    sdk::ensure(workspace)?;
    let tools = CrossTools::ensure(workspace)?;
    let builder = CrossBuilder::ensure(workspace)?;
    builder.check()?;
    let build = |target, package, program| builder.build(target, package, program, "dev");
    let x86_64 = build("x86_64-unknown-linux-musl", "mcp-web-cli", "mcp-web")?;
    let aarch64 = build(
        "aarch64-unknown-linux-musl",
        "client-stdio",
        "mcp-web-stdio",
    )?;
    let windows = build("x86_64-pc-windows-gnu", "client-stdio", "mcp-web-stdio")?;
    let built = build::build_tests(workspace)?.programs;
    let mut tests = built.iter();
    let test = tests.find(|it| Suite::from_program(it) == Suite::Packages);
    let test = test.context("e2e/xtask has no tests of packages")?;
    let mut command = Command::new(&test.executable);
    command
        .arg(filter.unwrap_or(TESTS))
        .current_dir(workspace.path("e2e/xtask"))
        .env("RUST_TEST_THREADS", "2")
        .env("MCP_WEB_STATIC_PROGRAM", x86_64)
        .env("MCP_WEB_ARM64_STDIO", aarch64)
        .env("MCP_WEB_WINDOWS_STDIO", windows)
        .env("MCP_WEB_WINDOWS_LIBRARY", builder.windows_library()?);
    tools.apply(&mut command);
    Ok(runner::run_and_count(
        "e2e/xtask: cross",
        command,
        runner::Output::Live,
    ))
}

/// The programs that run those for other machines and systems.
struct CrossTools {
    /// The folder with qemu.
    qemu: PathBuf,
    chromium: Chromium,
}

impl CrossTools {
    fn ensure(workspace: &Workspace) -> Result<Self> {
        apt::ensure_program("curl")?;
        apt::ensure_packages("Wine", &["wine64"])?;
        let qemu = workspace.tools().join("cross-qemu");
        step("qemu", || {
            install::ensure(&qemu, &[PathBuf::from(apt::RELEASE)], || {
                apt::ensure_indexed(&[QEMU])?;
                apt::unpack(&[QEMU.to_owned()].into(), &qemu)
            })
        })?;
        Ok(Self {
            qemu,
            chromium: Chromium::ensure()?,
        })
    }

    fn apply(&self, command: &mut Command) {
        command
            .env(
                "MCP_WEB_QEMU",
                self.qemu.join("usr/bin/qemu-aarch64-static"),
            )
            .env("MCP_WEB_CHROMIUM", &self.chromium.browser);
    }
}

/// The package of Debian with qemu's programs for one process, which is unpacked and not installed: it would
/// let the kernel start programs of all machines.
const QEMU: &str = "qemu-user-static";
