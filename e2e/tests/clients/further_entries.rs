//! AI clients that start the entry of `mcp-web install` themselves and call a tool. They have no row in the table
//! of features.

use e2e::{ClientTier, ClientsApp, CommandLine, Format, MockProvider, Script, Turn, program_paths};
use serde_json::{Value, json};
use tokio::process::Command;

/// Installs the entry of a client into an empty home, and runs the client, which calls the tool with this name.
async fn check_entry(
    client: &str,
    file: &str,
    tool: &str,
    command: impl FnOnce(&CommandLine, &str) -> Command,
) {
    let app = ClientsApp::open(ClientTier::EachRun).await;
    let script = Script::new([
        Turn::from_call(tool, json!({ "text": "buy milk" })),
        Turn::from_text("Done."),
    ]);
    let home = CommandLine::new(Format::OpenAi, script).await;
    let installed = home.install(client, &[], app.bed(), file).await;
    assert!(installed.contains(&app.bed().mcp_url()), "{installed}");
    let run = home.run(client, command(&home, &installed)).await;
    assert_eq!(app.notes().await, ["buy milk"], "{}", run.log);
    // The client has sent the result to the model.
    assert!(run.reached_turn(1), "{}", run.log);
}

fn base_url(home: &CommandLine) -> String {
    let url = home.provider().base_url(Format::OpenAi);
    url.trim_end_matches('/').to_owned()
}

#[tokio::test]
async fn opencode_starts_its_entry_and_calls_a_tool() {
    let file = ".config/opencode/opencode.json";
    let command = |home: &CommandLine, installed: &str| {
        let mut settings: Value = serde_json::from_str(installed).unwrap();
        settings["provider"]["played"] = json!({
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": base_url(home), "apiKey": MockProvider::KEY },
            "models": { "mock": { "tool_call": true, "limit": { "context": 200_000, "output": 8_000 } } },
        });
        settings["model"] = json!("played/mock");
        settings["small_model"] = json!("played/mock");
        settings["permission"] = json!("allow");
        home.write(file, &settings.to_string());
        let program = program_paths::clients_node_modules().join("opencode-linux-x64/bin/opencode");
        let mut command = home.command(&program);
        command
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            // With a title, it does not ask the model for one.
            .args(["run", "--title", "A note", "Do it."]);
        command
    };
    check_entry("opencode", file, "web_add_note", command).await;
}

#[tokio::test]
async fn copilot_cli_starts_its_entry_and_calls_a_tool() {
    let command = |home: &CommandLine, _: &str| {
        let program = "@github/copilot-linux-x64/copilot";
        let mut command = home.command(&program_paths::clients_node_modules().join(program));
        command
            .env("COPILOT_OFFLINE", "true")
            .env("COPILOT_PROVIDER_BASE_URL", base_url(home))
            .env("COPILOT_PROVIDER_API_KEY", MockProvider::KEY)
            .env("COPILOT_MODEL", "mock")
            .args(["-p", "Do it.", "--allow-all-tools"]);
        command
    };
    let file = ".copilot/mcp-config.json";
    check_entry("copilot-cli", file, "web-add_note", command).await;
}
