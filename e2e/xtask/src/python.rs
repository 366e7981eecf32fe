//! Python packages: virtual environments, each with the packages of one list.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{capture, try_capture};
use crate::step::step;
use crate::{Workspace, apt, folder, install};

/// The oldest Python that the newest of the packages support, as major and minor version.
const MIN_PYTHON: (u32, u32) = (3, 10);

/// Installs pinned packages into a virtual environment in `target/tools/NAME`, and returns that
/// folder.
///
/// `requirements` is the path of a file with a package and its version on each line.
pub(crate) fn ensure_environment(
    workspace: &Workspace,
    requirements: &str,
    name: &str,
) -> Result<PathBuf> {
    let list = workspace.path(requirements);
    let home = workspace.tools().join(name);
    ensure_with_options(&home, requirements, list, &[])?;
    Ok(home)
}

/// Fills the cache of `uvx`, a program of a virtual environment, in `target/tools/uvx-cache` with a
/// package and what it needs, so that `uvx` starts it without the package index.
pub(crate) fn ensure_uvx_cache(
    workspace: &Workspace,
    requirements: &str,
    environment: &Path,
    package: &str,
) -> Result<()> {
    let home = workspace.tools().join("uvx-cache");
    let programs = environment.join("bin");
    step(&format!("{package} for uvx"), || {
        install::ensure(&home, &[workspace.path(requirements)], || {
            folder::remove(&home)?;
            // The Python for which packages are cached is the first one on the `PATH`, as in the tests.
            let path = env::var("PATH").unwrap_or_default();
            let mut uvx = Command::new(programs.join("uvx"));
            uvx.args(["--system-certs", "--cache-dir"])
                .arg(&home)
                .args([package, "--help"])
                .env("PATH", format!("{}:{path}", programs.display()));
            capture(&mut uvx, "check that uv reaches its package index")?;
            Ok(())
        })
    })?;
    Ok(())
}

/// Installs packages as [`ensure_environment`] does, from a list that has all that they depend on.
pub(crate) fn ensure_complete_environment(
    workspace: &Workspace,
    requirements: &str,
    name: &str,
) -> Result<PathBuf> {
    let list = workspace.path(requirements);
    let home = workspace.tools().join(name);
    ensure_with_options(&home, requirements, list, &["--no-deps".into()])?;
    Ok(home)
}

fn ensure_with_options(
    home: &Path,
    requirements: &str,
    list: PathBuf,
    options: &[OsString],
) -> Result<()> {
    step(&format!("Python packages of {requirements}"), || {
        let mut arguments = options.to_vec();
        arguments.extend(["--requirement".into(), list.clone().into_os_string()]);
        install::ensure(home, &[list], || create_environment(home, &arguments))
    })?;
    Ok(())
}

/// Unpacks the source archive of a pinned package into `target/tools/NAME`, and returns the folder
/// that it contains. The package is not installed.
///
/// `requirements` is the path of a file with the package and its version.
pub(crate) fn ensure_source(
    workspace: &Workspace,
    requirements: &str,
    name: &str,
) -> Result<PathBuf> {
    let list = workspace.path(requirements);
    let home = workspace.tools().join(name);
    let source = home.join("source");
    step(&format!("source of {requirements}"), || {
        install::ensure(&home, std::slice::from_ref(&list), || {
            create_environment(&home.join("venv"), &["pip".into()])?;
            folder::remove(&source)?;
            download_source(&home, &list, &source)
        })
    })?;
    only_entry(&source)
}

fn download_source(home: &Path, list: &Path, source: &Path) -> Result<()> {
    let python = || Command::new(home.join("venv/bin/python"));
    let archives = home.join("archives");
    folder::remove(&archives)?;
    let mut download = python();
    download
        .args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--no-binary", ":all:"])
        .arg("--requirement")
        .arg(list)
        .arg("--dest")
        .arg(&archives);
    capture(&mut download, "check that pip reaches its package index")?;
    let mut unpack = python();
    unpack
        .args(["-m", "tarfile", "--extract"])
        .arg(only_entry(&archives)?)
        .arg(source);
    capture(&mut unpack, "check that the package has a source archive")?;
    Ok(())
}

/// The only file or folder in a folder.
fn only_entry(folder: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(folder)
        .with_context(|| format!("remove {} and try again", folder.display()))?;
    match (entries.next(), entries.next()) {
        (Some(entry), None) => Ok(entry?.path()),
        _ => bail!(
            "remove {} and try again: it must have one entry",
            folder.display()
        ),
    }
}

/// Creates a virtual environment from scratch and runs `pip install` in it with these arguments.
pub(crate) fn create_environment(home: &Path, pip_arguments: &[OsString]) -> Result<()> {
    folder::remove(home)?;
    let mut venv = Command::new(python_with_venv()?);
    venv.args(["-m", "venv"]).arg(home);
    capture(&mut venv, "install Python's venv, on Debian python3-venv")?;
    let mut pip = Command::new(home.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.args(pip_arguments);
    capture(&mut pip, "check that pip reaches its package index")?;
    Ok(())
}

/// Finds a Python that can create virtual environments: the one on the `PATH`, or Debian's, which
/// is installed if it is missing.
fn python_with_venv() -> Result<PathBuf> {
    let candidates = [PathBuf::from("python3"), PathBuf::from("/usr/bin/python3")];
    let usable = || candidates.iter().find(|python| is_usable(python)).cloned();
    if let Some(python) = usable() {
        return Ok(python);
    }
    if apt::is_available() {
        apt::install(&["python3", "python3-venv"])?;
    }
    match usable() {
        Some(python) => Ok(python),
        None => {
            let (major, minor) = MIN_PYTHON;
            bail!("install Python {major}.{minor} or later with its module venv and try again")
        }
    }
}

fn is_usable(python: &Path) -> bool {
    let script = "import sys, ensurepip, venv; print(*sys.version_info[:2], sep='.')";
    let version = try_capture(Command::new(python).args(["-c", script]));
    version
        .and_then(|version| apt::parse_major_minor(version.trim()))
        .is_some_and(|version| version >= MIN_PYTHON)
}
