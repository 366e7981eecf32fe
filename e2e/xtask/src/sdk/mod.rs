//! `cargo xtask sdk`: from the crate `web-sdk-wasm` to the files that a page loads.
//!
//! cargo compiles the crate, and the crate `page-tools` beside it, to wasm (`compile`), wasm-bindgen generates the JavaScript glue for it
//! (`bindgen`, with `strip_panics`, `keep_alive` and `mangle_names`), and npm's binaryen and esbuild shrink both
//! (`minify`). The module around them is written in TypeScript and is in `web-sdk/js`, with the
//! `package.json`; the compiler checks it and emits the types (`declarations`). Each run measures what a page downloads ([`size`]), which may not grow
//! unnoticed.
//!
//! Files in `target/sdk` are replaced one by one, and only when they differ (`files`): the bridge
//! embeds them, and cargo would rebuild it for nothing.

mod bindgen;
mod compile;
mod declarations;
mod entries;
mod files;
mod keep_alive;
mod mangle_names;
mod minify;
pub mod size;
mod strip_panics;
pub mod testing;
mod variant;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::step::{Outcome, step};
use crate::toolchain::{self, WASM_TARGET};
use crate::{Workspace, node};
use bindgen::WasmPart;
use compile::WasmCrate;
use entries::{ENTRIES, TESTING_ENTRIES};

pub use entries::BUNDLED_PACKAGES;
use files::Files;
use minify::Script;
use variant::{INLINE, NODE};

/// The module that has the wasm in it.
const INLINE_WASM: &str = "mcp-web-wasm.js";
/// The files of `web-sdk/js` that the package contains unchanged.
const PACKAGE_FILES: [&str; 4] = [
    "README.md",
    "mcp_web_core_bg.wasm.d.ts",
    "mcp_web_page_bg.wasm.d.ts",
    "package.json",
];

/// The crates that pages load: the connection with the bridge, and the rules of page tools.
const WASM: [(WasmCrate, WasmPart); 2] = [
    (
        WasmCrate {
            package: "web-sdk-wasm",
            profile: "release-wasm",
        },
        WasmPart {
            name: "mcp_web_core",
            is_kept_alive: true,
        },
    ),
    (
        WasmCrate {
            package: "page-tools",
            profile: "release-wasm",
        },
        WasmPart {
            name: "mcp_web_page",
            is_kept_alive: false,
        },
    ),
];

/// Makes sure that `target/sdk` contains the package: the SDK, and the test kit with its wasm.
///
/// # Errors
///
/// Returns an error if one of them cannot be built.
pub fn ensure_package(workspace: &Workspace) -> Result<()> {
    ensure(workspace)?;
    testing::ensure(workspace)
}

/// Makes sure that `target/sdk` contains the SDK that the current sources describe. The wasm of the
/// test kit may be missing.
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
    let (files, parts) = build(workspace)?;
    let sizes = size::Sizes::measure(&files, parts)?;
    print!("{sizes}");
    sizes.check()?;
    files::publish(&files, &workspace.sdk(), &testing::BUILT)?;
    let stamp_text = format!("{sources}\n{}\n{sizes}", output_fingerprint(workspace)?);
    fs::write(&stamp, stamp_text).with_context(|| format!("make {} writable", stamp.display()))
}

