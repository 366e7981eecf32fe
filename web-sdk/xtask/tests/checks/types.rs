//! What `mcp-web.d.ts` promises to apps in TypeScript.

use std::fs;
use std::process::Command;

use serde_json::json;
use xtask::Workspace;

use crate::succeed;

/// `web-sdk/tests/types.ts` uses every promise, and says which lines must not compile.
#[test]
fn the_types_of_the_sdk_hold() {
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
            "paths": { "mcp-web-sdk": [workspace.path("web-sdk/js/mcp-web.d.ts")] },
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
