//! Requests of a handler to the client that called it, in the revisions before 2026-07-28: the
//! server sends them on the event stream of the call. Progress and log messages use the same
//! stream.

use bridge_protocol::ErrorCode;
use serde_json::{Value, json};

use crate::kit::*;

/// Starts a call of a client with these capabilities. Returns the page, the client, the event
/// stream of the call, and the id of the call.
async fn start_call(
    bridge: &bridge::ServerHandle,
    capabilities: Value,
    members: Value,
) -> (Page, McpClient, EventStream, String) {
    let mut page = Page::with_tools(bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect_with_capabilities(bridge, TOKEN, capabilities).await;
    let params = with_members(json!({ "name": "echo", "arguments": {} }), members);
    let events = client.request_stream(7, "tools/call", params);
    let (events, call) = tokio::join!(events, page.recv_call());
    (page, client, events, call.request_id.0)
}

/// Starts a call whose handler asks the client. Returns the values of `start_call`, and the request.
async fn start_elicitation(
    bridge: &bridge::ServerHandle,
) -> (Page, McpClient, EventStream, String, Value) {
    let capabilities = json!({ "elicitation": {} });
    let (mut page, client, mut events, call) = start_call(bridge, capabilities, json!({})).await;
    page.send_json(client_requests(&call, json!([elicitation()])))
        .await;
    let received = events.find_method("elicitation/create").await;
    (page, client, events, call, received)
}

fn client_requests(call: &str, requests: Value) -> Value {
    json!({ "type": "client-requests", "requestId": call, "requests": requests })
}

/// Receives the responses of the client in the page, as JSON.
async fn recv_responses(page: &mut Page) -> Vec<Value> {
    let responses = page.recv_client_responses().await;
    let to_json = |response| serde_json::to_value(response).unwrap();
    responses.iter().map(to_json).collect()
}

fn elicitation() -> Value {
    json!({ "key": "column", "method": "elicitation/create", "params": { "message": "Which?",
        "requestedSchema": { "type": "object", "properties": { "column": { "type": "string" } } } } })
}

fn sampling() -> Value {
    json!({ "key": "poem", "method": "sampling/createMessage", "params": { "maxTokens": 10,
        "messages": [{ "role": "user", "content": { "type": "text", "text": "A poem" } }] } })
}

fn roots() -> Value {
    json!({ "key": "roots", "method": "roots/list", "params": {} })
}

#[tokio::test]
async fn elicitation_sampling_and_roots_requests_reach_the_client_and_return() {
    let bridge = start_bridge().await;
    let capabilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let (mut page, client, mut events, call) = start_call(&bridge, capabilities, json!({})).await;
    let cases = [
        (
            elicitation(),
            json!({ "action": "accept", "content": { "column": "todo" } }),
        ),
        (
            sampling(),
            json!({ "role": "assistant", "content": { "type": "text", "text": "Roses" },
                "model": "m", "stopReason": "endTurn" }),
        ),
        (
            roots(),
            json!({ "roots": [{ "uri": "file:///a", "name": "a" }] }),
        ),
    ];
    for (request, result) in cases {
        page.send_json(client_requests(&call, json!([request])))
            .await;
        let received = events
            .find_method(request["method"].as_str().unwrap())
            .await;
        for (key, value) in request["params"].as_object().unwrap() {
            assert_eq!(&received["params"][key], value, "{received}");
        }
        client.respond(&received, result.clone()).await;
        let responses = recv_responses(&mut page).await;
        assert_eq!(
            responses,
            [json!({ "key": request["key"], "result": result })]
        );
    }
    page.respond_to(&call.as_str().into(), json!("done")).await;
    assert_eq!(result_text(&events.find_response().await["result"]), "done");
}

#[tokio::test]
async fn a_request_beyond_the_client_capabilities_fails_and_the_call_continues() {
    let bridge = start_bridge().await;
    let (mut page, _client, mut events, call) = start_call(&bridge, json!({}), json!({})).await;
    page.send_json(client_requests(&call, json!([elicitation(), roots()])))
        .await;
    let responses = recv_responses(&mut page).await;
    assert_eq!(responses[0]["error"]["code"], "ClientCapabilityMissing");
    assert_eq!(
        responses[1]["error"]["data"],
        json!({ "requiredCapabilities": { "roots": {} } })
    );
    page.respond_to(&call.as_str().into(), json!("without"))
        .await;
    assert_eq!(
        result_text(&events.find_response().await["result"]),
        "without"
    );
}

#[tokio::test]
async fn a_client_error_reaches_the_handler() {
    let bridge = start_bridge().await;
    for (error, reason) in [
        (
            json!({ "code": -32603, "message": "the window is closed" }),
            "the window is closed",
        ),
        (json!(7), "malformed"),
    ] {
        let (mut page, client, _events, _, received) = start_elicitation(&bridge).await;
        let error = json!({ "jsonrpc": "2.0", "id": received["id"], "error": error });
        assert_eq!(client.post(&error).await.status(), 202);
        let responses = recv_responses(&mut page).await;
        assert_eq!(responses[0]["error"]["code"], "ClientRequestFailed");
        let message = responses[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
}

#[tokio::test]
async fn only_the_session_of_the_call_can_answer_and_only_once() {
    let bridge = start_bridge().await;
    let (mut page, client, mut events, call, received) = start_elicitation(&bridge).await;
    let neighbour = McpClient::connect(&bridge, TOKEN).await;
    let stranger = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let stolen = json!({ "action": "accept", "content": { "column": "stolen" } });
    for other in [&neighbour, &stranger] {
        other.respond(&received, stolen.clone()).await;
    }
    let mut unknown = received.clone();
    unknown["id"] = json!(format!("{}0", received["id"].as_str().unwrap()));
    client.respond(&unknown, stolen.clone()).await;
    client
        .respond(&received, json!({ "action": "decline" }))
        .await;
    client.respond(&received, stolen).await;
    let responses = recv_responses(&mut page).await;
    assert_eq!(
        responses,
        [json!({ "key": "column", "result": { "action": "decline" } })]
    );
    page.respond_to(&call.as_str().into(), json!("done")).await;
    assert_eq!(result_text(&events.find_response().await["result"]), "done");
}

/// The page receives the cancellation, and the slot of the call is free for the next one.
#[tokio::test]
async fn cancelling_a_call_with_a_pending_client_request_frees_its_slot() {
    let mut config = test_config();
    config.calls.max_calls = 1;
    let bridge = start_bridge_with(config).await;
    let capabilities = json!({ "elicitation": {}, "sampling": {} });
    for request in [elicitation(), sampling()] {
        let (mut page, client, mut events, call) =
            start_call(&bridge, capabilities.clone(), json!({})).await;
        page.send_json(client_requests(&call, json!([request])))
            .await;
        let received = events
            .find_method(request["method"].as_str().unwrap())
            .await;
        client.cancel_request(7).await;
        assert_eq!(page.recv_call_cancel().await.code, ErrorCode::CallCancelled);
        // A response at this point has no effect.
        let late =
            json!({ "jsonrpc": "2.0", "id": received["id"], "result": { "action": "cancel" } });
        let _ = client.post(&late).await;
        client.assert_echo(&mut page).await;
        page.close().await;
    }
}

#[tokio::test]
async fn progress_notifications_arrive_before_the_result() {
    let bridge = start_bridge().await;
    let meta = json!({ "_meta": { "progressToken": "t" } });
    let (mut page, _client, mut events, call) = start_call(&bridge, json!({}), meta).await;
    for n in 1..=3 {
        let progress = json!({ "type": "call-progress", "requestId": call, "progress": n,
            "total": 3, "message": format!("step {n}") });
        page.send_json(progress).await;
    }
    page.respond_to(&call.as_str().into(), json!("done")).await;
    for n in 1..=3 {
        let notification = events.next().await.unwrap();
        assert_eq!(
            notification["method"], "notifications/progress",
            "{notification}"
        );
        assert_eq!(notification["params"]["progressToken"], "t");
        assert_eq!(
            notification["params"]["progress"].as_f64(),
            Some(f64::from(n))
        );
        assert_eq!(notification["params"]["message"], format!("step {n}"));
    }
    assert_eq!(result_text(&events.next().await.unwrap()["result"]), "done");
}

/// Log messages arrive on the event stream of their call: the response becomes a stream for them.
#[tokio::test]
async fn log_messages_are_filtered_by_the_level_the_client_set() {
    let bridge = start_bridge().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let level = json!({ "level": "warning" });
    let set = client.request("logging/setLevel", level).await;
    assert_eq!(set["result"], json!({}));
    let handler = async {
        let call = page.recv_call().await;
        let level = call.context.log_level;
        assert_eq!(level, Some(bridge_protocol::LogLevel::Warning));
        for (level, data) in [("info", json!("no")), ("error", json!({ "card": 7 }))] {
            page.send_json(json!({ "type": "call-log", "requestId": call.request_id,
                "level": level, "logger": "board", "data": data }))
                .await;
        }
        page.respond_to(&call.request_id, json!("done")).await;
    };
    let params = json!({ "name": "echo", "arguments": {} });
    let (mut events, ()) = tokio::join!(client.request_stream(7, "tools/call", params), handler);
    let notification = events.next().await.unwrap();
    assert_eq!(notification["method"], "notifications/message");
    assert_eq!(
        notification["params"],
        json!({ "level": "error", "logger": "board", "data": { "card": 7 } })
    );
    assert_eq!(result_text(&events.find_response().await["result"]), "done");
}

#[tokio::test]
async fn client_requests_fail_for_a_rest_caller() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let call = page.recv_call().await;
        page.send_json(client_requests(
            call.request_id.as_str(),
            json!([sampling()]),
        ))
        .await;
        let responses = recv_responses(&mut page).await;
        page.respond(&call, responses[0]["error"]["code"].clone())
            .await;
    };
    let ((_, result), ()) = tokio::join!(post_tool_call(&bridge, "echo", json!({})), handler);
    assert_eq!(result_text(&result), "ClientCapabilityMissing");
}

/// Without the cancellation, the user would still see a question of a call that has ended.
#[tokio::test]
async fn a_pending_elicitation_is_cancelled_with_its_call() {
    let bridge = start_bridge().await;
    let (mut page, client, mut events, call) =
        start_call(&bridge, json!({ "elicitation": {} }), json!({})).await;
    let mut notifications = client.listen().await;
    let start = notifications.first_event_id().await;
    page.send_json(client_requests(&call, json!([elicitation()])))
        .await;
    let received = events.find_method("elicitation/create").await;
    client.cancel_request(7).await;
    assert_eq!(page.recv_call_cancel().await.code, ErrorCode::CallCancelled);
    let resumed = client.resume(&start).await;
    for mut stream in [notifications, resumed] {
        let cancelled = stream.find_method("notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], received["id"]);
    }
}

#[tokio::test]
async fn an_elicitation_that_is_not_answered_in_time_is_cancelled() {
    let mut config = test_config();
    config.calls.input_timeout = std::time::Duration::from_millis(300);
    let bridge = start_bridge_with(config).await;
    let (mut page, client, mut events, call) =
        start_call(&bridge, json!({ "elicitation": {} }), json!({})).await;
    page.send_json(client_requests(&call, json!([elicitation()])))
        .await;
    let received = events.find_method("elicitation/create").await;
    let responses = recv_responses(&mut page).await;
    assert_eq!(responses[0]["error"]["code"], "ClientRequestFailed");
    let mut notifications = client.listen().await;
    let cancelled = notifications.find_method("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], received["id"]);
    page.respond_to(&call.as_str().into(), json!("without"))
        .await;
    let response = events.find_response().await;
    assert_eq!(result_text(&response["result"]), "without");
}

#[tokio::test]
async fn a_page_with_too_many_or_too_long_client_requests_is_closed() {
    let bridge = start_bridge().await;
    let many: Vec<_> = (0..=4 * 256).map(|_| roots()).collect();
    let long = json!([{ "key": "k".repeat(256 * 256 + 1), "method": "roots/list", "params": {} }]);
    for requests in [json!(many), long] {
        let mut page = Page::with_tools(&bridge, "s", &[]).await;
        page.send_json(client_requests("any", requests)).await;
        assert_eq!(page.recv_close().await.0, 1008);
    }
}

#[tokio::test]
async fn an_invalid_client_response_fails_the_request() {
    let bridge = start_bridge().await;
    let (mut page, client, mut events, call) =
        start_call(&bridge, json!({ "elicitation": {} }), json!({})).await;
    page.send_json(client_requests(&call, json!([elicitation()])))
        .await;
    let received = events.find_method("elicitation/create").await;
    client
        .respond(&received, json!({ "action": "perhaps" }))
        .await;
    let responses = recv_responses(&mut page).await;
    assert_eq!(responses[0]["key"], "column");
    assert_eq!(
        responses[0]["error"]["code"], "ClientRequestFailed",
        "{responses:?}"
    );
}
