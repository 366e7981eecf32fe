//! Minifies the wasm and the JavaScript of the SDK.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::capture;

/// Returns the wasm after `wasm-opt -Oz`.
pub(super) fn optimize_wasm(packages: &Path, wasm: &Path) -> Result<Vec<u8>> {
    let options = [
        "--merge-similar-functions",
        "-Oz",
        "--converge",
        // A larger function with one caller is not inlined, and the functions keep the compiler's
        // order. Both make the wasm larger and the download smaller, because similar code stays
        // together.
        "--one-caller-inline-max-function-size=30",
        "--reorder-locals",
        // The lowest KiB is the end of the stack, which no pointer of Rust has as its base.
        "--low-memory-unused",
        "--strip-debug",
        "--strip-producers",
        "--strip-target-features",
    ];
    run_wasm_opt(packages, wasm, &options)
}

/// Returns the wasm after a short optimization, for wasm that no page downloads.
pub(super) fn shrink_wasm(packages: &Path, wasm: &Path) -> Result<Vec<u8>> {
    let options = ["-O1", "--strip-debug", "--strip-producers"];
    run_wasm_opt(packages, wasm, &options)
}

fn run_wasm_opt(packages: &Path, wasm: &Path, options: &[&str]) -> Result<Vec<u8>> {
    let optimized = wasm.with_extension("small.wasm");
    let mut wasm_opt = Command::new("node");
    wasm_opt
        .arg(packages.join("binaryen/bin/wasm-opt"))
        .args(options)
        .arg(wasm)
        .arg("--output")
        .arg(&optimized);
    capture(
        &mut wasm_opt,
        "remove target/tools/web-sdk-node and try again",
    )?;
    fs::read(&optimized).with_context(|| format!("cannot read {}", optimized.display()))
}

/// The packages that the modules for frameworks import from the app.
const FRAMEWORKS: [&str; 4] = ["react", "svelte", "svelte/*", "vue"];

/// The built files that stay separate: pages load them when they need them.
const SEPARATE: [&str; 7] = [
    "./mcp_web_testing.js",
    "./mcp_web_core.js",
    "../mcp_web_core.js",
    "./mcp_web_page.js",
    "../mcp_web_page.js",
    "./mcp-web-*",
    "../mcp-web-*",
];

/// The module that the other entries share.
const MAIN: &str = "./mcp-web.ts";

/// A module without types, comments and spaces, and its source map.
pub(super) struct Script {
    pub(super) code: Vec<u8>,
    pub(super) map: Vec<u8>,
    /// The size of each source in the module, in bytes, the largest first.
    pub(super) parts: Vec<(String, usize)>,
}

/// Returns a module with everything that it imports, now or later. `name` is the name of the built
/// file, which esbuild writes to `work`.
pub(super) fn bundle_whole(
    packages: &Path,
    module: &Path,
    name: &str,
    work: &Path,
) -> Result<Script> {
    bundle(packages, module, &[], name, work)
}

/// Returns a module bundled with the modules that it imports, except the glue and the lazy modules
/// (`mcp-web-*.js`).
pub(super) fn minify_script(
    packages: &Path,
    module: &Path,
    name: &str,
    work: &Path,
) -> Result<Script> {
    bundle(
        packages,
        module,
        &[&SEPARATE[..], &FRAMEWORKS[..], &[MAIN]].concat(),
        name,
        work,
    )
}

/// Returns a module like [`minify_script`], which contains the main module and uses modules of Node.
pub(super) fn bundle_with_main(
    packages: &Path,
    module: &Path,
    name: &str,
    work: &Path,
) -> Result<Script> {
    bundle(
        packages,
        module,
        &[&SEPARATE[..], &["node:*"]].concat(),
        name,
        work,
    )
}

