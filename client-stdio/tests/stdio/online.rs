//! Tests with a bridge: calls, cancellations, restarts and the end of input.

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::json;
use tokio::time::timeout;

use crate::client::{Client, Era, command, error_text, subscription_id};
use crate::raw_server::RawServer;
use crate::server::{IMMEDIATE_TIMEOUT, Server, ServerEvent};

fn called(tool: &str) -> ServerEvent {
    ServerEvent::Called {
        tool: tool.into(),
        client: "test-desktop".into(),
        session: None,
    }
}

fn cancelled(tool: &str) -> ServerEvent {
    ServerEvent::Cancelled { tool: tool.into() }
}

#[tokio::test]
async fn calls_reach_the_bridge_with_the_name_of_the_client() {
    let mut server = Server::start().await;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        assert!(client.tools().await.contains(&"wait".to_owned()));
        client.echo("hi").await;
        assert_eq!(server.next_event().await, called("echo"));
        assert!(client.close().await.success());
    }
}

#[tokio::test]
async fn the_bridge_answers_initialize_of_every_session_version() {
    let server = Server::start().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(command(&server.url()), Era::Session);
        let result = client.initialize(version).await;
        assert_eq!(result["protocolVersion"], version);
        assert_ne!(result["serverInfo"]["name"], "mcp-web-stdio");
        assert!(client.tools().await.contains(&"echo".to_owned()));
    }
}

#[tokio::test]
async fn a_client_of_the_official_sdk_works() {
    let server = Server::start().await;
    let transport = TokioChildProcess::new(command(&server.url())).unwrap();
    let client = ().serve(transport).await.unwrap();
    assert_eq!(client.list_all_tools().await.unwrap().len(), 5);
    let arguments = json!({ "text": "hi" }).as_object().unwrap().clone();
    let call = CallToolRequestParams::new("echo").with_arguments(arguments);
    let result = client.call_tool(call).await.unwrap();
    assert_eq!(result.content[0].as_text().unwrap().text, "hi");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn the_pinned_session_is_sent_with_each_request() {
    let mut server = Server::start().await;
    for era in Era::BOTH {
        let mut command = command(&server.url());
        command.args(["--session", "tab-7"]);
        let mut client = Client::ready_with(command, era).await;
        client.echo("hi").await;
        let ServerEvent::Called { session, .. } = server.next_event().await else {
            panic!("a call")
        };
        assert_eq!(session.as_deref(), Some("tab-7"));
    }
}

#[tokio::test]
async fn concurrent_calls_get_their_own_answers() {
    let server = Server::start().await;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        let mut ids = Vec::new();
        for number in 0..100 {
            let arguments = json!({ "text": number.to_string() });
            let params = json!({ "name": "echo", "arguments": arguments });
            ids.push(client.send_request("tools/call", params).await);
        }
        for (number, id) in ids.into_iter().enumerate() {
            let response = client.response(id).await;
            assert_eq!(response["result"]["content"][0]["text"], number.to_string());
        }
    }
}

#[tokio::test]
async fn slow_calls_do_not_block_others() {
    let mut server = Server::start().await;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        for _ in 0..40 {
            client.send_call("wait").await;
            assert_eq!(server.next_event().await, called("wait"));
        }
        client.echo("hi").await;
        assert_eq!(server.next_event().await, called("echo"));
        assert!(client.close().await.success());
        for _ in 0..40 {
            assert_eq!(server.next_event().await, cancelled("wait"));
        }
    }
}

#[tokio::test]
async fn a_cancellation_reaches_the_handler() {
    let mut server = Server::start().await;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        let id = client.send_call("wait").await;
        assert_eq!(server.next_event().await, called("wait"));
        client.cancel(id).await;
        assert_eq!(server.next_event().await, cancelled("wait"));
        client.echo("hi").await;
        assert_eq!(server.next_event().await, called("echo"));
    }
}

#[tokio::test]
async fn the_end_of_input_cancels_calls_and_exits_with_0() {
    let mut server = Server::start().await;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        client.send_call("wait").await;
        assert_eq!(server.next_event().await, called("wait"));
        let status = timeout(IMMEDIATE_TIMEOUT, client.close())
            .await
            .expect("immediately");
        assert_eq!(status.code(), Some(0));
        assert_eq!(server.next_event().await, cancelled("wait"));
        assert_eq!(
            server.session_count().await,
            0,
            "the MCP session is deleted"
        );
    }
}

