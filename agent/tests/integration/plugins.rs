//! `plugin serve`: the real process with rmcp's client, and with lines of a test.

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::get;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
    ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleClient, ServiceError};
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_util::task::AbortOnDropHandle;

use crate::kit::*;

/// A client of rmcp with the process that it uses.
struct Plugin {
    client: RunningService<RoleClient, ClientConfig>,
    child: Child,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = agent_program();
    command
        .args(["plugin", "serve"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A client that begins with `server/discover`.
fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

impl Plugin {
    async fn start(arguments: &[&str]) -> Self {
        Self::connect(&mut command(arguments), ClientLifecycleMode::Initialize).await
    }

    async fn connect(command: &mut Command, lifecycle: ClientLifecycleMode) -> Self {
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let transport = AsyncRwTransport::new(stdout, stdin);
        let info = Implementation::new("test", "1");
        let config = ClientConfig::new(ClientCapabilities::default(), info);
        let connecting = config.serve_with_lifecycle(transport, lifecycle);
        let client = with_deadline("connection", connecting).await.unwrap();
        Self { client, child }
    }

    async fn try_call(
        &self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        with_deadline("result", self.client.call_tool(request)).await
    }

    /// Calls a tool, and returns its text with whether it is an error.
    async fn call(&self, tool: &'static str, arguments: Value) -> (String, bool) {
        let result = self.try_call(tool, arguments).await.unwrap();
        let text = result.content[0].as_text().unwrap().text.clone();
        (text, result.is_error.unwrap())
    }

    async fn tool_names(&self) -> Vec<String> {
        let tools = self.client.list_all_tools().await.unwrap();
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }
}

fn notes() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    std::fs::write(folder.path().join("notes/plan.md"), "Buy milk").unwrap();
    std::fs::write(folder.path().join("secret.md"), "hush-hush").unwrap();
    folder
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Starts a server that answers requests for these paths with JSON, if they have the token.
async fn api(
    routes: &[(&'static str, Value)],
    token: &'static str,
) -> (String, AbortOnDropHandle<()>) {
    let mut router = Router::new();
    for (path, answer) in routes {
        let answer = answer.to_string();
        let handler = async move |headers: HeaderMap| {
            let given = headers.get("authorization").map(|it| it.to_str().unwrap());
            assert_eq!(given.unwrap_or_default(), token);
            ([("content-type", "application/json")], answer.clone())
        };
        router = router.route(path, get(handler));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    (url, AbortOnDropHandle::new(tokio::spawn(serving)))
}

#[tokio::test]
async fn files_are_served_to_clients_of_both_eras() {
    let folder = notes();
    let root = path(&folder, "notes");
    for lifecycle in [ClientLifecycleMode::Initialize, discover()] {
        let mut command = command(&["filesystem", "--root", &root]);
        let plugin = Plugin::connect(&mut command, lifecycle).await;
        let info = plugin.client.peer_info().unwrap();
        assert_eq!(
            info.server_info.as_ref().unwrap().name,
            "mcp-web-filesystem"
        );
        let instructions = info.instructions.as_deref();
        assert_eq!(
            instructions,
            Some("This server has files. Paths begin with `notes/`.")
        );
        let tools = plugin.client.list_all_tools().await.unwrap();
        let hints = |name: &str| {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let hints = tool.annotations.clone().unwrap();
            (
                hints.read_only_hint,
                hints.destructive_hint,
                hints.open_world_hint,
            )
        };
        assert_eq!(hints("read_file"), (Some(true), None, Some(false)));
        assert_eq!(hints("write_file"), (Some(false), Some(true), Some(false)));

        let arguments = json!({ "path": "notes/plan.md" });
        let (text, is_error) = plugin.call("read_file", arguments).await;
        assert_eq!((text.as_str(), is_error), ("Buy milk", false));
        for outside in ["notes/../secret.md", &path(&folder, "secret.md")] {
            let (text, is_error) = plugin.call("read_file", json!({ "path": outside })).await;
            assert!(is_error && !text.contains("hush-hush"), "{text}");
        }
        let (text, is_error) = plugin.call("read_file", json!({ "path": 7 })).await;
        assert!(is_error && text.contains("/path"), "{text}");
        match plugin.try_call("nope", json!({})).await {
            Err(ServiceError::McpError(error)) => assert_eq!(error.code.0, -32602),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn folders_that_are_only_read_have_no_tool_that_writes() {
    let folder = notes();
    let mut command = command(&[
        "filesystem",
        "--root",
        "all=.",
        "--root",
        "notes",
        "--read-only",
    ]);
    command.current_dir(folder.path());
    let plugin = Plugin::connect(&mut command, ClientLifecycleMode::Initialize).await;
    assert_eq!(plugin.tool_names().await, ["read_file", "list_directory"]);
    let (roots, _) = plugin.call("list_directory", json!({})).await;
    assert_eq!(roots, "all/\nnotes/");
}

#[tokio::test]
async fn a_database_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let database = path(&folder, "shop.db");
    let connection = Connection::open(&database).unwrap();
    let rows = "CREATE TABLE orders (item TEXT); INSERT INTO orders VALUES ('milk');
                CREATE TABLE staff (name TEXT);";
    connection.execute_batch(rows).unwrap();
    let url = format!("sqlite:{database}");
    let plugin = Plugin::start(&["database", "--url", &url, "--table", "orders"]).await;
    let query = |sql: &str| plugin.call("query", json!({ "sql": sql }));
    let (text, is_error) = query("SELECT item FROM orders").await;
    assert!(!is_error && text.contains("milk"), "{text}");
    let (text, is_error) = query("SELECT name FROM staff").await;
    assert!(is_error && text.contains("staff"), "{text}");
}

#[tokio::test]
async fn a_search_engine_is_served() {
    let found = json!({ "url": "https://example.com/", "title": "Milk", "content": "Fresh" });
    let (url, _server) = api(&[("/search", json!({ "results": [found] }))], "").await;
    let plugin = Plugin::start(&["websearch", "--url", &url]).await;
    assert_eq!(plugin.tool_names().await, ["web_search"]);
    let (text, is_error) = plugin.call("web_search", json!({ "query": "milk" })).await;
    assert!(!is_error && text.contains("https://example.com/"), "{text}");
}

#[tokio::test]
async fn github_is_served_with_a_token_of_a_file_or_of_a_variable() {
    let route = ("/repos/owner/app/pulls", json!([]));
    let (url, _server) = api(&[route], "Bearer token-of-the-test").await;
    let folder = tempfile::tempdir().unwrap();
    let token = path(&folder, "token");
    std::fs::write(&token, "token-of-the-test\n").unwrap();
    let arguments = ["github", "--url", &url, "--repository", "owner/*"];
    for flag in [["--token-file", &token], ["--token-variable", "GITHUB"]] {
        let mut command = command(&[&arguments[..], &flag].concat());
        command.env("GITHUB", "token-of-the-test");
        let plugin = Plugin::connect(&mut command, discover()).await;
        let list = |repository: &str| {
            plugin.call("list_pull_requests", json!({ "repository": repository }))
        };
        let (text, is_error) = list("owner/app").await;
        assert!(!is_error, "{text}");
        let (text, is_error) = list("others/app").await;
        assert!(is_error && text.contains("does not allow"), "{text}");
    }
}

#[tokio::test]
async fn a_source_of_a_file_with_tools_is_served() {
    let folder = notes();
    let text = "[sources.notes]\ntype = 'filesystem'\nroots = { mine = 'notes' }\n";
    std::fs::write(folder.path().join("tools.toml"), text).unwrap();
    let file = path(&folder, "tools.toml");
    let plugin = Plugin::start(&["source", "notes", "--tools-file", &file]).await;
    let info = plugin.client.peer_info().unwrap();
    assert_eq!(
        info.server_info.as_ref().unwrap().title.as_deref(),
        Some("notes")
    );
    let arguments = json!({ "path": "mine/plan.md" });
    assert_eq!(plugin.call("read_file", arguments).await.0, "Buy milk");

    let error = startup_error(&["source", "others", "--tools-file", &file]).await;
    assert!(
        error.contains("no source `others`; it has `notes`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stored_secret_is_used_and_in_no_result() {
    let token = "token-of-the-test";
    let found = json!({ "url": "https://example.com/", "title": token, "content": "" });
    let (url, _server) = api(&[("/search", json!({ "results": [found] }))], "").await;
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (path(&folder, "secrets.json"), path(&folder, "master.key"));
    let options = ["--secrets-file", &file, "--master-key-file", &key];
    for (words, input) in [
        (&["generate-key", &key][..], ""),
        (&["set", "token"], token),
    ] {
        let mut command = agent_program();
        command.arg("secrets").args(options).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // One of the commands reads nothing.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        assert!(with_deadline("end", child.wait()).await.unwrap().success());
    }
    let arguments = [&["websearch", "--url", &url], &options[..]].concat();
    let plugin = Plugin::start(&arguments).await;
    let (text, _) = plugin.call("web_search", json!({ "query": "milk" })).await;
    assert!(
        text.contains("[secret token]") && !text.contains(token),
        "{text}"
    );
}

/// Runs a plugin that must not start, and returns its stderr. Nothing is on stdout.
async fn startup_error(arguments: &[&str]) -> String {
    let output = with_deadline("end", command(arguments).output())
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_an_error_with_words() {
    for (arguments, expected) in [
        (
            &["filesystem", "--root", "no-such-folder"][..],
            "cannot be opened",
        ),
        (
            &["database", "--url", "sqlite:no.db", "--table", "a"],
            "no file",
        ),
        (&["websearch", "--engine", "brave"], "api_key"),
        (
            &["github", "--token-file", "/no/such/file"],
            "cannot be read",
        ),
        (&["github", "--token-secret", "token"], "secrets_file"),
        (
            &["source", "a", "--tools-file", "/no/such/file"],
            "cannot be read",
        ),
    ] {
        let error = startup_error(arguments).await;
        assert!(
            error.starts_with("error: ") && error.contains(expected),
            "{error}"
        );
    }
}

/// Waits until a process has ended, and returns what it has written to stdout.
async fn end(mut child: Child) -> (ExitStatus, String) {
    let mut stdout = String::new();
    let reading = child.stdout.as_mut().unwrap().read_to_string(&mut stdout);
    with_deadline("end of stdout", reading).await.unwrap();
    (with_deadline("end", child.wait()).await.unwrap(), stdout)
}

#[tokio::test]
async fn the_end_of_stdin_ends_the_process_with_all_answers() {
    let folder = notes();
    let mut child = command(&["filesystem", "--root", &path(&folder, "notes")])
        .spawn()
        .unwrap();
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    let call = json!({ "name": "read_file", "arguments": { "path": "notes/plan.md" } });
    let request = |id: u32, method: &str, params: &Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let mut lines = vec![request(0, "initialize", &params), initialized.to_string()];
    lines.extend((1..200).map(|id| request(id, "tools/call", &call)));
    let lines = lines.join("\n") + "\n";
    let mut stdin = child.stdin.take().unwrap();
    let writing = async move { stdin.write_all(lines.as_bytes()).await.unwrap() };
    let ((), (status, stdout)) = tokio::join!(writing, end(child));
    assert!(status.success());
    let answers = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let answers: Vec<Map<String, Value>> = answers.collect();
    assert_eq!(answers.len(), 200);
    assert!(answers.iter().all(|answer| answer.contains_key("result")));
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_the_process() {
    let folder = notes();
    for signal in ["-TERM", "-INT"] {
        let mut plugin = Plugin::start(&["filesystem", "--root", &path(&folder, "notes")]).await;
        let id = plugin.child.id().unwrap().to_string();
        let kill = Command::new("kill").args([signal, &id]).status().await;
        assert!(kill.unwrap().success());
        let status = with_deadline("end", plugin.child.wait()).await.unwrap();
        assert!(status.success(), "{status}");
    }
}

/// The examples of the help work, apart from their paths and names.
#[tokio::test]
async fn the_help_has_an_example_for_each_type() {
    for kind in ["filesystem", "database", "websearch", "github", "source"] {
        let output = command(&[kind, "--help"]).output().await.unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let (_, example) = help.split_once("in the file of a client:\n").unwrap();
        let entry: Value = serde_json::from_str(example).unwrap();
        let servers = entry["mcpServers"].as_object().unwrap();
        let server = servers.values().next().unwrap();
        assert_eq!(server["command"], "mcp-web");
        let arguments = server["args"].as_array().unwrap();
        let arguments: Vec<_> = arguments.iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(arguments[..4], ["agent", "plugin", "serve", kind]);
        // All arguments are known: a file of the example may be missing.
        let mut command = command(&arguments[3..]);
        command.env("TAVILY_API_KEY", "key-of-the-test");
        let output = command.stdin(Stdio::null()).output().await.unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.is_empty() || names_missing_file(&error), "{error}");
    }
}

fn names_missing_file(error: &str) -> bool {
    let missing = ["cannot be read", "cannot be opened", "names no file"];
    missing.iter().any(|words| error.contains(words)) && !Path::new("/srv/notes").exists()
}
