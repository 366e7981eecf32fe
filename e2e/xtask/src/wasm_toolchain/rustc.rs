//! A compiler for wasm, and how cargo uses it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fingerprint::Fingerprint;
use crate::process::try_capture;
use crate::{Workspace, apt};

/// The target that the SDK is compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// A compiler with a standard library for [`TARGET`].
#[derive(Debug, Clone)]
pub struct WasmRustc {
    pub(super) program: PathBuf,
    /// The folder of the shared libraries that the compiler of a private toolchain loads.
    pub(super) shared_libraries: Option<PathBuf>,
}

impl WasmRustc {
    /// Returns the compiler that cargo uses by default, which may lack the target.
    pub(super) fn active() -> Self {
        Self {
            program: env::var_os("RUSTC")
                .unwrap_or_else(|| "rustc".into())
                .into(),
            shared_libraries: None,
        }
    }

    /// Makes a cargo command use this compiler and its own target folder.
    pub fn apply(&self, workspace: &Workspace, cargo: &mut Command) {
        self.set_compiler(cargo);
        cargo.env("CARGO_TARGET_DIR", self.target_folder(workspace));
    }

    /// Makes a cargo command use this compiler.
    pub(super) fn set_compiler(&self, cargo: &mut Command) {
        cargo.env("RUSTC", &self.program);
        self.set_library_path(cargo);
    }

    /// Returns cargo's target folder for this build of the compiler and its standard library.
    ///
    /// Each build needs its own folder: cargo cannot distinguish two builds of one version,
    /// and neither can read what the other has compiled.
    pub fn target_folder(&self, workspace: &Workspace) -> PathBuf {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add_text(&self.version().unwrap_or_default());
        if let Some(core) = self
            .target_libraries()
            .and_then(|folder| find_core_library(&folder))
        {
            fingerprint.add_text(&core.to_string_lossy());
            let modified = fs::metadata(&core).and_then(|file| file.modified());
            fingerprint.add_text(&format!("{modified:?}"));
        }
        workspace
            .path("target/wasm")
            .join(&fingerprint.finish()[..12])
    }

    /// Returns the output of `rustc -vV`.
    fn version(&self) -> Option<String> {
        try_capture(self.command().arg("-vV"))
    }

    /// Returns the target that the compiler itself runs on.
    pub(super) fn host(&self) -> Option<String> {
        parse_host(&self.version()?)
    }

    /// Returns the folder of the toolchain that the compiler belongs to.
    pub(super) fn sysroot(&self) -> Option<PathBuf> {
        let sysroot = try_capture(self.command().args(["--print", "sysroot"]))?;
        Some(sysroot.trim().into())
    }

    /// Returns whether the workspace compiles with it. A private toolchain that an earlier run
    /// built may be older than the workspace's `rust-version`.
    pub(super) fn is_new_enough(&self) -> bool {
        let version = self.version();
        let release = version.as_deref().and_then(parse_release);
        release.is_some_and(|release| release >= required_version())
    }

    /// Returns whether the standard library for [`TARGET`] is installed.
    pub(super) fn has_target(&self) -> bool {
        self.target_libraries()
            .is_some_and(|folder| find_core_library(&folder).is_some())
    }

    /// Returns the folder of the standard library for [`TARGET`], which may not exist.
    fn target_libraries(&self) -> Option<PathBuf> {
        let mut print = self.command();
        print.args(["--print", "target-libdir", "--target", TARGET]);
        try_capture(&mut print).map(|folder| folder.trim().into())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.set_library_path(&mut command);
        command
    }

    fn set_library_path(&self, command: &mut Command) {
        let Some(libraries) = &self.shared_libraries else {
            return;
        };
        let mut path = OsString::from(libraries);
        if let Some(inherited) = env::var_os("LD_LIBRARY_PATH") {
            path.push(":");
            path.push(inherited);
        }
        command.env("LD_LIBRARY_PATH", path);
    }
}

/// Returns the major and minor version of the workspace's `rust-version`.
pub(super) fn required_version() -> (u32, u32) {
    apt::parse_major_minor(env!("CARGO_PKG_RUST_VERSION")).unwrap_or_default()
}

fn parse_release(version: &str) -> Option<(u32, u32)> {
    let mut lines = version.lines();
    lines.find_map(|line| apt::parse_major_minor(line.strip_prefix("release: ")?))
}

fn parse_host(version: &str) -> Option<String> {
    let mut lines = version.lines();
    lines.find_map(|line| Some(line.strip_prefix("host: ")?.to_owned()))
}

/// Finds the library `core` in a folder of libraries.
fn find_core_library(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_parsed_and_compared_with_the_required_version() {
        assert!(required_version() >= (1, 95));
        let version = "rustc 1.85.0 (4d91de4e4 2025-02-17)\nhost: x\nrelease: 1.85.0\n";
        assert_eq!(parse_release(version), Some((1, 85)));
        assert_eq!(parse_release("rustc 1.85.0"), None);
    }

    #[test]
    fn the_host_of_a_compiler_is_parsed() {
        let version = "rustc 1.96.0\nbinary: rustc\nhost: aarch64-unknown-linux-gnu\n";
        assert_eq!(
            parse_host(version).as_deref(),
            Some("aarch64-unknown-linux-gnu")
        );
        assert_eq!(parse_host("rustc 1.96.0"), None);
    }
}
