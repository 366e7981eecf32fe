//! Tests of a token that a command prints and renews.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridge::{Config, Identity, MountedApp, Network};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use raw_page::Page;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::client::{Client, DEADLINE, Era, TOKEN, command, error_text};
use crate::raw_server::{RawServer, ReceivedRequest};
use crate::server::Server;

const FIRST: &str = "the-first-token-of-the-command";
const SECOND: &str = "the-second-token-of-the-command";

/// A token in a file that a command prints, and a line in another file for each run of the command.
struct PrintedToken {
    folder: TempDir,
}

impl PrintedToken {
    fn new(token: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let printed = Self { folder };
        printed.replace(token);
        printed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the token at once.
    fn replace(&self, token: &str) {
        std::fs::write(self.path("next"), format!("{token}\n")).unwrap();
        std::fs::rename(self.path("next"), self.path("token")).unwrap();
    }

    fn remove(&self) {
        std::fs::remove_file(self.path("token")).unwrap();
    }

    /// Returns how often the command has run.
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path("runs")).map_or(0, |runs| runs.lines().count())
    }

    async fn wait_for_runs(&self, count: usize) {
        let runs = async {
            while self.runs() < count {
                raw_page::poll_pause().await;
            }
        };
        timeout(DEADLINE, runs).await.expect("the command runs");
    }

    fn command(&self, url: &str) -> Command {
        let [runs, token] = ["runs", "token"].map(|name| self.path(name).display().to_string());
        let script = format!("echo run >> \"{runs}\"; echo \"reading it\" >&2; cat \"{token}\"");
        let mut command = command(url);
        command
            .env_remove("AUTH_TOKEN")
            .env("MCP_WEB_TOKEN_COMMAND", format!("sh -c '{script}'"));
        command
    }
}

fn token_of(request: &ReceivedRequest) -> Option<&str> {
    request.header("authorization")?.strip_prefix("Bearer ")
}

fn refuse(request: ReceivedRequest) {
    let challenge = r#"Bearer realm="mcp-web", error="invalid_token""#;
    request.challenge(401, challenge, r#"{"error":"TokenExpired","message":"m"}"#);
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_no_request_is_lost() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let printed = PrintedToken::new(FIRST);
        let (mut client, _events) = server.connect(printed.command(&server.url()), era).await;
        let first = client.send_call("a").await;
        let running = server.post("tools/call").await;
        assert_eq!(token_of(&running), Some(FIRST));

        printed.replace(SECOND);
        let second = client.send_call("b").await;
        let refused = server.post("tools/call").await;
        let text = refused.text.clone();
        refuse(refused);
        let again = server.post("tools/call").await;
        assert_eq!(token_of(&again), Some(SECOND));
        assert_eq!(again.text, text);
        again.answer(&json!({ "content": ["b"] }));
        let answer = client.response(second).await;
        assert_eq!(answer["result"]["content"], json!(["b"]));
        running.answer(&json!({ "content": ["a"] }));
        let answer = client.response(first).await;
        assert_eq!(answer["result"]["content"], json!(["a"]));
        assert_eq!(printed.runs(), 2);
    }
}

#[tokio::test]
async fn a_token_that_stays_refused_runs_the_command_with_a_backoff_and_names_it() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let printed = PrintedToken::new(FIRST);
        let (mut client, _events) = server.connect(printed.command(&server.url()), era).await;
        let call = client.send_call("a").await;
        refuse(server.post("tools/call").await);
        let handshake = match era {
            Era::Session => "initialize",
            Era::Stateless => "server/discover",
        };
        refuse(server.post(handshake).await);
        let failed = client.response(call).await;
        let text = error_text(&failed["result"]);
        assert!(text.contains("MCP_WEB_TOKEN_COMMAND"), "{text}");
        assert!((2..=3).contains(&printed.runs()), "{}", printed.runs());
        assert!(client.is_alive());
    }
}

