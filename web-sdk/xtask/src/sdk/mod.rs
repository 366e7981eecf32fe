//! `cargo xtask sdk`: from the crate `web-sdk` to the files that a page loads.
//!
//! cargo compiles the crate to wasm (`compile`), wasm-bindgen generates the JavaScript glue for it
//! (`bindgen`, with `strip_panics` and `mangle_names`), and npm's binaryen and esbuild shrink both
//! (`minify`). The hand-written module around them, its types and its `package.json` are in
//! `web-sdk/js`. Each run measures what a page downloads ([`size`]), which must not exceed
//! [`size::MAX_BROTLI_BYTES`].
//!
//! Files in `target/sdk` are replaced one by one, and only when they differ (`files`): the bridge
//! embeds them, and cargo would rebuild it for nothing.

mod bindgen;
mod compile;
mod files;
mod mangle_names;
mod minify;
pub mod size;
mod strip_panics;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::step::{Outcome, step};
use crate::{Workspace, node, wasm_toolchain};
use files::Files;

/// The hand-written module that pages import.
const MAIN_MODULE: &str = "mcp-web.js";

/// Makes sure that `target/sdk` contains the SDK that the current sources describe.
///
/// # Errors
///
/// Returns an error if a tool is missing and cannot be installed, if the crate does not compile, or
/// if the files are too large.
pub fn ensure(workspace: &Workspace) -> Result<()> {
    let _lock = Lock::acquire(&workspace.path("target/sdk.lock"))?;
    let stamp = workspace.path("target/sdk.stamp");
    let sources = source_fingerprint(workspace)?;
    if let Some(report) = cached_report(&stamp, &sources, &output_fingerprint(workspace)?) {
        step("the web SDK", || Ok(Outcome::UpToDate(())))?;
        print!("{report}");
        return Ok(());
    }
    let files = build(workspace)?;
    let sizes = size::Sizes::measure(&files)?;
    print!("{sizes}");
    sizes.check()?;
    files::publish(&files, &workspace.sdk())?;
    let stamp_text = format!("{sources}\n{}\n{sizes}", output_fingerprint(workspace)?);
    fs::write(&stamp, stamp_text).with_context(|| format!("make {} writable", stamp.display()))
}

fn build(workspace: &Workspace) -> Result<Files> {
    let rustc = wasm_toolchain::ensure()?;
    let packages = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    let wasm = step("compiling web-sdk to wasm", || {
        Ok(Outcome::Done(compile::to_wasm(workspace, &rustc)?))
    })?;
    let glue_folder = rustc.target_folder(workspace).join("sdk");
    let glue = step("wasm-bindgen", || {
        Ok(Outcome::Done(bindgen::generate_glue(&wasm, &glue_folder)?))
    })?;
    let mut sources = hand_written_files(&workspace.path("web-sdk/js"))?;
    sources.extend(glue.map(|name| (name.clone(), glue_folder.join(name))));
    step("wasm-opt and esbuild", || {
        let files = sources
            .into_iter()
            .map(|(name, path)| Ok((name, minify::minify(&packages, &path)?)));
        Ok(Outcome::Done(files.collect::<Result<_>>()?))
    })
}

/// Returns the files in `web-sdk/js`, all of which go into the package. Its subfolders contain the
/// modules that esbuild bundles into the hand-written module.
fn hand_written_files(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("restore {}", folder.display()))?;
    let mut files = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.insert(entry.file_name().to_string_lossy().into(), entry.path());
        }
    }
    if !files.contains_key(MAIN_MODULE) {
        bail!(
            "restore {}: it is the module that pages import",
            folder.join(MAIN_MODULE).display()
        );
    }
    Ok(files)
}

/// Returns a fingerprint of everything that the SDK is built from.
fn source_fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for path in [
        "Cargo.toml",
        "Cargo.lock",
        "bridge/protocol/Cargo.toml",
        "bridge/protocol/src",
        "web-sdk/Cargo.toml",
        "web-sdk/js",
        "web-sdk/package-lock.json",
        "web-sdk/package.json",
        "web-sdk/src",
        "web-sdk/xtask/src/sdk",
    ] {
        fingerprint.add_path(&workspace.path(path))?;
    }
    Ok(fingerprint.finish())
}

fn output_fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add_path(&workspace.sdk())?;
    Ok(fingerprint.finish())
}

/// Returns the sizes that an earlier run printed, if it built the present files from the same
/// sources.
///
/// The stamp consists of a line with the sources' fingerprint, a line with the files', and the
/// sizes.
fn cached_report(stamp: &Path, sources: &str, outputs: &str) -> Option<String> {
    let text = fs::read_to_string(stamp).ok()?;
    let (stamped_sources, rest) = text.split_once('\n')?;
    let (stamped_outputs, report) = rest.split_once('\n')?;
    (stamped_sources == sources && stamped_outputs == outputs).then(|| report.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_valid_only_for_its_own_sources_and_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = folder.path().join("stamp");
        assert_eq!(cached_report(&stamp, "s", "o"), None);
        fs::write(&stamp, "s\no\nwasm 1 kB\nsum 1 kB\n").unwrap();
        assert_eq!(
            cached_report(&stamp, "s", "o").as_deref(),
            Some("wasm 1 kB\nsum 1 kB\n")
        );
        assert_eq!(cached_report(&stamp, "t", "o"), None);
        assert_eq!(cached_report(&stamp, "s", "p"), None);
    }
}
