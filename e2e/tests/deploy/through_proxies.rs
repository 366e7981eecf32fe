//! The demands of pages and clients on a proxy.

use std::time::Duration;

use bridge_protocol::{BridgeToPage, PageToBridge};
use e2e::{ProcessGroup, poll_pause, with_deadline};
use serde_json::json;

use crate::deployment::{CLIENT_ADDRESS, Deployment, HTTP_VERSIONS, PAGE_ADDRESS, user_token};
use crate::proxy::ProxyKind;

/// How long a call of a test is silent.
const SILENCE: Duration = Duration::from_secs(100);

/// The headers with which a client names another address, or the address of a proxy.
const FORGED: [(&str, &[&str]); 4] = [
    ("x_forwarded_for", &["X-Forwarded-For: 203.0.113.9"]),
    ("forwarded", &["Forwarded: for=203.0.113.9"]),
    (
        "both",
        &["X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9"],
    ),
    (
        "the_proxy",
        &["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1"],
    ),
];

/// Makes the tests of each proxy.
macro_rules! through {
    ($($module:ident: $kind:ident,)+) => {
        $(
            mod $module {
                use super::*;

                const KIND: ProxyKind = ProxyKind::$kind;

                #[tokio::test]
                async fn large_results_arrive_whole() {
                    super::large_results_arrive_whole(KIND).await;
                }

                #[tokio::test]
                async fn each_event_arrives_when_it_is_sent() {
                    super::each_event_arrives_when_it_is_sent(KIND).await;
                }

                #[tokio::test]
                async fn a_client_that_leaves_cancels_its_call() {
                    super::a_client_that_leaves_cancels_its_call(KIND).await;
                }

                #[tokio::test]
                async fn a_client_cannot_name_its_address() {
                    super::a_client_cannot_name_its_address(KIND).await;
                }

                #[tokio::test]
                async fn a_page_cannot_name_its_address() {
                    super::a_page_cannot_name_its_address(KIND).await;
                }

                #[tokio::test]
                async fn a_long_token_reaches_the_bridge() {
                    super::a_long_token_reaches_the_bridge(KIND).await;
                }

                #[tokio::test]
                async fn a_call_may_be_silent() {
                    super::a_call_may_be_silent(KIND).await;
                }

                #[tokio::test]
                async fn a_bridge_that_drains_answers_its_calls() {
                    super::a_bridge_that_drains_answers_its_calls(KIND).await;
                }
            }
        )+
    };
}

through! {
    nginx: Nginx,
    caddy: Caddy,
    haproxy: Haproxy,
}

async fn large_results_arrive_whole(kind: ProxyKind) {
    let deployment = Deployment::start(kind).await;
    let mut page = deployment.page_with_tools(&["echo"]).await;
    let large = "x".repeat(5 * 1024 * 1024);
    for version in HTTP_VERSIONS {
        let call = deployment.call(version, "echo", &[]);
        let (answer, _) = tokio::join!(call, page.serve_call(json!({ "text": large })));
        assert_eq!(answer.status, format!("{version} 200"));
        assert!(
            answer.json()["structuredContent"]["text"] == large,
            "HTTP {version}"
        );
    }
}

async fn each_event_arrives_when_it_is_sent(kind: ProxyKind) {
    let deployment = Deployment::start(kind).await;
    let mut page = deployment.page_with_tools(&["echo"]).await;
    for version in HTTP_VERSIONS {
        let accept = ["--header", "Accept: text/event-stream"];
        let client = deployment.curl_call(version, "echo", &accept);
        let mut client = ProcessGroup::start("curl", client);
        let call = page.recv_call().await;
        // Each of them is small, and the next one is sent after it has arrived.
        for progress in 1..=3 {
            let report = json!({ "type": "call-progress", "requestId": call.request_id,
                "progress": progress });
            page.send_json(report).await;
            client
                .wait_for_line(&format!("\"progress\":{progress}"))
                .await;
        }
        page.respond(&call, json!({ "n": 1 })).await;
        client.wait_for_line("\"type\":\"result\"").await;
    }
}

async fn a_client_that_leaves_cancels_its_call(kind: ProxyKind) {
    let deployment = Deployment::start(kind).await;
    let mut page = deployment.page_with_tools(&["echo"]).await;
    for version in HTTP_VERSIONS {
        let client = deployment.curl_call(version, "echo", &[]);
        let mut client = ProcessGroup::start("curl", client);
        let call = page.recv_call().await;
        client.kill().await;
        page.expect_cancel(&call).await;
    }
}

