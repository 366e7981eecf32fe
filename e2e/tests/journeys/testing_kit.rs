//! The test kit of the package: with the tests of an example, and by comparing its client in memory
//! with a client of a real bridge.

use std::env;
use std::fs;
use std::path::Path;
use std::time::Duration;

use e2e::{NodeProject, ProcessGroup, program_paths};
use serde_json::Value;
use tokio::process::Command;

/// How long the tests of an app may take, with other journeys beside them.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The files with what the clients got.
const TRANSCRIPTS: [&str; 2] = ["in-memory.json", "bridge.json"];

#[tokio::test]
async fn the_client_in_memory_gets_what_a_client_of_a_bridge_gets() {
    let project = NodeProject::copy_of("testing-kit");
    project.install_packages_and_sdk();
    let [in_memory, bridge] = TRANSCRIPTS.map(|name| project.path().join(name));
    let mut vitest = vitest(&project);
    vitest.env("IN_MEMORY", &in_memory);
    let mut playwright = playwright(&project);
    playwright.env("OVER_HTTP", &bridge);
    let (vitest, playwright) = tokio::join!(
        run_to_end("vitest", vitest),
        run_to_end("playwright", playwright)
    );
    // The other one is that of the hook for states of React.
    assert!(vitest.contains("3 passed"), "{vitest}");
    assert!(playwright.contains("1 passed"), "{playwright}");

    let [in_memory, mut bridge] = [in_memory, bridge].map(|path| parse(&path));
    remove_request_ids(&mut bridge);
    let names = |transcript: &Value| -> Vec<String> {
        let entries = transcript.as_object().unwrap();
        entries.keys().cloned().collect()
    };
    assert_eq!(names(&in_memory), names(&bridge));
    for name in names(&bridge) {
        assert_eq!(in_memory[&name], bridge[&name], "{name}");
    }
}

/// Removes what only a client over HTTP gets.
fn remove_request_ids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(remove_request_ids);
            fields.remove("requestId");
            if fields
                .get("data")
                .and_then(Value::as_object)
                .is_some_and(serde_json::Map::is_empty)
            {
                fields.remove("data");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remove_request_ids),
        _ => {}
    }
}

#[tokio::test]
async fn the_client_in_memory_works_where_the_test_runner_bundles_the_package() {
    let project = NodeProject::copy_of("testing-kit");
    project.install_packages_and_sdk();
    let mut vitest = vitest(&project);
    vitest
        .args(["--config", "bundled.config.ts"])
        .env("IN_MEMORY", project.path().join("transcript.json"));
    let output = run_to_end("vitest", vitest).await;
    assert!(output.contains("3 passed"), "{output}");
}

#[tokio::test]
async fn the_tools_of_an_example_are_tested_in_memory() {
    let project = NodeProject::copy_of_example("react");
    let output = run_to_end("vitest", vitest(&project)).await;
    assert!(output.contains("1 passed"), "{output}");
}

#[tokio::test]
async fn the_tools_of_an_example_are_tested_in_a_browser_with_a_bridge() {
    let project = NodeProject::copy_of_example("react");
    let output = run_to_end("playwright", playwright(&project)).await;
    assert!(output.contains("1 passed"), "{output}");
}

/// Each block of code in the guide that is a file is that file of the example.
#[test]
fn the_guide_shows_the_tests_of_the_example() {
    let workspace = program_paths::workspace();
    let guide = fs::read_to_string(workspace.join("docs/testing.md")).unwrap();
    for file in [
        "vite.config.ts",
        "src/ShoppingList.test.tsx",
        "tests/shopping-list.spec.ts",
    ] {
        let path = workspace.join("demo-app/examples/react").join(file);
        let source = fs::read_to_string(path).unwrap();
        assert!(
            guide.contains(&format!("`{file}`")) && guide.contains(&format!("\n{source}```")),
            "docs/testing.md does not show {file} as it is"
        );
    }
}

/// Returns the command that runs the tests of a project once.
fn vitest(project: &NodeProject) -> Command {
    let vitest = program_paths::node_modules().join("vitest/vitest.mjs");
    project.node_command(&[&vitest.display().to_string(), "run"])
}

/// Returns the command that runs the browser tests of a project, with the bridge on the `PATH`.
fn playwright(project: &NodeProject) -> Command {
    let playwright = program_paths::node_modules().join("@playwright/test/cli.js");
    let mut playwright = project.node_command(&[&playwright.display().to_string(), "test"]);
    let mcp_web = program_paths::mcp_web();
    let node = program_paths::node();
    let path = env::var_os("PATH").unwrap();
    let folders = [&mcp_web, &node].map(|program| program.parent().unwrap().to_owned());
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&path))).unwrap();
    playwright
        .env("PATH", path)
        .env("CHROMIUM", program_paths::chromium());
    playwright
}

/// Runs a command, and returns what it has printed.
async fn run_to_end(name: &str, command: Command) -> String {
    let mut process = ProcessGroup::start(name, command);
    let has_ended = process.wait_for_end(TEST_TIMEOUT).await;
    assert!(has_ended, "{name} still runs:\n{}", process.log());
    process.log()
}

fn parse(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}
