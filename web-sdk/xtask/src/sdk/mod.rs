//! `cargo xtask sdk`: from the crate `web-sdk` to the files that a page loads.
//!
//! cargo compiles the crate to wasm ([`compile`]), wasm-bindgen writes the JavaScript glue for it
//! ([`bindgen`], [`names`]), npm's binaryen and esbuild shrink the two ([`shrink`]), and the hand-written module
//! around them, its types and its `package.json` come from `web-sdk/js`. What a page downloads is measured
//! each time ([`size`]) and must stay under [`size::LIMIT`].
//!
//! Files in `target/sdk` are replaced one by one and only when they differ: the bridge embeds them, and
//! would be built again for nothing.

mod bindgen;
mod compile;
mod mangle_names;
mod minify;
pub mod size;
mod strip_panics;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::Workspace;
use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::node;
use crate::step::{Outcome, step};
use crate::wasm_toolchain::WasmRustc;

/// What the glue and the wasm are called: `mcp_web_core.js` and `mcp_web_core_bg.wasm`.
const CORE_NAME: &str = "mcp_web_core";
/// The hand-written module that pages import.
const MAIN_MODULE: &str = "mcp-web.js";

/// The files of the built SDK, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Makes sure that `target/sdk` holds the SDK that the sources describe.
///
/// # Errors
///
/// When a tool is missing and cannot be installed, the crate does not compile, or the result is too big.
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
    publish(&files, &workspace.sdk())?;
    let made = format!("{sources}\n{}\n{sizes}", output_fingerprint(workspace)?);
    fs::write(&stamp, made).with_context(|| format!("make {} writable", stamp.display()))
}

fn build(workspace: &Workspace) -> Result<Files> {
    let rustc = WasmRustc::ensure()?;
    let packages = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    let wasm = step("compiling web-sdk to wasm", || {
        Ok(Outcome::Done(compile::to_wasm(workspace, &rustc)?))
    })?;
    let glue = rustc.target_folder(workspace).join("sdk");
    step("wasm-bindgen", || {
        Ok(Outcome::Done(bindgen::glue(&wasm, &glue)?))
    })?;
    let mut files = hand_written(&workspace.path("web-sdk/js"))?;
    for name in [format!("{CORE_NAME}.js"), format!("{CORE_NAME}_bg.wasm")] {
        files.insert(name.clone(), glue.join(name));
    }
    step("wasm-opt and esbuild", || {
        let small = files.into_iter().map(|(name, path)| {
            let content = minify::minify(&packages, &path)?;
            Ok((name, content))
        });
        Ok(Outcome::Done(small.collect::<Result<_>>()?))
    })
}

/// The files in `web-sdk/js`: all of them go into the package. Folders there hold the modules that the
/// hand-written module is made of.
fn hand_written(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
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

/// A fingerprint of all that decides what the SDK looks like.
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

/// The sizes printed by the run that made what is there now, if that run had the same sources.
fn cached_report(stamp: &Path, sources: &str, outputs: &str) -> Option<String> {
    let text = fs::read_to_string(stamp).ok()?;
    let (made_from, rest) = text.split_once('\n')?;
    let (made, report) = rest.split_once('\n')?;
    (made_from == sources && made == outputs).then(|| report.to_owned())
}

fn publish(files: &Files, folder: &Path) -> Result<()> {
    let advice = || format!("make {} writable", folder.display());
    fs::create_dir_all(folder).with_context(advice)?;
    for entry in fs::read_dir(folder).with_context(advice)? {
        let entry = entry?;
        if !files.contains_key(entry.file_name().to_string_lossy().as_ref()) {
            fs::remove_file(entry.path()).with_context(advice)?;
        }
    }
    for (name, content) in files {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|present| present == *content) {
            continue;
        }
        let unfinished = folder.join(format!(".{name}"));
        fs::write(&unfinished, content).with_context(advice)?;
        fs::rename(&unfinished, &path).with_context(advice)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishing_again_touches_only_what_differs() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::from([
            ("a.js".into(), b"a".to_vec()),
            ("b.js".into(), b"b".to_vec()),
        ]);
        publish(&files, folder.path()).unwrap();
        let written = |name: &str| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .modified()
                .unwrap()
        };
        let before = written("a.js");
        files.insert("c.js".into(), b"c".to_vec());
        files.remove("b.js");
        publish(&files, folder.path()).unwrap();
        assert_eq!(before, written("a.js"));
        assert!(!folder.path().join("b.js").exists());
        assert_eq!(fs::read(folder.path().join("c.js")).unwrap(), b"c");
    }

    #[test]
    fn a_stamp_counts_only_for_its_own_sources_and_outputs() {
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
