//! The guide of windows in `docs/native.md`: its program is built with `native-window`, and does what
//! the guide describes.

use std::fs;

use e2e::{Era, McpClient, ProcessGroup, TestBed, Transport, VirtualDisplay, program_paths};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use crate::program::click;

#[tokio::test]
async fn the_program_of_the_guide_is_used_by_a_client() {
    let workspace = program_paths::workspace();
    let guide = fs::read_to_string(workspace.join("docs/native.md")).unwrap();
    for file in ["src/bin/guide.rs", "build.rs"] {
        let code = fs::read_to_string(workspace.join("e2e/native-window").join(file)).unwrap();
        // Comments of a crate concern this project only.
        let lines = code
            .lines()
            .skip_while(|line| line.starts_with("//!") || line.is_empty());
        let code: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(guide.contains(&code), "the guide has another {file}");
    }

    let (bed, display) = (TestBed::bridge().await, VirtualDisplay::start().await);
    let config = TempDir::with_prefix("mcp-web-config-").unwrap();
    fs::create_dir(config.path().join("mcp-web")).unwrap();
    let token = config.path().join("mcp-web/counter.token");
    fs::write(token, bed.token()).unwrap();
    let mut command = Command::new(program_paths::native_window().with_file_name("guide"));
    command
        .arg(bed.url())
        .env("DISPLAY", display.name())
        .env("XDG_CONFIG_HOME", config.path())
        .env_remove("WAYLAND_DISPLAY");
    let mut process = ProcessGroup::start("guide", command);
    process.wait_for_line("MCP server: ").await;
    let mut client = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let is_last = |tools: &[String]| tools.iter().any(|tool| tool == "page_screenshot");
    client.wait_for_tools("the window to join", is_last).await;
    let input = json!({ "actions": [click("Count up")] });
    let answer = client.call("interact", input).await.unwrap();
    let answer = serde_json::to_string(&answer).unwrap();
    assert!(answer.contains("Count: 1"), "{answer}");
}
