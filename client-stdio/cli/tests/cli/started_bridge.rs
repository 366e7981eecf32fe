//! The bridge that `stdio` starts.

use std::io::ErrorKind;
use std::path::PathBuf;

use raw_page::{Page, with_deadline};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::kit::*;
use crate::stdio_client::StdioClient;

/// The name of the server in the answers of a client without a bridge.
const OFFLINE_NAME: &str = "mcp-web-stdio";

/// A user with a home folder, and a free port.
pub(crate) struct User {
    pub(crate) home: TempDir,
    pub(crate) port: u16,
}

impl User {
    pub(crate) fn new() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Self::with_port(listener.local_addr().unwrap().port())
    }

    pub(crate) fn with_port(port: u16) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            port,
        }
    }

    /// The command of a client, whose bridge ends soon after it.
    pub(crate) fn stdio(&self) -> Command {
        let mut command = program(&["stdio"]);
        command
            .env("HOME", self.home.path())
            .env("MCP_SERVER_URL", self.url())
            .env("AUTH_TOKEN", TOKEN)
            .env("MCP_WEB_START_BRIDGE", "local")
            .env("MCP_WEB_BRIDGE_IDLE_TIMEOUT", "500ms");
        command
    }

    pub(crate) fn client(&self) -> StdioClient {
        StdioClient::start_with(self.stdio())
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn folder(&self) -> PathBuf {
        let path = format!(".local/state/mcp-web/started-bridge/{}", self.port);
        self.home.path().join(path)
    }

    /// The processes of bridges that were started for this port.
    pub(crate) fn bridges(&self) -> Vec<u32> {
        let bind = format!("started-bridge\0--bind\0127.0.0.1:{}\0", self.port);
        let processes = std::fs::read_dir("/proc").unwrap();
        let ids = processes.filter_map(|it| it.unwrap().file_name().to_str()?.parse().ok());
        ids.filter(|id| {
            let words = std::fs::read_to_string(format!("/proc/{id}/cmdline"));
            words.is_ok_and(|words| words.contains(&bind))
        })
        .collect()
    }

    /// The only bridge.
    pub(crate) fn bridge(&self) -> u32 {
        let bridges = self.bridges();
        let [bridge] = bridges[..] else {
            panic!("{bridges:?}")
        };
        bridge
    }
}

/// Waits for the end of a process that is not a child of this one.
pub(crate) async fn wait_for_end(process: u32) {
    let process = Pid::from_raw(process as i32).unwrap();
    // Without it, it has ended.
    let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else {
        return;
    };
    let waiting = spawn_blocking(move || {
        while let Err(error) = poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
            assert_eq!(error.kind(), ErrorKind::Interrupted);
        }
    });
    with_deadline("end of the bridge", waiting).await.unwrap();
}

pub(crate) fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
}

pub(crate) fn is_online(initialized: &Value) -> bool {
    initialized["serverInfo"]["name"] != OFFLINE_NAME
}

