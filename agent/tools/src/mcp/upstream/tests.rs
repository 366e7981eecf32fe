//! MCP servers as sources: real processes, whose behaviour a test chooses.

mod floods;
mod http_failures;
mod http_responses;

use std::path::Path;
use std::time::Instant;

use agent_secrets::MasterKey;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::ServersFile;

const SERVER: &str = include_str!("tests/server.mjs");

/// A server in its own folder.
struct TestServer {
    folder: TempDir,
    upstream: Upstream,
}

/// Variables that no server needs.
#[derive(Debug)]
struct NoVariables;

impl Variables for NoVariables {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn file(&self, _path: &Path) -> Result<String, String> {
        Err("there is no file".to_owned())
    }
}

/// Answers `initialize` or `tools/list` as a server with these tools.
fn answer_setup(request: &Value, tools: &[&str]) -> Value {
    let result = if request["method"] == "initialize" {
        json!({ "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": { "tools": {} }, "serverInfo": { "name": "test", "version": "1" } })
    } else {
        let tools = tools.iter();
        let tools = tools.map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }));
        json!({ "tools": tools.collect::<Vec<_>>() })
    };
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })
}

impl TestServer {
    fn new(behaviour: &str) -> Self {
        Self::with(behaviour, json!({}), None, &Arc::default())
    }

    fn with(
        behaviour: &str,
        policy: Value,
        pinned: Option<Vec<ServerTool>>,
        slots: &Arc<ProcessSlots>,
    ) -> Self {
        Self::with_secrets(behaviour, policy, pinned, slots, None)
    }

    fn with_secrets(
        behaviour: &str,
        policy: Value,
        pinned: Option<Vec<ServerTool>>,
        slots: &Arc<ProcessSlots>,
        secrets: Option<Arc<SecretStore>>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server.mjs"), SERVER).unwrap();
        let declared = if secrets.is_some() {
            "${secret:token}"
        } else {
            "yes"
        };
        let entry = json!({ "command": "node", "args": ["server.mjs", behaviour],
            "cwd": folder.path(), "env": { "DECLARED": declared }, "x-policy": policy });
        let upstream = upstream(entry, pinned, slots, secrets);
        Self { folder, upstream }
    }

    /// A server with this entry in the file.
    fn from_entry(entry: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let upstream = upstream(entry, None, &Arc::default(), None);
        Self { folder, upstream }
    }

    async fn call(&self, tool: &str, user: &str) -> CallOutput {
        let user = user.to_owned();
        self.upstream
            .call(tool, Map::new(), &SourceContext { user })
            .await
    }

    /// Returns the process id of the server of a user.
    async fn pid(&self, user: &str) -> u64 {
        let output = self.call("read", user).await;
        let result: Value = serde_json::from_str(&output.text).unwrap();
        result["pid"].as_u64().unwrap()
    }

    fn starts(&self) -> usize {
        let starts = std::fs::read_to_string(self.folder.path().join("starts"));
        starts.map_or(0, |text| text.lines().count())
    }

    fn names(&self) -> Vec<String> {
        self.upstream
            .tools()
            .iter()
            .map(|tool| tool.name.clone())
            .collect()
    }
}

fn upstream(
    entry: Value,
    pinned: Option<Vec<ServerTool>>,
    slots: &Arc<ProcessSlots>,
    secrets: Option<Arc<SecretStore>>,
) -> Upstream {
    let text = json!({ "mcpServers": { "scripted": entry } }).to_string();
    let file = ServersFile::parse(Path::new("mcp-servers.json"), &text).unwrap();
    let settings = UpstreamSettings {
        name: "scripted".to_owned(),
        definition: file.servers().remove(0).definition.unwrap(),
        pinned,
        slots: Arc::clone(slots),
        guard: None,
        variables: Arc::new(NoVariables),
        secrets,
    };
    Upstream::new(settings).unwrap()
}

/// Waits until something holds, so that tests do not sleep.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(Duration::from_secs(20), waiting).await;
    assert!(waited.is_ok(), "{what}");
}

