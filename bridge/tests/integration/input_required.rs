//! Requests of a handler to the client that called it, in MCP 2026-07-28: the result of the call is
//! `input_required` and lists the requests, and the client retries the call with its responses.

use std::time::Duration;

use bridge::ServerHandle;
use bridge_protocol::{BridgeToPage, Kind};
use serde_json::{Value, json};

use crate::kit::*;

/// A client that supports elicitation.
fn eliciting_client(bridge: &ServerHandle) -> StatelessClient<'_> {
    StatelessClient::with_capabilities(bridge, json!({ "elicitation": {} }))
}

/// Calls `echo`, with further members in `params`.
async fn call(bridge: &ServerHandle, members: Value) -> Value {
    let params = with_members(json!({ "name": "echo", "arguments": {} }), members);
    eliciting_client(bridge).request("tools/call", params).await
}

/// Sends an elicitation request for each key.
async fn send_client_requests(page: &mut Page, call: &str, keys: &[&str]) {
    let requests: Vec<_> = keys.iter().map(|key| elicitation(key)).collect();
    page.send_json(json!({ "type": "client-requests", "requestId": call, "requests": requests }))
        .await;
}

fn elicitation(key: &str) -> Value {
    json!({ "key": key, "method": "elicitation/create", "params": { "message": key,
        "requestedSchema": { "type": "object", "properties": { "v": { "type": "string" } } } } })
}

fn accepted(value: &str) -> Value {
    json!({ "action": "accept", "content": { "v": value } })
}

/// The accepted values that the page receives, with their keys.
async fn recv_values(page: &mut Page) -> Vec<(String, String)> {
    let responses = page.recv_client_responses().await;
    let value = |response: bridge_protocol::ClientResponse| {
        let result: Value = serde_json::from_str(response.result.unwrap().get()).unwrap();
        let value = result["content"]["v"].as_str().unwrap();
        (response.key, value.to_owned())
    };
    responses.into_iter().map(value).collect()
}

/// Starts a call whose handler requests these keys. Returns the id of the call, which is still
/// running in the page, and the result with `input_required`.
async fn start_call(bridge: &ServerHandle, page: &mut Page, keys: &[&str]) -> (String, Value) {
    let handler = async {
        let call = page.recv_call().await;
        send_client_requests(page, call.request_id.as_str(), keys).await;
        call.request_id.0
    };
    let (answer, id) = tokio::join!(call(bridge, json!({})), handler);
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    (id, answer["result"].clone())
}

#[tokio::test]
async fn a_retried_call_continues_where_it_waited() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (id, result) = start_call(&bridge, &mut page, &["a", "b"]).await;
    let requests = result["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests["a"]["method"], "elicitation/create");
    assert_eq!(requests["a"]["params"]["message"], "a");

    // The first retry has one of the two responses, so the other one is requested again.
    let state = &result["requestState"];
    let first = json!({ "requestState": state, "inputResponses": { "a": accepted("1"), "x": accepted("-") } });
    let (retried, values) = tokio::join!(call(&bridge, first), recv_values(&mut page));
    assert_eq!(values, [("a".to_owned(), "1".to_owned())]);
    let requests = retried["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["b"]);
    assert_ne!(&retried["result"]["requestState"], state);

    let state = &retried["result"]["requestState"];
    let second = json!({ "requestState": state, "inputResponses": { "b": accepted("2") } });
    let handler = async {
        let values = recv_values(&mut page).await;
        page.respond_to(&id.as_str().into(), json!(values[0].1))
            .await;
    };
    let (answer, ()) = tokio::join!(call(&bridge, second.clone()), handler);
    assert_eq!(result_text(&answer["result"]), "2");

    // A request state can be used only once.
    let repeated = call(&bridge, second).await;
    assert_eq!(repeated["error"]["code"], -32602, "{repeated}");
    assert_eq!(repeated["error"]["data"]["code"], "RequestStateInvalid");
}

#[tokio::test]
async fn responses_sent_in_advance_are_matched_by_key() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let call = page.recv_call().await;
        send_client_requests(&mut page, call.request_id.as_str(), &["a"]).await;
        let values = recv_values(&mut page).await;
        page.respond(&call, json!(values[0].1)).await;
    };
    let early = json!({ "inputResponses": { "a": accepted("early") } });
    let (answer, ()) = tokio::join!(call(&bridge, early), handler);
    assert_eq!(result_text(&answer["result"]), "early");
}

