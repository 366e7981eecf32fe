//! A handler asks the client behind its call, in MCP 2026-07-28: the client hears what it must
//! answer as the result, and sends the request again with the answers.

use std::time::Duration;

use bridge::{Config, ServerHandle};
use bridge_protocol::{BridgeToPage, Kind};
use serde_json::{Value, json};

use crate::kit::*;
use crate::mcp::stateless_with;

async fn send(bridge: &ServerHandle, method: &str, params: Value) -> Value {
    let able = json!({ "elicitation": {} });
    let request = stateless_with(bridge, method, params, able);
    rpc_response(with_deadline("answer", request.send()).await.unwrap()).await
}

async fn call(bridge: &ServerHandle, more: Value) -> Value {
    let mut params = json!({ "name": "echo", "arguments": {} });
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    send(bridge, "tools/call", params).await
}

async fn ask(page: &mut Page, call: &str, keys: &[&str]) {
    let requests: Vec<_> = keys.iter().map(|key| question(key)).collect();
    page.send_json(json!({ "type": "client-requests", "requestId": call, "requests": requests }))
        .await;
}

fn question(key: &str) -> Value {
    json!({ "key": key, "method": "elicitation/create", "params": { "message": key,
        "requestedSchema": { "type": "object", "properties": { "v": { "type": "string" } } } } })
}

fn says(value: &str) -> Value {
    json!({ "action": "accept", "content": { "v": value } })
}

/// The values that the page hears, by key.
async fn heard(page: &mut Page) -> Vec<(String, String)> {
    let heard = page
        .recv_matching(|message| match message {
            BridgeToPage::ClientResponses(heard) => Some(heard.responses),
            _ => None,
        })
        .await;
    let value = |response: bridge_protocol::ClientResponse| {
        let result: Value = serde_json::from_str(response.result.unwrap().get()).unwrap();
        (
            response.key,
            result["content"]["v"].as_str().unwrap().to_owned(),
        )
    };
    heard.into_iter().map(value).collect()
}

/// The first round: the call that waits in the page, and what the client heard.
async fn first_round(bridge: &ServerHandle, page: &mut Page, keys: &[&str]) -> (String, Value) {
    let handler = async {
        let called = page.recv_call().await;
        ask(page, called.request_id.as_str(), keys).await;
        called.request_id.0
    };
    let (answer, call) = tokio::join!(call(bridge, json!({})), handler);
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    (call, answer["result"].clone())
}

#[tokio::test]
async fn a_retried_call_continues_where_it_waited() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (id, round) = first_round(&bridge, &mut page, &["a", "b"]).await;
    let asked = round["inputRequests"].as_object().unwrap();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked["a"]["method"], "elicitation/create");
    assert_eq!(asked["a"]["params"]["message"], "a");

    // The second round answers one; the other is asked again.
    let state = &round["requestState"];
    let some =
        json!({ "requestState": state, "inputResponses": { "a": says("1"), "x": says("-") } });
    let (again, values) = tokio::join!(call(&bridge, some), heard(&mut page));
    assert_eq!(values, [("a".to_owned(), "1".to_owned())]);
    let asked = again["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["b"]);
    assert_ne!(&again["result"]["requestState"], state);

    let state = &again["result"]["requestState"];
    let rest = json!({ "requestState": state, "inputResponses": { "b": says("2") } });
    let handler = async {
        let values = heard(&mut page).await;
        page.respond_to(&id.as_str().into(), json!(values[0].1))
            .await;
    };
    let (done, ()) = tokio::join!(call(&bridge, rest.clone()), handler);
    assert_eq!(result_text(&done["result"]), "2");

    // A round is good once.
    let twice = call(&bridge, rest).await;
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
    assert_eq!(twice["error"]["data"]["code"], "RequestStateInvalid");
}

#[tokio::test]
async fn responses_sent_in_advance_are_matched_by_key() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let called = page.recv_call().await;
        ask(&mut page, called.request_id.as_str(), &["a"]).await;
        let values = heard(&mut page).await;
        page.respond(&called, json!(values[0].1)).await;
    };
    let early = json!({ "inputResponses": { "a": says("early") } });
    let (done, ()) = tokio::join!(call(&bridge, early), handler);
    assert_eq!(result_text(&done["result"]), "early");
}

#[tokio::test]
async fn a_request_state_is_valid_only_for_its_token_and_request() {
    let bridge = start_bridge().await;
    let other = json!({ "name": "other" });
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool(), other]).await;
    let (_, round) = first_round(&bridge, &mut page, &["a"]).await;
    let state = round["requestState"].as_str().unwrap();
    let answers = json!({ "a": says("1") });
    let changed = format!("{state}-TAMPERED");
    let cases = [
        json!({ "name": "echo", "requestState": changed, "inputResponses": answers }),
        json!({ "name": "other", "requestState": state, "inputResponses": answers }),
        json!({ "name": "echo", "requestState": "", "inputResponses": answers }),
    ];
    for params in cases {
        let refused = send(&bridge, "tools/call", params).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(refused["error"]["data"]["code"], "RequestStateInvalid");
    }
    let params = json!({ "name": "echo", "requestState": state, "inputResponses": answers });
    let request = stateless_with(&bridge, "tools/call", params, json!({ "elicitation": {} }));
    let foreign = request.build().unwrap();
    let mut foreign = foreign.try_clone().unwrap();
    let token = "Bearer another-token-0123456789abcdef".parse().unwrap();
    foreign.headers_mut().insert("authorization", token);
    let refused = rpc_response(http_client().execute(foreign).await.unwrap()).await;
    assert_eq!(refused["error"]["data"]["code"], "RequestStateInvalid");
}

