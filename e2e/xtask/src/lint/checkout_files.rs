//! The files of the checkout.

use std::process::Command;

use anyhow::Result;

use crate::Workspace;
use crate::process::capture;

/// Returns the paths of all files that git tracks, or would add, relative to the root.
pub(super) fn checkout_files(workspace: &Workspace) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(workspace.root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let names = capture(&mut git, "run it in a checkout of git, with git installed")?;
    Ok(names
        .split_terminator('\0')
        .filter(|name| workspace.path(name).is_file())
        .map(str::to_owned)
        .collect())
}
