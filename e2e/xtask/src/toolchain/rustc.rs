//! A compiler for a target, and how cargo uses it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fingerprint::Fingerprint;
use crate::process::try_capture;
use crate::{Workspace, apt};

/// The target that the SDK is compiled for.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A compiler with a standard library for a target.
#[derive(Debug, Clone)]
pub struct TargetRustc {
    /// The target, as Rust names it.
    pub(super) target: String,
    pub(super) program: PathBuf,
    /// The folder of the shared libraries that the compiler of a private toolchain loads.
    pub(super) shared_libraries: Option<PathBuf>,
}

impl TargetRustc {
    /// Returns the compiler that cargo uses by default, which may lack the target.
    pub(super) fn active(target: &str) -> Self {
        Self {
            target: target.to_owned(),
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
        let folder = match self.target.as_str() {
            WASM_TARGET => "target/wasm".to_owned(),
            other => format!("target/cross/{other}"),
        };
        workspace.path(&folder).join(&fingerprint.finish()[..12])
    }

    /// Returns the output of `rustc -vV`.
    fn version(&self) -> Option<String> {
        try_capture(self.command().arg("-vV"))
    }

    /// Returns the target that the compiler itself runs on.
    pub(super) fn host(&self) -> Option<String> {
        parse_field(&self.version()?, "host: ")
    }

    /// Returns the folder of the toolchain that the compiler belongs to.
    pub(super) fn sysroot(&self) -> Option<PathBuf> {
        let sysroot = try_capture(self.command().args(["--print", "sysroot"]))?;
        Some(sysroot.trim().into())
    }

    /// Returns whether the workspace compiles with it. A private toolchain that an earlier run
    /// built may be older than the workspace's `rust-version`.
    pub(super) fn is_new_enough(&self) -> bool {
        let release = self.release();
        let release = release.as_deref().and_then(apt::parse_major_minor);
        release.is_some_and(|release| release >= required_version())
    }

    /// Returns the version, such as `1.96.0`.
    pub(super) fn release(&self) -> Option<String> {
        parse_field(&self.version()?, "release: ")
    }

    /// Returns whether the standard library for the target is installed.
    pub(super) fn has_target(&self) -> bool {
        self.target_libraries()
            .is_some_and(|folder| find_core_library(&folder).is_some())
    }

    /// Returns the folder of the standard library for the target, which may not exist.
    fn target_libraries(&self) -> Option<PathBuf> {
        let mut print = self.command();
        print.args(["--print", "target-libdir", "--target", &self.target]);
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

/// Parses a line in the output of `rustc -vV`.
pub(crate) fn parse_field(version: &str, name: &str) -> Option<String> {
    let mut lines = version.lines();
    lines.find_map(|line| Some(line.strip_prefix(name)?.to_owned()))
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
    fn the_host_and_the_release_of_a_compiler_are_parsed() {
        let version = "rustc 1.96.0\nhost: aarch64-unknown-linux-gnu\nrelease: 1.96.0\n";
        let host = parse_field(version, "host: ");
        assert_eq!(host.as_deref(), Some("aarch64-unknown-linux-gnu"));
        assert_eq!(parse_field(version, "release: ").as_deref(), Some("1.96.0"));
        assert_eq!(parse_field("rustc 1.96.0", "release: "), None);
        assert!(required_version() >= (1, 95));
    }
}
