//! An app in Node: a session without a browser.

use std::time::Duration;

use e2e::{Era, McpClient, NodeProject, PlainHttp, ProcessGroup, TestBed, Transport};
use serde_json::{Value, json};

use crate::full_protocol::{App, check_app};

/// How long a process that has nothing to do may take to end, with other journeys beside it.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// More than `page_grace`.
const GRACE_TIMEOUT: Duration = Duration::from_secs(20);

/// An app of `e2e/node-app` that is connected.
struct NodeApp {
    project: NodeProject,
    process: ProcessGroup,
    client: PlainHttp,
}

impl NodeApp {
    /// Starts a script with the installed package.
    async fn start(bed: &TestBed, script: &str, variables: &[(&str, &str)]) -> Self {
        let project = NodeProject::copy_of("node-app");
        project.install_packages_and_sdk();
        let process = start(&project, bed, script, variables);
        let mut app = Self {
            project,
            process,
            client: PlainHttp::new(bed),
        };
        app.process.wait_for_line("connected").await;
        app
    }

    /// Starts the script in another process of the same folder.
    fn start_again(&self, bed: &TestBed, script: &str, variables: &[(&str, &str)]) -> ProcessGroup {
        start(&self.project, bed, script, variables)
    }

    async fn call(&self, tool: &str, input: Value) -> Value {
        self.client.call_when_registered(tool, input).await
    }
}

fn start(
    project: &NodeProject,
    bed: &TestBed,
    script: &str,
    variables: &[(&str, &str)],
) -> ProcessGroup {
    let mut command = project.node_command(&[script]);
    command
        .env("BRIDGE_URL", bed.url())
        .env("TOKEN", bed.token())
        .envs(variables.iter().copied());
    ProcessGroup::start(script, command)
}

impl App for NodeApp {
    async fn wait_for_subscriber(&mut self) {
        self.process.wait_for_line("subscribed").await;
    }

    async fn update_notes(&mut self) {
        self.call("update", json!({})).await;
    }
}

#[tokio::test]
async fn everything_of_the_protocol_in_2025() {
    let bed = TestBed::bridge().await;
    let mut app = NodeApp::start(&bed, "full-protocol.js", &[]).await;
    check_app(&bed, &mut app, Transport::Http, Era::Initialize).await;
}

#[tokio::test]
async fn everything_of_the_protocol_in_2026() {
    let bed = TestBed::bridge().await;
    let mut app = NodeApp::start(&bed, "full-protocol.js", &[]).await;
    check_app(&bed, &mut app, Transport::Http, Era::Discover).await;
}

/// The tests that `node --test` runs in the installed package.
#[tokio::test]
async fn its_own_tests_pass_in_the_installed_package() {
    let project = NodeProject::copy_of("node-app");
    project.install_packages_and_sdk();
    let mut tests = project.node("node --test", &["--test", "--test-reporter=tap"]);
    assert!(tests.wait_for_end(END_TIMEOUT).await, "{}", tests.log());
    let log = tests.log();
    assert!(log.contains("\n# fail 0\n"), "{log}");
    let passed = log.split("\n# pass ").nth(1).unwrap();
    let passed: u32 = passed.split('\n').next().unwrap().parse().unwrap();
    println!("{passed} tests of node --test passed");
    assert!(passed >= 12, "{log}");
}

#[tokio::test]
async fn it_serves_the_bridge_that_was_started_again() {
    let mut bed = TestBed::bridge().await;
    let mut app = NodeApp::start(&bed, "counter.js", &[]).await;
    assert_eq!(count(&app.call("increment", json!({})).await), 1);
    bed.crash().await;
    app.process.wait_for_line("status reconnecting").await;
    bed.restart().await;
    app.process.wait_for_line("connection 2").await;
    let answer = app
        .client
        .call_when_registered("increment", json!({}))
        .await;
    assert_eq!(count(&answer), 2);
}

#[tokio::test]
async fn a_result_of_a_mebibyte_arrives_whole() {
    let bed = TestBed::bridge_with(&["--max-result-bytes", "4194304"]).await;
    let app = NodeApp::start(&bed, "counter.js", &[]).await;
    let answer = app.call("text", json!({ "bytes": 1024 * 1024 })).await;
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 1024 * 1024);
}

