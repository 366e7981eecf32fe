//! Python packages, pinned by a list, each list in a virtual environment of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::process::{capture, try_capture};
use crate::step::{Outcome, step};
use crate::{Workspace, apt};

/// What the newest of the packages ask for.
const OLDEST_PYTHON: (u32, u32) = (3, 10);

/// Installs what the `requirements` say into `target/tools/NAME`. Returns that folder.
///
/// `requirements`: the path of a file with a package and its version on each line.
pub(crate) fn ensure_environment(
    workspace: &Workspace,
    requirements: &str,
    name: &str,
) -> Result<PathBuf> {
    let list = workspace.path(requirements);
    let home = workspace.tools().join(name);
    step(&format!("Python packages of {requirements}"), || {
        let _lock = Lock::acquire(&home.with_extension("lock"))?;
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_path(&list)?;
        let wanted = fingerprint.finish();
        let stamp = home.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(Outcome::UpToDate(home.clone()));
        }
        let requirements = ["--requirement".into(), list.clone().into_os_string()];
        create_environment(&home, &requirements)?;
        fs::write(&stamp, wanted)?;
        Ok(Outcome::Done(home.clone()))
    })
}

/// Makes a virtual environment with these arguments for `pip install`.
pub(crate) fn create_environment(home: &Path, requirements: &[std::ffi::OsString]) -> Result<()> {
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    let python = python_with_venv()?;
    let mut venv = Command::new(&python);
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
    pip.args(requirements);
    capture(&mut pip, "check that pip reaches its package index")?;
    Ok(())
}

/// A Python that makes virtual environments: the one on the `PATH`, or Debian's, installed where
/// missing.
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
        None => bail!(
            "install Python {}.{} or later with its module venv and try again",
            OLDEST_PYTHON.0,
            OLDEST_PYTHON.1
        ),
    }
}

fn is_usable(python: &Path) -> bool {
    let version = "import sys, ensurepip, venv; print(*sys.version_info[:2], sep='.')";
    let version = try_capture(Command::new(python).args(["-c", version]));
    version
        .and_then(|version| apt::major_minor(version.trim()))
        .is_some_and(|version| version >= OLDEST_PYTHON)
}
