//! The command line of the MCP Inspector: a client that uses neither our code nor rmcp.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{BridgeEndpoint, Era, Transport, program_paths, with_deadline};

/// Runs the Inspector against a test bed or a server over stdio. Each request has its own connection.
#[derive(Debug)]
pub struct Inspector {
    target: Vec<String>,
    era: &'static str,
    home: TempDir,
}

impl Inspector {
    /// Creates an Inspector for a transport and an era.
    pub fn new(bed: &impl BridgeEndpoint, transport: Transport, era: Era) -> Self {
        let target = match transport {
            Transport::Http => over_http(bed),
            Transport::Stdio => over_stdio(bed, &program_paths::built("mcp-web-stdio")),
        };
        Self::with_target(target, era)
    }

    /// Creates an Inspector that finds out by itself which era a bridge speaks.
    pub fn negotiating(bed: &impl BridgeEndpoint, transport: Transport) -> Self {
        Self {
            era: "auto",
            ..Self::new(bed, transport, Era::Discover)
        }
    }

    /// Creates an Inspector that starts a server over stdio.
    pub fn of_server(command: impl IntoIterator<Item = String>, era: Era) -> Self {
        Self::with_target(command.into_iter().collect(), era)
    }

    fn with_target(target: Vec<String>, era: Era) -> Self {
        let era = match era {
            Era::Initialize => "legacy",
            Era::Discover => "modern",
        };
        let home = TempDir::with_prefix("mcp-web-inspector-").unwrap();
        Self { target, era, home }
    }

    /// Returns the names in `tools/list`.
    pub async fn tools(&self) -> Vec<String> {
        let answer = self.run(&["--method", "tools/list"]).await;
        let tools = answer["tools"].as_array();
        let tools = tools.unwrap_or_else(|| panic!("no list of tools in {answer}"));
        let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
        tools.iter().map(name).collect()
    }

    /// Calls a tool and returns its result.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Value {
        let arguments = arguments.to_string();
        let call = ["--method", "tools/call", "--tool-name", tool];
        let arguments = ["--tool-args-json", &arguments];
        self.run(&[call.as_slice(), &arguments].concat()).await
    }

    async fn run(&self, request: &[&str]) -> Value {
        let entry = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        let mut command = Command::new(program_paths::node());
        command
            .arg(program_paths::node_modules().join(entry))
            .arg("--cli")
            .args(&self.target)
            .args(request)
            .args(["--protocol-era", self.era, "--format", "json", "--quiet"])
            .env("HOME", self.home.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = with_deadline("the Inspector to answer", command.output())
            .await
            .expect("Node starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let result = answer["result"].take();
        // It fails after it has printed a result with `isError`.
        assert!(
            output.status.success() || result["isError"] == true,
            "the Inspector failed: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        result
    }
}

fn over_http(bed: &impl BridgeEndpoint) -> Vec<String> {
    let header = format!("Authorization: Bearer {}", bed.token());
    let url = bed.mcp_url();
    [
        "--transport",
        "http",
        "--server-url",
        &url,
        "--header",
        &header,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn over_stdio(bed: &impl BridgeEndpoint, program: &Path) -> Vec<String> {
    let url = format!("MCP_SERVER_URL={}", bed.mcp_url());
    let token = format!("AUTH_TOKEN={}", bed.token());
    let program = program.display().to_string();
    [&program, "-e", &url, "-e", &token]
        .map(str::to_owned)
        .to_vec()
}