/// With a key of its own a bridge refuses a former life's seal; with the configured one it knows
/// the seal, and says that the call is over. Either way the client hears what to do.
#[tokio::test]
async fn a_request_state_from_before_a_restart_is_rejected_with_advice() {
    let key: Option<bridge::Secret> = "a-secret-of-at-least-32-characters".parse().ok();
    for state_key in [None, key] {
        let config = || Config {
            state_key: state_key.clone(),
            ..test_config()
        };
        let former = start_bridge_with(config()).await;
        let mut page = Page::with_tools(&former, "s", &[echo_tool()]).await;
        let (_, round) = first_round(&former, &mut page, &["a"]).await;
        drop(page);
        former.shutdown().await;

        let bridge = start_bridge_with(config()).await;
        let retry = json!({ "requestState": round["requestState"],
            "inputResponses": { "a": says("1") } });
        let refused = call(&bridge, retry).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("again without `requestState`"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn an_abandoned_call_is_cancelled_after_input_timeout() {
    let config = Config {
        input_timeout: Duration::from_millis(50),
        max_calls: 1,
        ..test_config()
    };
    let bridge = start_bridge_with(config).await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (id, _) = first_round(&bridge, &mut page, &["a"]).await;
    let cancelled = page
        .recv_matching(|message| match message {
            BridgeToPage::CallCancel(cancel) => Some(cancel),
            _ => None,
        })
        .await;
    assert_eq!(cancelled.request_id.0, id);
    assert!(cancelled.reason.contains("input_timeout"));
    let (done, ()) = tokio::join!(call(&bridge, json!({})), page.echo_call());
    assert_eq!(done["result"]["structuredContent"], json!({}));
}

#[tokio::test]
async fn dropping_the_retry_cancels_the_call() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let (id, round) = first_round(&bridge, &mut page, &["a"]).await;
    let params = json!({ "name": "echo", "requestState": round["requestState"],
        "inputResponses": { "a": says("1") } });
    let request = stateless_with(&bridge, "tools/call", params, json!({ "elicitation": {} }));
    let sent = tokio::spawn(request.send());
    assert_eq!(heard(&mut page).await.len(), 1);
    sent.abort();
    let cancelled = page
        .recv_matching(|message| match message {
            BridgeToPage::CallCancel(cancel) => Some(cancel.request_id),
            _ => None,
        })
        .await;
    assert_eq!(cancelled.0, id);
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
            ask(&mut page, id.as_str(), &["a"]).await;
            id
        };
        let (round, id) = tokio::join!(send(&bridge, method, params.clone()), handler);
        assert_eq!(round["result"]["resultType"], "input_required", "{round}");
        let mut retry = params;
        retry["requestState"] = round["result"]["requestState"].clone();
        retry["inputResponses"] = json!({ "a": says("1") });
        let handler = async {
            heard(&mut page).await;
            page.respond_to(&id, result.clone()).await;
        };
        let (done, ()) = tokio::join!(send(&bridge, method, retry), handler);
        for (key, value) in result.as_object().unwrap() {
            assert_eq!(&done["result"][key], value, "{done}");
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
    let request = stateless_with(&bridge, "tools/call", params, json!({}));
    let (response, ()) = tokio::join!(request.send(), handler);
    let response = response.unwrap();
    assert_eq!(response.status(), 400);
    let error = rpc_response(response).await["error"].clone();
    assert_eq!(error["code"], -32021);
    assert_eq!(
        error["data"],
        json!({ "requiredCapabilities": { "sampling": {} } })
    );
}

/// What cannot be put into a round fails in the handler; the call does not wait for an answer that
/// nobody was asked for.
#[tokio::test]
async fn an_invalid_client_request_fails_in_the_handler() {
    let bridge = start_bridge().await;
    let mut page = Page::with_tools(&bridge, "s", &[echo_tool()]).await;
    let handler = async {
        let called = page.recv_call().await;
        let asked =
            json!({ "key": "a", "method": "elicitation/create", "params": { "message": 7 } });
        page.send_json(
            json!({ "type": "client-requests", "requestId": called.request_id,
            "requests": [asked] }),
        )
        .await;
        let heard = page
            .recv_matching(|message| match message {
                BridgeToPage::ClientResponses(heard) => Some(heard.responses),
                _ => None,
            })
            .await;
        let error = heard.into_iter().next().unwrap().error.unwrap();
        page.respond(&called, json!(error.code)).await;
    };
    let (done, ()) = tokio::join!(call(&bridge, json!({})), handler);
    assert_eq!(
        result_text(&done["result"]),
        "ClientRequestFailed",
        "{done}"
    );
}
