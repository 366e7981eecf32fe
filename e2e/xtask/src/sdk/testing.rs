//! The wasm of the test kit: the crate `web-sdk-testing`, which pages do not load. The modules
//! around it are built with the others of `web-sdk/js`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use super::compile::{self, WasmCrate};
use super::files::{self, Files};
use super::minify;
use crate::fingerprint::Fingerprint;
use crate::lock::Lock;
use crate::step::{Outcome, step};
use crate::toolchain::{self, WASM_TARGET};
use crate::{Workspace, folder, node};

const NAME: &str = "mcp_web_testing";

/// The files that this module builds, relative to the folder of the package.
pub(super) const BUILT: [&str; 2] = [
    "testing/mcp_web_testing.js",
    "testing/mcp_web_testing_bg.wasm",
];

const CRATE: WasmCrate = WasmCrate {
    package: "web-sdk-testing",
    profile: "testing-wasm",
};

/// Makes sure that `target/sdk/testing` contains the wasm that the current sources describe.
///
/// # Errors
///
/// Returns an error if a tool is missing and cannot be installed, or if the crate does not compile.
pub fn ensure(workspace: &Workspace) -> Result<()> {
    let _lock = Lock::acquire(&workspace.path("target/sdk.lock"))?;
    let stamp = workspace.path("target/sdk-testing.stamp");
    let sources = source_fingerprint(workspace)?;
    let current = || Ok::<_, anyhow::Error>(format!("{sources}\n{}\n", outputs(workspace)?));
    let is_current =
        fs::read_to_string(&stamp).is_ok_and(|text| current().is_ok_and(|now| now == text));
    if is_current {
        return step("the test kit", || Ok(Outcome::UpToDate(())));
    }
    let rustc = toolchain::ensure(WASM_TARGET)?;
    let packages = node::install_pinned(workspace, "web-sdk", "web-sdk-node")?;
    let wasm = step("compiling web-sdk-testing to wasm", || {
        Ok(Outcome::Done(compile::to_wasm(workspace, &rustc, CRATE)?))
    })?;
    let output = rustc.target_folder(workspace).join("testing");
    let built = step("wasm-bindgen and wasm-opt", || {
        Ok(Outcome::Done(package(&packages, &wasm, &output)?))
    })?;
    files::replace(&built, &workspace.sdk())?;
    fs::write(&stamp, current()?).with_context(|| format!("make {} writable", stamp.display()))
}

fn package(packages: &Path, wasm: &Path, output: &Path) -> Result<Files> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(wasm)
        .out_name(NAME)
        .typescript(false)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true);
    folder::create(output)?;
    bindgen
        .web(true)
        .and_then(|bindgen| bindgen.generate(output))
        .context("wasm-bindgen rejects the compiled test kit: check that its crates are those of Cargo.lock")?;
    let [glue, wasm] = BUILT.map(|name| output.join(name.trim_start_matches("testing/")));
    let built = [
        fs::read(&glue).with_context(|| format!("cannot read {}", glue.display()))?,
        minify::shrink_wasm(packages, &wasm)?,
    ];
    Ok(BUILT.map(str::to_owned).into_iter().zip(built).collect())
}

fn source_fingerprint(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for path in [
        "Cargo.toml",
        "Cargo.lock",
        "bridge/mcp-results",
        "bridge/protocol/Cargo.toml",
        "bridge/protocol/src",
        "bridge/raw-json",
        "bridge/realm",
        "bridge/schema",
        "web-sdk/testing",
        "e2e/xtask/src/sdk/compile.rs",
        "e2e/xtask/src/sdk/minify.rs",
        "e2e/xtask/src/sdk/testing.rs",
    ] {
        fingerprint.add_path(&workspace.path(path))?;
    }
    Ok(fingerprint.finish())
}

fn outputs(workspace: &Workspace) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    for name in BUILT {
        fingerprint.add_path(&workspace.sdk().join(name))?;
    }
    Ok(fingerprint.finish())
}
