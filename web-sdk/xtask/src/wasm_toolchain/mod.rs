//! A Rust compiler that can compile for `wasm32-unknown-unknown`.
//!
//! Three ways lead to one, tried in this order: the active toolchain has the target already; rustup
//! fetches it; on Debian, where rustup may not be allowed to fetch anything, a private toolchain is put
//! together from Debian's packages (the module `debian`).

mod debian_bootstrap;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::Workspace;
use crate::apt;
use crate::fingerprint::Fingerprint;
use crate::process::try_capture;
use crate::step::{Outcome, step};

/// The target of the SDK.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// A compiler with a standard library for [`TARGET`].
#[derive(Debug, Clone)]
pub struct WasmRustc {
    program: PathBuf,
    /// Where a private toolchain keeps the shared libraries that its compiler loads.
    libraries: Option<PathBuf>,
}

impl WasmRustc {
    /// The compiler that earlier work left here, if any. Changes nothing.
    pub fn find() -> Option<Self> {
        let active = Self {
            program: active_rustc().into(),
            libraries: None,
        };
        if active.has_target() {
            return Some(active);
        }
        debian_bootstrap::find().filter(WasmRustc::is_new_enough)
    }

    /// Finds a compiler, or gets one.
    ///
    /// # Errors
    ///
    /// When neither rustup nor Debian's packages lead to one; the message says what to run.
    pub fn ensure() -> Result<Self> {
        step("a Rust compiler for wasm32", || match Self::find() {
            Some(rustc) => Ok(Outcome::UpToDate(rustc)),
            None => install().map(Outcome::Done),
        })
    }

    /// Makes a cargo command use this compiler, and the target folder that belongs to it.
    pub fn apply(&self, workspace: &Workspace, cargo: &mut Command) {
        self.set_compiler(cargo);
        cargo.env("CARGO_TARGET_DIR", self.target_folder(workspace));
    }

    fn set_compiler(&self, cargo: &mut Command) {
        cargo.env("RUSTC", &self.program);
        self.set_library_path(cargo);
    }

    /// Cargo's target folder for this compiler with this standard library. Cargo cannot tell two
    /// builds of one version apart, and what one has compiled the other cannot read.
    pub fn target_folder(&self, workspace: &Workspace) -> PathBuf {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_text(&self.version().unwrap_or_default());
        if let Some(core) = self
            .target_libraries()
            .and_then(|folder| find_core_library(&folder))
        {
            fingerprint.add_text(&core.to_string_lossy());
            let made = fs::metadata(&core).and_then(|file| file.modified());
            fingerprint.add_text(&format!("{made:?}"));
        }
        workspace
            .path("target/wasm")
            .join(&fingerprint.finish()[..12])
    }

    /// What `rustc -vV` says.
    pub(crate) fn version(&self) -> Option<String> {
        try_capture(self.command().arg("-vV"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.set_library_path(&mut command);
        command
    }

    fn set_library_path(&self, command: &mut Command) {
        let Some(libraries) = &self.libraries else {
            return;
        };
        let mut path = OsString::from(libraries);
        if let Some(inherited) = env::var_os("LD_LIBRARY_PATH") {
            path.push(":");
            path.push(inherited);
        }
        command.env("LD_LIBRARY_PATH", path);
    }

    /// One that an earlier run put together may be older than what the workspace has come to need.
    fn is_new_enough(&self) -> bool {
        let version = self.version();
        let release = version.as_deref().and_then(parse_release);
        release.is_some_and(|release| release >= required_version())
    }

    fn has_target(&self) -> bool {
        self.target_libraries()
            .is_some_and(|folder| find_core_library(&folder).is_some())
    }

    /// The folder of the standard library for [`TARGET`], which may not exist.
    fn target_libraries(&self) -> Option<PathBuf> {
        let mut print = self.command();
        print.args(["--print", "target-libdir", "--target", TARGET]);
        try_capture(&mut print).map(|folder| folder.trim().into())
    }
}

/// The workspace's `rust-version`, major and minor.
fn required_version() -> (u32, u32) {
    apt::major_minor(env!("CARGO_PKG_RUST_VERSION")).unwrap_or_default()
}

fn parse_release(version: &str) -> Option<(u32, u32)> {
    let mut lines = version.lines();
    lines.find_map(|line| apt::major_minor(line.strip_prefix("release: ")?))
}

fn active_rustc() -> OsString {
    env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// The library `core` in a folder of libraries.
fn find_core_library(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    })
}

fn install() -> Result<WasmRustc> {
    if may_use_rustup() {
        println!("    rustup target add {TARGET}");
        try_capture(Command::new("rustup").args(["target", "add", TARGET]));
        if let Some(rustc) = WasmRustc::find() {
            return Ok(rustc);
        }
    }
    if !apt::is_available() {
        bail!(
            "this Rust cannot compile for the browser: run `rustup target add {TARGET}` and try again"
        );
    }
    debian_bootstrap::make()
}

/// `RUSTUP_AUTO_INSTALL=0` says that the user wants no toolchain downloads.
fn may_use_rustup() -> bool {
    env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiler_versions_are_compared_with_the_required_one() {
        assert!(required_version() >= (1, 95));
        let version = "rustc 1.85.0 (4d91de4e4 2025-02-17)\nhost: x\nrelease: 1.85.0\n";
        assert_eq!(parse_release(version), Some((1, 85)));
        assert_eq!(parse_release("rustc 1.85.0"), None);
    }
}
