//! With a bridge: calls, cancels, restarts, the end of input.

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::json;
use tokio::time::timeout;

use crate::client::{Client, Era, command, error_text, subscription_id};
use crate::server::{IMMEDIATE_TIMEOUT, Server, ServerEvent};

const BOTH_ERAS: [Era; 2] = [Era::Session, Era::Stateless];

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
async fn calls_pass_in_both_eras_under_the_name_of_the_client() {
    let mut server = Server::start().await;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        assert!(client.tools().await.contains(&"wait".to_owned()));
        assert_eq!(
            client.call("echo", json!({ "text": "hi" })).await["content"][0]["text"],
            "hi"
        );
        assert_eq!(server.next_event().await, called("echo"));
        assert!(client.close().await.success());
    }
}

#[tokio::test]
async fn every_session_version_is_the_bridges_to_answer() {
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
async fn the_pinned_session_travels_with_each_request() {
    let mut server = Server::start().await;
    for era in BOTH_ERAS {
        let mut command = command(&server.url());
        command.args(["--session", "tab-7"]);
        let mut client = Client::start(command, era);
        if era == Era::Session {
            client.initialize("2025-11-25").await;
        }
        client.call("echo", json!({ "text": "hi" })).await;
        let ServerEvent::Called { session, .. } = server.next_event().await else {
            panic!("a call")
        };
        assert_eq!(session.as_deref(), Some("tab-7"));
    }
}

#[tokio::test]
async fn many_calls_at_once_are_not_crossed() {
    let server = Server::start().await;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        let mut ids = Vec::new();
        for number in 0..100 {
            let arguments = json!({ "text": number.to_string() });
            let params = json!({ "name": "echo", "arguments": arguments });
            ids.push(client.send_request("tools/call", params).await);
        }
        for (number, id) in ids.into_iter().enumerate() {
            let answer = client.response(id).await;
            assert_eq!(answer["result"]["content"][0]["text"], number.to_string());
        }
    }
}

#[tokio::test]
async fn slow_calls_do_not_hold_up_others() {
    let mut server = Server::start().await;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        for _ in 0..40 {
            client
                .send_request("tools/call", json!({ "name": "wait" }))
                .await;
            assert_eq!(server.next_event().await, called("wait"));
        }
        assert_eq!(
            client.call("echo", json!({ "text": "hi" })).await["content"][0]["text"],
            "hi"
        );
        assert_eq!(server.next_event().await, called("echo"));
        assert!(client.close().await.success());
        for _ in 0..40 {
            assert_eq!(server.next_event().await, cancelled("wait"));
        }
    }
}

#[tokio::test]
async fn a_cancel_reaches_the_handler_in_both_eras() {
    let mut server = Server::start().await;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        let id = client
            .send_request("tools/call", json!({ "name": "wait" }))
            .await;
        assert_eq!(server.next_event().await, called("wait"));
        client.cancel(id).await;
        assert_eq!(server.next_event().await, cancelled("wait"));
        assert_eq!(
            client.call("echo", json!({ "text": "hi" })).await["content"][0]["text"],
            "hi"
        );
        assert_eq!(server.next_event().await, called("echo"));
    }
}

#[tokio::test]
async fn the_end_of_input_cancels_what_is_in_flight_and_exits_with_0() {
    let mut server = Server::start().await;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        client
            .send_request("tools/call", json!({ "name": "wait" }))
            .await;
        assert_eq!(server.next_event().await, called("wait"));
        let status = timeout(IMMEDIATE_TIMEOUT, client.close())
            .await
            .expect("promptly");
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
async fn a_signal_to_end_is_an_end_of_input() {
    let mut server = Server::start().await;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        client
            .send_request("tools/call", json!({ "name": "wait" }))
            .await;
        assert_eq!(server.next_event().await, called("wait"));
        assert_eq!(client.terminate().await.code(), Some(0));
        assert_eq!(server.next_event().await, cancelled("wait"));
    }
}

#[tokio::test]
async fn what_the_bridge_sends_unasked_reaches_the_client() {
    let mut server = Server::start().await;
    let mut client = Client::ready(&server.url(), Era::Session).await;
    client.call("announce", json!({})).await;
    client.list_changed().await;

    let call = client
        .send_request("tools/call", json!({ "name": "ask" }))
        .await;
    let question = client.notification("roots/list").await;
    let roots = json!({ "roots": [{ "uri": "file:///home" }] });
    client
        .send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": roots }))
        .await;
    assert_eq!(
        client.response(call).await["result"]["content"][0]["text"],
        "file:///home"
    );

    let mut client = Client::ready(&server.url(), Era::Stateless).await;
    let listen = client.listen().await;
    while server.next_event().await
        != (ServerEvent::Called {
            tool: "(listen)".into(),
            client: String::new(),
            session: None,
        })
    {}
    server.change_list();
    assert_eq!(subscription_id(&client.list_changed().await), listen);
}

#[tokio::test]
async fn a_restart_ends_what_was_in_flight_and_the_next_call_works() {
    for era in BOTH_ERAS {
        let mut server = Server::start().await;
        let address = server.address;
        let mut client = Client::ready(&server.url(), era).await;
        let listen = if era == Era::Stateless {
            Some(client.listen().await)
        } else {
            None
        };
        let call = client
            .send_request("tools/call", json!({ "name": "wait" }))
            .await;
        while server.next_event().await != called("wait") {}

        drop(server);
        let answer = timeout(IMMEDIATE_TIMEOUT, client.response(call))
            .await
            .expect("at once");
        let text = error_text(&answer["result"]);
        // A server that is dying may still manage to say so.
        let lost = ["was lost before the answer came", "answered HTTP 500"];
        assert!(lost.iter().any(|words| text.contains(words)), "{text}");
        client.list_changed().await;
        assert!(error_text(&client.call("echo", json!({})).await).starts_with("no bridge at"));

        let mut server = Server::start_on(address).await;
        let changed = client.list_changed().await;
        assert_eq!(
            client.call("echo", json!({ "text": "back" })).await["content"][0]["text"],
            "back"
        );
        if let Some(listen) = listen {
            assert_eq!(subscription_id(&changed), listen);
            while server.next_event().await
                != (ServerEvent::Called {
                    tool: "(listen)".into(),
                    client: String::new(),
                    session: None,
                })
            {}
            server.change_list();
            assert_eq!(subscription_id(&client.list_changed().await), listen);
        } else {
            assert_eq!(server.next_event().await, called("echo"));
        }
        assert!(client.close().await.success());
    }
}

#[tokio::test]
async fn a_forgotten_mcp_session_is_begun_anew_and_the_call_runs_once() {
    let mut server = Server::start().await;
    let mut client = Client::ready(&server.url(), Era::Session).await;
    assert_eq!(
        client.call("echo", json!({ "text": "1" })).await["content"][0]["text"],
        "1"
    );
    assert_eq!(server.next_event().await, called("echo"));
    server.forget_sessions().await;
    assert_eq!(
        client.call("echo", json!({ "text": "2" })).await["content"][0]["text"],
        "2"
    );
    assert_eq!(server.next_event().await, called("echo"));
    client.list_changed().await;
    assert!(server.has_no_more_events());
}

#[tokio::test]
async fn a_result_of_10_mib_passes() {
    let server = Server::start().await;
    let bytes = 10 * 1024 * 1024;
    for era in BOTH_ERAS {
        let mut client = Client::ready(&server.url(), era).await;
        let result = client.call("big", json!({ "bytes": bytes })).await;
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() == bytes && text.bytes().all(|byte| byte == b'"'));
    }
}