/// Returns why a client is offline.
async fn offline_reason(command: Command) -> String {
    let mut client = StdioClient::start_with(command);
    let initialized = client.initialize().await;
    assert!(!is_online(&initialized), "{initialized}");
    client.close().await;
    initialized["instructions"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn clients_that_start_at_once_share_one_bridge_that_ends_after_them() {
    let user = User::new();
    let mut clients = [user.client(), user.client(), user.client()];
    let [one, two, three] = &mut clients;
    let (one, two, three) = tokio::join!(one.initialize(), two.initialize(), three.initialize());
    assert!([one, two, three].iter().all(is_online));
    let bridge = user.bridge();

    let mut later = user.client();
    assert!(is_online(&later.initialize().await));
    let mut page = Page::connect_to(format!("127.0.0.1:{}", user.port), "tab", TOKEN).await;
    page.register(&[json!({ "name": "add_card", "inputSchema": { "type": "object" } })])
        .await;
    let listed = later.list_tools().await;
    assert!(listed.to_string().contains("add_card"), "{listed}");
    assert_eq!(user.bridge(), bridge);

    for client in clients {
        client.close().await;
    }
    later.close().await;
    // A page keeps the bridge as a client does.
    let health = format!("http://127.0.0.1:{}/healthz", user.port);
    assert_eq!(get(&health, "*/*").await, "ok");
    page.close().await;
    wait_for_end(bridge).await;
    assert!(user.bridges().is_empty());
}

#[tokio::test]
async fn the_bridge_has_its_own_session_and_nothing_of_the_client() {
    let user = User::new();
    let mut command = user.stdio();
    command
        .env("MCP_WEB_BIND", "0.0.0.0:0")
        .env("MCP_WEB_TOKENS", "some-other-token-0123456789-0123456789")
        .env("MCP_WEB_LOG", "debug");
    let mut client = StdioClient::start_with(command);
    assert!(is_online(&client.initialize().await));
    let bridge = user.bridge();
    let stat = std::fs::read_to_string(format!("/proc/{bridge}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let session = fields.split(' ').nth(3).unwrap();
    assert_eq!(session, bridge.to_string());
    for file in ["environ", "cmdline"] {
        let text = std::fs::read_to_string(format!("/proc/{bridge}/{file}")).unwrap();
        assert!(!text.contains(TOKEN), "{text}");
        assert!(
            !text.contains("MCP_WEB_") && !text.contains("some-other-token"),
            "{text}"
        );
    }
    let log = std::fs::read_to_string(user.folder().join("log")).unwrap();
    assert!(log.contains("127.0.0.1") && !log.contains(TOKEN), "{log}");
    client.close().await;
    wait_for_end(bridge).await;
}

#[tokio::test]
async fn the_end_of_a_client_by_a_signal_leaves_the_bridge() {
    let user = User::new();
    let mut command = user.stdio();
    command.env("MCP_WEB_BRIDGE_IDLE_TIMEOUT", "10m");
    let mut client = StdioClient::start_with(command);
    assert!(is_online(&client.initialize().await));
    let bridge = user.bridge();
    signal(client.child.id().unwrap(), Signal::TERM);
    let ended = with_deadline("end of the client", client.child.wait()).await;
    assert!(ended.unwrap().success());
    assert_eq!(user.bridge(), bridge);
    assert!(is_online(&user.client().initialize().await));
    assert_eq!(user.bridge(), bridge);
    signal(bridge, Signal::TERM);
    wait_for_end(bridge).await;
}

#[tokio::test]
async fn a_bridge_that_is_killed_is_started_again_for_the_next_request() {
    let user = User::new();
    let mut client = user.client();
    assert!(is_online(&client.initialize().await));
    let first = user.bridge();
    signal(first, Signal::KILL);
    wait_for_end(first).await;
    // The client may notice the loss while it sends this request, which then fails.
    let _ = client.list_tools().await;
    let listed = client.list_tools().await;
    assert!(listed["tools"].is_array(), "{listed}");
    let mut other = user.client();
    assert!(is_online(&other.initialize().await));
    let second = user.bridge();
    assert_ne!(first, second);
    client.close().await;
    other.close().await;
    wait_for_end(second).await;
}

#[tokio::test]
async fn a_stale_lock_and_a_stale_secret_do_not_matter() {
    let user = User::new();
    let mut client = user.client();
    assert!(is_online(&client.initialize().await));
    let first = user.bridge();
    client.close().await;
    wait_for_end(first).await;
    std::fs::write(user.folder().join("lock"), "4194304\n").unwrap();
    let mut client = user.client();
    assert!(is_online(&client.initialize().await));
    let bridge = user.bridge();
    std::fs::remove_file(user.folder().join("secret")).unwrap();
    let mut other = user.client();
    assert!(is_online(&other.initialize().await));
    assert_eq!(user.bridge(), bridge);
    client.close().await;
    other.close().await;
    wait_for_end(bridge).await;
}

#[tokio::test]
async fn nothing_is_started_where_it_is_forbidden_or_at_another_address() {
    let user = User::new();
    let mut never = user.stdio();
    never.env("MCP_WEB_START_BRIDGE", "never");
    let mut flag = user.stdio();
    flag.args(["--start-bridge", "never"]);
    // This is not the default port.
    let mut auto = user.stdio();
    auto.env("MCP_WEB_START_BRIDGE", "");
    for command in [never, flag, auto] {
        let reason = offline_reason(command).await;
        assert!(
            reason.contains("start it with `mcp-web bridge`"),
            "{reason}"
        );
        assert!(user.bridges().is_empty());
    }
    assert!(!user.folder().exists());
    let mut wrong = user.stdio();
    wrong.args(["--start-bridge", "sometimes"]);
    let ended = run(wrong).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("never"), "{ended:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_the_reason() {
    let user = User::new();
    std::fs::write(user.home.path().join(".local"), "").unwrap();
    let reason = offline_reason(user.stdio()).await;
    let path = user.folder().join("secret").display().to_string();
    assert!(reason.contains(&path), "{reason}");
    assert!(reason.contains("`mcp-web bridge`"), "{reason}");
    let mut homeless = user.stdio();
    homeless.env_remove("HOME");
    let reason = offline_reason(homeless).await;
    assert!(reason.contains("set HOME"), "{reason}");
}

#[tokio::test]
async fn a_bridge_that_ends_at_its_start_gives_the_reason() {
    let user = User::new();
    std::fs::create_dir_all(user.folder()).unwrap();
    std::fs::write(user.folder().join("state"), "").unwrap();
    let reason = offline_reason(user.stdio()).await;
    let path = user.folder().join("state").display().to_string();
    assert!(reason.contains("ended with exit status"), "{reason}");
    assert!(reason.contains(&path), "{reason}");
}

/// Answers each request with the response for its path, and returns all requests at the end.
fn serve(
    listener: TcpListener,
    response: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> JoinHandle<String> {
    tokio::spawn(async move {
        let mut requests = String::new();
        // The last client of the test asks for the end.
        while !requests.contains("/end") {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            let length = connection.read(&mut head).await.unwrap_or_default();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            if let Some(response) = response(path) {
                let _ = connection.write_all(response.as_bytes()).await;
            }
            requests += &head;
        }
        requests
    })
}

fn http_response(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

const DESCRIPTION: &str = r#"{"name":"mcp-web","description":"x","version":"0.1.0"}"#;

#[tokio::test]
async fn another_program_at_the_port_does_not_get_the_token() {
    let proof = format!("mcp-web-proof {}", "0".repeat(64));
    let forged = move |path: &str| match path {
        "/" => Some(http_response("200 OK", DESCRIPTION)),
        _ => Some(http_response("200 OK", &proof)),
    };
    let page = |_: &str| Some(http_response("200 OK", "<!doctype html>"));
    let json = |_: &str| Some(http_response("404 Not Found", r#"{"error":"not found"}"#));
    // It describes itself like a bridge, and has no errors like one.
    let similar = |path: &str| match path {
        "/" => Some(http_response("200 OK", DESCRIPTION)),
        _ => Some(http_response("404 Not Found", "{}")),
    };
    let same_for_all = |_: &str| {
        let body = r#"{"name":"shop","description":"x","version":"1.0.0","routes":["/"]}"#;
        Some(http_response("200 OK", body))
    };
    let silent = |_: &str| None;
    let garbage = |_: &str| Some("220 mail.example.com ESMTP\r\n".to_owned());
    type Respond = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;
    let programs: [(&str, Respond); 7] = [
        ("forged proof", Box::new(forged)),
        ("page", Box::new(page)),
        ("json", Box::new(json)),
        ("similar", Box::new(similar)),
        ("same for all", Box::new(same_for_all)),
        ("silent", Box::new(silent)),
        ("garbage", Box::new(garbage)),
    ];
    for (name, respond) in programs {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let user = User::with_port(address.port());
        let serving = serve(listener, respond);
        let reason = offline_reason(user.stdio()).await;
        assert!(reason.contains("did not get the token"), "{name}: {reason}");
        let mut last = tokio::net::TcpStream::connect(address).await.unwrap();
        last.write_all(b"GET /end HTTP/1.1\r\n\r\n").await.unwrap();
        let requests = with_deadline("end of the program", serving).await.unwrap();
        assert!(requests.contains("GET / "), "{name}: {requests}");
        assert!(!requests.contains(TOKEN), "{name}: {requests}");
        assert!(user.bridges().is_empty());
    }
}

#[tokio::test]
async fn the_bridge_of_another_user_does_not_get_the_token() {
    let user = User::new();
    let mut client = user.client();
    assert!(is_online(&client.initialize().await));
    let bridge = user.bridge();
    let other = User::with_port(user.port);
    let reason = offline_reason(other.stdio()).await;
    assert!(reason.contains("another user"), "{reason}");
    assert_eq!(user.bridge(), bridge);
    client.close().await;
    wait_for_end(bridge).await;
}

#[tokio::test]
async fn the_bridge_of_a_person_is_used_and_not_replaced() {
    let arguments = ["bridge", "--bind", "127.0.0.1:0"];
    let (bridge, url) = start(program(&arguments), "listening on ").await;
    let port = url.rsplit(':').next().unwrap().parse().unwrap();
    let user = User::with_port(port);
    let mut client = user.client();
    assert!(is_online(&client.initialize().await));
    assert!(user.bridges().is_empty());
    assert!(!user.folder().exists());
    stop(bridge).await;
    let params = json!({ "name": "list_active_sessions", "arguments": {} });
    let called = client.request("tools/call", params).await;
    assert_eq!(called["isError"], true, "{called}");
    assert!(called.to_string().contains("start it with"), "{called}");
    assert!(user.bridges().is_empty());
    client.close().await;
}