#[tokio::test]
async fn a_request_state_is_valid_only_for_its_token_and_request() {
    let bridge = start_bridge().await;
    let other = json!({ "name": "other" });
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), other]).await;
    let (_, result) = start_call(&bridge, &mut page, &["a"]).await;
    let state = result["requestState"].as_str().unwrap();
    let answers = json!({ "a": accepted("1") });
    let changed = format!("{state}-TAMPERED");
    let cases = [
        json!({ "name": "echo", "requestState": changed, "inputResponses": answers }),
        json!({ "name": "other", "requestState": state, "inputResponses": answers }),
        json!({ "name": "echo", "requestState": "", "inputResponses": answers }),
    ];
    let client = eliciting_client(&bridge);
    for params in cases {
        let rejected = client.request("tools/call", params).await;
        assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
        assert_eq!(rejected["error"]["data"]["code"], "RequestStateInvalid");
    }
    let params = json!({ "name": "echo", "requestState": state, "inputResponses": answers });
    let stranger = StatelessClient {
        token: OTHER_TOKEN,
        ..client
    };
    let rejected = stranger.request("tools/call", params).await;
    assert_eq!(rejected["error"]["data"]["code"], "RequestStateInvalid");
}

/// The page runs with the arguments that it was sent first, so a client that shows a person other
/// arguments in a later round must not continue the call.
#[tokio::test]
async fn a_request_state_is_valid_only_for_the_arguments_of_its_request() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    page.register_items(&[(
        Kind::Prompt,
        json!({ "name": "p", "arguments": [{ "name": "text" }] }),
    )])
    .await;
    let client = eliciting_client(&bridge);
    let arguments = json!({ "text": "one", "list": [{ "a": 1, "b": 2 }] });
    let reordered: Value =
        serde_json::from_str(r#"{ "list": [{ "b": 2, "a": 1 }], "text": "one" }"#).unwrap();
    let tool_changes = vec![
        json!({}),
        json!({ "text": "two", "list": [{ "a": 1, "b": 2 }] }),
        json!({ "text": "one", "list": [{ "a": 2, "b": 1 }] }),
    ];
    let prompt_changes = vec![json!({}), json!({ "text": "two" })];
    let text = json!({ "text": "one" });
    let cases = [
        ("tools/call", "echo", arguments, reordered, tool_changes),
        ("prompts/get", "p", text.clone(), text, prompt_changes),
    ];
    for (method, name, arguments, same, changes) in cases {
        let handler = async {
            let id = page
                .recv_matching(|message| match message {
                    BridgeToPage::PromptGet(call) => Some(call.request_id),
                    BridgeToPage::ToolCall(call) => Some(call.request_id),
                    _ => None,
                })
                .await;
            send_client_requests(&mut page, id.as_str(), &["a"]).await;
            id
        };
        let params = json!({ "name": name, "arguments": arguments });
        let (first, id) = tokio::join!(client.request(method, params), handler);
        let retry = |arguments: Value| {
            let params = json!({ "name": name, "arguments": arguments,
                "requestState": first["result"]["requestState"],
                "inputResponses": { "a": accepted("1") } });
            client.request(method, params)
        };
        for changed in changes {
            let rejected = retry(changed).await;
            assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
            assert_eq!(rejected["error"]["data"]["code"], "RequestStateInvalid");
        }
        let handler = async {
            recv_values(&mut page).await;
            page.respond_to(&id, json!({ "messages": [] })).await;
        };
        let (answer, ()) = tokio::join!(retry(same), handler);
        assert_eq!(answer["error"], Value::Null, "{answer}");
    }
}

