//! A private toolchain from Debian's packages, for machines where rustup fetches nothing.
//!
//! Debian's `rustc-web` has no standard library for wasm, but `rust-web-src` is that very compiler's
//! source, and a compiler can build its own standard library. (rustup's compiler cannot: its source is
//! another version's.) Nothing is installed and no root is needed: packages are downloaded, unpacked into
//! a folder of the user's cache, and the library is built there once. The linker is the `rust-lld` that
//! came with rustup's toolchain.
//!
//! The folder is made under another name and renamed when it is whole, under a lock.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{TARGET, WasmRustc, active_rustc, required_version};
use crate::apt;
use crate::lock::Lock;
use crate::process::{self, capture, run_piped, try_capture};

const COMPILER: &str = "rustc-web";
const SOURCE: &str = "rust-web-src";

/// A toolchain's folder, whole or still being made.
struct Toolchain {
    folder: PathBuf,
}

/// The private toolchain, if it was made before and is still whole.
pub(super) fn find() -> Option<WasmRustc> {
    let toolchain = Toolchain {
        folder: cache_folder().ok()?.join("toolchain"),
    };
    let rustc = toolchain.rustc();
    let linker_is_there = toolchain.linker(&host()?).exists();
    (linker_is_there && rustc.has_target()).then_some(rustc)
}

