//! `install` and `uninstall`, started with an empty home folder.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::kit::*;

/// A home folder with nothing but the folder of one client.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".cursor")).unwrap();
        Self(home)
    }

    async fn run(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = program(arguments);
        command
            .env("HOME", self.0.path())
            .env("USERPROFILE", self.0.path())
            .current_dir(self.0.path());
        run_with_input(command, input).await
    }

    fn entries(&self) -> std::path::PathBuf {
        self.0.path().join(".cursor/mcp.json")
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_entry_and_writes_nothing() {
    let home = Home::new();
    let ended = home.run(&["install", "--all", "--dry-run"], "").await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with("Cursor: "), "{ended:?}");
    assert!(ended.stdout.contains(PROGRAM), "{ended:?}");
    assert!(!home.entries().exists());
}

#[tokio::test]
async fn clients_must_be_named_without_a_terminal() {
    let home = Home::new();
    for command in ["install", "uninstall"] {
        let ended = home.run(&[command], "").await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        let remedy = format!("`mcp-web {command} claude-code`, or use --all: found are cursor");
        assert!(ended.stderr.contains(&remedy), "{ended:?}");
    }
}

#[tokio::test]
async fn an_entry_is_installed_once_and_uninstalled() {
    let home = Home::new();
    let install = ["install", "--client", "cursor", "--token-stdin"];
    let installed = home.run(&install, TOKEN).await;
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert!(!format!("{installed:?}").contains(TOKEN), "{installed:?}");
    let file = std::fs::read_to_string(home.entries()).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    let entry = &file["mcpServers"]["mcp-web"];
    let command = entry["command"].as_str().unwrap();
    assert_eq!(Path::new(command), Path::new(PROGRAM));
    assert_eq!(entry["args"][0], "stdio");
    assert_eq!(entry["env"]["AUTH_TOKEN"], TOKEN);

    let again = home.run(&install, TOKEN).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("up to date"), "{again:?}");

    let removed = home.run(&["uninstall", "cursor"], "").await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(!home.entries().exists());
}

#[tokio::test]
async fn an_entry_without_a_token_is_an_error_of_its_client() {
    let home = Home::new();
    let ended = home.run(&["install", "cursor"], "").await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("--token-stdin"), "{ended:?}");
    assert!(!home.entries().exists());
}

#[tokio::test]
async fn the_help_says_what_the_commands_do() {
    for (command, about) in [
        ("install", "Add MCP-Web to AI clients"),
        ("uninstall", "Remove MCP-Web from AI clients"),
    ] {
        let help = run(program(&[command, "--help"])).await.stdout;
        assert!(help.starts_with(about), "{help}");
        let all = run(program(&["--help"])).await.stdout;
        assert!(all.contains(about), "{all}");
    }
}
