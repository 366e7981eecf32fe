//! The pages that page tools are tested and measured with: `e2e/page-tools`, built into
//! `target/page-tools/pages`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::fingerprint::Fingerprint;
use crate::process::capture;
use crate::step::{Outcome, step};
use crate::{Workspace, folder, node};

/// The folder of the sources.
const SOURCES: &str = "e2e/page-tools";

/// Makes sure that the pages are those that the current sources describe, and returns their folder.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let program = node::ensure_node(workspace)?;
    node::install_pinned(workspace, SOURCES, "page-tools")?;
    let home = workspace.path("target/page-tools");
    let pages = home.join("pages");
    step("pages of e2e/page-tools", || {
        let stamp = home.join("stamp");
        let sources = fingerprint(workspace)?;
        if fs::read_to_string(&stamp).is_ok_and(|text| text == sources) {
            return Ok(Outcome::UpToDate(()));
        }
        folder::remove(&pages)?;
        folder::create(&home)?;
        let mut build = Command::new(program);
        build
            .arg(workspace.path(SOURCES).join("build.mjs"))
            .arg(&pages);
        capture(&mut build, "fix the errors in e2e/page-tools above")?;
        fs::write(&stamp, sources).with_context(|| format!("make {} writable", stamp.display()))?;
        Ok(Outcome::Done(()))
    })?;
    Ok(pages)
}

fn fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for name in [
        "apps",
        "build.mjs",
        "libraries",
        "package-lock.json",
        "packages.mjs",
        "pages",
    ] {
        fingerprint.add_path(&workspace.path(SOURCES).join(name))?;
    }
    Ok(fingerprint.finish())
}
