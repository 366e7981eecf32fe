//! The step `--packages`: the packages of a release, installed with the tools that people install them with.
//!
//! It wraps the programs of a development build without their debug information, because a release build
//! takes long and changes nothing about the packages. `MCP_WEB_PROGRAMS` is a folder with other ones, as
//! `cargo xtask release --programs` takes it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::build;
use super::options::Suite;
use super::runner::{self, SuiteRun};
use crate::chromium::Chromium;
use crate::process::capture;
use crate::step::{Outcome, step};
use crate::{Workspace, apt, folder, install, node, python, release, sdk};

/// Debian's packages with programs that are unpacked and not installed.
const DEBIAN_PROGRAMS: [&str; 4] = ["busybox-static", "debootstrap", "runc", "systemd-container"];

/// Builds and wraps the programs, and runs the tests.
pub(super) fn run_tests(workspace: &Workspace, filter: Option<&str>) -> Result<SuiteRun> {
    let tools = PackageTools::ensure(workspace)?;
    sdk::ensure_package(workspace)?;
    let built = build::build_tests(workspace)?.programs;
    let mut tests = built.iter();
    let test = tests.find(|it| Suite::from_program(it) == Suite::Packages);
    let test = &test
        .context("e2e/xtask has no tests of packages")?
        .executable;
    let programs = match env::var_os("MCP_WEB_PROGRAMS") {
        Some(folder) => PathBuf::from(folder),
        None => strip_programs(workspace, test)?,
    };
    let release = release::make(workspace, &release::Options::from_programs(programs))?;
    let mut command = Command::new(test);
    command
        .args(filter)
        .args(["--skip", super::cross::TESTS])
        .current_dir(workspace.path("e2e/xtask"))
        // Each starts a registry or a browser.
        .env("RUST_TEST_THREADS", "2")
        .env("MCP_WEB_RELEASE", release);
    tools.apply(&mut command);
    Ok(runner::run_and_count(
        "e2e/xtask: packages",
        command,
        runner::Output::Live,
    ))
}

/// Copies the programs that were built with the tests, without their debug information, and returns a folder
/// as `cargo xtask release --programs` takes it.
fn strip_programs(workspace: &Workspace, test: &Path) -> Result<PathBuf> {
    let programs = workspace.path("target/packages/programs");
    let home = programs.join(release::host_target()?);
    // Test programs are in the folder `deps` beside the others.
    let built = test.ancestors().nth(2).context("a program in no folder")?;
    step("the programs without debug information", || {
        folder::remove(&programs)?;
        folder::create(&home)?;
        for name in ["mcp-web", "mcp-web-stdio"] {
            let mut strip = Command::new("strip");
            strip.arg("-o").arg(home.join(name)).arg(built.join(name));
            capture(&mut strip, "install binutils")?;
        }
        Ok(Outcome::Done(()))
    })?;
    Ok(programs)
}

/// The tools that the packages are installed with.
struct PackageTools {
    /// The `node_modules` folder with a registry, a bundler and the checks of bundles.
    node: PathBuf,
    /// The `node_modules` folder with Claude Code.
    clients: PathBuf,
    /// The virtual environment with uv, pipx and twine.
    python: PathBuf,
    /// The folder with the programs of Debian's packages.
    debian: PathBuf,
    /// The folder with a system of Debian.
    system: PathBuf,
    chromium: Chromium,
}

impl PackageTools {
    fn ensure(workspace: &Workspace) -> Result<Self> {
        apt::ensure_program("curl")?;
        let debian = ensure_debian_programs(workspace)?;
        let requirements = "e2e/packages/requirements.txt";
        Ok(Self {
            node: node::install_pinned(workspace, "e2e/packages", "packages-node")?,
            clients: node::install_pinned(workspace, "e2e/clients/node", "clients-node")?,
            python: python::ensure_complete_environment(
                workspace,
                requirements,
                "packages-python",
            )?,
            system: ensure_debian_system(workspace, &debian)?,
            debian,
            chromium: Chromium::ensure()?,
        })
    }

    fn apply(&self, command: &mut Command) {
        command
            .env("MCP_WEB_PACKAGES_NODE_MODULES", &self.node)
            .env("MCP_WEB_CLIENTS_NODE_MODULES", &self.clients)
            .env("MCP_WEB_PACKAGES_PYTHON", &self.python)
            .env("MCP_WEB_PACKAGES_DEBIAN", &self.debian)
            .env("MCP_WEB_PACKAGES_SYSTEM", &self.system)
            .env("MCP_WEB_CHROMIUM", &self.chromium.browser);
    }
}

fn ensure_debian_programs(workspace: &Workspace) -> Result<PathBuf> {
    let home = workspace.tools().join("packages-debian");
    step("runc, systemd-nspawn, busybox and debootstrap", || {
        install::ensure(&home, &[PathBuf::from(apt::RELEASE)], || {
            apt::ensure_indexed(&DEBIAN_PROGRAMS)?;
            apt::unpack(&DEBIAN_PROGRAMS.map(str::to_owned).into(), &home)
        })
    })?;
    Ok(home)
}

/// Makes a small system of Debian with systemd, which a container starts.
fn ensure_debian_system(workspace: &Workspace, programs: &Path) -> Result<PathBuf> {
    let home = workspace.tools().join("packages-system");
    let system = home.join("debian");
    step("a system of Debian (250 MB)", || {
        install::ensure(&home, &[PathBuf::from(apt::RELEASE)], || {
            folder::remove(&system)?;
            folder::create(&home)?;
            let mut debootstrap = Command::new(programs.join("usr/sbin/debootstrap"));
            debootstrap
                .args(["--variant=minbase", "--include=procps,systemd,systemd-sysv"])
                .arg(debian_suite()?)
                .arg(&system)
                .env("DEBOOTSTRAP_DIR", programs.join("usr/share/debootstrap"));
            capture(
                &mut debootstrap,
                "run this as root, and check that Debian's mirrors can be reached",
            )?;
            Ok(())
        })
    })?;
    Ok(system)
}

/// Returns the name of the release that this machine has.
fn debian_suite() -> Result<String> {
    let release =
        fs::read_to_string(apt::RELEASE).with_context(|| format!("{} is missing", apt::RELEASE))?;
    let line = release.lines();
    let mut names = line.filter_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(names
        .next()
        .context("the tests of packages need Debian")?
        .trim_matches('"')
        .to_owned())
}