/// The caller gets an error after the grace period, and the next process is the same
/// session.
#[tokio::test]
async fn a_process_that_is_killed_comes_back_as_the_same_session() {
    let bed = TestBed::bridge().await;
    let state = [("STATE_FILE", "state/counter.json")];
    let mut app = NodeApp::start(&bed, "counter.js", &state).await;
    let session = app.process.wait_for_line("session ").await;
    let mcp = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
    let call = mcp.start_call("wait", json!({})).await;
    app.process.wait_for_line("waiting").await;
    // This answer is sent after the acknowledgement of `wait`.
    let answer = app.client.call("increment", json!({})).await.unwrap();
    assert_eq!(count(&answer), 1);

    let killed = std::time::Instant::now();
    app.process.kill().await;
    let result = tokio::time::timeout(GRACE_TIMEOUT, call.result()).await;
    let result = serde_json::to_value(result.unwrap().unwrap()).unwrap();
    println!("the call failed after {:?}", killed.elapsed());
    assert_eq!(
        result["_meta"]["mcp-web/error"]["code"], "PageGone",
        "{result}"
    );

    let mut second = app.start_again(&bed, "counter.js", &state);
    assert_eq!(second.wait_for_line("session ").await, session);
    let answer = app
        .client
        .call_when_registered("increment", json!({}))
        .await;
    assert_eq!(count(&answer), 1);
}

#[tokio::test]
async fn of_two_processes_with_one_session_the_newer_one_has_it() {
    let bed = TestBed::bridge().await;
    let state = [("STATE_FILE", "counter.json")];
    let mut app = NodeApp::start(&bed, "counter.js", &state).await;
    app.process.wait_for_line("session ").await;
    let mut newer = app.start_again(&bed, "counter.js", &state);
    newer.wait_for_line("session ").await;
    app.process
        .wait_for_line("status failed SessionSuperseded")
        .await;
    assert!(
        app.process.wait_for_end(END_TIMEOUT).await,
        "nothing keeps a process that is not connected: {}",
        app.process.log()
    );
    assert_eq!(count(&app.call("increment", json!({})).await), 1);
}

/// The call ends at once, and the process by the signal.
#[tokio::test]
async fn sigterm_and_sigint_disconnect_first() {
    for signal in ["SIGTERM", "SIGINT"] {
        let bed = TestBed::bridge().await;
        let mut app = NodeApp::start(&bed, "counter.js", &[]).await;
        let mcp = McpClient::connect(&bed, Transport::Http, Era::Discover).await;
        let call = mcp.start_call("wait", json!({})).await;
        app.process.wait_for_line("waiting").await;
        let sent = std::time::Instant::now();
        match signal {
            "SIGTERM" => app.process.request_end(),
            _ => app.process.interrupt(),
        }
        let result = serde_json::to_value(call.result().await.unwrap()).unwrap();
        let delay = sent.elapsed();
        println!("{signal}: the call failed after {delay:?}");
        assert_eq!(
            result["_meta"]["mcp-web/error"]["code"], "PageGone",
            "{result}"
        );
        assert!(delay < Duration::from_secs(4), "{delay:?}");
        assert!(app.process.wait_for_end(END_TIMEOUT).await);
        assert!(app.process.log().contains("status disconnected"));
    }
}

/// It disconnects, and the app decides about the rest.
#[tokio::test]
async fn a_listener_of_the_app_keeps_the_process() {
    let bed = TestBed::bridge().await;
    let mut app = NodeApp::start(&bed, "counter.js", &[("OWN_SIGNALS", "1")]).await;
    app.process.request_end();
    app.process
        .wait_for_line("the app has its own listener")
        .await;
    app.process.wait_for_line("status disconnected").await;
    app.process.wait_for_line("the app has finished").await;
    assert!(app.process.wait_for_end(END_TIMEOUT).await);
}

#[tokio::test]
async fn a_process_ends_once_it_has_disconnected() {
    let bed = TestBed::bridge().await;
    let mut app = NodeApp::start(&bed, "counter.js", &[]).await;
    app.call("leave", json!({})).await;
    app.process.wait_for_line("status disconnected").await;
    assert!(
        app.process.wait_for_end(END_TIMEOUT).await,
        "{}",
        app.process.log()
    );
}

fn count(answer: &Value) -> u64 {
    let count = answer["structuredContent"]["count"].as_u64();
    count.unwrap_or_else(|| panic!("{answer}"))
}
