//! The program, bridges and pages of the tests.

use std::process::{Output, Stdio};

use bridge::{Config, MountedApp, Network, ServerHandle, Tokens};
use raw_page::{Page, with_deadline};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-web");

/// The token of the pages.
pub(crate) const TOKEN: &str = "token-of-the-test-page-0123456789";

/// The program without any environment variables. It is killed when the test ends.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut program = Command::new(PROGRAM);
    program
        .env_clear()
        .args(arguments)
        .kill_on_drop(true)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program
}

/// The output of a program that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs a command until it ends.
pub(crate) async fn run(mut command: Command) -> Ended {
    let output = with_deadline("end of the program", command.output()).await;
    output.unwrap().into()
}

/// Runs a command with this text on its stdin until it ends.
pub(crate) async fn run_with_input(mut command: Command, input: &str) -> Ended {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let output = with_deadline("end of the program", child.wait_with_output()).await;
    output.unwrap().into()
}

/// Waits for a line that begins like this, and returns the rest of it.
pub(crate) async fn wait_for_line(output: impl AsyncRead + Unpin, start: &str) -> String {
    let mut lines = BufReader::new(output).lines();
    loop {
        let line = with_deadline(start, lines.next_line()).await.unwrap();
        let line = line.unwrap_or_else(|| panic!("no line begins with {start:?}"));
        if let Some(rest) = line.strip_prefix(start) {
            return rest.to_owned();
        }
    }
}

/// Waits until a log contains a text, returns the line, and reads the rest of it in the background.
pub(crate) async fn wait_for_text(log: ChildStderr, text: &str) -> String {
    let mut lines = BufReader::new(log).lines();
    let line = loop {
        let line = with_deadline(text, lines.next_line()).await.unwrap();
        let line = line.expect("the program runs");
        if line.contains(text) {
            break line;
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    line
}

/// Starts a program, and waits until it prints a line that begins like this. Returns the rest of it.
pub(crate) async fn start(mut command: Command, announcement: &str) -> (Child, String) {
    let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let rest = wait_for_line(stdout, announcement).await;
    (child, rest)
}

/// Sends a signal to a program, and waits for its end.
#[cfg(unix)]
pub(crate) async fn stop(mut child: Child) {
    let id = child.id().unwrap().to_string();
    let kill = Command::new("kill").args(["-TERM", &id]).status().await;
    assert!(kill.unwrap().success());
    let status = with_deadline("end of the program", child.wait()).await;
    assert!(status.unwrap().success());
}

/// Starts a bridge in this process that accepts only these tokens, or any if there are none.
pub(crate) async fn start_bridge(tokens: &[&str]) -> ServerHandle {
    let config = Config {
        network: Network {
            bind: ([127, 0, 0, 1], 0).into(),
            ..Network::default()
        },
        tokens: Tokens {
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
            ..Tokens::default()
        },
        ..Config::default()
    };
    bridge::serve(config, MountedApp::default()).await.unwrap()
}

/// Connects a page with the tool `add_card`.
pub(crate) async fn connect_page(bridge: &ServerHandle) -> Page {
    connect_session(bridge, "s").await
}

/// Connects a page of this session with the tool `add_card`.
pub(crate) async fn connect_session(bridge: &ServerHandle, session: &str) -> Page {
    let mut page = Page::connect_to(bridge.local_addr(), session, TOKEN).await;
    page.register(&[add_card()]).await;
    page
}

pub(crate) fn add_card() -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "title": { "type": "string" }, "column": { "type": "string" } },
        "required": ["title"],
    });
    json!({ "name": "add_card", "description": "Adds a card.", "inputSchema": schema })
}

/// Sends a request without a token, and returns the body of the response.
pub(crate) async fn get(url: &str, accept: &str) -> String {
    // In a build of the whole workspace, reqwest has TLS and needs a provider. A second installation
    // in this process fails without an effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().get(url).header("accept", accept);
    let response = with_deadline("response", request.send()).await.unwrap();
    let response = response.error_for_status().unwrap();
    with_deadline("body", response.text()).await.unwrap()
}
