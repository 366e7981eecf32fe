//! Compiles the SDK to wasm.

use std::path::PathBuf;

use anyhow::Result;

use crate::Workspace;
use crate::process::{self, cargo, run};
use crate::wasm_toolchain::{TARGET, WasmRustc};

/// Compiles the crate `web-sdk` for the browser and returns the path of the wasm file.
pub(super) fn to_wasm(workspace: &Workspace, rustc: &WasmRustc) -> Result<PathBuf> {
    let mut build = cargo(workspace);
    build
        .args(["build", "--package", "web-sdk", "--lib"])
        .args(["--target", TARGET, "--profile", "release-wasm"])
        .env("RUSTFLAGS", without_local_paths(workspace));
    rustc.apply(workspace, &mut build);
    run(&mut build, "fix the errors above")?;
    Ok(rustc
        .target_folder(workspace)
        .join(TARGET)
        .join("release-wasm/web_sdk.wasm"))
}

/// Returns the compiler flags that remove this machine's folders from the source paths in panic
/// messages: they are private and cost bytes.
fn without_local_paths(workspace: &Workspace) -> String {
    format!(
        "--remap-path-prefix={}= {}",
        workspace.root().display(),
        process::without_registry_path()
    )
}
