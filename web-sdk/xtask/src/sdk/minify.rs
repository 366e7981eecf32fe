//! Minifies the wasm and the JavaScript of the SDK.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::capture;

/// Returns the wasm after `wasm-opt -Oz`.
pub(super) fn optimize_wasm(packages: &Path, wasm: &Path) -> Result<Vec<u8>> {
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

/// What the modules for frameworks import from the app.
const FRAMEWORKS: [&str; 4] = ["react", "svelte", "svelte/*", "vue"];

/// The options for scripts of any kind.
const SCRIPT_OPTIONS: [&str; 7] = [
    "--bundle",
    "--minify",
    "--format=esm",
    "--target=es2022",
    "--charset=utf8",
    "--legal-comments=inline",
    "--log-level=error",
];

/// Returns a module with everything that it imports, now or later.
pub(super) fn bundle_whole(packages: &Path, module: &Path) -> Result<Vec<u8>> {
    let mut esbuild = Command::new("node");
    esbuild
        .arg(packages.join("esbuild/bin/esbuild"))
        .arg(module)
        .args(SCRIPT_OPTIONS);
    let script = capture(&mut esbuild, "fix the errors in web-sdk/js above")?;
    Ok(script.into_bytes())
}

/// Returns a module without types, comments and spaces, bundled with the modules that it imports.
/// The glue and the lazy modules (`mcp-web-*.js`) stay separate: pages load them when they need
/// them.
pub(super) fn minify_script(packages: &Path, module: &Path) -> Result<Vec<u8>> {
    let mut esbuild = Command::new("node");
    esbuild
        .arg(packages.join("esbuild/bin/esbuild"))
        .arg(module)
        .args([
            "--external:./mcp_web_core.js",
            "--external:../mcp_web_core.js",
            "--external:./mcp-web-*",
            "--external:../mcp-web-*",
        ])
        .args(FRAMEWORKS.map(|framework| format!("--external:{framework}")))
        .args(SCRIPT_OPTIONS);
    let script = capture(&mut esbuild, "fix the errors in web-sdk/js above")?;
    Ok(link_built_modules(&script).into_bytes())
}

/// Replaces the sources in the dynamic imports by the built files, which are all in one folder.
fn link_built_modules(script: &str) -> String {
    script
        .replace("import(\"../mcp", "import(\"./mcp")
        .replace(".ts\")", ".js\")")
}

#[cfg(test)]
mod tests {
    use super::link_built_modules;

    #[test]
    fn dynamic_imports_name_the_built_files() {
        assert_eq!(
            link_built_modules(r#"import("./mcp-web-query.ts"),import("../mcp_web_core.js")"#),
            r#"import("./mcp-web-query.js"),import("./mcp_web_core.js")"#
        );
    }
}
