//! Compiles the crates of the SDK to wasm.

use std::path::PathBuf;

use anyhow::Result;

use crate::Workspace;
use crate::process::{self, cargo, run};
use crate::toolchain::{TargetRustc, WASM_TARGET};

/// A crate that is compiled to wasm.
pub(super) struct WasmCrate {
    pub(super) package: &'static str,
    pub(super) profile: &'static str,
}

/// Compiles a crate for the browser and returns the path of the wasm file.
pub(super) fn to_wasm(
    workspace: &Workspace,
    rustc: &TargetRustc,
    WasmCrate { package, profile }: WasmCrate,
) -> Result<PathBuf> {
    let mut build = cargo(workspace);
    build
        .args(["build", "--package", package, "--lib"])
        .args(["--target", WASM_TARGET, "--profile", profile])
        .env("RUSTFLAGS", without_local_paths(workspace));
    rustc.apply(workspace, &mut build);
    run(&mut build, "fix the errors above")?;
    Ok(rustc
        .target_folder(workspace)
        .join(WASM_TARGET)
        .join(profile)
        .join(format!("{}.wasm", package.replace('-', "_"))))
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
