//! Checks the properties of `bridge-protocol` that the SDK needs: it compiles for the browser and has no async
//! runtime.

use std::fs;
use std::process::Command;

use serde_json::Value;
use xtask::Workspace;
use xtask::toolchain::{self, WASM_TARGET};

use crate::succeed;

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(arguments)
        .args(["--package", "bridge-protocol"])
        .current_dir(Workspace::here().root());
    cargo
}

#[test]
fn the_protocol_builds_for_wasm32_with_and_without_serde() {
    let rustc =
        toolchain::find(WASM_TARGET).expect("no Rust for wasm32 here: run `cargo xtask test`");
    for features in [&[][..], &["--features", "serde"]] {
        let mut build = cargo(&["build", "--target", WASM_TARGET]);
        build.args(features);
        rustc.apply(&Workspace::here(), &mut build);
        succeed(&mut build);
    }
}

#[test]
fn the_protocol_does_not_depend_on_an_async_runtime() {
    let mut tree = cargo(&[
        "tree",
        "--edges=normal,build",
        "--target=all",
        "--all-features",
    ]);
    let output = succeed(tree.args(["--prefix=none", "--format={p}"]));
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: Vec<_> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        crates.contains(&"serde_json"),
        "this is not the tree of all features: {tree}"
    );
    for runtime in [
        "tokio",
        "hyper",
        "axum",
        "futures-util",
        "async-std",
        "smol",
    ] {
        assert!(
            !crates.contains(&runtime),
            "the protocol depends on {runtime}: {tree}"
        );
    }
}

#[test]
fn without_serde_the_protocol_has_no_dependency() {
    let output = succeed(&mut cargo(&["tree", "--edges=normal", "--prefix=none"]));
    let tree = String::from_utf8(output.stdout).unwrap();
    assert_eq!(tree.lines().count(), 1, "{tree}");
}

/// The test kit leaves out what the bridge offers besides the items of pages.
#[test]
fn the_test_kit_has_the_names_of_the_builtin_items() {
    let workspace = Workspace::here();
    let read = |path: &str| fs::read_to_string(workspace.path(path)).unwrap();
    let items = |file: &str, key: &str| -> Vec<String> {
        let items: Value = serde_json::from_str(&read(file)).unwrap();
        let items = items.as_array().unwrap().iter();
        items
            .map(|item| item[key].as_str().unwrap().to_owned())
            .collect()
    };
    let mut expected = items("bridge/protocol/src/builtin_tools.json", "name");
    expected.extend(items("bridge/protocol/src/builtin_resources.json", "uri"));
    let source = read("web-sdk/js/testing/builtin-items.ts");
    let code = source.lines().filter(|line| !line.starts_with("/**"));
    let names: Vec<_> = code
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .collect();
    assert_eq!(names, expected);
}
