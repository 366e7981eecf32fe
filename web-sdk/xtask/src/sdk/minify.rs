//! Minifies the wasm and the JavaScript of the SDK.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::capture;

/// Returns a file of the SDK as pages load it: wasm and JavaScript are minified, other files stay
/// as they are.
pub(super) fn minify(packages: &Path, path: &Path) -> Result<Vec<u8>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("wasm") => optimize_wasm(packages, path),
        Some("js") => minify_javascript(packages, path),
        _ => fs::read(path).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Returns the wasm after `wasm-opt -Oz`.
fn optimize_wasm(packages: &Path, wasm: &Path) -> Result<Vec<u8>> {
    let optimized = wasm.with_extension("small.wasm");
    let mut wasm_opt = Command::new("node");
    wasm_opt
        .arg(packages.join("binaryen/bin/wasm-opt"))
        .args(["--merge-similar-functions", "-Oz", "--converge"])
        // A larger function with one caller is not inlined, and the functions keep the compiler's
        // order. Both make the wasm larger and the download smaller, because similar code stays
        // together.
        .args([
            "--one-caller-inline-max-function-size=30",
            "--reorder-locals",
        ])
        .args([
            "--strip-debug",
            "--strip-producers",
            "--strip-target-features",
        ])
        .arg(wasm)
        .arg("--output")
        .arg(&optimized);
    capture(
        &mut wasm_opt,
        "remove target/tools/web-sdk-node and try again",
    )?;
    fs::read(&optimized).with_context(|| format!("cannot read {}", optimized.display()))
}

/// Returns a module without comments and spaces, bundled with the modules that it imports. The glue
/// and the lazy modules (`mcp-web-*.js`) stay separate: pages load them when they need them.
fn minify_javascript(packages: &Path, module: &Path) -> Result<Vec<u8>> {
    let mut esbuild = Command::new("node");
    esbuild
        .arg(packages.join("esbuild/bin/esbuild"))
        .arg(module)
        .args([
            "--bundle",
            "--external:*/mcp_web_core.js",
            "--external:./mcp-web-*.js",
            "--minify",
            "--format=esm",
            "--target=es2022",
            "--charset=utf8",
        ])
        .args(["--legal-comments=inline", "--log-level=error"]);
    let advice = "fix the errors in web-sdk/js above";
    Ok(capture(&mut esbuild, advice)?.into_bytes())
}
