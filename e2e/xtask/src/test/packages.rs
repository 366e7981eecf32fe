//! The step `--packages`: the packages of a release, installed with the tools that people install them with.
//!
//! It wraps the programs of a development build without their debug information, because a release build
//! takes long and changes nothing about the packages. `MCP_WEB_PROGRAMS` is a folder with other ones, as
//! `cargo xtask release --programs` takes it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::runner::{self, SuiteRun};
use crate::chromium::Chromium;
use crate::process::{capture, cargo, run};
use crate::step::{Outcome, step};
use crate::{Workspace, apt, folder, install, node, python, release, sdk};

/// Debian's packages with programs that are unpacked and not installed.
const DEBIAN_PROGRAMS: [&str; 4] = ["busybox-static", "debootstrap", "runc", "systemd-container"];

/// Builds and wraps the programs, and runs the tests.
pub(super) fn run_tests(workspace: &Workspace, filter: Option<&str>) -> Result<SuiteRun> {
    let tools = PackageTools::ensure(workspace)?;
    let programs = match env::var_os("MCP_WEB_PROGRAMS") {
        Some(folder) => PathBuf::from(folder),
        None => build_programs(workspace)?,
    };
    let release = release::make(workspace, &release::Options::from_programs(programs))?;
    let mut test = cargo(workspace);
    test.args([
        "test",
        "--package",
        "xtask",
        "--test",
        "packages",
        "--locked",
        "--",
    ])
    .args(filter)
    // Each starts a registry or a browser.
    .env("RUST_TEST_THREADS", "2")
    .env("MCP_WEB_RELEASE", release);
    tools.apply(&mut test);
    Ok(runner::run_and_count(
        "packages",
        test,
        runner::Output::Live,
    ))
}

/// Builds the programs, and returns a folder with copies that have no debug information.
fn build_programs(workspace: &Workspace) -> Result<PathBuf> {
    sdk::ensure(workspace)?;
    let programs = workspace.path("target/packages/programs");
    let home = programs.join(release::host_target()?);
    step("the programs of a development build", || {
        let mut build = cargo(workspace);
        build.args(["build", "--locked"]);
        build.args(["--package", "mcp-web-cli", "--package", "client-stdio"]);
        build.args(["--bin", "mcp-web", "--bin", "mcp-web-stdio"]);
        run(&mut build, "fix the errors above")?;
        folder::remove(&programs)?;
        folder::create(&home)?;
        let built = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| workspace.path("target"), PathBuf::from)
            .join("debug");
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
fn ensure_debian_system(workspace: &Workspace, programs: &std::path::Path) -> Result<PathBuf> {
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
