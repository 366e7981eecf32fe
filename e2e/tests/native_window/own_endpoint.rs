//! Slint has its own MCP endpoint, which the agent reaches as a server beside the window's page
//! tools.

use std::net::Ipv4Addr;
use std::path::Path;

use bridge_protocol::Query;
use e2e::{
    AgentEndpoint, AgentService, Format, MockProvider, QueryPage, Script, Turn, program_paths,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpSocket;
use tokio::process::Command;

use crate::program::Program;

/// The number of tools of the endpoint that `SLINT_MCP_PORT` opens, in Slint 1.18.1.
const TOOLS: usize = 18;

/// Writes the files of an agent whose only server is the endpoint of the program.
fn tools_folder(port: u16) -> TempDir {
    let folder = TempDir::with_prefix("mcp-web-slint-").unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "tools.toml",
        "[mcp]\nfile = 'mcp-servers.json'\n\n[profiles.anyone]\nself_made = true\nallow = ['mcp-slint-*']\ngrant = ['read', 'write', 'destructive', 'open-world']\n",
    );
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = json!({ "mcpServers": { "slint": { "type": "http", "url": url } } });
    write("mcp-servers.json", &servers.to_string());
    folder
}

/// Pins the definitions of the server's tools, so that they are offered at once.
async fn pin(folder: &Path) {
    let mut command = Command::new(program_paths::mcp_web());
    let command = command
        .args(["agent", "mcp", "--file"])
        .arg(folder.join("mcp-servers.json"))
        .args(["sync", "--yes"]);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn the_endpoint_of_slint_is_a_server_of_the_agent() {
    // The port stays taken until the program listens on it.
    let port = TcpSocket::new_v4().unwrap();
    port.set_reuseaddr(true).unwrap();
    port.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let number = port.local_addr().unwrap().port();
    let endpoint = AgentEndpoint::reserve();
    let bridge = endpoint.start_bridge(&[]).await;
    let variables = [("SLINT_MCP_PORT", number.to_string())];
    let variables = variables
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let mut program = Program::start_with(bridge, &variables).await;
    program
        .process
        .wait_for_line("Slint MCP server listening")
        .await;

    let folder = tools_folder(number);
    pin(folder.path()).await;
    let script = Script::new([
        Turn::from_call("mcp-slint-list_windows", json!({})),
        Turn::from_text("There is one window."),
    ]);
    let provider = MockProvider::start(script).await;
    let tools_file = folder.path().join("tools.toml").display().to_string();
    let arguments = ["--tools-file", tools_file.as_str()];
    let format = Format::Anthropic;
    let _agent = AgentService::start(&endpoint, &program.bed, &provider, format, &arguments).await;

    let page = QueryPage::open(&program.bed, "asking", Vec::new()).await;
    page.send_query(Query::new("q-1", "Which windows are open?".to_owned()))
        .await;
    let finished = loop {
        let (_, message) = page.next_query_message().await;
        let event: Value = serde_json::from_str(&message.encode()).unwrap();
        assert_ne!(event["type"], "query_failure", "{event}");
        if event["content"]["type"] == "tool-finished" {
            break event["content"].clone();
        }
    };
    assert_eq!(finished["tool"], "mcp-slint-list_windows", "{finished}");
    let result = finished["result"].as_str().unwrap();
    assert!(result.contains("windowHandles"), "{finished}");
    let request = provider.wait_for_request(0).await.body;
    let tools = request["tools"].as_array().unwrap();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let names: Vec<_> = names
        .filter(|name| name.starts_with("mcp-slint-"))
        .collect();
    assert_eq!(names.len(), TOOLS, "{names:?}");
    println!("figures: {TOOLS} tools of Slint's own endpoint, one called");
}