/// With a generated key, a bridge cannot open the state that it sealed before a restart. With a
/// configured `state_key` it can, but the call has ended. Either way the error explains what to do.
#[tokio::test]
async fn a_request_state_from_before_a_restart_is_rejected_with_advice() {
    let key: Option<bridge::Secret> = "a-secret-of-at-least-32-characters".parse().ok();
    for state_key in [None, key] {
        let config = || {
            let mut config = test_config();
            config.state.state_key = state_key.clone();
            config
        };
        let former = start_bridge_with(config()).await;
        let mut page = Page::with_tools(&former, "s", &[echo_tool()]).await;
        let (_, result) = start_call(&former, &mut page, &["a"]).await;
        drop(page);
        former.shutdown().await;

        let bridge = start_bridge_with(config()).await;
        let retry = json!({ "requestState": result["requestState"],
            "inputResponses": { "a": accepted("1") } });
        let rejected = call(&bridge, retry).await;
        assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
        let message = rejected["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("again without `requestState`"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn an_abandoned_call_is_cancelled_after_input_timeout() {
    let mut config = test_config();
    config.calls.input_timeout = Duration::from_millis(50);
    config.calls.max_calls = 1;
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (id, _) = start_call(&bridge, &mut page, &["a"]).await;
    let cancel = page.recv_call_cancel().await;
    assert_eq!(cancel.request_id.0, id);
    assert!(cancel.reason.contains("input_timeout"));
    let (answer, ()) = tokio::join!(call(&bridge, json!({})), page.echo_call());
    assert_eq!(answer["result"]["structuredContent"], json!({}));
}

#[tokio::test]
async fn dropping_the_retry_cancels_the_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (id, result) = start_call(&bridge, &mut page, &["a"]).await;
    let params = json!({ "name": "echo", "requestState": result["requestState"],
        "inputResponses": { "a": accepted("1") } });
    let request = eliciting_client(&bridge).build("tools/call", params);
    let retry = tokio::spawn(request.send());
    assert_eq!(recv_values(&mut page).await.len(), 1);
    retry.abort();
    assert_eq!(page.recv_call_cancel().await.request_id.0, id);
}

#[tokio::test]
async fn prompts_and_resources_support_input_required() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[]).await;
    page.register_items(&[
        (Kind::Prompt, json!({ "name": "p" })),
        (Kind::Resource, json!({ "uri": "app://r", "name": "r" })),
    ])
    .await;
    let cases = [
        (
            "prompts/get",
            json!({ "name": "p" }),
            json!({ "messages": [] }),
        ),
        (
            "resources/read",
            json!({ "uri": "app://r" }),
            json!({ "contents": [{ "uri": "app://r", "text": "t" }] }),
        ),
    ];
    for (method, params, result) in cases {
        let handler = async {
            let id = page
                .recv_matching(|message| match message {
                    BridgeToPage::PromptGet(call) => Some(call.request_id),
                    BridgeToPage::ResourceRead(call) => Some(call.request_id),
                    _ => None,
                })
                .await;
            send_client_requests(&mut page, id.as_str(), &["a"]).await;
            id
        };
        let client = eliciting_client(&bridge);
        let (first, id) = tokio::join!(client.request(method, params.clone()), handler);
        let first = &first["result"];
        assert_eq!(first["resultType"], "input_required", "{first}");
        let retry = json!({ "requestState": first["requestState"],
            "inputResponses": { "a": accepted("1") } });
        let retry = with_members(params, retry);
        let handler = async {
            recv_values(&mut page).await;
            page.respond_to(&id, result.clone()).await;
        };
        let (answer, ()) = tokio::join!(client.request(method, retry), handler);
        for (key, value) in result.as_object().unwrap() {
            assert_eq!(&answer["result"][key], value, "{answer}");
        }
    }
}

#[tokio::test]
async fn an_uncaught_missing_capability_is_error_32021() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let call = page.recv_call().await;
        page.send_json(json!({ "type": "call-error", "requestId": call.request_id,
            "code": "ClientCapabilityMissing", "message": "the client cannot sample",
            "data": { "requiredCapabilities": { "sampling": {} } } }))
            .await;
    };
    let params = json!({ "name": "echo", "arguments": {} });
    let client = StatelessClient::new(&bridge);
    let (response, ()) = tokio::join!(client.send("tools/call", params), handler);
    assert_eq!(response.status(), 400);
    let error = rpc_response(response).await["error"].clone();
    assert_eq!(error["code"], -32021);
    assert_eq!(
        error["data"]["requiredCapabilities"],
        json!({ "sampling": {} })
    );
}

/// A request that MCP does not allow is not sent to the client, so the call does not wait for a
/// response.
#[tokio::test]
async fn an_invalid_client_request_fails_in_the_handler() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let call = page.recv_call().await;
        let invalid =
            json!({ "key": "a", "method": "elicitation/create", "params": { "message": 7 } });
        page.send_json(
            json!({ "type": "client-requests", "requestId": call.request_id,
            "requests": [invalid] }),
        )
        .await;
        let responses = page.recv_client_responses().await;
        let error = responses[0].error.as_ref().unwrap();
        page.respond(&call, json!(error.code)).await;
    };
    let (answer, ()) = tokio::join!(call(&bridge, json!({})), handler);
    assert_eq!(
        result_text(&answer["result"]),
        "ClientRequestFailed",
        "{answer}"
    );
}
