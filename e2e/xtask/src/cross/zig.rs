//! The compiler of C and the linker for all systems.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process::cargo_program;
use crate::{Workspace, python};

/// `zig`, and the command with which cargo uses it.
pub(super) struct Zig {
    /// The virtual environment that has both.
    home: PathBuf,
}

impl Zig {
    pub(super) fn ensure(workspace: &Workspace) -> Result<Self> {
        let requirements = "e2e/cross/requirements.txt";
        let home = python::ensure_complete_environment(workspace, requirements, "cross-python")?;
        Ok(Self { home })
    }

    /// Returns the compiler of C for a target, as zig names it.
    pub(super) fn compiler(&self, target: &str) -> Command {
        let mut command = Command::new(self.home.join("bin/python"));
        command.args(["-m", "ziglang", "cc", "-target", target]);
        self.set_cache(&mut command);
        command
    }

    /// Returns a command of cargo with this compiler and linker.
    pub(super) fn cargo(&self, workspace: &Workspace, subcommand: &str) -> Command {
        let programs = self.home.join("bin");
        let mut command = cargo_program(&programs.join("cargo-zigbuild"), workspace);
        command
            .arg(subcommand)
            .env("PATH", path_with(&programs))
            .env("CARGO_ZIGBUILD_CACHE_DIR", self.home.join("cache"));
        self.set_cache(&mut command);
        command
    }

    fn set_cache(&self, command: &mut Command) {
        command.env("ZIG_GLOBAL_CACHE_DIR", self.home.join("cache/zig"));
    }
}

/// Returns the `PATH` with a folder before all others.
fn path_with(folder: &Path) -> String {
    let path = env::var("PATH").unwrap_or_default();
    format!("{}:{path}", folder.display())
}
