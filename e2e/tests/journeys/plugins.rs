//! A source of the agent in other programs: the Inspector, and another agent.

use std::path::Path;

use e2e::{Era, Inspector, program_paths, with_deadline};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

/// A folder with a note, and the command that serves it.
fn served_notes() -> (TempDir, [String; 6]) {
    let folder = TempDir::with_prefix("mcp-web-plugin-").unwrap();
    let notes = folder.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("plan.md"), "Buy milk on Friday").unwrap();
    let program = program_paths::mcp_web().display().to_string();
    // A root has the name of its folder.
    let root = format!("--root={}", notes.display());
    let [agent, plugin, serve, kind] =
        ["agent", "plugin", "serve", "filesystem"].map(str::to_owned);
    (folder, [program, agent, plugin, serve, kind, root])
}

#[tokio::test]
async fn the_inspector_reads_a_file_in_both_eras() {
    let (_folder, command) = served_notes();
    for era in [Era::Initialize, Era::Discover] {
        let inspector = Inspector::of_server(command.clone(), era);
        let tools = inspector.tools().await;
        assert_eq!(tools, ["read_file", "list_directory", "write_file"]);
        let arguments = json!({ "path": "notes/plan.md" });
        let result = inspector.call("read_file", &arguments).await;
        assert_eq!(
            result["content"][0]["text"], "Buy milk on Friday",
            "{result}"
        );
        assert_ne!(result["isError"], true);
    }
}

#[tokio::test]
async fn another_agent_adds_calls_and_checks_it() {
    let (folder, command) = served_notes();
    let add: Vec<_> = ["add", "files", "--"]
        .into_iter()
        .chain(command.iter().map(String::as_str))
        .collect();
    let added = run_mcp(folder.path(), &add).await;
    assert!(added.contains("now pinned: 3 tools"), "{added}");
    let arguments = r#"{"path": "notes/plan.md"}"#;
    let call = ["call", "files", "read_file", arguments];
    assert_eq!(run_mcp(folder.path(), &call).await, "Buy milk on Friday\n");
    let checked = run_mcp(folder.path(), &["doctor"]).await;
    assert!(checked.contains("files: works: 3 tools"), "{checked}");
}

/// Runs a command of the agent for MCP servers, and returns its output.
async fn run_mcp(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(program_paths::mcp_web());
    let command = command
        .args(["agent", "mcp"])
        .args(arguments)
        .current_dir(folder);
    let output = with_deadline("the command to end", command.kill_on_drop(true).output());
    let output = output.await.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}
