//! Runs `module/*.test.mjs` under Node.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_module_behaves_outside_a_browser() {
    run("server.test.mjs");
}

#[test]
fn the_module_behaves_when_its_wasm_cannot_be_loaded() {
    run("unloadable.test.mjs");
}

#[test]
fn advice_is_given_where_a_client_would_refuse() {
    run("advice.test.mjs");
}

#[test]
fn a_query_is_made_of_what_an_app_passes() {
    run("query.test.mjs");
}

/// Against the wasm in `target/sdk`.
#[test]
fn the_module_behaves_in_a_browser() {
    run("page.test.mjs");
}

fn run(file: &str) {
    let file = crate_folder().join("tests/sdk/module").join(file);
    let output = Command::new(node())
        .arg("--test")
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

fn node() -> PathBuf {
    let node = env::var_os("MCP_WEB_NODE").map(PathBuf::from);
    let node = node.unwrap_or_else(|| crate_folder().join("../target/tools/node22/bin/node"));
    assert!(
        node.is_file(),
        "{} is missing: run `cargo xtask test`",
        node.display()
    );
    node
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
