//! Both paths treat missing and invalid parts of a request in the same way.

use serde_json::{Value, json};

use super::harness::{Harness, RawRequest};
use crate::kit::*;

#[tokio::test]
async fn both_paths_reject_a_malformed_content_block() {
    let harness = Harness::with_page().await;
    for request in harness.call_in_both_eras(json!({ "name": "malformed" })) {
        let answer = harness.assert_fast_path(request).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = result_text(&answer["result"]);
        assert!(text.contains("`priority`"), "{text}");
    }
}

/// A client of MCP 2026-07-28 may omit its `clientInfo`.
#[tokio::test]
async fn both_paths_call_an_anonymous_client_unknown() {
    let harness = Harness::with_page().await;
    let named = harness.stateless("tools/call", json!({ "name": "echo", "arguments": {} }));
    let key = "io.modelcontextprotocol/clientInfo";
    for info in [None, Some(json!(7)), Some(json!({ "version": "1" }))] {
        let mut body: Value = serde_json::from_str(&named.body).unwrap();
        let meta = body["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(key);
        meta.extend(info.map(|info| (key.to_owned(), info)));
        let answer = harness
            .assert_fast_path(RawRequest {
                body: body.to_string(),
                ..named.clone()
            })
            .await;
        let client = &answer["result"]["structuredContent"]["client"];
        assert_eq!(client, "unknown client", "{answer}");
    }
}

#[tokio::test]
async fn both_paths_reject_malformed_requests_identically() {
    let harness = Harness::with_page().await;
    let call = json!({ "name": "echo", "arguments": { "n": 1 } });
    let [in_session, stateless] = harness.call_in_both_eras(call.clone());
    let with = |key: &str, value: Value| {
        let mut params = call.clone();
        params[key] = value;
        harness.call_in_both_eras(params)
    };
    let meta = |key: &str, value: Value| {
        let mut params = call.clone();
        params["_meta"] = json!({ format!("io.modelcontextprotocol/{key}"): value });
        harness.stateless("tools/call", params)
    };
    let mut malformed = vec![
        in_session.clone().with_header("mcp-session-id", None),
        in_session
            .clone()
            .with_header("mcp-session-id", Some("nobody's")),
        in_session
            .clone()
            .with_header("mcp-protocol-version", Some("1999-01-01")),
        in_session
            .clone()
            .with_header("mcp-protocol-version", Some(STATELESS_REVISION)),
        in_session.clone().with_header("accept", Some("text/html")),
        stateless.clone().with_header("mcp-method", None),
        stateless
            .clone()
            .with_header("mcp-method", Some("tools/list")),
        stateless.clone().with_header("mcp-name", None),
        stateless.clone().with_header("mcp-name", Some("other")),
        stateless
            .clone()
            .with_header("mcp-name", Some("=?base64?ZWNobw==?=")),
        stateless.clone().with_repeated_header("mcp-name"),
        stateless.clone().with_repeated_header("mcp-method"),
        stateless.clone().with_header("mcp-protocol-version", None),
        stateless
            .clone()
            .with_header("mcp-protocol-version", Some("2025-11-25")),
        meta("protocolVersion", json!("2027-01-01")),
        meta("protocolVersion", json!("2025-11-25")),
        meta("protocolVersion", json!(7)),
        meta("clientCapabilities", json!("none")),
        meta("clientCapabilities", json!({ "roots": 7 })),
        meta("clientCapabilities", json!(null)),
        harness.in_session(rpc_request(1, "tools/call", json!([])).to_string()),
        harness.in_session(rpc_request(1, "Tools/Call", call.clone()).to_string()),
    ];
    for (key, value) in [
        ("arguments", json!([1])),
        ("arguments", json!("text")),
        ("name", json!(7)),
        ("name", json!(null)),
        ("_meta", json!(7)),
        ("requestState", json!("of nobody")),
        ("inputResponses", json!({})),
        ("task", json!({ "ttl": 1 })),
    ] {
        malformed.extend(with(key, value));
    }
    for (key, value) in [
        ("jsonrpc", json!("1.0")),
        ("jsonrpc", json!(null)),
        ("id", json!(null)),
        ("id", json!(1.5)),
        ("id", json!({})),
        ("id", json!(true)),
        ("params", json!(null)),
        ("method", json!(7)),
        ("result", json!(1)),
    ] {
        let mut body = rpc_request(1, "tools/call", call.clone());
        body[key] = value;
        malformed.push(harness.in_session(body.to_string()));
    }
    for body in [
        "",
        "no JSON",
        "[]",
        "7",
        "\"tools/call\"",
        "{\"method\":\"tools/call\"}",
    ] {
        malformed.push(harness.in_session(body.to_owned()));
    }
    for request in malformed {
        harness.assert_same(&request).await;
    }
}

/// A parameter header must have the value that the argument has in the body (SEP-2243).
#[tokio::test]
async fn both_paths_check_parameter_headers_identically() {
    let harness = Harness::with_page().await;
    let request = harness.stateless(
        "tools/call",
        json!({ "name": "header", "arguments": { "n": 1 } }),
    );
    for (header, status) in [(Some("1"), 200), (Some("2"), 400), (None, 400)] {
        let response = harness
            .assert_same(&request.clone().with_header("mcp-param-n", header))
            .await;
        assert_eq!(response.status, status, "{response:?}");
    }
}
