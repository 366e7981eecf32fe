//! SIGTERM: what runs may end, and nothing new begins.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{RunningBridge, write_file};
use crate::kit::{
    Page, TOKEN, bridge_program, echo_tool, error_code, post_tool_call_to, with_deadline,
};

/// No test waits for this.
const NEVER: &str = "1h";

async fn page_of(bridge: &RunningBridge) -> Page {
    let mut page = Page::connect_to(bridge.address(), "s", TOKEN).await;
    page.register(&[echo_tool()]).await;
    page
}

async fn call(bridge: &RunningBridge) -> (u16, Value) {
    post_tool_call_to(&bridge.url, TOKEN, "echo", json!({ "n": 1 })).await
}

/// Reads up to the close frame, and returns its code.
async fn close_code(page: &mut Page) -> u16 {
    page.recv_close().await.0
}

#[tokio::test]
async fn an_idle_bridge_stops_at_once_and_its_pages_reconnect() {
    let mut bridge = RunningBridge::start(&["--drain-timeout", NEVER]).await;
    let mut page = page_of(&bridge).await;
    bridge.signal("TERM").await;
    assert_eq!(close_code(&mut page).await, 1012);
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
}

#[tokio::test]
async fn a_running_call_ends_before_the_bridge_does() {
    let mut bridge = RunningBridge::start(&["--drain-timeout", NEVER]).await;
    let mut page = page_of(&bridge).await;
    let calling = call(&bridge);
    let draining = async {
        let call = page.recv_call().await;
        bridge.signal("TERM").await;
        let text = bridge.wait_for_readiness(503).await;
        assert!(text.contains("draining"), "{text}");
        // A new page goes elsewhere, whatever its token; the page with the call may come back.
        for (session, expected) in [("new", Some(1012)), ("s", None)] {
            let mut other = Page::open_with_headers(bridge.address(), session, &[]).await;
            other.authenticate(session, TOKEN).await;
            match expected {
                Some(code) => assert_eq!(close_code(&mut other).await, code),
                None => {
                    other.recv_authenticated().await;
                    page = other;
                }
            }
        }
        // Requests of clients are still served.
        let tools = bridge.get("/tools").bearer_auth(TOKEN);
        assert_eq!(bridge.status(tools).await, 200);
        page.respond(&call, json!({ "n": 1 })).await;
        close_code(&mut page).await
    };
    let ((status, result), code) = tokio::join!(calling, draining);
    assert_eq!((status, code), (200, 1012), "{result}");
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
}

#[tokio::test]
async fn an_open_stream_ends_and_does_not_hold_the_bridge() {
    let mut bridge = RunningBridge::start(&["--drain-timeout", NEVER]).await;
    let stream = bridge.open_stream().await;
    bridge.signal("TERM").await;
    with_deadline("end of the stream", stream.bytes())
        .await
        .unwrap();
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
}

#[tokio::test]
async fn calls_that_take_longer_than_the_drain_timeout_fail() {
    let mut bridge = RunningBridge::start(&["--drain-timeout", "50ms"]).await;
    let mut page = page_of(&bridge).await;
    let calling = call(&bridge);
    let draining = async {
        page.recv_call().await;
        bridge.signal("TERM").await;
        page.recv_call_cancel().await
    };
    let ((status, result), cancel) = tokio::join!(calling, draining);
    assert_eq!(cancel.code.as_str(), "BridgeStopping");
    let failed = (200, Some("BridgeStopping"));
    assert_eq!((status, error_code(&result)), failed, "{result}");
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
    bridge.recv_log("`drain_timeout` is over").await;
}

#[tokio::test]
async fn ctrl_c_and_a_second_sigterm_end_running_calls_at_once() {
    for signals in [&["TERM", "TERM"][..], &["TERM", "INT"], &["INT"]] {
        let mut bridge = RunningBridge::start(&["--drain-timeout", NEVER]).await;
        let mut page = page_of(&bridge).await;
        let calling = call(&bridge);
        let stopping = async {
            page.recv_call().await;
            for (index, signal) in signals.iter().enumerate() {
                bridge.signal(signal).await;
                if index + 1 < signals.len() {
                    bridge.wait_for_readiness(503).await;
                }
            }
        };
        let ((status, result), ()) = tokio::join!(calling, stopping);
        let failed = (200, Some("BridgeStopping"));
        assert_eq!(
            (status, error_code(&result)),
            failed,
            "{signals:?}: {result}"
        );
        assert_eq!(bridge.wait_for_end().await.code(), Some(0), "{signals:?}");
    }
}

#[tokio::test]
async fn a_reload_that_waits_for_new_keys_does_not_delay_the_end() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", server.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let tokens = format!("tokens = [{TOKEN:?}]\n");
    let file = write_file(&folder, "bridge.toml", &tokens);
    let mut bridge = RunningBridge::start(&["--config", file.to_str().unwrap()]).await;
    let issuer = "jwt_issuer = \"https://id.test\"\njwt_audience = [\"mcp-web\"]\n";
    std::fs::write(&file, format!("{tokens}{issuer}jwks_url = {url:?}\n")).unwrap();
    bridge.signal("HUP").await;
    // The request is not answered.
    let _fetching = with_deadline("fetch", server.accept()).await.unwrap();
    let requested = Instant::now();
    bridge.signal("TERM").await;
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
    // A fetch takes up to 10 s.
    assert!(requested.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn a_load_balancer_has_time_to_notice_with_a_drain_delay() {
    let mut bridge = RunningBridge::start(&["--drain-delay", NEVER]).await;
    bridge.signal("TERM").await;
    bridge.wait_for_readiness(503).await;
    assert_eq!(bridge.status(bridge.get("/healthz")).await, 200);
    bridge.signal("TERM").await;
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
}

/// A supervisor starts the program again if a port is in use, but not if a setting is wrong.
#[tokio::test]
async fn a_port_in_use_has_another_exit_code_than_wrong_settings() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let bridge = RunningBridge::start(&["--state-dir", state]).await;
    let free = "127.0.0.1:0";
    for (arguments, code, text) in [
        (vec!["--bind", bridge.address()], 75, "cannot listen on"),
        (
            vec!["--bind", free, "--state-dir", state],
            75,
            "another bridge uses",
        ),
        (
            vec!["--bind", free, "--allowed-hosts", "a/b"],
            2,
            "allowed_hosts",
        ),
        (vec!["--bind", "0.0.0.0:0"], 2, "no tokens are configured"),
    ] {
        let output = bridge_program().args(&arguments).output();
        let output = with_deadline("end", output).await.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test]
async fn an_idle_page_keeps_its_connection_until_all_calls_have_ended() {
    let mut bridge = RunningBridge::start(&["--drain-timeout", NEVER]).await;
    let mut idle = Page::connect_to(bridge.address(), "idle", TOKEN).await;
    let mut page = page_of(&bridge).await;
    let calling = call(&bridge);
    let draining = async {
        let call = page.recv_call().await;
        bridge.signal("TERM").await;
        bridge.wait_for_readiness(503).await;
        // It is still served.
        idle.register(&[echo_tool()]).await;
        page.respond(&call, json!({ "n": 1 })).await;
    };
    let ((status, result), ()) = tokio::join!(calling, draining);
    assert_eq!((status, error_code(&result)), (200, None), "{result}");
    for page in [&mut idle, &mut page] {
        assert_eq!(close_code(page).await, 1012);
    }
    assert_eq!(bridge.wait_for_end().await.code(), Some(0));
}