/// Whether a process runs. One that has ended and is not waited for does not.
fn runs(pid: u64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[tokio::test]
async fn half_of_a_surrogate_pair_in_a_result_becomes_a_replacement_character() {
    let server = TestServer::new("cut");
    server.upstream.start().await.unwrap();
    let output = server.call("write", "ada").await;
    assert_eq!((&*output.text, output.is_error()), ("cut \u{fffd}", false));
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_server_gets_what_is_declared_and_little_else() {
    let server = TestServer::new("");
    server.upstream.start().await.unwrap();
    assert_eq!(server.names(), ["read", "write", "wait", "change"]);
    let output = server.call("read", "ada").await;
    let result: Value = serde_json::from_str(&output.text).unwrap();
    let env = result["env"].as_object().unwrap();
    let allowed = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "DECLARED"];
    assert!(
        env.keys().all(|name| allowed.contains(&name.as_str())),
        "{env:?}"
    );
    assert_eq!(env["DECLARED"], "yes");
    server.upstream.stop().await;
    assert!(!runs(result["pid"].as_u64().unwrap()));
}

#[tokio::test]
async fn a_server_is_started_once_for_many_calls_and_again_after_it_was_killed() {
    let server = TestServer::new("");
    let calls = (0..10).map(|_| server.call("read", "ada"));
    let outputs = futures_util::future::join_all(calls).await;
    assert!(
        outputs.iter().all(|output| !output.is_error()),
        "{outputs:?}"
    );
    assert_eq!(server.starts(), 1);
    assert_eq!(server.upstream.state(), Some(SourceState::Running));
    let pid = server.pid("ada").await;
    let raw = i32::try_from(pid).unwrap();
    let process = rustix::process::Pid::from_raw(raw).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    let attempt = server.upstream.0.attempt(&None);
    let is_closed = || {
        attempt
            .value()
            .is_none_or(|connection| connection.is_closed())
    };
    eventually("the agent notices it", is_closed).await;
    let output = server.call("write", "ada").await;
    assert!(!output.is_error(), "{}", output.text);
    assert_eq!(server.starts(), 2);
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_call_is_repeated_only_if_the_tool_allows_it() {
    let server = TestServer::new("die");
    let output = server.call("write", "ada").await;
    assert_eq!(output.outcome, CallStatus::Unavailable);
    assert!(output.text.contains("may have happened"), "{}", output.text);
    server.upstream.stop().await;
    let server = TestServer::new("die");
    let output = server.call("read", "ada").await;
    let retried_at_once = !output.is_error();
    // A server that ends soon after its start is not started again at once.
    assert!(
        retried_at_once || output.text.contains("it has ended"),
        "{}",
        output.text
    );
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_server_that_ends_at_once_shows_its_words() {
    let server = TestServer::new("end");
    let failure = server.upstream.start().await.unwrap_err();
    assert_eq!(server.upstream.state(), Some(SourceState::Failed));
    assert_eq!(failure.message, "it has ended");
    assert_eq!(
        failure.remedy.unwrap(),
        "it has written: nothing is configured"
    );
    let logged = failure.log_message.unwrap();
    assert!(
        logged.starts_with("it has ended: try its command"),
        "{logged}"
    );
    assert!(
        !logged.contains("configured"),
        "stderr may have secrets: {logged}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_after_twenty_seconds() {
    let server = TestServer::new("silent");
    let started = tokio::time::Instant::now();
    let failure = server.upstream.start().await.unwrap_err();
    assert!(
        failure.message.contains("not answered within 20s"),
        "{failure}"
    );
    assert_eq!(started.elapsed(), START_TIMEOUT);
    assert!(
        failure
            .remedy
            .unwrap()
            .starts_with("try its command in a terminal")
    );
}

#[tokio::test]
async fn a_program_that_is_missing_or_answers_with_an_error_is_described() {
    let missing = TestServer::from_entry(json!({ "command": "/no/such/program" }));
    let failure = missing.upstream.start().await.unwrap_err();
    assert!(
        failure
            .message
            .starts_with("`/no/such/program` cannot be started"),
        "{failure}"
    );
    let server = TestServer::new("refuse");
    let failure = server.upstream.start().await.unwrap_err();
    assert_eq!(
        failure.message,
        "it refuses to begin, with the error -32000"
    );
    assert_eq!(failure.remedy.unwrap(), "it has written: no licence key");
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_malformed_tool_is_off_and_the_others_stay() {
    let server = TestServer::new("malformed");
    let listed = server.upstream.list_tools().await.unwrap();
    let unusable = listed.unusable.iter();
    let unusable: Vec<_> = unusable
        .map(|tool| (tool.name.as_str(), tool.problem))
        .collect();
    let no_object = "its `inputSchema` is not an object";
    let expected = [
        ("no-schema", no_object),
        ("text-schema", no_object),
        ("#7", "its definition is not one of MCP"),
        (
            "",
            "its name is empty, too long, or has invisible characters",
        ),
        ("read", "another tool has its name"),
    ];
    assert_eq!(unusable, expected);
    server.upstream.start().await.unwrap();
    // `wrong-pattern` is listed as MCP demands, but its schema cannot be used.
    assert_eq!(server.names(), ["read", "write", "wait", "change"]);
    assert!(!server.call("read", "ada").await.is_error());
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_server_that_writes_to_stderr_is_not_blocked() {
    let server = TestServer::new("flood");
    assert!(!server.call("read", "ada").await.is_error());
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_line_that_does_not_end_fails_its_call_only() {
    let server = TestServer::new("endless");
    let endless = timeout(Duration::from_millis(500), server.call("read", "ada")).await;
    assert!(endless.is_err(), "it has no result");
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_list_without_an_end_is_refused() {
    let server = TestServer::new("pages");
    let failure = server.upstream.start().await.unwrap_err();
    assert!(failure.message.contains("does not end"), "{failure}");
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let server = TestServer::new("");
    server.upstream.start().await.unwrap();
    let waiting = timeout(Duration::from_millis(200), server.call("wait", "ada")).await;
    assert!(waiting.is_err());
    let dropped = Instant::now();
    let path = server.folder.path().join("cancelled");
    eventually("the server is notified", || path.exists()).await;
    assert!(
        dropped.elapsed() < Duration::from_secs(1),
        "{:?}",
        dropped.elapsed()
    );
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_started_again() {
    let server = TestServer::new("");
    assert!(!server.call("read", "ada").await.is_error());
    for _ in 0..3 {
        let waiting = timeout(Duration::from_millis(50), server.call("wait", "ada"));
        assert!(waiting.await.is_err());
    }
    assert!(!server.call("read", "ada").await.is_error());
    assert_eq!(server.starts(), 2);
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_server_that_requests_too_much_is_closed() {
    let server = TestServer::new("ping");
    let output = server.call("write", "ada").await;
    assert_eq!(output.outcome, CallStatus::Unavailable, "{}", output.text);
    let attempt = server.upstream.0.attempt(&None);
    let is_closed = || {
        attempt
            .value()
            .is_none_or(|connection| connection.is_closed())
    };
    eventually("the connection is closed", is_closed).await;
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_server_that_does_not_list_its_tools_again_still_stops() {
    let server = TestServer::with("mute", json!({ "idleMs": 100 }), None, &Arc::default());
    let pid = server.pid("ada").await;
    assert!(!server.call("change", "ada").await.is_error());
    eventually("it is stopped when it is idle", || !runs(pid)).await;
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_tool_whose_definition_changes_is_off() {
    for behaviour in ["", "modern"] {
        let server = TestServer::new(behaviour);
        server.upstream.start().await.unwrap();
        if behaviour == "modern" {
            let subscribed = server.folder.path().join("subscribed");
            eventually("the agent subscribes", || subscribed.exists()).await;
        }
        assert!(!server.call("change", "ada").await.is_error());
        eventually("the list is read again", || server.names() == ["write"]).await;
        let output = server.call("read", "ada").await;
        assert_eq!(output.outcome, CallStatus::Unavailable, "{}", output.text);
        assert!(!server.call("write", "ada").await.is_error());
        server.upstream.stop().await;
    }
}

#[tokio::test]
async fn pinned_tools_are_offered_before_the_server_runs_and_no_others() {
    let listed = TestServer::new("");
    let mut pinned = listed.upstream.list_tools().await.unwrap().tools;
    listed.upstream.stop().await;
    pinned.retain(|tool| ["read", "write"].contains(&tool.name.as_str()));
    pinned[1].description = Some("What it was".to_owned());
    let server = TestServer::with("", json!({}), Some(pinned), &Arc::default());
    server.upstream.start().await.unwrap();
    assert_eq!(
        (server.names(), server.starts()),
        (vec!["read".into(), "write".into()], 0)
    );
    assert!(!server.call("read", "ada").await.is_error());
    assert_eq!(
        server.names(),
        ["read"],
        "the other has changed since it was pinned"
    );
    for off in ["write", "wait"] {
        assert_eq!(
            server.call(off, "ada").await.outcome,
            CallStatus::Unavailable
        );
    }
    server.upstream.stop().await;
}

#[tokio::test]
async fn a_policy_may_allow_some_tools_only() {
    let policy = json!({ "tools": { "allow": ["re*"] } });
    let server = TestServer::with("", policy, None, &Arc::default());
    server.upstream.start().await.unwrap();
    assert_eq!(server.names(), ["read"]);
    server.upstream.stop().await;
}

#[tokio::test]
async fn users_have_separate_processes_if_the_policy_separates_them() {
    let shared = TestServer::new("");
    assert_eq!(shared.pid("ada").await, shared.pid("bob").await);
    shared.upstream.stop().await;
    let policy = json!({ "isolation": "per-user" });
    let own = TestServer::with("", policy, None, &Arc::default());
    let (ada, bob) = (own.pid("ada").await, own.pid("bob").await);
    assert_ne!(ada, bob);
    assert_eq!(own.pid("ada").await, ada);
    own.upstream.stop().await;
    assert!(!runs(ada) && !runs(bob));
}

#[tokio::test]
async fn users_have_their_own_secrets_or_the_shared_one() {
    let folder = tempfile::tempdir().unwrap();
    let key = MasterKey::generate(&folder.path().join("key")).unwrap();
    let secrets = SecretStore::open(&folder.path().join("secrets.json"), key).unwrap();
    let set = |user, value: &str| {
        agent_secrets::set_secret(&secrets, "token", user, value.as_bytes()).unwrap();
    };
    set(None, "the-secret-of-all");
    set(Some("ada"), "the-secret-of-ada");
    let secrets = Arc::new(secrets);
    let policy = json!({ "isolation": "per-user" });
    let slots = Arc::default();
    let server = TestServer::with_secrets("", policy, None, &slots, Some(Arc::clone(&secrets)));
    for (user, expected) in [("ada", "the-secret-of-ada"), ("bob", "the-secret-of-all")] {
        let output = server.call("read", user).await;
        let result: Value = serde_json::from_str(&output.text).unwrap();
        assert_eq!(result["env"]["DECLARED"], expected);
    }
    server.upstream.stop().await;
    let shared = TestServer::with_secrets("", json!({}), None, &slots, Some(Arc::clone(&secrets)));
    assert!(
        shared
            .call("read", "ada")
            .await
            .text
            .contains("the-secret-of-all")
    );
    shared.upstream.stop().await;
    agent_secrets::remove_secret(&secrets, "token", None).unwrap();
    let missing = TestServer::with_secrets("", json!({}), None, &slots, Some(secrets));
    let output = missing.call("read", "ada").await;
    assert!(
        output.text.contains("needs the secret `token`"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_started_again_when_it_is_needed() {
    let server = TestServer::with("", json!({ "idleMs": 50 }), None, &Arc::default());
    assert_eq!(server.upstream.state(), Some(SourceState::Idle));
    let pid = server.pid("ada").await;
    eventually("it is stopped", || !runs(pid)).await;
    let is_idle = || server.upstream.state() == Some(SourceState::Idle);
    eventually("its state is idle", is_idle).await;
    assert_ne!(server.pid("ada").await, pid);
    server.upstream.stop().await;
}

#[tokio::test]
async fn the_process_that_is_idle_for_longest_makes_room() {
    let slots = Arc::<ProcessSlots>::default();
    let policy = json!({ "isolation": "per-user" });
    let server = TestServer::with("", policy, None, &slots);
    let mut pids = Vec::new();
    for user in 0..10 {
        pids.push(server.pid(&user.to_string()).await);
    }
    server.pid("one more").await;
    assert!(!runs(pids[0]) && pids[1..].iter().all(|pid| runs(*pid)));
    server.upstream.stop().await;
}

#[tokio::test]
async fn all_that_a_server_has_started_ends_with_it() {
    let server = TestServer::new("stubborn");
    let pid = server.pid("ada").await;
    let grandchild = std::fs::read_to_string(server.folder.path().join("grandchild")).unwrap();
    let grandchild = grandchild.parse().unwrap();
    assert!(runs(pid) && runs(grandchild));
    let stopping = Instant::now();
    server.upstream.stop().await;
    assert!(
        stopping.elapsed() < Duration::from_secs(4),
        "{:?}",
        stopping.elapsed()
    );
    assert!(!runs(pid));
    eventually("the child of the server ends", || !runs(grandchild)).await;
}
