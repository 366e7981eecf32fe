//! Long calls: a tool's own time, progress while the page says nothing, and handles for clients
//! without patience.

use std::time::Duration;

use bridge::{Config, Profile, Results};
use bridge_protocol::{BridgeToPage, ErrorCode};
use serde_json::{Value, json};

use crate::kit::*;

/// Long enough that a call with an answer at once is not late on a busy machine.
const PATIENCE: Duration = Duration::from_millis(400);

/// The client of these tests is `door-test`.
fn impatient(results: Results) -> Config {
    let profile = Profile {
        patience: Some(PATIENCE),
        ..Profile::default()
    };
    Config {
        profiles: test_client_profile(profile),
        results,
        ..test_config()
    }
}

fn promising_tool() -> Value {
    json!({ "name": "promising", "outputSchema": { "type": "object",
        "properties": { "n": { "type": "integer" } }, "required": ["n"] } })
}

fn timed_tool(name: &str, milliseconds: Value) -> Value {
    json!({ "name": name, "_meta": { "mcp-web/timeout": milliseconds } })
}

fn handle_of(result: &Value) -> String {
    let handle = result["_meta"]["mcp-web/handle"].as_str();
    handle
        .unwrap_or_else(|| panic!("no handle in {result}"))
        .to_owned()
}

