//! Every limit has a number, a name in the configuration, and an answer that names it.

use bridge::{Config, Tabs};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use crate::kit::*;

#[tokio::test]
async fn realms_pages_and_mcp_sessions_are_limited() {
    let config = Config {
        max_realms: 1,
        max_sessions: 1,
        max_clients: 1,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    for (session, token, code, setting) in [
        (
            "second",
            TOKEN,
            ErrorCode::SessionLimitExceeded,
            "max_sessions",
        ),
        (
            "first",
            "token-of-somebody-else-0123456789",
            ErrorCode::RealmLimitExceeded,
            "max_realms",
        ),
    ] {
        let mut refused = Page::open(&bridge, session, None).await;
        refused.authenticate(session, token).await;
        let BridgeToPage::AuthenticationFailed(failure) = refused.recv().await else {
            panic!("{session} was let in")
        };
        assert_eq!(failure.code, code);
        assert!(failure.error.contains(setting), "{}", failure.error);
    }
    let client = McpClient::connect(&bridge, TOKEN).await;
    // One that is idle would make room.
    let _stream = client.listen().await;
    let initialize = rpc_request(
        0,
        "initialize",
        json!({ "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "second", "version": "1" } }),
    );
    let response = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth(TOKEN)
        .json(&initialize)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 503);
    let problem: Value = response.json().await.unwrap();
    assert!(
        problem["message"].as_str().unwrap().contains("max_clients"),
        "{problem}"
    );

    // A place that is free again is given again.
    page.close().await;
    let next = Page::connect(&bridge, "next", TOKEN).await;
    next.close().await;
}

#[tokio::test]
async fn max_mcp_sessions_applies_across_all_tokens() {
    let bridge = start_bridge_with(Config {
        max_mcp_sessions: 1,
        ..test_config()
    })
    .await;
    let _client = McpClient::connect(&bridge, TOKEN).await;
    let initialize = rpc_request(
        0,
        "initialize",
        json!({ "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "second", "version": "1" } }),
    );
    let response = http_client()
        .post(format!("{}/mcp", bridge.url()))
        .bearer_auth("token-of-somebody-else-0123456789")
        .json(&initialize)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 503);
    let problem: Value = response.json().await.unwrap();
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .contains("max_mcp_sessions"),
        "{problem}"
    );
}

#[tokio::test]
async fn max_pending_pages_limits_unauthenticated_pages() {
    let tabs = Tabs {
        max_pending_pages: 1,
        ..Tabs::default()
    };
    let bridge = start_bridge_with(Config {
        tabs,
        ..test_config()
    })
    .await;
    let mut first = Page::open(&bridge, "a", None).await;
    let mut second = Page::open(&bridge, "b", None).await;
    // Which of the two was counted first is the bridge's affair.
    let (refused, mut other) = tokio::select! {
        closed = first.recv_close() => (closed, second),
        closed = second.recv_close() => (closed, first),
    };
    assert_eq!(refused.0, 1013, "{}", refused.1);
    assert!(refused.1.contains("max_pending_pages"), "{}", refused.1);
    other.authenticate("c", TOKEN).await;
}

#[tokio::test]
async fn definitions_and_their_bytes_are_limited_per_page() {
    let config = Config {
        max_definitions: 2,
        max_definition_bytes: 500,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let answer = page
        .register(&[
            json!({ "name": "a" }),
            json!({ "name": "b" }),
            json!({ "name": "c" }),
        ])
        .await;
    assert_eq!(answer.items.len(), 2);
    assert!(
        answer.errors[0].message.contains("max_definitions"),
        "{}",
        answer.errors[0].message
    );
    let answer = page
        .register(&[json!({ "name": "a", "description": "x".repeat(600) })])
        .await;
    assert_eq!(answer.errors[0].code, ErrorCode::DefinitionLimitExceeded);
    assert!(
        answer.errors[0].message.contains("max_definition_bytes"),
        "{}",
        answer.errors[0].message
    );
}

#[tokio::test]
async fn calls_in_flight_are_limited_and_their_slots_released() {
    let bridge = start_bridge_with(Config {
        max_calls: 1,
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let meanwhile = async {
        let call = page.recv_call().await;
        let (_, refused) = post_tool_call(&bridge, "echo", json!({})).await;
        assert_eq!(
            refused["_meta"]["mcp-web/error"]["code"],
            "CallLimitExceeded"
        );
        assert!(result_text(&refused).contains("max_calls"), "{refused}");
        page.respond(&call, json!({})).await;
    };
    let (first, ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), meanwhile);
    assert!(first.1.get("isError").is_none(), "{}", first.1);
    let (again, ()) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 1 })),
        page.echo_call()
    );
    assert_eq!(again.1["structuredContent"]["n"], 1);
}