#[tokio::test]
async fn a_signal_to_terminate_acts_like_the_end_of_input() {
    let mut server = Server::start().await;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        client.send_call("wait").await;
        assert_eq!(server.next_event().await, called("wait"));
        assert_eq!(client.terminate().await.code(), Some(0));
        assert_eq!(server.next_event().await, cancelled("wait"));
    }
}

/// Clients that start the program in a terminal do not end it with the terminal.
#[tokio::test]
async fn a_hangup_does_not_end_the_program() {
    let mut server = Server::start().await;
    let mut client = Client::ready(&server.url(), Era::Session).await;
    client.signal("HUP").await;
    client.echo("hi").await;
    assert_eq!(server.next_event().await, called("echo"));
    assert!(client.is_alive());
}

#[tokio::test]
async fn notifications_and_requests_of_the_bridge_reach_the_client() {
    let mut server = Server::start().await;
    let mut client = Client::ready(&server.url(), Era::Session).await;
    client.call("announce", json!({})).await;
    client.list_changed().await;

    let call = client.send_call("ask").await;
    let request = client.notification("roots/list").await;
    let roots = json!({ "roots": [{ "uri": "file:///home" }] });
    client
        .send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": roots }))
        .await;
    assert_eq!(
        client.response(call).await["result"]["content"][0]["text"],
        "file:///home"
    );

    let mut client = Client::ready(&server.url(), Era::Stateless).await;
    let listen = client.listen().await;
    server.wait_for_listen().await;
    server.change_list();
    assert_eq!(subscription_id(&client.list_changed().await), listen);
}

#[tokio::test]
async fn a_bridge_that_is_away_for_long_fails_calls_and_is_found_again() {
    for era in Era::BOTH {
        let mut server = Server::start().await;
        let address = server.address;
        let mut client = Client::ready(&server.url(), era).await;
        let listen = if era == Era::Stateless {
            Some(client.listen().await)
        } else {
            None
        };
        let call = client.send_call("wait").await;
        while server.next_event().await != called("wait") {}

        drop(server);
        let response = timeout(IMMEDIATE_TIMEOUT, client.response(call))
            .await
            .expect("immediately");
        let text = error_text(&response["result"]);
        // A server may still answer while it stops.
        let expected = ["was lost before the answer came", "answered HTTP 500"];
        assert!(expected.iter().any(|part| text.contains(part)), "{text}");
        client.list_changed().await;
        assert!(error_text(&client.call("echo", json!({})).await).starts_with("no bridge at"));

        let mut server = Server::start_on(address).await;
        let notification = client.list_changed().await;
        client.echo("back").await;
        if let Some(listen) = listen {
            assert_eq!(subscription_id(&notification), listen);
            server.wait_for_listen().await;
            server.change_list();
            assert_eq!(subscription_id(&client.list_changed().await), listen);
        } else {
            assert_eq!(server.next_event().await, called("echo"));
        }
        assert!(client.close().await.success());
    }
}

#[tokio::test]
async fn a_call_that_the_bridge_may_have_run_is_not_sent_again() {
    for era in Era::BOTH {
        let mut server = RawServer::start().await;
        let (mut client, _events) = server.connect(command(&server.url()), era).await;
        let call = client.send_call("add").await;
        let _received = server.post("tools/call").await;
        drop(server);
        let response = client.response(call).await;
        let text = error_text(&response["result"]);
        assert!(text.contains("was lost before the answer came"), "{text}");
    }
}

#[tokio::test]
async fn an_expired_mcp_session_is_replaced_and_the_call_runs_once() {
    let mut server = Server::start().await;
    let mut client = Client::ready(&server.url(), Era::Session).await;
    client.echo("1").await;
    assert_eq!(server.next_event().await, called("echo"));
    server.expire_sessions().await;
    client.echo("2").await;
    assert_eq!(server.next_event().await, called("echo"));
    client.list_changed().await;
    assert!(server.has_no_more_events());
}

#[tokio::test]
async fn a_result_of_10_mib_reaches_the_client() {
    let server = Server::start().await;
    let bytes = 10 * 1024 * 1024;
    for era in Era::BOTH {
        let mut client = Client::ready(&server.url(), era).await;
        let result = client.call("big", json!({ "bytes": bytes })).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() == bytes && text.bytes().all(|byte| byte == b'"'));
    }
}