#[tokio::test]
async fn without_a_token_the_failure_of_the_command_is_shown_until_it_succeeds() {
    let server = Server::start().await;
    let printed = PrintedToken::new(TOKEN);
    printed.remove();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = printed.command(&server.url());
    command.stderr(log.reopen().unwrap());
    let mut client = Client::ready_with(command, Era::Session).await;
    let result = client.call("echo", json!({ "text": "x" })).await;
    let text = error_text(&result);
    assert!(
        text.contains("MCP_WEB_TOKEN_COMMAND")
            && text.contains("`sh` has ended with exit status: 1"),
        "{text}"
    );
    printed.replace(TOKEN);
    client.list_changed().await;
    client.echo("hello").await;
    assert!(client.close().await.success());
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(
        log.contains("No such file") && log.contains("reading it"),
        "{log}"
    );
    assert!(!log.contains(TOKEN), "{log}");
}

#[tokio::test]
async fn no_token_that_a_command_has_printed_is_logged() {
    let mut server = RawServer::start().await;
    let printed = PrintedToken::new(FIRST);
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = printed.command(&server.url());
    // It also writes the token to stderr.
    let token = printed.path("token").display().to_string();
    let script = format!("cat \"{token}\" >&2; cat \"{token}\"");
    command.env("MCP_WEB_TOKEN_COMMAND", format!("sh -c '{script}'"));
    command
        .args(["--log", "trace"])
        .stderr(log.reopen().unwrap());
    let (mut client, _events) = server.connect(command, Era::Session).await;
    printed.replace(&format!("{SECOND}\n{SECOND}"));
    let call = client.send_call("a").await;
    refuse(server.post("tools/call").await);
    refuse(server.post("initialize").await);
    client.response(call).await;
    assert!(client.close().await.success());
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(log.contains("the token command wrote: [token]"), "{log}");
    assert!(log.contains("several lines"), "{log}");
    assert!(!log.contains(FIRST) && !log.contains(SECOND), "{log}");
}

const SECRET: &str = "test-secret-of-no-other-use-0123456789";

/// Signs a token that expires at this time, in time since 1970.
fn signed_token(expires: Duration) -> String {
    let claims = json!({
        "iss": "https://issuer.test",
        "aud": "https://bridge.test/mcp",
        "sub": "ada",
        "exp": expires.as_secs_f64(),
        "scope": "page tools:read tools:call",
    });
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

async fn start_bridge_of_signed_tokens() -> bridge::ServerHandle {
    let config = Config {
        network: Network {
            bind: ([127, 0, 0, 1], 0).into(),
            ..Network::default()
        },
        identity: Identity {
            jwt_secret: Some(SECRET.parse().unwrap()),
            jwt_issuer: Some("https://issuer.test".to_owned()),
            jwt_audience: vec!["https://bridge.test/mcp".to_owned()],
            jwt_leeway: Duration::ZERO,
            ..Identity::default()
        },
        ..Config::default()
    };
    let serving = bridge::serve(config, MountedApp::default());
    serving.await.unwrap()
}

#[tokio::test]
async fn calls_in_an_mcp_session_continue_while_signed_tokens_expire() {
    check_calls_while_tokens_expire(Era::Session).await;
}

#[tokio::test]
async fn stateless_calls_continue_while_signed_tokens_expire() {
    check_calls_while_tokens_expire(Era::Stateless).await;
}

async fn check_calls_while_tokens_expire(era: Era) {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let in_an_hour = || signed_token(now() + Duration::from_secs(3600));
    let bridge = start_bridge_of_signed_tokens().await;
    let mut page = Page::connect_to(bridge.local_addr(), "page", &in_an_hour()).await;
    page.register(&["slow", "fast"].map(tool)).await;
    let expires = now() + Duration::from_secs(5);
    let printed = PrintedToken::new(&signed_token(expires));
    let mut client = Client::ready_with(printed.command(&bridge.url()), era).await;
    printed.wait_for_runs(1).await;
    let slow = client.send_call("slow").await;
    let slow_call = page.recv_call().await;
    printed.replace(&in_an_hour());
    let mut calls = 0;
    while now() < expires + Duration::from_secs(1) {
        let fast = client.send_call("fast").await;
        page.serve_call(json!("done")).await;
        let answer = client.response(fast).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        calls += 1;
    }
    assert!(calls > 1, "{calls}");
    // The call that was sent with the first token is answered, and notifications still arrive.
    page.respond(&slow_call, json!("done")).await;
    let answer = client.response(slow).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    if era == Era::Session {
        assert!(!client.has_received("notifications/tools/list_changed"));
        page.register(&[tool("another")]).await;
        client.list_changed().await;
    }
    assert!(printed.runs() >= 2);
    assert!(client.close().await.success());
}
