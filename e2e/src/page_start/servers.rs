//! The servers on this machine that the other packages connect to.

use std::net::{Ipv4Addr, TcpListener};

use tempfile::TempDir;

use crate::{NodeProject, ProcessGroup};

/// The program of `@jason.today/webmcp`.
const WEBMCP: &str = "node_modules/@jason.today/webmcp/build/index.js";

/// The server of `@jason.today/webmcp`.
#[derive(Debug)]
pub(super) struct WebMcpServer {
    port: String,
    /// The program keeps its tokens and the id of its process here.
    home: TempDir,
    _process: ProcessGroup,
}

/// The relay of `@mcp-b/webmcp-local-relay`, for one page.
#[derive(Debug)]
pub(super) struct Relay {
    port: String,
    _home: TempDir,
    process: ProcessGroup,
}

impl WebMcpServer {
    pub(super) async fn start(project: &NodeProject) -> Self {
        let home = TempDir::with_prefix("mcp-web-home-").unwrap();
        let port = free_port();
        let mut command = project.node_command(&[WEBMCP, "--foreground", "--port", &port]);
        command.env("HOME", home.path());
        let mut process = ProcessGroup::start("the server of webmcp", command);
        process.wait_for_line("server running").await;
        Self {
            port,
            home,
            _process: process,
        }
    }

    /// Generates a token, with which one page can connect.
    pub(super) async fn new_token(&self, project: &NodeProject) -> String {
        let mut command = project.node_command(&[WEBMCP, "--new", "--port", &self.port]);
        command.env("HOME", self.home.path());
        let mut process = ProcessGroup::start("webmcp --new", command);
        // It is `{"server":…}` in Base64.
        process.wait_for_line("eyJzZXJ2ZXIi").await
    }
}

impl Relay {
    pub(super) async fn start(project: &NodeProject) -> Self {
        let home = TempDir::with_prefix("mcp-web-home-").unwrap();
        let mut command = project.node_command(&["relay.mjs"]);
        command.env("HOME", home.path());
        let mut process = ProcessGroup::start("the relay", command);
        let line = process.wait_for_line("listening on port ").await;
        Self {
            port: last_word(&line).to_owned(),
            _home: home,
            process,
        }
    }

    pub(super) fn port(&self) -> &str {
        &self.port
    }

    /// Returns when the relay had received the page's tool, in milliseconds since 1970.
    pub(super) async fn wait_for_tool(&mut self) -> f64 {
        let line = self.process.wait_for_line("registered at ").await;
        last_word(&line).parse().unwrap()
    }
}

fn last_word(line: &str) -> &str {
    line.rsplit(' ').next().unwrap_or_default()
}

/// Returns a port that was free a moment ago.
fn free_port() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port().to_string()
}
