//! Programs for other systems, called through a bridge by a page. `cargo xtask test --cross` builds them and
//! runs these tests.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::kit::*;
use crate::page::Page;

const WINE: &str = "/usr/lib/wine";

/// Nothing but the program is in the root, so that it needs no file of a system.
#[test]
fn the_static_program_serves_the_demo_in_an_empty_root() {
    let root = Home::new();
    fs::copy(
        variable("MCP_WEB_STATIC_PROGRAM"),
        root.path().join("mcp-web"),
    )
    .unwrap();
    let program = || {
        let mut command = root.direct_command("chroot");
        command.arg(root.path()).arg("/mcp-web").env("HOME", "/");
        command
    };
    let mut demo = Running::start(program().args(["demo", "--bind", "127.0.0.1:0"]));
    // An empty root has no table of hosts either.
    let address = demo.wait_for("http://localhost");
    let url = format!("http://127.0.0.1{}", address.trim_end_matches('/'));
    let board = succeed(root.command("curl").args(["--silent", "--fail"]).arg(&url));
    assert!(board.contains("<title>"), "{board}");
    let _page = Page::open_with_sdk_of(&url);
    let answer = call_greet(program().arg("stdio"), &url);
    assert_eq!(answer, "Hello Ada");
}

#[test]
fn the_program_for_arm64_answers_a_call_under_qemu() {
    let home = Home::new();
    let mut bridge = start_bridge(&home);
    let url = bridge.wait_for("listening on ");
    let _page = Page::open_with_sdk_of(&url);
    let mut client = home.direct_command(variable("MCP_WEB_QEMU"));
    client.arg(variable("MCP_WEB_ARM64_STDIO"));
    assert_eq!(call_greet(&mut client, &url), "Hello Ada");
}

#[test]
fn the_program_for_windows_answers_a_call_under_wine() {
    let wine = WineSystem::new();
    let mut bridge = start_bridge(&wine.home);
    let url = bridge.wait_for("listening on ");
    let _page = Page::open_with_sdk_of(&url);
    // Windows looks for libraries beside the program.
    let library = variable("MCP_WEB_WINDOWS_LIBRARY");
    let program = wine.home.path().join("mcp-web-stdio.exe");
    fs::copy(
        &library,
        wine.home.path().join(library.file_name().unwrap()),
    )
    .unwrap();
    fs::copy(variable("MCP_WEB_WINDOWS_STDIO"), &program).unwrap();
    let mut client = wine.command("wine64");
    assert_eq!(call_greet(client.arg(program), &url), "Hello Ada");
}

fn start_bridge(home: &Home) -> Running {
    let mut bridge = home.direct_command(variable("MCP_WEB_STATIC_PROGRAM"));
    Running::start(bridge.args(["bridge", "--bind", "127.0.0.1:0"]))
}

/// A new system of Wine, whose processes end with it.
struct WineSystem {
    home: Home,
}

impl WineSystem {
    fn new() -> Self {
        Self { home: Home::new() }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.home.direct_command(Path::new(WINE).join(program));
        command
            .env("WINEPREFIX", self.home.path().join("wine"))
            .env("WINEDEBUG", "-all")
            // It would offer to download these.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=");
        command
    }
}

impl Drop for WineSystem {
    fn drop(&mut self) {
        let _ = self.command("wineserver64").arg("--kill").status();
    }
}

/// Starts a client for stdio, calls the tool of the page, and returns the text of its result.
fn call_greet(client: &mut Command, bridge: &str) -> String {
    let mut client = client
        .env("MCP_SERVER_URL", format!("{bridge}/mcp"))
        .env("AUTH_TOKEN", TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    let output = BufReader::new(client.stdout.take().unwrap());
    let messages = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut answers = messages.filter(|message| !message["id"].is_null());
    let mut send = |message: Value| writeln!(input, "{message}").unwrap();
    send(json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    }));
    let initialized = answers.next().unwrap();
    assert_eq!(initialized["result"]["serverInfo"]["name"], "mcp-web");
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    send(json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "greet", "arguments": { "name": "Ada" } },
    }));
    let answer = answers.next().unwrap();
    drop(input);
    drop(answers);
    assert!(client.wait().unwrap().success());
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}
