//! Long calls: timeouts of tools, keep-alive progress, and calls that continue in the background
//! while the client has a handle for their result.

use std::time::Duration;

use bridge::{Config, Profile, Results};
use bridge_protocol::{ErrorCode, ToolCall};
use serde_json::{Value, json};

use crate::kit::*;

/// The patience of the client, which is long enough for an immediate response on a busy machine.
const PATIENCE: Duration = Duration::from_millis(400);

/// A configuration whose calls continue in the background after [`PATIENCE`].
fn impatient_client(results: Results) -> Config {
    let profile = Profile {
        patience: Some(PATIENCE),
        ..Profile::default()
    };
    Config {
        profiles: test_client_profile(profile),
        ..config_with_results(results)
    }
}

fn counting_tool() -> Value {
    json!({ "name": "counting", "outputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } }, "required": ["n"] } })
}

fn tool_with_timeout(name: &str, milliseconds: Value) -> Value {
    json!({ "name": name, "_meta": { "mcp-web/timeout": milliseconds } })
}

fn handle_of(result: &Value) -> String {
    let handle = result["_meta"]["mcp-web/handle"].as_str();
    handle
        .unwrap_or_else(|| panic!("no handle in {result}"))
        .to_owned()
}

/// Starts a call that continues in the background, and returns its handle and the call in the page.
async fn start_background_call(
    client: &McpClient,
    page: &mut Page,
    tool: &str,
) -> (String, bridge_protocol::ToolCall) {
    let (answer, call) = tokio::join!(client.call(tool, json!({})), page.recv_call());
    let result = &answer["result"];
    let handle = handle_of(result);
    let text = result_text(result);
    assert!(text.contains("still running in the page"), "{text}");
    assert!(
        text.contains(&format!("get_result with {{\"handle\": \"{handle}\"}}")),
        "{text}"
    );
    (handle, call)
}

/// The error code of a result, which must be an error.
fn code_of(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    error_code(result).unwrap()
}

#[tokio::test]
async fn a_tool_timeout_applies_and_the_error_names_the_setting() {
    let mut config = test_config();
    config.calls.call_timeout = Duration::from_millis(200);
    config.calls.max_call_timeout = Duration::from_millis(300);
    let bridge = start_bridge_with(config).await;
    let tools = [
        tool_with_timeout("short", json!(100)),
        tool_with_timeout("long", json!(9_000_000)),
        json!({ "name": "plain" }),
    ];
    let mut page = Page::with_tools(&bridge, "s", &tools).await;
    for (tool, timeout, key) in [
        ("short", 100, "mcp-web/timeout"),
        ("long", 300, "`max_call_timeout`"),
        ("plain", 200, "`call_timeout`"),
    ] {
        let call = post_tool_call(&bridge, tool, json!({}));
        let ((_, result), call) = tokio::join!(call, page.recv_call());
        assert_eq!(call.context.timeout_ms, Some(timeout));
        assert_eq!(code_of(&result), "CallTimeout");
        let text = result_text(&result);
        assert!(text.contains(key), "{text}");
    }
}

#[tokio::test]
async fn an_invalid_tool_timeout_is_rejected_at_registration() {
    let bridge = start_bridge().await;
    let mut page = Page::connect(&bridge, "s", TOKEN).await;
    let tools = [
        tool_with_timeout("wrong", json!("5m")),
        tool_with_timeout("right", json!(5)),
    ];
    let registered = page.register(&tools).await;
    assert_eq!(registered.errors.len(), 1);
    assert_eq!(registered.errors[0].code, ErrorCode::DefinitionInvalid);
    let message = &registered.errors[0].message;
    assert!(message.contains("mcp-web/timeout"), "{message}");
}

#[tokio::test]
async fn keepalive_progress_is_sent_and_progress_is_monotonic() {
    let mut config = test_config();
    config.calls.progress_every = Duration::from_millis(20);
    let bridge = start_bridge_with(config).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": "t" } });
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let id = &call.request_id;
    let mut received = Vec::new();
    let call_progress = |progress: f64, total: Value| {
        json!({ "type": "call-progress", "requestId": id, "progress": progress, "total": total,
            "message": "page" })
    };
    for (progress, total) in [(None, None), (Some(1.0), Some(4)), (Some(2.0), Some(4))] {
        if let Some(progress) = progress {
            page.send_json(call_progress(progress, json!(total))).await;
            // Progress that does not increase must not reach the client.
            page.send_json(call_progress(progress - 0.5, json!(total)))
                .await;
        }
        let mut keepalives = 0;
        while keepalives < 3 {
            let notification = events.find_method("notifications/progress").await;
            let message = notification["params"]["message"]
                .as_str()
                .unwrap()
                .to_owned();
            if message.contains("`echo` is still running in the page (0 s)") {
                keepalives += 1;
            }
            received.push((
                notification["params"]["progress"].as_f64().unwrap(),
                message,
                notification["params"]["total"].as_f64(),
            ));
        }
        assert_eq!(received.last().unwrap().2, total.map(f64::from));
    }
    page.respond(&call, json!("done")).await;
    assert_eq!(result_text(&events.find_response().await["result"]), "done");
    assert!(
        received.is_sorted_by(|one, next| one.0 < next.0),
        "{received:?}"
    );
    assert!(
        received.iter().all(|(progress, ..)| *progress < 2.5),
        "{received:?}"
    );
    let from_page = received.iter().filter(|(_, message, _)| message == "page");
    let from_page: Vec<_> = from_page.map(|(progress, ..)| *progress).collect();
    assert_eq!(from_page, [1.0, 2.0]);
}

#[tokio::test]
async fn a_long_call_returns_a_handle_and_get_result_its_result() {
    let bridge = start_bridge_with(impatient_client(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), counting_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (handle, call) = start_background_call(&client, &mut page, "echo").await;

    // The result is not available yet.
    let again = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(handle_of(&again), handle);
    assert_eq!(again["isError"], json!(false));

    // Another client can fetch it after the session of the first one has ended.
    let other = McpClient::connect(&bridge, TOKEN).await;
    assert!(client.delete_session().await.status().is_success());
    page.respond(&call, json!({ "n": 7 })).await;
    for _ in 0..2 {
        let result = other.get_result(json!({ "handle": handle })).await;
        assert_eq!(result["structuredContent"], json!({ "n": 7 }));
        assert_eq!(result_text(&result), "{\"n\":7}");
    }
}

/// A strict client rejects a success without the structured content that the output schema
/// requires.
#[tokio::test]
async fn a_background_call_with_an_output_schema_fails_first_and_is_validated_later() {
    let bridge = start_bridge_with(impatient_client(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[counting_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (handle, call) = start_background_call(&client, &mut page, "counting").await;
    page.respond(&call, json!({ "n": "seven" })).await;
    let result = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(code_of(&result), "InvalidResult");

    let (answer, call) = tokio::join!(client.call("counting", json!({})), page.recv_call());
    assert_eq!(answer["result"]["isError"], true);
    let handle = handle_of(&answer["result"]);
    page.respond(&call, json!({ "n": 7 })).await;
    let result = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(result["structuredContent"], json!({ "n": 7 }));

    // `call_session_tool` has no output schema.
    let arguments = json!({ "tool_name": "counting" });
    let (answer, _) = tokio::join!(
        client.call("call_session_tool", arguments),
        page.recv_call()
    );
    handle_of(&answer["result"]);
    assert_eq!(answer["result"]["isError"], false);
}

#[tokio::test]
async fn a_background_call_ends_with_its_page_or_on_cancel() {
    let bridge = start_bridge_with(impatient_client(Results::default())).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (handle, _) = start_background_call(&client, &mut page, "echo").await;
    let cancel = json!({ "handle": handle, "cancel": true });
    let result = client.get_result(cancel.clone()).await;
    assert_eq!(result_text(&result), "`echo` was cancelled.");
    assert_eq!(page.recv_call_cancel().await.code, ErrorCode::CallCancelled);
    let result = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(code_of(&result), "CallCancelled");
    let result = client.get_result(cancel).await;
    assert!(
        result_text(&result).contains("had ended before"),
        "{result}"
    );

    let (handle, _) = start_background_call(&client, &mut page, "echo").await;
    page.close().await;
    let result = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(code_of(&result), "PageGone");
}

/// A bridge whose clients have no profile, and the time after which they get a handle.
async fn start_bridge_with_patience() -> bridge::ServerHandle {
    let mut config = test_config();
    config.calls.client_patience = PATIENCE;
    start_bridge_with(config).await
}

#[tokio::test]
async fn a_client_without_a_profile_gets_a_handle_unless_it_requests_progress() {
    let bridge = start_bridge_with_patience().await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let progress = json!({ "_meta": { "progressToken": "t" } });
    let params = with_members(json!({ "name": "echo", "arguments": {} }), progress);
    let stream = client.request_stream(7, "tools/call", params);
    let (mut stream, with_progress) = tokio::join!(stream, page.recv_call());
    // This call begins later, and has waited as long when it gets its handle.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let (handle, without) = start_background_call(&other, &mut page, "echo").await;
    page.respond(&with_progress, json!("waited")).await;
    assert_eq!(
        result_text(&stream.find_response().await["result"]),
        "waited"
    );
    page.respond(&without, json!("later")).await;
    let result = other.get_result(json!({ "handle": handle })).await;
    assert_eq!(result_text(&result), "later");

    let stateless = StatelessClient::new(&bridge);
    let params = json!({ "name": "echo", "arguments": {} });
    let (answer, _) = tokio::join!(stateless.request("tools/call", params), page.recv_call());
    handle_of(&answer["result"]);
}

#[tokio::test]
async fn a_question_to_a_client_without_a_profile_does_not_use_up_its_patience() {
    let bridge = start_bridge_with_patience().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let capabilities = json!({ "elicitation": {} });
    let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
    let other = McpClient::connect(&bridge, TOKEN).await;
    for (id, responds_at_once) in [(7, true), (8, false)] {
        let params = json!({ "name": "echo", "arguments": {} });
        let handler = async {
            let call = page.recv_call().await;
            page.send_json(
                json!({ "type": "client-requests", "requestId": call.request_id,
                "requests": [{ "key": "k", "method": "elicitation/create",
                    "params": { "message": "?", "requestedSchema": { "type": "object" } } }] }),
            )
            .await;
            call
        };
        let stream = client.request_stream(id, "tools/call", params);
        let (mut stream, call) = tokio::join!(stream, handler);
        let question = stream.find_method("elicitation/create").await;
        // This call begins later, and has waited as long when it gets its handle.
        start_background_call(&other, &mut page, "echo").await;
        let answer = json!({ "action": "accept", "content": {} });
        client.respond(&question, answer).await;
        let responses = page.recv_client_responses().await;
        assert!(responses[0].error.is_none(), "{responses:?}");
        if responds_at_once {
            page.respond(&call, json!("asked")).await;
            let result = &stream.find_response().await["result"];
            assert_eq!(result_text(result), "asked");
            continue;
        }
        // The time was over, and begins again with the answer.
        let handle = handle_of(&stream.find_response().await["result"]);
        page.respond(&call, json!("asked")).await;
        let result = client.get_result(json!({ "handle": handle })).await;
        assert_eq!(result_text(&result), "asked");
    }
}

#[tokio::test]
async fn client_requests_of_a_background_call_fail() {
    let bridge = start_bridge_with(impatient_client(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let capabilities = json!({ "elicitation": {} });
    let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let client_request = |call: &ToolCall, key: &str| {
        json!({ "type": "client-requests", "requestId": call.request_id, "requests": [{
            "key": key, "method": "elicitation/create",
            "params": { "message": "?", "requestedSchema": { "type": "object" } } }] })
    };
    let handler = async {
        let call = page.recv_call().await;
        // The client does not respond to this request, and the call continues in the background.
        page.send_json(client_request(&call, "before")).await;
        call
    };
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, handler);
    events.find_method("elicitation/create").await;
    let handle = handle_of(&events.find_response().await["result"]);
    page.send_json(client_request(&call, "after")).await;
    let mut responses = Vec::new();
    while responses.len() < 2 {
        responses.extend(page.recv_client_responses().await);
    }
    for (response, key) in responses.iter().zip(["before", "after"]) {
        let error = response.error.as_ref().unwrap();
        assert_eq!(
            (response.key.as_str(), error.code),
            (key, ErrorCode::ClientCapabilityMissing)
        );
    }
    page.respond(&call, json!("without")).await;
    let result = client.get_result(json!({ "handle": handle })).await;
    assert_eq!(result_text(&result), "without");
}

#[tokio::test]
async fn a_handle_is_valid_only_for_its_token_and_until_result_ttl() {
    let results = Results {
        result_ttl: Duration::from_millis(200),
        ..Results::default()
    };
    let bridge = start_bridge_with(impatient_client(results)).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let stranger = McpClient::connect(&bridge, OTHER_TOKEN).await;
    let (handle, call) = start_background_call(&client, &mut page, "echo").await;
    for cancel in [false, true] {
        let foreign = stranger
            .get_result(json!({ "handle": handle, "cancel": cancel }))
            .await;
        assert_eq!(code_of(&foreign), "HandleNotFound");
    }
    page.respond(&call, json!("done")).await;
    let mut was_stored = false;
    loop {
        let result = client.get_result(json!({ "handle": handle })).await;
        if result["isError"] == true {
            assert_eq!(code_of(&result), "HandleNotFound");
            assert!(
                result_text(&result).contains("look what has changed before you call it again"),
                "{result}"
            );
            break;
        }
        assert_eq!(result_text(&result), "done");
        was_stored = true;
    }
    assert!(was_stored, "the result was never stored");
}

#[tokio::test]
async fn max_kept_results_limits_background_calls_and_the_next_call_waits() {
    let results = Results {
        max_kept_results: 1,
        ..Results::default()
    };
    let bridge = start_bridge_with(impatient_client(results)).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (first, first_call) = start_background_call(&client, &mut page, "echo").await;
    // A second client, because one MCP session cannot have two requests with the same id.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let waiting_call = other.call("echo", json!({}));
    let handler = async {
        let call = page.recv_call().await;
        // This wait is longer than the patience of the client, because each `get_result` takes that
        // long.
        let again = client.get_result(json!({ "handle": first })).await;
        handle_of(&again);
        let again = client.get_result(json!({ "handle": first })).await;
        handle_of(&again);
        page.respond(&call, json!("waited")).await;
    };
    let (answer, ()) = tokio::join!(waiting_call, handler);
    assert_eq!(result_text(&answer["result"]), "waited");

    // A stored result is evicted for the next background call.
    page.respond(&first_call, json!("first")).await;
    assert_eq!(
        result_text(&client.get_result(json!({ "handle": first })).await),
        "first"
    );
    let (_second, _) = start_background_call(&client, &mut page, "echo").await;
    let evicted = client.get_result(json!({ "handle": first })).await;
    assert_eq!(code_of(&evicted), "HandleNotFound");
}

#[tokio::test]
async fn get_result_arguments_are_validated() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for wrong in [
        json!({}),
        json!({ "handle": 7 }),
        json!({ "handle": "h", "offset": -1 }),
        json!({ "handle": "h", "length": 0 }),
        json!({ "handle": "h", "cancel": "yes" }),
    ] {
        let result = client.get_result(wrong.clone()).await;
        assert_eq!(code_of(&result), "InvalidArguments", "{wrong}");
    }
}

/// Shutdown does not wait for calls in the background.
#[tokio::test]
async fn shutdown_cancels_background_calls() {
    let bridge = start_bridge_with(impatient_client(Results::default())).await;
    let (mut page, client) = connect_page_and_client(&bridge).await;
    let (_handle, _) = start_background_call(&client, &mut page, "echo").await;
    let (cancel, ()) = with_deadline("shutdown", async {
        tokio::join!(page.recv_call_cancel(), bridge.shutdown())
    })
    .await;
    assert_eq!(cancel.code, ErrorCode::BridgeStopping);
}
