//! A Rust compiler that can compile for `wasm32-unknown-unknown`.
//!
//! Three ways lead to one, tried in this order: the active toolchain has the target already; rustup
//! fetches it; on Debian, where rustup may not be allowed to fetch anything, a private toolchain is put
//! together from Debian's packages (the module `debian`).

mod debian;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::Workspace;
use crate::apt;
use crate::fingerprint::Fingerprint;
use crate::process::ask;
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
        debian::find().filter(WasmRustc::is_new_enough)
    }

    /// Finds a compiler, or gets one.
    ///
    /// # Errors
    ///
    /// When neither rustup nor Debian's packages lead to one; the message says what to run.
    pub fn ensure() -> Result<Self> {
        step("a Rust compiler for wasm32", || match Self::find() {
            Some(rustc) => Ok(Outcome::UpToDate(rustc)),
            None => get().map(Outcome::Done),
        })
    }

    /// Makes a cargo command use this compiler, and the target folder that belongs to it.
    pub fn apply(&self, workspace: &Workspace, cargo: &mut Command) {
        self.compile_with(cargo);
        cargo.env("CARGO_TARGET_DIR", self.target_folder(workspace));
    }

    fn compile_with(&self, cargo: &mut Command) {
        cargo.env("RUSTC", &self.program);
        self.find_libraries(cargo);
    }

    /// Cargo's target folder for this compiler with this standard library. Cargo cannot tell two
    /// builds of one version apart, and what one has compiled the other cannot read.
    pub fn target_folder(&self, workspace: &Workspace) -> PathBuf {
        let mut fingerprint = Fingerprint::default();
        fingerprint.text(&self.version().unwrap_or_default());
        if let Some(core) = self.target_libraries().and_then(|folder| core_of(&folder)) {
            fingerprint.text(&core.to_string_lossy());
            let made = fs::metadata(&core).and_then(|file| file.modified());
            fingerprint.text(&format!("{made:?}"));
        }
        workspace
            .path("target/wasm")
            .join(&fingerprint.finish()[..12])
    }

    /// What `rustc -vV` says.
    pub(crate) fn version(&self) -> Option<String> {
        ask(self.command().arg("-vV"))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.find_libraries(&mut command);
        command
    }

    fn find_libraries(&self, command: &mut Command) {
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
        let release = version.as_deref().and_then(release_in);
        release.is_some_and(|release| release >= needed())
    }

    fn has_target(&self) -> bool {
        self.target_libraries()
            .is_some_and(|folder| core_of(&folder).is_some())
    }

    /// The folder of the standard library for [`TARGET`], which may not exist.
    fn target_libraries(&self) -> Option<PathBuf> {
        let mut print = self.command();
        print.args(["--print", "target-libdir", "--target", TARGET]);
        ask(&mut print).map(|folder| folder.trim().into())
    }
}

/// The workspace's `rust-version`, major and minor.
fn needed() -> (u32, u32) {
    apt::major_minor(env!("CARGO_PKG_RUST_VERSION")).unwrap_or_default()
}

fn release_in(version: &str) -> Option<(u32, u32)> {
    let mut lines = version.lines();
    lines.find_map(|line| apt::major_minor(line.strip_prefix("release: ")?))
}

fn active_rustc() -> OsString {
    env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// The library `core` in a folder of libraries.
fn core_of(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    })
}

fn get() -> Result<WasmRustc> {
    if rustup_may_fetch() {
        println!("    rustup target add {TARGET}");
        ask(Command::new("rustup").args(["target", "add", TARGET]));
        if let Some(rustc) = WasmRustc::find() {
            return Ok(rustc);
        }
    }
    if !apt::is_here() {
        bail!(
            "this Rust cannot compile for the browser: run `rustup target add {TARGET}` and try again"
        );
    }
    debian::make()
}

/// `RUSTUP_AUTO_INSTALL=0` says that the user wants no toolchain downloads.
fn rustup_may_fetch() -> bool {
    env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_held_against_what_the_workspace_needs() {
        assert!(needed() >= (1, 95));
        let version = "rustc 1.85.0 (4d91de4e4 2025-02-17)\nhost: x\nrelease: 1.85.0\n";
        assert_eq!(release_in(version), Some((1, 85)));
        assert_eq!(release_in("rustc 1.85.0"), None);
    }
}
