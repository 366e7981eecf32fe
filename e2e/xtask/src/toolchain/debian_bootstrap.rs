//! A private toolchain from Debian's packages, for machines where rustup downloads nothing.
//!
//! Debian's `rustc-web` has a standard library for this machine only, but `rust-web-src` is the source of
//! that very compiler, and a compiler can build its own standard library. (rustup's compiler cannot: the
//! source is another version's.) Nothing is installed and root is not needed: the packages are
//! downloaded and unpacked into a folder of the user's cache, and the library is built there once for each
//! target. The linker for wasm is the `rust-lld` of rustup's toolchain.
//!
//! The folder of the compiler and those of libraries are made under a temporary name and renamed when they
//! are complete, while a lock is held.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::rustc::{TargetRustc, required_version};
use crate::lock::Lock;
use crate::process::{self, capture, run_piped};
use crate::{apt, folder};

const COMPILER: &str = "rustc-web";
const SOURCE: &str = "rust-web-src";

/// The folder of a toolchain, complete or still being built.
struct Toolchain {
    folder: PathBuf,
}

/// Finds the private toolchain, if an earlier run built it with this target and it is still complete.
pub(super) fn find(target: &str) -> Option<TargetRustc> {
    let toolchain = Toolchain {
        folder: cache_folder().ok()?.join("toolchain"),
    };
    let rustc = toolchain.rustc(target);
    // Debian's compiler has the same name for the host as the active one.
    let host = TargetRustc::active(target).host()?;
    (toolchain.linker(&host).exists() && rustc.has_target()).then_some(rustc)
}

/// Builds the private toolchain, or adds the target to the one that an earlier run built. Takes one to two
/// minutes and downloads 130 MB, or 45 MB for another target.
pub(super) fn build(target: &str) -> Result<TargetRustc> {
    let cache = cache_folder()?;
    let _lock = Lock::acquire(&cache.join("lock"))?;
    if let Some(rustc) = find(target).filter(TargetRustc::is_new_enough) {
        return Ok(rustc);
    }
    let finished = Toolchain {
        folder: cache.join("toolchain"),
    };
    let unfinished = Toolchain {
        folder: cache.join("unfinished"),
    };
    folder::remove(&unfinished.folder)?;
    folder::create(&unfinished.root())?;

    println!("    downloading {SOURCE} from Debian");
    apt::ensure_indexed(&[COMPILER, SOURCE])?;
    apt::ensure_version_indexed(COMPILER, required_version())?;
    unfinished.unpack([SOURCE.to_owned()].into())?;
    let library = unfinished.library_source(target)?;
    let is_new = !finished.has_source(&library, target);
    let toolchain = if is_new { &unfinished } else { &finished };
    if is_new {
        println!("    downloading {COMPILER} from Debian");
        let closure = apt::dependency_closure(COMPILER)?;
        unfinished.unpack(needed_packages(&closure, &apt::installed()?))?;
        unfinished.link_linker(target)?;
    }
    println!("    building Rust's standard library for {target}");
    toolchain.build_std(&library, &unfinished.folder.join("build"), target)?;
    if is_new {
        unfinished.remove_unneeded_files()?;
        folder::remove(&finished.folder)?;
        fs::rename(&unfinished.folder, &finished.folder)
            .with_context(|| format!("make {} writable", cache.display()))?;
    } else {
        folder::remove(&unfinished.folder)?;
    }
    match find(target) {
        Some(rustc) => Ok(rustc),
        None => bail!(
            "the compiler from Debian's packages does not know {target}: run `rustup target add {target}` and try again"
        ),
    }
}

impl Toolchain {
    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn usr(&self, relative: &str) -> PathBuf {
        self.root().join("usr").join(relative)
    }

    fn rustc(&self, target: &str) -> TargetRustc {
        let libraries = self.usr(&format!("lib/{}-linux-gnu", env::consts::ARCH));
        TargetRustc {
            target: target.to_owned(),
            program: self.usr("bin/rustc"),
            shared_libraries: Some(libraries),
        }
    }

    fn linker(&self, host: &str) -> PathBuf {
        self.usr(&format!("lib/rustlib/{host}/bin/rust-lld"))
    }

    /// Returns whether this is the source of the compiler, which is of an earlier version after an update of
    /// Debian's packages.
    fn has_source(&self, library: &Path, target: &str) -> bool {
        let release = self.rustc(target).release();
        let name = library.parent().and_then(Path::file_name);
        release.is_some_and(|release| name == Some(format!("rustc-{release}").as_ref()))
    }

    fn unpack(&self, packages: BTreeSet<String>) -> Result<()> {
        let downloads = self.folder.join("downloads");
        fs::create_dir(&downloads)?;
        apt::download(&packages, &downloads)?;
        for entry in fs::read_dir(&downloads)? {
            self.unpack_package(&entry?.path())?;
        }
        folder::remove(&downloads)
    }

