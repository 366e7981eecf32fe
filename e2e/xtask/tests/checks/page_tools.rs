//! Checks that page tools are the same wherever they are.

use std::fs;
use std::process::Command;

use serde_json::Value;
use xtask::Workspace;

use crate::succeed;

/// In the order in which they are offered.
const SCRIPT: &str = "
import * as definitions from './definitions.mjs';
const { NAVIGATE, INTERACT, GET_STATE, GET_PAGES, PAGE_SNAPSHOT, PAGE_QUERY, PAGE_SCREENSHOT } = definitions;
const tools = [NAVIGATE, INTERACT, GET_STATE, GET_PAGES, PAGE_SNAPSHOT, PAGE_QUERY, PAGE_SCREENSHOT];
console.log(JSON.stringify(tools));
";

/// AI clients read the same of a window as of a web page.
#[test]
fn native_programs_have_the_tools_of_web_pages() {
    let workspace = Workspace::here();
    let folder = tempfile::tempdir().unwrap();
    let packages = workspace.tools().join("web-sdk-node/node_modules");
    let mut esbuild = Command::new("node");
    esbuild
        .arg(packages.join("esbuild/bin/esbuild"))
        .arg(workspace.path("web-sdk/js/page-tools/tool-definitions.ts"))
        .arg("--format=esm")
        .arg("--log-level=error")
        .arg(format!(
            "--outfile={}",
            folder.path().join("definitions.mjs").display()
        ));
    succeed(&mut esbuild);
    let script = folder.path().join("print.mjs");
    fs::write(&script, SCRIPT).unwrap();
    let output = succeed(Command::new("node").arg(script));
    let of_web_pages: Value = serde_json::from_slice(&output.stdout).unwrap();
    let native = fs::read(workspace.path("web-sdk/native/src/page/tools.json")).unwrap();
    let native: Value = serde_json::from_slice(&native).unwrap();
    assert_eq!(
        native, of_web_pages,
        "web-sdk/native/src/page/tools.json is not the same as \
         web-sdk/js/page-tools/tool-definitions.ts"
    );
}