/// Leaves a call of the tool, and answers with its handle and what the page heard.
async fn left(
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

async fn get(client: &McpClient, arguments: Value) -> Value {
    let answer = client.call("get_result", arguments).await;
    answer["result"].clone()
}

fn code_of(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["_meta"]["mcp-web/error"]["code"].as_str().unwrap()
}

async fn cancelled(page: &mut Page) -> ErrorCode {
    page.recv_matching(|message| match message {
        BridgeToPage::CallCancel(cancel) => Some(cancel.code),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_tool_timeout_applies_and_the_error_names_the_setting() {
    let results = Results {
        max_call_timeout: Duration::from_millis(300),
        ..Results::default()
    };
    let config = Config {
        call_timeout: Duration::from_millis(200),
        results,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let tools = [
        timed_tool("short", json!(100)),
        timed_tool("long", json!(9_000_000)),
        json!({ "name": "plain" }),
    ];
    let mut page = Page::with_tools(&bridge, "s", &tools).await;
    for (tool, told, key) in [
        ("short", 100, "mcp-web/timeout"),
        ("long", 300, "`max_call_timeout`"),
        ("plain", 200, "`call_timeout`"),
    ] {
        let call = post_tool_call(&bridge, tool, json!({}));
        let ((_, result), call) = tokio::join!(call, page.recv_call());
        assert_eq!(call.context.timeout_ms, Some(told));
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
        timed_tool("wrong", json!("5m")),
        timed_tool("right", json!(5)),
    ];
    let registered = page.register(&tools).await;
    assert_eq!(registered.errors.len(), 1);
    assert_eq!(registered.errors[0].code, ErrorCode::DefinitionInvalid);
    let message = &registered.errors[0].message;
    assert!(message.contains("mcp-web/timeout"), "{message}");
}

#[tokio::test]
async fn keepalive_progress_is_sent_and_progress_is_monotonic() {
    let results = Results {
        progress_every: Duration::from_millis(20),
        ..Results::default()
    };
    let bridge = start_bridge_with(Config {
        results,
        ..test_config()
    })
    .await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let params = json!({ "name": "echo", "arguments": {}, "_meta": { "progressToken": "t" } });
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let id = &call.request_id;
    let mut heard = Vec::new();
    let say = |progress: f64, total: Value| {
        json!({ "type": "call-progress", "requestId": id, "progress": progress, "total": total,
            "message": "page" })
    };
    for (progress, total) in [(None, None), (Some(1.0), Some(4)), (Some(2.0), Some(4))] {
        if let Some(progress) = progress {
            page.send_json(say(progress, json!(total))).await;
            // No progress: must not reach the client.
            page.send_json(say(progress - 0.5, json!(total))).await;
        }
        let mut own = 0;
        while own < 3 {
            let told = events.find_method("notifications/progress").await;
            let message = told["params"]["message"].as_str().unwrap().to_owned();
            if message.contains("`echo` is still running in the page (0 s)") {
                own += 1;
            }
            heard.push((
                told["params"]["progress"].as_f64().unwrap(),
                message,
                told["params"]["total"].as_f64(),
            ));
        }
        assert_eq!(heard.last().unwrap().2, total.map(f64::from));
    }
    page.respond(&call, json!("done")).await;
    assert_eq!(result_text(&events.find_response().await["result"]), "done");
    assert!(heard.is_sorted_by(|one, next| one.0 < next.0), "{heard:?}");
    assert!(
        heard.iter().all(|(progress, ..)| *progress < 2.5),
        "{heard:?}"
    );
    let pages: Vec<_> = heard
        .iter()
        .filter(|(_, message, _)| message == "page")
        .collect();
    assert_eq!(
        pages
            .iter()
            .map(|(progress, ..)| *progress)
            .collect::<Vec<_>>(),
        [1.0, 2.0]
    );
}

#[tokio::test]
async fn a_long_call_returns_a_handle_and_get_result_its_result() {
    let bridge = start_bridge_with(impatient(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), promising_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (handle, call) = left(&client, &mut page, "echo").await;

    // Not yet.
    let again = get(&client, json!({ "handle": handle })).await;
    assert_eq!(handle_of(&again), handle);
    assert_eq!(again["isError"], json!(false));

    // While somebody waits, by another MCP session, of another client.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let delete = http_client()
        .delete(&client.url)
        .bearer_auth(TOKEN)
        .header("mcp-session-id", &client.session)
        .send();
    assert!(delete.await.unwrap().status().is_success());
    page.respond(&call, json!({ "n": 7 })).await;
    for _ in 0..2 {
        let result = get(&other, json!({ "handle": handle })).await;
        assert_eq!(result["structuredContent"], json!({ "n": 7 }));
        assert_eq!(result_text(&result), "{\"n\":7}");
    }
}

/// A strict client refuses a success without the structured content that it was promised.
#[tokio::test]
async fn a_background_call_with_an_output_schema_fails_first_and_is_validated_later() {
    let bridge = start_bridge_with(impatient(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[promising_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (handle, call) = left(&client, &mut page, "promising").await;
    page.respond(&call, json!({ "n": "seven" })).await;
    let result = get(&client, json!({ "handle": handle })).await;
    assert_eq!(code_of(&result), "InvalidResult");

    let (answer, call) = tokio::join!(client.call("promising", json!({})), page.recv_call());
    assert_eq!(answer["result"]["isError"], true);
    let handle = handle_of(&answer["result"]);
    page.respond(&call, json!({ "n": 7 })).await;
    let result = get(&client, json!({ "handle": handle })).await;
    assert_eq!(result["structuredContent"], json!({ "n": 7 }));

    // Through another tool nothing is promised.
    let arguments = json!({ "tool_name": "promising" });
    let (answer, _) = tokio::join!(
        client.call("call_session_tool", arguments),
        page.recv_call()
    );
    handle_of(&answer["result"]);
    assert_eq!(answer["result"]["isError"], false);
}

#[tokio::test]
async fn a_background_call_ends_with_its_page_or_on_cancel() {
    let bridge = start_bridge_with(impatient(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (handle, _) = left(&client, &mut page, "echo").await;
    let cancel = json!({ "handle": handle, "cancel": true });
    let result = get(&client, cancel.clone()).await;
    assert_eq!(result_text(&result), "`echo` was cancelled.");
    assert_eq!(cancelled(&mut page).await, ErrorCode::CallCancelled);
    let result = get(&client, json!({ "handle": handle })).await;
    assert_eq!(code_of(&result), "CallCancelled");
    let result = get(&client, cancel).await;
    assert!(
        result_text(&result).contains("had ended before"),
        "{result}"
    );

    let (handle, _) = left(&client, &mut page, "echo").await;
    page.close().await;
    let result = get(&client, json!({ "handle": handle })).await;
    assert_eq!(code_of(&result), "PageGone");
}

#[tokio::test]
async fn client_requests_of_a_background_call_fail() {
    let bridge = start_bridge_with(impatient(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let capabilities = json!({ "elicitation": {} });
    let client = McpClient::connect_with_capabilities(&bridge, TOKEN, capabilities).await;
    let params = json!({ "name": "echo", "arguments": {} });
    let events = client.request_stream(7, "tools/call", params);
    let (mut events, call) = tokio::join!(events, page.recv_call());
    let ask = |key: &str| {
        json!({ "type": "client-requests", "requestId": call.request_id, "requests": [{
            "key": key, "method": "elicitation/create",
            "params": { "message": "?", "requestedSchema": { "type": "object" } } }] })
    };
    // The client does not answer this one: the call is left with it.
    page.send_json(ask("before")).await;
    events.find_method("elicitation/create").await;
    let handle = handle_of(&events.find_response().await["result"]);
    page.send_json(ask("after")).await;
    let mut heard = Vec::new();
    while heard.len() < 2 {
        if let BridgeToPage::ClientResponses(responses) = page.recv().await {
            heard.extend(responses.responses);
        }
    }
    for (response, key) in heard.iter().zip(["before", "after"]) {
        let error = response.error.as_ref().unwrap();
        assert_eq!(
            (response.key.as_str(), error.code),
            (key, ErrorCode::ClientCapabilityMissing)
        );
    }
    page.respond(&call, json!("without")).await;
    let result = get(&client, json!({ "handle": handle })).await;
    assert_eq!(result_text(&result), "without");
}

#[tokio::test]
async fn a_handle_is_valid_only_for_its_token_and_until_result_ttl() {
    let results = Results {
        result_ttl: Duration::from_millis(200),
        ..Results::default()
    };
    let bridge = start_bridge_with(impatient(results)).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let stranger = McpClient::connect(&bridge, "token-of-somebody-else-0123456789").await;
    let (handle, call) = left(&client, &mut page, "echo").await;
    for cancel in [false, true] {
        let foreign = get(&stranger, json!({ "handle": handle, "cancel": cancel })).await;
        assert_eq!(code_of(&foreign), "HandleNotFound");
    }
    page.respond(&call, json!("done")).await;
    let mut seen = false;
    loop {
        let result = get(&client, json!({ "handle": handle })).await;
        if result["isError"] == true {
            assert_eq!(code_of(&result), "HandleNotFound");
            assert!(
                result_text(&result).contains("Call the tool again"),
                "{result}"
            );
            break;
        }
        assert_eq!(result_text(&result), "done");
        seen = true;
    }
    assert!(seen, "the result was never there");
}

#[tokio::test]
async fn max_kept_results_limits_background_calls_and_the_next_call_waits() {
    let results = Results {
        max_kept_results: 1,
        ..Results::default()
    };
    let bridge = start_bridge_with(impatient(results)).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (first, first_call) = left(&client, &mut page, "echo").await;
    // One MCP session cannot have two requests with one id.
    let other = McpClient::connect(&bridge, TOKEN).await;
    let waiting = other.call("echo", json!({}));
    let handler = async {
        let call = page.recv_call().await;
        // Longer than the patience of the client: its own `get_result` lasts that long.
        let again = get(&client, json!({ "handle": first })).await;
        handle_of(&again);
        let again = get(&client, json!({ "handle": first })).await;
        handle_of(&again);
        page.respond(&call, json!("waited")).await;
    };
    let (answer, ()) = tokio::join!(waiting, handler);
    assert_eq!(result_text(&answer["result"]), "waited");

    // A result makes place for a call.
    page.respond(&first_call, json!("first")).await;
    assert_eq!(
        result_text(&get(&client, json!({ "handle": first })).await),
        "first"
    );
    let (_second, _) = left(&client, &mut page, "echo").await;
    let gone = get(&client, json!({ "handle": first })).await;
    assert_eq!(code_of(&gone), "HandleNotFound");
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
        let result = get(&client, wrong.clone()).await;
        assert_eq!(code_of(&result), "InvalidArguments", "{wrong}");
    }
}

/// The bridge does not wait for calls that nobody waits for.
#[tokio::test]
async fn shutdown_cancels_background_calls() {
    let bridge = start_bridge_with(impatient(Results::default())).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let (_handle, _) = left(&client, &mut page, "echo").await;
    let (code, ()) = with_deadline("the end", async {
        tokio::join!(cancelled(&mut page), bridge.shutdown())
    })
    .await;
    assert_eq!(code, ErrorCode::BridgeStopping);
}
