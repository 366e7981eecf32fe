//! Checks the TypeScript declarations of the built package.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;
use xtask::Workspace;

/// Marks the message that a developer must see for a line.
const EXPECTATION: &str = "//~ ";

/// `usage.ts` uses every declaration.
#[test]
fn the_declarations_accept_what_the_documentation_promises() {
    let output = compile(&Workspace::here(), "usage.ts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Each marked line of `misuse.ts` must not compile, and no other one may have an error.
#[test]
fn misuse_is_an_error_with_a_message_that_names_it() {
    let workspace = Workspace::here();
    let output = compile(&workspace, "misuse.ts");
    let errors = errors_by_line(&String::from_utf8_lossy(&output.stdout));
    let source = fs::read_to_string(workspace.path("web-sdk/tests/types/misuse.ts")).unwrap();
    for (index, line) in source.lines().enumerate().skip(1) {
        let error = errors.get(&(index + 1)).map_or("", String::as_str);
        match line.split_once(EXPECTATION) {
            Some((code, message)) => assert!(error.contains(message), "{code}\n{error}"),
            None => assert_eq!(error, "", "{line}"),
        }
    }
}

/// `schemas.ts` infers types from the schemas of the libraries that the documentation names.
#[test]
fn the_types_of_schema_libraries_are_inferred() {
    let output = compile(&Workspace::here(), "schemas.ts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// `state.ts` infers the type of a state from its schema.
#[test]
fn the_types_of_states_are_inferred() {
    let output = compile(&Workspace::here(), "state.ts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// Compiles a file of `web-sdk/tests/types` as an app that installed the package would.
fn compile(workspace: &Workspace, file: &str) -> Output {
    let packages = workspace.tools().join("web-sdk-node/node_modules");
    let compiler = packages.join("typescript/bin/tsc");
    assert!(
        compiler.exists(),
        "TypeScript is missing: run `cargo xtask test`"
    );
    let project = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(&packages, project.path().join("node_modules")).unwrap();
    let source = workspace.path("web-sdk/tests/types").join(file);
    fs::copy(source, project.path().join(file)).unwrap();
    let configuration = json!({
        "compilerOptions": {
            "strict": true,
            "exactOptionalPropertyTypes": true,
            "noEmit": true,
            // Some declarations of the libraries need the types of Node.
            "skipLibCheck": file == "schemas.ts" || file == "state.ts",
            "target": "es2022",
            "lib": ["es2022", "dom", "esnext.disposable"],
            "module": "esnext",
            "moduleResolution": "bundler",
            "types": [],
            "paths": {
                "mcp-web-sdk": [workspace.sdk().join("mcp-web.d.ts")],
                "mcp-web-sdk/ask": [workspace.sdk().join("mcp-web-ask.d.ts")],
                "mcp-web-sdk/state": [workspace.sdk().join("mcp-web-state.d.ts")],
                "mcp-web-sdk/webmcp": [workspace.sdk().join("mcp-web-webmcp.d.ts")],
            },
        },
        "files": [file],
    });
    let configuration_file = project.path().join("tsconfig.json");
    fs::write(&configuration_file, configuration.to_string()).unwrap();
    Command::new("node")
        .arg(compiler)
        .args(["--pretty", "false", "--project"])
        .arg(&configuration_file)
        .output()
        .unwrap()
}

/// Returns the messages of the compiler by line. Indented lines belong to the error before them.
fn errors_by_line(output: &str) -> BTreeMap<usize, String> {
    let mut errors: BTreeMap<usize, String> = BTreeMap::new();
    let mut current = 0;
    for line in output.lines() {
        current = line_number(line).unwrap_or(current);
        let message = errors.entry(current).or_default();
        message.push_str(line);
        message.push('\n');
    }
    errors
}

/// Parses the line number of `path/file.ts(7,12): error …`.
fn line_number(error: &str) -> Option<usize> {
    let (location, _) = error.split_once("): error ")?;
    let (file, position) = location.rsplit_once('(')?;
    assert!(Path::new(file).extension().is_some(), "{error}");
    position.split(',').next()?.parse().ok()
}