/// Returns the files, and the size of each source in the main module, in bytes.
fn build(workspace: &Workspace) -> Result<(Files, Vec<(String, usize)>)> {
    let rustc = toolchain::ensure(WASM_TARGET)?;
    let packages = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    let output = rustc.target_folder(workspace).join("sdk");
    let mut built_wasm = Vec::new();
    for (wasm_crate, part) in WASM {
        let wasm = step(&format!("compiling {} to wasm", wasm_crate.package), || {
            Ok(Outcome::Done(compile::to_wasm(
                workspace, &rustc, wasm_crate,
            )?))
        })?;
        built_wasm.push(step("wasm-bindgen", || {
            Ok(Outcome::Done(bindgen::generate_glue(
                &wasm, &output, &part,
            )?))
        })?);
    }
    let sources = workspace.path("web-sdk/js");
    let mut files = step("TypeScript", || {
        let project = workspace.path("web-sdk/tsconfig.json");
        let declarations = output.join("declarations");
        let files = declarations::emit(
            &packages,
            &project,
            &declarations,
            &[&ENTRIES[..], &TESTING_ENTRIES[..]].concat(),
        )?;
        Ok(Outcome::Done(files))
    })?;
    step("wasm-opt and esbuild", || {
        let built = output.join("built");
        let mut parts = Vec::new();
        for module in top_level_modules(&sources)? {
            let name = format!("{module}.js");
            let source = sources.join(format!("{module}.ts"));
            if source.ends_with(NODE.entry) {
                continue;
            }
            let mut script = minify::minify_script(&packages, &source, &name, &built)?;
            if module == ENTRIES[0] {
                parts = std::mem::take(&mut script.parts);
            }
            insert_script(&mut files, &module, script);
        }
        for module in TESTING_ENTRIES {
            let name = format!("{module}.js");
            let source = sources.join(format!("{module}.ts"));
            let script = minify::minify_script(&packages, &source, &name, &built)?;
            insert_script(&mut files, module, script);
        }
        let variants = output.join("variants");
        let script = NODE.bundle(&packages, &sources, &[], &variants)?;
        insert_script(&mut files, NODE.name, script);
        for [glue, wasm] in &built_wasm {
            // The source of the glue is in no package, so a source map of it would help no developer.
            let glue_script = minify::minify_script(&packages, &output.join(glue), glue, &built)?;
            files.insert(glue.clone(), without_map(&glue_script.code));
            let wasm_bytes = minify::optimize_wasm(&packages, &output.join(wasm))?;
            files.insert(wasm.clone(), wasm_bytes);
        }
        let [glue, wasm] = &built_wasm[0];
        let wasm_module = inline_module(&files[wasm]);
        let built_parts = [
            (glue.as_str(), files[glue].as_slice()),
            (INLINE_WASM, wasm_module.as_slice()),
        ];
        let script = INLINE.bundle(&packages, &sources, &built_parts, &variants)?;
        insert_script(&mut files, INLINE.name, script);
        let declaration = format!("export * from \"./{}.js\";\n", ENTRIES[0]);
        files.insert(format!("{}.d.ts", INLINE.name), declaration.into_bytes());
        files.insert(INLINE_WASM.into(), wasm_module);
        for name in PACKAGE_FILES {
            let path = sources.join(name);
            let content = fs::read(&path).with_context(|| format!("restore {}", path.display()))?;
            files.insert(name.into(), content);
        }
        files.insert("LICENSE".into(), fs::read(workspace.path("LICENSE"))?);
        Ok(Outcome::Done((files, parts)))
    })
}

fn insert_script(files: &mut Files, module: &str, script: Script) {
    files.insert(format!("{module}.js.map"), script.map);
    files.insert(format!("{module}.js"), script.code);
}

/// Removes the comment that names the source map, which is the last line.
fn without_map(script: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(script);
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("//# sourceMappingURL="));
    lines.collect::<Vec<_>>().join("\n").into_bytes()
}

/// Returns a module that exports the wasm as base64, for pages that cannot load the file.
fn inline_module(wasm: &[u8]) -> Vec<u8> {
    format!("export const wasm=\"{}\"", BASE64_STANDARD.encode(wasm)).into_bytes()
}

/// Returns the names of the modules that become files of the package. The subfolders of
/// `web-sdk/js` contain the modules that esbuild bundles into these.
fn top_level_modules(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("restore {}", folder.display()))?;
    let mut modules = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let module = name.strip_suffix(".ts");
        modules.extend(
            module
                .filter(|module| !module.ends_with(".d"))
                .map(str::to_owned),
        );
    }
    if !ENTRIES
        .iter()
        .all(|entry| modules.iter().any(|module| module == entry))
    {
        bail!(
            "restore {}: it must contain the modules that pages import",
            folder.display()
        );
    }
    Ok(modules)
}

/// Returns a fingerprint of everything that the SDK is built from.
fn source_fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for path in [
        "Cargo.toml",
        "Cargo.lock",
        "bridge/protocol/Cargo.toml",
        "bridge/protocol/src",
        "web-sdk/core/Cargo.toml",
        "web-sdk/core/src",
        "web-sdk/js",
        "web-sdk/page-tools/Cargo.toml",
        "web-sdk/page-tools/src",
        "web-sdk/package-lock.json",
        "web-sdk/package.json",
        "web-sdk/tsconfig.json",
        "web-sdk/wasm/Cargo.toml",
        "web-sdk/wasm/src",
        "LICENSE",
        "e2e/xtask/src/sdk",
    ] {
        fingerprint.add_path(&workspace.path(path))?;
    }
    Ok(fingerprint.finish())
}

fn output_fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    let folder = workspace.sdk();
    let mut paths = files::list(&folder).unwrap_or_default();
    paths.retain(|path| !testing::BUILT.contains(&files::relative_name(&folder, path).as_str()));
    paths.sort();
    for path in paths {
        fingerprint.add_text(&files::relative_name(&folder, &path));
        fingerprint.add_path(&path)?;
    }
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