    fn unpack_package(&self, package: &Path) -> Result<()> {
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--directory").arg(self.root());
        let is_source = package
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(SOURCE));
        if is_source {
            tar.args(["--wildcards", "./usr/src/rustc-*/library/*"]);
        } else {
            tar.args(["--exclude=./usr/share/*", "--exclude=./usr/libexec/*"]);
        }
        run_piped(
            Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package),
            &mut tar,
            "free some disk space and try again",
        )
    }

    /// Links rustup's `rust-lld` to the path where Debian's compiler looks for it, next to its
    /// libraries.
    fn link_linker(&self, target: &str) -> Result<()> {
        let Some(host) = self.rustc(target).host() else {
            bail!(
                "the compiler unpacked from Debian's packages does not start: run `rustup target add {target}` and try again"
            );
        };
        let Some(linker) = rustup_linker(target) else {
            bail!(
                "no rust-lld beside the active Rust: install Rust with rustup, or run `rustup target add {target}`"
            );
        };
        let link = self.linker(&host);
        if let Some(parent) = link.parent() {
            folder::create(parent)?;
        }
        symlink(&linker, &link).with_context(|| format!("cannot link {}", link.display()))
    }

    /// Builds the standard library with the dependencies in the source's own lock file.
    fn build_std(&self, library: &Path, build: &Path, target: &str) -> Result<()> {
        without_shared_library(library)?;
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .current_dir(library)
            .args([
                "build",
                "--quiet",
                "--locked",
                "--release",
                "--target",
                target,
            ])
            .args(["--manifest-path", "sysroot/Cargo.toml"])
            // The source uses features that only its own compiler may use.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", std_flags(library))
            .env("CARGO_TARGET_DIR", build)
            .env("CARGO_INCREMENTAL", "0");
        for inherited in [
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
        ] {
            cargo.env_remove(inherited);
        }
        self.rustc(target).set_compiler(&mut cargo);
        capture(
            &mut cargo,
            "check that cargo can reach its registry and try again",
        )?;
        let compiled = build.join(target).join("release/deps");
        let home = self.usr(&format!("lib/rustlib/{target}"));
        let unfinished = home.join("unfinished");
        folder::remove(&unfinished)?;
        copy_rlibs(&compiled, &unfinished)?;
        let finished = home.join("lib");
        folder::remove(&finished)?;
        fs::rename(&unfinished, &finished)
            .with_context(|| format!("make {} writable", home.display()))
    }

    fn library_source(&self, target: &str) -> Result<PathBuf> {
        let sources =
            fs::read_dir(self.usr("src")).with_context(|| format!("{SOURCE} has no source"))?;
        for entry in sources {
            let library = entry?.path().join("library");
            if library.join("sysroot/Cargo.toml").exists() {
                return Ok(library);
            }
        }
        bail!("Debian's {SOURCE} has a new layout: run `rustup target add {target}` and try again")
    }

    fn remove_unneeded_files(&self) -> Result<()> {
        folder::remove(&self.folder.join("build"))?;
        folder::remove(&self.usr("src"))?;
        folder::remove(&self.usr("lib/rustlib/src"))
    }
}

/// Returns the packages to unpack: the compiler, its own libraries, and those of the other shared
/// libraries that are not installed on this system.
fn needed_packages(closure: &BTreeSet<String>, installed: &BTreeSet<String>) -> BTreeSet<String> {
    closure
        .iter()
        .filter(|name| {
            let is_own = *name == COMPILER || name.starts_with("libstd-rust-web");
            let is_shared_library = name.starts_with("lib") && !name.ends_with("-dev");
            is_own || (is_shared_library && !installed.contains(*name))
        })
        .cloned()
        .collect()
}

/// Removes the shared library from the kinds of library that are built: it would be linked, for which most
/// targets need a linker.
fn without_shared_library(library: &Path) -> Result<()> {
    let manifest = library.join("std/Cargo.toml");
    let text = fs::read_to_string(&manifest)
        .with_context(|| format!("{} is missing", manifest.display()))?;
    Ok(fs::write(&manifest, text.replace("\"dylib\", ", ""))?)
}

/// Returns the flags for the standard library. They remove the paths of this machine, because the
/// library becomes part of what pages download.
fn std_flags(library: &Path) -> String {
    format!(
        "-Zforce-unstable-if-unmarked -Cembed-bitcode=yes --remap-path-prefix={}=/rustc/library {}",
        library.display(),
        process::without_registry_path()
    )
}

fn copy_rlibs(from: &Path, to: &Path) -> Result<()> {
    folder::create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let path = entry.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "rlib")
        {
            fs::copy(&path, to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn rustup_linker(target: &str) -> Option<PathBuf> {
    let active = TargetRustc::active(target);
    let linker = active
        .sysroot()?
        .join("lib/rustlib")
        .join(active.host()?)
        .join("bin/rust-lld");
    linker.exists().then_some(linker)
}

fn cache_folder() -> Result<PathBuf> {
    let base = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => bail!("set HOME: the private toolchain goes into its folder .cache"),
    };
    Ok(base.join("mcp-web/wasm-rustc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_the_compiler_and_missing_shared_libraries_are_needed() {
        let closure = names(&[
            "binutils",
            "gcc-12",
            "libc6",
            "libc6-dev",
            "libllvm22",
            "libstd-rust-web-1.96",
            "libstd-rust-web-dev",
            "libz3-4",
            "rustc-web",
        ]);
        let installed = names(&["libc6", "libz3-4", "gcc-12"]);
        assert_eq!(
            needed_packages(&closure, &installed),
            names(&[
                "libllvm22",
                "libstd-rust-web-1.96",
                "libstd-rust-web-dev",
                "rustc-web"
            ])
        );
    }
}
