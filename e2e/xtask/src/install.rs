//! Installations that are repeated only when the files that describe them change, and programs that
//! cargo installs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::Workspace;
use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::process::{cargo, run};
use crate::step::{Outcome, step};

/// Runs `install` unless `home` contains what an earlier run installed from the same content of
/// `sources`.
///
/// A file `installed` in `home` records that content and the path of `home`, because programs of
/// Python have the path of their interpreter. Only one process installs at a time.
pub(crate) fn ensure(
    home: &Path,
    sources: &[PathBuf],
    install: impl FnOnce() -> Result<()>,
) -> Result<Outcome> {
    let _lock = Lock::acquire(&home.with_extension("lock"))?;
    let mut fingerprint = Fingerprint::default();
    for source in sources {
        fingerprint.add_path(source)?;
    }
    fingerprint.add_text(&home.to_string_lossy());
    let fingerprint = fingerprint.finish();
    let stamp = home.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == fingerprint) {
        return Ok(Outcome::UpToDate(()));
    }
    install()?;
    fs::write(&stamp, fingerprint)?;
    Ok(Outcome::Done(()))
}

/// Installs a program of the registry, given as `name@version`, and returns its path. Each version has
/// its own folder.
pub(crate) fn ensure_cargo_program(
    workspace: &Workspace,
    program: &str,
    features: &[&str],
) -> Result<PathBuf> {
    let name = program.split('@').next().unwrap_or(program);
    let home = workspace.tools().join(program);
    step(&format!("installing {program}"), || {
        ensure(&home, &[], || {
            let mut install = cargo(workspace);
            install
                .args(["install", "--locked", program, "--root"])
                .arg(&home)
                .args(features);
            run(&mut install, "check that cargo reaches its registry")
        })
    })?;
    Ok(home.join("bin").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_again_only_when_a_source_or_the_folder_changed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let source = folder.path().join("package.json");
        fs::write(&source, "1").unwrap();
        let is_done = |home: &Path| {
            let outcome = ensure(home, std::slice::from_ref(&source), || {
                Ok(fs::create_dir_all(home)?)
            });
            matches!(outcome.unwrap(), Outcome::Done(()))
        };
        assert!(is_done(&home));
        assert!(!is_done(&home));
        fs::write(&source, "2").unwrap();
        assert!(is_done(&home));
        let moved = folder.path().join("moved");
        fs::rename(&home, &moved).unwrap();
        assert!(is_done(&moved));
    }
}
