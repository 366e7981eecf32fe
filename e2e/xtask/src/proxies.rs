//! The proxies of `docs/deploy`, which only tests use.
//!
//! They are programs of Debian's packages that are unpacked and not installed: an installed package
//! starts its server, on the ports 80 and 443.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;

use crate::step::{Outcome, step};
use crate::{Workspace, apt, install};

/// The packages with the programs.
const PACKAGES: [&str; 3] = ["caddy", "haproxy", "nginx"];

/// Unpacks the packages, and the shared libraries that this system lacks, into
/// `target/tools/proxies`. On a system that is not Debian, the tests use the programs of the `PATH`.
pub(crate) fn ensure(workspace: &Workspace) -> Result<()> {
    let home = workspace.tools().join("proxies");
    step("the proxies of docs/deploy", || {
        if !apt::is_available() {
            return Ok(Outcome::UpToDate(()));
        }
        install::ensure(&home, &[PathBuf::from(apt::RELEASE)], || {
            apt::ensure_indexed(&PACKAGES)?;
            apt::unpack(&needed_packages()?, &home)
        })
    })
}

/// Returns the packages, and those of the shared libraries that are not installed on this system.
fn needed_packages() -> Result<BTreeSet<String>> {
    let installed = apt::installed()?;
    let mut needed = BTreeSet::from(PACKAGES.map(str::to_owned));
    for package in PACKAGES {
        let closure = apt::dependency_closure(package)?;
        let is_missing = |name: &String| name.starts_with("lib") && !installed.contains(name);
        needed.extend(closure.into_iter().filter(is_missing));
    }
    Ok(needed)
}