/// Makes the private toolchain. Takes about a minute and 130 MB of downloads.
pub(super) fn make() -> Result<WasmRustc> {
    let cache = cache_folder()?;
    let _lock = Lock::acquire(&cache.join("lock"))?;
    if let Some(rustc) = find().filter(WasmRustc::is_new_enough) {
        return Ok(rustc);
    }
    let fresh = Toolchain {
        folder: cache.join("unfinished"),
    };
    remove_folder(&fresh.folder)?;
    fs::create_dir_all(fresh.root())
        .with_context(|| format!("make {} writable", cache.display()))?;

    println!("    downloading {COMPILER} and {SOURCE} from Debian");
    fresh.unpack()?;
    fresh.link_linker()?;
    println!("    building Rust's standard library for {TARGET}");
    fresh.build_std()?;
    fresh.remove_unneeded_files()?;

    let whole = cache.join("toolchain");
    remove_folder(&whole)?;
    fs::rename(&fresh.folder, &whole)
        .with_context(|| format!("make {} writable", cache.display()))?;
    match find() {
        Some(rustc) => Ok(rustc),
        None => bail!(
            "the compiler from Debian's packages does not know {TARGET}: run `rustup target add {TARGET}` and try again"
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

    fn rustc(&self) -> WasmRustc {
        let libraries = self.usr(&format!("lib/{}-linux-gnu", env::consts::ARCH));
        WasmRustc {
            program: self.usr("bin/rustc"),
            libraries: Some(libraries),
        }
    }

    fn linker(&self, host: &str) -> PathBuf {
        self.usr(&format!("lib/rustlib/{host}/bin/rust-lld"))
    }

    fn unpack(&self) -> Result<()> {
        apt::ensure_known(&[COMPILER, SOURCE])?;
        apt::ensure_version_known(COMPILER, required_version())?;
        let mut packages = needed_packages(&apt::dependency_closure(COMPILER)?, &apt::installed()?);
        packages.insert(SOURCE.into());
        let downloads = self.folder.join("downloads");
        fs::create_dir(&downloads)?;
        apt::download(&packages, &downloads)?;
        for entry in fs::read_dir(&downloads)? {
            self.unpack_package(&entry?.path())?;
        }
        fs::remove_dir_all(&downloads)?;
        Ok(())
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

    /// Debian's compiler looks for `rust-lld` beside its own libraries.
    fn link_linker(&self) -> Result<()> {
        let host = self.host()?;
        let Some(linker) = rustup_linker() else {
            bail!(
                "no rust-lld beside the active Rust: install Rust with rustup, or run `rustup target add {TARGET}`"
            );
        };
        let link = self.linker(&host);
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder)?;
        }
        symlink(&linker, &link).with_context(|| format!("cannot link {}", link.display()))
    }

    fn host(&self) -> Result<String> {
        let version = self.rustc().version();
        match version.as_deref().and_then(host_in) {
            Some(host) => Ok(host),
            None => bail!(
                "the compiler unpacked from Debian's packages does not start: run `rustup target add {TARGET}` and try again"
            ),
        }
    }

    /// The versions and checksums of what std depends on come from the source's own lock file.
    fn build_std(&self) -> Result<()> {
        let library = self.library_source()?;
        let build = self.folder.join("build");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .current_dir(&library)
            .args([
                "build",
                "--quiet",
                "--locked",
                "--release",
                "--target",
                TARGET,
            ])
            .args(["--manifest-path", "sysroot/Cargo.toml"])
            // The source asks for features that only its own compiler may use.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", std_flags(&library))
            .env("CARGO_TARGET_DIR", &build)
            .env("CARGO_INCREMENTAL", "0");
        for inherited in [
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
        ] {
            cargo.env_remove(inherited);
        }
        self.rustc().set_compiler(&mut cargo);
        capture(
            &mut cargo,
            "check that cargo can reach its registry and try again",
        )?;
        let built = build.join(TARGET).join("release/deps");
        let libraries = self.usr(&format!("lib/rustlib/{TARGET}/lib"));
        copy_rlibs(&built, &libraries)
    }

    fn library_source(&self) -> Result<PathBuf> {
        let sources = fs::read_dir(self.usr("src")).context("rust-web-src has no source in it")?;
        for entry in sources {
            let library = entry?.path().join("library");
            if library.join("sysroot/Cargo.toml").exists() {
                return Ok(library);
            }
        }
        bail!(
            "Debian's {SOURCE} is laid out in a new way: run `rustup target add {TARGET}` and try again"
        )
    }

    fn remove_unneeded_files(&self) -> Result<()> {
        remove_folder(&self.folder.join("build"))?;
        remove_folder(&self.usr("src"))?;
        remove_folder(&self.usr("lib/rustlib/src"))
    }
}

/// The compiler, its own libraries, and those shared libraries of the rest that this system lacks.
fn needed_packages(closure: &BTreeSet<String>, installed: &BTreeSet<String>) -> BTreeSet<String> {
    closure
        .iter()
        .filter(|name| {
            let own = *name == COMPILER || name.starts_with("libstd-rust-web");
            let shared_library = name.starts_with("lib") && !name.ends_with("-dev");
            own || (shared_library && !installed.contains(*name))
        })
        .cloned()
        .collect()
}

/// Paths of this machine have no place in a library that ends up in pages.
fn std_flags(library: &Path) -> String {
    format!(
        "-Zforce-unstable-if-unmarked -Cembed-bitcode=yes --remap-path-prefix={}=/rustc/library {}",
        library.display(),
        process::without_registry_path()
    )
}

fn copy_rlibs(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let (Some("rlib"), Some(name)) = (
            path.extension().and_then(|extension| extension.to_str()),
            path.file_name(),
        ) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

fn rustup_linker() -> Option<PathBuf> {
    let sysroot = try_capture(Command::new(active_rustc()).args(["--print", "sysroot"]))?;
    let linker = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host()?)
        .join("bin/rust-lld");
    linker.exists().then_some(linker)
}

/// The host of the active compiler; Debian's has the same name for it.
fn host() -> Option<String> {
    host_in(&try_capture(Command::new(active_rustc()).arg("-vV"))?)
}

fn host_in(version: &str) -> Option<String> {
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
}

fn cache_folder() -> Result<PathBuf> {
    let base = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => bail!("set HOME, so that there is a place for the private wasm toolchain"),
    };
    Ok(base.join("mcp-web/wasm-rustc"))
}

fn remove_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("remove {} by hand and try again", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn unpacks_the_compiler_and_the_shared_libraries_that_are_missing() {
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

    #[test]
    fn parses_the_host_of_a_compiler() {
        let version = "rustc 1.96.0\nbinary: rustc\nhost: aarch64-unknown-linux-gnu\n";
        assert_eq!(
            host_in(version).as_deref(),
            Some("aarch64-unknown-linux-gnu")
        );
        assert_eq!(host_in("rustc 1.96.0"), None);
    }
}
