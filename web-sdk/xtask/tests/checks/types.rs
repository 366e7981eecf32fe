//! Checks the TypeScript declarations of the built package.

use std::fs;
use std::process::Command;

use serde_json::json;
use xtask::Workspace;

use crate::succeed;

/// `web-sdk/tests/types.ts` uses every declaration, and marks the lines that must not compile.
#[test]
fn the_declarations_accept_and_reject_what_they_should() {
    let workspace = Workspace::here();
    let compiler = workspace
        .tools()
        .join("web-sdk-node/node_modules/typescript/bin/tsc");
    assert!(
        compiler.exists(),
        "TypeScript is missing: run `cargo xtask test`"
    );
    let project = tempfile::tempdir().unwrap();
    let configuration = json!({
        "compilerOptions": {
            "strict": true,
            "exactOptionalPropertyTypes": true,
            "noEmit": true,
            "target": "es2022",
            "lib": ["es2022", "dom", "esnext.disposable"],
            "module": "esnext",
            "moduleResolution": "bundler",
            "types": [],
            "paths": { "mcp-web-sdk": [workspace.sdk().join("mcp-web.d.ts")] },
        },
        "files": [workspace.path("web-sdk/tests/types.ts")],
    });
    let file = project.path().join("tsconfig.json");
    fs::write(&file, configuration.to_string()).unwrap();
    succeed(
        Command::new("node")
            .arg(compiler)
            .arg("--project")
            .arg(&file),
    );
}