#[tokio::test]
async fn a_result_over_the_limit_fails_only_its_call() {
    let bridge = start_bridge_with(Config {
        max_result_bytes: 1000,
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let reply = async {
        let call = page.recv_call().await;
        page.respond(&call, json!("x".repeat(2000))).await;
    };
    let (answer, ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), reply);
    assert_eq!(answer.1["_meta"]["mcp-web/error"]["code"], "ResultTooLarge");
    assert!(
        result_text(&answer.1).contains("2002 bytes") && result_text(&answer.1).contains("1000")
    );
    let (again, ()) = tokio::join!(
        post_tool_call(&bridge, "echo", json!({ "n": 1 })),
        page.echo_call()
    );
    assert_eq!(again.1["structuredContent"]["n"], 1);
}

#[tokio::test]
async fn a_result_at_the_default_limit_passes() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let text = "x".repeat(Config::default().max_result_bytes - 2);
    let reply = async {
        let call = page.recv_call().await;
        page.respond(&call, json!(text)).await;
    };
    let (answer, ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), reply);
    assert_eq!(result_text(&answer.1).len(), text.len());
}

#[tokio::test]
async fn a_call_without_a_response_times_out() {
    let timeout = std::time::Duration::from_millis(50);
    let bridge = start_bridge_with(Config {
        call_timeout: timeout,
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (answer, _) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), page.recv_call());
    assert_eq!(
        answer.1["_meta"]["mcp-web/error"]["code"], "CallTimeout",
        "{}",
        answer.1
    );
    assert!(
        result_text(&answer.1).contains("call_timeout"),
        "{}",
        answer.1
    );
}

#[tokio::test]
async fn a_page_that_does_not_read_is_disconnected_and_its_calls_fail() {
    let config = Config {
        max_calls: 100,
        call_receipt: std::time::Duration::from_millis(20),
        page_grace: std::time::Duration::from_millis(50),
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let _deaf = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    // More than the sockets of both sides and the outbox hold.
    let text = "x".repeat(100_000);
    let callers = (0..100).map(|_| async {
        loop {
            let (_, answer) = post_tool_call(&bridge, "echo", json!({ "text": text })).await;
            let code = answer["_meta"]["mcp-web/error"]["code"].clone();
            if code != "PageSuspended" {
                return code;
            }
        }
    });
    let codes = with_deadline("answers", futures_util::future::join_all(callers)).await;
    // Those that came after the cut found nobody.
    assert!(
        codes
            .iter()
            .all(|code| code == "PageGone" || code == "NoSessionsFound"),
        "{codes:?}"
    );
}

#[tokio::test]
async fn a_page_silent_for_three_heartbeats_is_disconnected() {
    let short = std::time::Duration::from_millis(50);
    let config = Config {
        heartbeat: short,
        page_grace: short,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    // After the call the page reads no more, so that it answers no ping either.
    let (answer, _) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), page.recv_call());
    assert_eq!(
        answer.1["_meta"]["mcp-web/error"]["code"], "PageGone",
        "{}",
        answer.1
    );
}

#[tokio::test]
async fn waiting_clients_over_the_limit_are_served_without_notifications() {
    let config = Config {
        max_realms: 1,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let _waiting = McpClient::connect(&bridge, "token-of-the-waiting-client-0123456789").await;
    let beyond = McpClient::connect(&bridge, TOKEN).await;
    assert_eq!(beyond.tool_names().await.len(), 5);
    // The page is not told of the client, and the client finds the page when it asks.
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let BridgeToPage::Clients(known) = page.recv().await else {
        panic!("the clients come first")
    };
    assert!(known.clients.is_empty(), "{known:?}");
    page.register(&[echo_tool()]).await;
    assert_eq!(beyond.tool_names().await.len(), 6);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_an_unfinished_request() {
    use tokio::io::AsyncWriteExt;
    let bridge = start_bridge().await;
    let mut slow = tokio::net::TcpStream::connect(bridge.local_addr())
        .await
        .unwrap();
    let head = format!(
        "POST /tool-call HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Length: 100\r\n\r\n{{",
        bridge.local_addr()
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    with_deadline("shutdown", bridge.shutdown()).await;
}
