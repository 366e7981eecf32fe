use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::capture;

/// A file of the SDK as pages get it: wasm and JavaScript are made small, all else stays as it is.
pub(super) fn minify(packages: &Path, path: &Path) -> Result<Vec<u8>> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("wasm") => optimize_wasm(packages, path),
        Some("js") => minify_javascript(packages, path),
        _ => fs::read(path).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The wasm after `wasm-opt -Oz`.
fn optimize_wasm(packages: &Path, wasm: &Path) -> Result<Vec<u8>> {
    let small = wasm.with_extension("small.wasm");
    let mut wasm_opt = Command::new("node");
    wasm_opt
        .arg(packages.join("binaryen/bin/wasm-opt"))
        .args(["--merge-similar-functions", "-Oz", "--converge"])
        // What is called in one place stays a function, and the order stays the compiler's: both make the
        // wasm larger, and what is downloaded smaller, since like things stand together.
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
        .arg(&small);
    capture(
        &mut wasm_opt,
        "remove target/tools/web-sdk-node and try again",
    )?;
    fs::read(&small).with_context(|| format!("cannot read {}", small.display()))
}

/// A module without its comments and spaces, together with the modules it is made of. The glue and the
/// modules beside the main one stay modules of their own: they are loaded when a page needs them.
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
    let advice = "fix web-sdk/js as it says above";
    Ok(capture(&mut esbuild, advice)?.into_bytes())
}
