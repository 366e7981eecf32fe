//! Tools of the agent beside those of the page, used by queries of a page in Chromium.

use std::path::Path;

use e2e::{
    AgentEndpoint, AgentService, ColorScheme, Format, LlamaCpp, Script, Turn, poll_pause,
    program_paths, with_deadline,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ask_features::{AskBed, evaluate};

/// Writes the files of an agent with a folder of notes and an MCP server.
fn tools_folder(profile: &str) -> TempDir {
    let folder = TempDir::with_prefix("mcp-web-tools-").unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    write("notes/plan.md", "Buy milk on Friday");
    let sources = "[sources.notes]\ntype = 'filesystem'\nroots = { notes = 'notes' }\n\n\
                   [mcp]\nfile = 'mcp-servers.json'\n\n[profiles.anyone]\nself_made = true\n";
    write("tools.toml", &format!("{sources}{profile}"));
    let command = program_paths::mcp_server("mcp-server-everything");
    let servers = json!({ "mcpServers": { "everything": { "command": command } } });
    write("mcp-servers.json", &servers.to_string());
    folder
}

fn arguments(folder: &Path) -> [String; 4] {
    let path = |name: &str| folder.join(name).display().to_string();
    let (tools, audit) = (path("tools.toml"), path("audit.jsonl"));
    ["--tools-file".into(), tools, "--audit-file".into(), audit]
}

#[tokio::test]
async fn the_dialog_of_the_sdk_asks_for_a_call_of_a_source_also_over_a_reload() {
    let folder = tools_folder(
        "allow = ['notes-*']\ngrant = ['read', 'write', 'destructive']\nask = ['write']\n",
    );
    let write = |name: &str| {
        let arguments = json!({ "path": format!("notes/{name}"), "content": "From the AI" });
        Turn::from_call("notes-write_file", arguments)
    };
    let script = Script::new([
        Turn::from_call("notes-read_file", json!({ "path": "notes/plan.md" })),
        write("denied.md"),
        write("allowed.md"),
        Turn::from_text("Written."),
    ]);
    let arguments = arguments(folder.path());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let bed = AskBed::start(script, &arguments).await;
    let browser = bed.open("Booking", bed.bridge.token()).await;
    // No client reads the events of the query.
    evaluate(
        &browser,
        "void (app.asked = app.mcpWeb.query({ prompt: 'Write a note' }))",
    )
    .await;
    let text = browser.wait_for_surface("denied.md").await;
    browser.emulate(ColorScheme::Light, 800, 700).await;
    browser.screenshot("approval-dialog-light").await;
    browser.emulate(ColorScheme::Dark, 390, 844).await;
    browser.screenshot("approval-dialog-dark").await;
    for part in ["write_file", "notes", "From the AI"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    browser.press_button("Do not allow").await;
    browser.wait_for_surface("allowed.md").await;
    // The next document is also asked.
    evaluate(&browser, "void location.reload()").await;
    browser
        .wait_for("window.app?.mcpWeb.openQueries.length === 1")
        .await;
    let attach = "void (app.asked = app.mcpWeb.attachQuery(app.mcpWeb.openQueries[0]))";
    evaluate(&browser, attach).await;
    browser.wait_for_surface("allowed.md").await;
    browser.press_button("Allow").await;
    let result = evaluate(&browser, "app.asked.result").await;
    assert_eq!(result["text"], "Written.");
    let calls = result["toolCalls"].as_array().unwrap();
    let sources: Vec<_> = calls.iter().map(|call| &call["source"]).collect();
    assert_eq!(sources, ["notes"; 3], "{calls:?}");
    assert_eq!(calls[0]["result"], "Buy milk on Friday");
    let exists = |name: &str| folder.path().join("notes").join(name).exists();
    assert_eq!((exists("denied.md"), exists("allowed.md")), (false, true));
    let outcomes = audit_outcomes(folder.path(), 3).await;
    assert_eq!(outcomes, ["ok", "denied", "ok"]);
}

#[tokio::test]
async fn the_server_of_llama_cpp_calls_a_tool_of_an_mcp_server_for_a_page() {
    let folder = tools_folder("allow = ['mcp-everything-echo']\ngrant = ['read']\n");
    let server = LlamaCpp::start(&[]).await;
    let endpoint = AgentEndpoint::reserve();
    let mut bed = AskBed::start(Script::new([]), &[]).await;
    bed.bridge = endpoint.start_bridge(&[]).await;
    let arguments = arguments(folder.path());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (format, url) = (Format::OpenAi, server.base_url(Format::OpenAi));
    let _agent = AgentService::start_with_base_url(
        &endpoint,
        &bed.bridge,
        format,
        &url,
        "a-key",
        &arguments,
    )
    .await;
    let browser = bed.open("Booking", bed.bridge.token()).await;
    // The server of the tool may take longer to start than a query waits for it.
    let echoed = with_deadline("the tool of the MCP server", async {
        loop {
            let asked = "app.mcpWeb.query({ prompt: 'Say it', profile: 'anyone', \
                         tools: ['mcp-everything-echo'], restrictTools: true }).result";
            let result: Value = evaluate(&browser, asked).await;
            let call = result["toolCalls"][0].clone();
            if call["source"] == "mcp-everything" {
                return call;
            }
        }
    })
    .await;
    assert_eq!(echoed["tool"], "mcp-everything-echo");
    assert_eq!(echoed["result"], "Echo: Milk", "{echoed}");
}

/// Returns the outcomes in the audit file when it has this many lines.
async fn audit_outcomes(folder: &Path, lines: usize) -> Vec<String> {
    let path = folder.join("audit.jsonl");
    with_deadline("the lines of the audit file", async {
        loop {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.lines().count() == lines && text.ends_with('\n') {
                let outcome = |line: &str| {
                    let line: Value = serde_json::from_str(line).unwrap();
                    line["outcome"].as_str().unwrap().to_owned()
                };
                return text.lines().map(outcome).collect();
            }
            poll_pause().await;
        }
    })
    .await
}