fn bundle(
    packages: &Path,
    module: &Path,
    external: &[&str],
    name: &str,
    work: &Path,
) -> Result<Script> {
    let built = work.join(name);
    let metafile = built.with_extension("json");
    let mut esbuild = Command::new("node");
    esbuild
        // The sources are in no package, so a library that a module contains is found there only.
        .env("NODE_PATH", packages)
        .arg(packages.join("esbuild/bin/esbuild"))
        .arg(module)
        .args(external.iter().map(|import| format!("--external:{import}")))
        .args([
            "--bundle",
            "--minify",
            "--format=esm",
            "--target=es2022",
            // The modules of packages, and not their scripts for old browsers, which are larger.
            "--main-fields=module,main",
            "--charset=utf8",
            "--legal-comments=inline",
            "--log-level=error",
            "--sourcemap",
        ])
        .arg(format!("--outfile={}", built.display()))
        .arg(format!("--metafile={}", metafile.display()));
    capture(&mut esbuild, "fix the errors in web-sdk/js above")?;
    let code = fs::read_to_string(&built)?;
    let map = fs::read(built.with_extension("js.map"))?;
    Ok(Script {
        code: link_built_modules(&code).into_bytes(),
        map: name_sources(&map)?,
        parts: parts(&fs::read(metafile)?)?,
    })
}

/// Reads esbuild's description of its output.
fn parts(metafile: &[u8]) -> Result<Vec<(String, usize)>> {
    let description: Value = serde_json::from_slice(metafile).context("esbuild writes JSON")?;
    let outputs = description["outputs"].as_object().into_iter().flatten();
    let inputs = outputs.filter_map(|(_, output)| output["inputs"].as_object());
    let mut parts: Vec<_> = inputs
        .flatten()
        .map(|(source, input)| {
            let bytes = input["bytesInOutput"].as_u64().unwrap_or_default();
            (
                source_name(source).to_owned(),
                usize::try_from(bytes).unwrap_or_default(),
            )
        })
        .collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(parts)
}

/// Returns the path of a source within `web-sdk/js`.
fn source_name(path: &str) -> &str {
    if let Some((_, rest)) = path.split_once("web-sdk/js/") {
        return rest;
    }
    // Variants are bundled from copies of the sources.
    let copied = path.split_once("sdk/variants/");
    copied
        .and_then(|(_, rest)| rest.split_once('/'))
        .map_or(path, |(_, rest)| rest)
}

/// Names the sources in a source map by their paths in the repository, wherever it was built.
fn name_sources(map: &[u8]) -> Result<Vec<u8>> {
    let mut map: Value = serde_json::from_slice(map).context("esbuild writes JSON")?;
    let sources = map["sources"].as_array_mut();
    for source in sources.context("esbuild lists the sources")? {
        let named = source_name(source.as_str().unwrap_or_default());
        *source = format!("mcp-web-sdk/{}", named.trim_start_matches("../")).into();
    }
    Ok(serde_json::to_vec(&map)?)
}

/// Replaces the sources in the imports that are left by the built files, which are all in one folder.
fn link_built_modules(script: &str) -> String {
    // The space keeps the columns of the source map.
    let script = script
        .replace("import(\"../mcp", "import( \"./mcp")
        .replace(".ts\")", ".js\")");
    let mut parts = script.split(STATIC_IMPORT);
    let mut linked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        linked.push_str(STATIC_IMPORT);
        linked.push_str(&part.replacen(".ts\"", ".js\"", 1));
    }
    linked
}

/// How a static import of a module of the package begins.
const STATIC_IMPORT: &str = "from\"./mcp-web";

#[cfg(test)]
mod tests {
    use super::link_built_modules;

    #[test]
    fn imports_name_the_built_files() {
        assert_eq!(
            link_built_modules(r#"import("./mcp-web-query.ts"),import("../mcp_web_core.js")"#),
            r#"import("./mcp-web-query.js"),import( "./mcp_web_core.js")"#
        );
        assert_eq!(
            link_built_modules(r#"import{McpWeb as e}from"./mcp-web.ts";"#),
            r#"import{McpWeb as e}from"./mcp-web.js";"#
        );
        assert_eq!(
            link_built_modules(
                r#"import{a}from"react";import{b}from"./mcp-web-react.ts";import{c}from"./mcp-web-state.ts";"#
            ),
            r#"import{a}from"react";import{b}from"./mcp-web-react.js";import{c}from"./mcp-web-state.js";"#
        );
    }
}
