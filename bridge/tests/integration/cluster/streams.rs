//! Streams, long results, and requests to clients by way of a bridge that does not own the realm.

use bridge_protocol::Kind;
use serde_json::{Value, json};

use super::exchange::RawRequest;
use super::kit::*;
use crate::kit::*;

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_call_reports_progress_and_is_cancelled_by_way_of_another_bridge() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let client = McpClient::connect(edge, TOKEN).await;
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": "p" } });
    let mut stream = client.request_stream(7, "tools/call", params).await;
    let call = page.recv_call().await;
    let id = call.request_id.as_str();
    page.send_json(json!({ "type": "call-progress", "requestId": id, "progress": 1, "total": 2 }))
        .await;
    let progress = stream.find_method("notifications/progress").await;
    assert_eq!(progress["params"]["progress"], 1);
    client.cancel_request(7).await;
    page.expect_cancel(&call).await;
}

#[tokio::test]
async fn a_client_that_leaves_before_the_response_cancels_its_call() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let (url, body) = (edge.url(), json!({}));
    let call = tokio::spawn(async move { post_tool_call_to(&url, TOKEN, "echo", body).await });
    let received = page.recv_call().await;
    call.abort();
    page.expect_cancel(&received).await;
}

#[tokio::test]
async fn results_and_arguments_of_many_mebibytes_pass_through_another_bridge() {
    let bridges = Bridges::start_with(2, |_, config| {
        config.network.max_request_bytes = 32 * MIB;
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let text = "é".repeat(4 * MIB);
    for bridge in [owner, edge] {
        let input = json!({ "text": text });
        let call = post_tool_call(bridge, "echo", input);
        let ((status, result), ()) = tokio::join!(call, page.echo_call());
        assert_eq!(status, 200);
        assert!(result["structuredContent"]["text"] == text.as_str());
    }
}

/// It is refused while most of its body is not sent yet.
#[tokio::test]
async fn a_body_that_is_much_too_long_is_refused_as_by_the_owner() {
    let bridges = Bridges::start_with(2, |_, config| {
        config.network.max_request_bytes = MIB;
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let _page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let long = RawRequest::new("POST", "/tool-call").token(TOKEN);
    let long = long.body(vec![b' '; 24 * MIB]);
    for request in [long.clone(), long.chunked()] {
        let at_owner = request.send(owner.local_addr()).await;
        let at_edge = request.send(edge.local_addr()).await;
        assert_eq!(at_owner.code(), 413, "{at_owner:?}");
        assert_eq!(at_edge, at_owner);
    }
}

#[tokio::test]
async fn a_session_has_its_stream_and_its_end_at_any_bridge() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let at_edge = McpClient::connect(edge, TOKEN).await;
    let mut stream = at_edge.listen().await;
    let first = stream.first_event_id().await;
    page.register_items(&[(Kind::Tool, json!({ "name": "second" }))])
        .await;
    stream.find_method("notifications/tools/list_changed").await;
    drop(stream);

    // The stream continues by way of either bridge.
    let mut at_owner = McpClient::connect(owner, TOKEN).await;
    at_owner.session.clone_from(&at_edge.session);
    for client in [&at_owner, &at_edge] {
        let mut resumed = client.resume(&first).await;
        let notification = resumed
            .find_method("notifications/tools/list_changed")
            .await;
        assert_eq!(notification["jsonrpc"], "2.0");
        assert_eq!(client.tool_names().await, at_owner.tool_names().await);
    }
    assert!(at_edge.delete_session().await.status().is_success());
    for client in [&at_owner, &at_edge] {
        let ended = client.start_request("tools/list", json!({})).await;
        assert_eq!(ended.status(), 404);
    }
}

/// A client of 2025-11-25 receives the question of a handler in the stream of its call.
#[tokio::test]
async fn a_handler_asks_a_client_with_a_session_at_another_bridge() {
    let bridges = Bridges::start(2).await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let capabilities = json!({ "elicitation": {} });
    let client = McpClient::connect_with_capabilities(edge, TOKEN, capabilities).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let mut stream = client.request_stream(1, "tools/call", params).await;
    let call = page.recv_call().await;
    ask(&mut page, call.request_id.as_str()).await;
    let question = stream.find_method("elicitation/create").await;
    client.respond(&question, accepted()).await;
    let responses = page.recv_client_responses().await;
    assert_eq!(responses[0].key, "a");
    page.respond(&call, json!("done")).await;
    let response = stream.find_response().await;
    assert_eq!(result_text(&response["result"]), "done");
}

/// A client of 2026-07-28 gets the question as the result of its call, and repeats the call.
#[tokio::test]
async fn each_round_of_a_call_may_go_through_another_bridge() {
    let bridges = Bridges::start(3).await;
    let mut page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    let capabilities = json!({ "elicitation": {} });
    let call = |node: usize, members: Value| {
        let params = with_members(json!({ "name": "echo", "arguments": {} }), members);
        let bridge = &bridges.nodes[node];
        let client = StatelessClient::with_capabilities(bridge, capabilities.clone());
        async move { client.request("tools/call", params).await }
    };
    let handler = async {
        let call = page.recv_call().await;
        ask(&mut page, call.request_id.as_str()).await;
        call
    };
    let (asked, running) = tokio::join!(call(1, json!({})), handler);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = &asked["result"]["requestState"];
    let retry = json!({ "requestState": state, "inputResponses": { "a": accepted() } });
    let handler = async {
        page.recv_client_responses().await;
        page.respond(&running, json!("done")).await;
    };
    let (answer, ()) = tokio::join!(call(2, retry.clone()), handler);
    assert_eq!(result_text(&answer["result"]), "done");
    // It can be used once, also by way of different bridges.
    let again = call(1, retry).await;
    assert_eq!(
        again["error"]["data"]["code"], "RequestStateInvalid",
        "{again}"
    );
}

async fn ask(page: &mut Page, call: &str) {
    let request = json!({ "key": "a", "method": "elicitation/create", "params": { "message": "a",
        "requestedSchema": { "type": "object", "properties": { "v": { "type": "string" } } } } });
    page.send_json(json!({ "type": "client-requests", "requestId": call, "requests": [request] }))
        .await;
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "v": "1" } })
}
