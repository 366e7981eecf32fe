//! The bundle for Claude Desktop and the plugin for Claude Code, checked by their own tools.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::archives::unpack_archive;
use crate::kit::*;

#[test]
fn the_bundle_is_valid_and_its_program_answers() {
    let home = Home::new();
    let folder = home.path().join("bundle");
    let mcpb = || {
        let mut mcpb = home.command("node");
        mcpb.arg(node_program("mcpb"));
        mcpb
    };
    succeed(mcpb().arg("unpack").arg(only_file("mcpb")).arg(&folder));
    succeed(mcpb().arg("validate").arg(folder.join("manifest.json")));
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["version"], VERSION);
    let program = folder.join(manifest["server"]["entry_point"].as_str().unwrap());
    let mode = fs::metadata(&program).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let bridge = unpack_archive(&home).join("mcp-web");
    let mut bridge = home.direct_command(bridge);
    let mut bridge = Running::start(bridge.args(["bridge", "--bind", "127.0.0.1:0"]));
    let url = bridge.wait_for("listening on ");
    let mut client = home.direct_command(&program);
    client
        .env("MCP_SERVER_URL", format!("{url}/mcp"))
        .env("AUTH_TOKEN", TOKEN);
    let (mut client, mut input) = Running::start_with_input(&mut client);
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    writeln!(input, "{request}").unwrap();
    let answer: Value = serde_json::from_str(&client.next_line().unwrap()).unwrap();
    assert_eq!(
        answer["result"]["serverInfo"]["name"], "mcp-web",
        "{answer}"
    );
    drop(input);
    assert!(client.wait_for_end().success());
}

#[test]
fn claude_code_accepts_the_plugin_and_installs_it() {
    let home = Home::new();
    let claude = |arguments: &[&str]| {
        let mut claude = home.command(claude());
        // It asks no server whether there is a newer version of itself.
        claude
            .args(arguments)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        claude
    };
    let folder = release("plugin");
    let folder = folder.to_str().unwrap();
    succeed(&mut claude(&["plugin", "validate", "--strict", folder]));
    let plugin = format!("{folder}/plugins/mcp-web");
    succeed(&mut claude(&["plugin", "validate", "--strict", &plugin]));
    succeed(&mut claude(&["plugin", "marketplace", "add", folder]));
    // The token is missing: Claude Code asks for it.
    succeed(&mut claude(&["plugin", "install", "mcp-web@mcp-web"]));
    let list = succeed(&mut claude(&["plugin", "list"]));
    assert!(
        list.contains("mcp-web@mcp-web") && list.contains(VERSION),
        "{list}"
    );
}