async fn a_client_cannot_name_its_address(kind: ProxyKind) {
    let mut deployment = Deployment::start(kind).await;
    let names = FORGED.map(|(name, _)| name);
    let mut page = deployment.page_with_tools(&names).await;
    for (name, headers) in FORGED {
        let arguments: Vec<_> = headers.iter().flat_map(|it| ["--header", *it]).collect();
        let call = deployment.call("2", name, &arguments);
        tokio::join!(call, page.serve_call(json!({})));
        let line = deployment
            .bridge
            .wait_for_line(&format!("name=\"{name}\""))
            .await;
        let own = format!(" address={CLIENT_ADDRESS} ");
        assert!(line.contains(&own), "{name}: {line}");
    }
}

async fn a_page_cannot_name_its_address(kind: ProxyKind) {
    let mut deployment = Deployment::start(kind).await;
    let forged = [
        ("x-forwarded-for", "203.0.113.9"),
        ("forwarded", "for=203.0.113.9"),
    ];
    let mut page = deployment.open_page("", "tab", &forged).await;
    page.authenticate("tab", "a-token-that-is-not-listed").await;
    page.recv_authentication_failure().await;
    let line = deployment
        .bridge
        .wait_for_line("kind=\"invalid_token\"")
        .await;
    let own = format!(" address={PAGE_ADDRESS} ");
    assert!(line.contains(&own), "{line}");
}

/// The limit of a proxy is that of a line of the head, which is longer than the token.
async fn a_long_token_reaches_the_bridge(kind: ProxyKind) {
    let deployment = Deployment::start(kind).await;
    let header = format!("Authorization: Bearer {}", "x".repeat(16 * 1024));
    for version in HTTP_VERSIONS {
        let answer = deployment
            .get(version, "/sessions", &["--header", &header])
            .await;
        assert_eq!(answer.status, format!("{version} 401"));
        assert_eq!(answer.json()["error"], "InvalidAuthentication");
    }
}

/// The time that each file allows is compared with the setting in `settings`.
async fn a_call_may_be_silent(kind: ProxyKind) {
    let deployment = Deployment::start(kind).await;
    let mut page = deployment.page_with_tools(&["echo"]).await;
    let clients = HTTP_VERSIONS.map(|version| {
        let client =
            deployment.curl_call(version, "echo", &["--write-out", "\nends %{http_code}\n"]);
        ProcessGroup::start("curl", client)
    });
    let calls = [page.recv_call().await, page.recv_call().await];
    let answer_heartbeats = async {
        while let Some(message) = page.recv_without_deadline().await {
            if let BridgeToPage::Heartbeat(heartbeat) = message {
                page.send(PageToBridge::HeartbeatAck(heartbeat)).await;
            }
        }
    };
    let ended = tokio::time::timeout(SILENCE, answer_heartbeats).await;
    assert!(ended.is_err(), "the socket of the page has ended");
    for call in &calls {
        page.respond(call, json!({ "n": 1 })).await;
    }
    for mut client in clients {
        client.wait_for_line("ends 200").await;
    }
}

async fn a_bridge_that_drains_answers_its_calls(kind: ProxyKind) {
    let mut deployment = Deployment::start(kind).await;
    let mut page = deployment.page_with_tools(&["echo"]).await;
    let client = deployment.curl_call("2", "echo", &["--write-out", "\nends %{http_code}\n"]);
    let mut client = ProcessGroup::start("curl", client);
    let call = page.recv_call().await;
    deployment.bridge.request_end();
    // A load balancer sees it, and the call continues.
    let unready = async {
        while deployment.get("2", "/readyz", &[]).await.status != "2 503" {
            poll_pause().await;
        }
    };
    with_deadline("the bridge to say that it is not ready", unready).await;
    let mut other = deployment.open_page("", "other", &[]).await;
    other.authenticate("other", &user_token(1)).await;
    assert_eq!(other.recv_close().await.0, 1012);
    page.respond(&call, json!({ "n": 1 })).await;
    client.wait_for_line("ends 200").await;
    assert_eq!(page.recv_close().await.0, 1012);
    let has_ended = deployment.bridge.wait_for_end(e2e::DEADLINE).await;
    assert!(has_ended, "{}", deployment.bridge.log());
}
