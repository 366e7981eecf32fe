//! What is wrong, or left out, is told alike.

use serde_json::{Value, json};

use super::harness::{Sent, V2026, World};
use crate::kit::*;

#[tokio::test]
async fn both_paths_reject_a_malformed_content_block() {
    let world = World::with_a_page().await;
    for sent in world.both(json!({ "name": "wrong" })) {
        let answer = world.is_the_lanes(sent).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = result_text(&answer["result"]);
        assert!(text.contains("`priority`"), "{text}");
    }
}

/// MCP lets a client of 2026-07-28 leave out who it is.
#[tokio::test]
async fn both_paths_call_an_anonymous_client_unknown() {
    let world = World::with_a_page().await;
    let named = world.modern("tools/call", json!({ "name": "echo", "arguments": {} }));
    let key = "io.modelcontextprotocol/clientInfo";
    for info in [None, Some(json!(7)), Some(json!({ "version": "1" }))] {
        let mut body: Value = serde_json::from_str(&named.body).unwrap();
        let meta = body["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(key);
        meta.extend(info.map(|info| (key.to_owned(), info)));
        let answer = world
            .is_the_lanes(Sent {
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
    let world = World::with_a_page().await;
    let call = json!({ "name": "echo", "arguments": { "n": 1 } });
    let [legacy, modern] = world.both(call.clone());
    let with = |key: &str, value: Value| {
        let mut params = call.clone();
        params[key] = value;
        world.both(params)
    };
    let meta = |key: &str, value: Value| {
        let mut params = call.clone();
        params["_meta"] = json!({ format!("io.modelcontextprotocol/{key}"): value });
        world.modern("tools/call", params)
    };
    let mut wrong = vec![
        legacy.clone().header("mcp-session-id", None),
        legacy.clone().header("mcp-session-id", Some("nobody's")),
        legacy
            .clone()
            .header("mcp-protocol-version", Some("1999-01-01")),
        legacy.clone().header("mcp-protocol-version", Some(V2026)),
        legacy.clone().header("accept", Some("text/html")),
        modern.clone().header("mcp-method", None),
        modern.clone().header("mcp-method", Some("tools/list")),
        modern.clone().header("mcp-name", None),
        modern.clone().header("mcp-name", Some("other")),
        modern
            .clone()
            .header("mcp-name", Some("=?base64?ZWNobw==?=")),
        modern.clone().twice("mcp-name"),
        modern.clone().twice("mcp-method"),
        modern.clone().header("mcp-protocol-version", None),
        modern
            .clone()
            .header("mcp-protocol-version", Some("2025-11-25")),
        meta("protocolVersion", json!("2027-01-01")),
        meta("protocolVersion", json!("2025-11-25")),
        meta("protocolVersion", json!(7)),
        meta("clientCapabilities", json!("none")),
        meta("clientCapabilities", json!({ "roots": 7 })),
        meta("clientCapabilities", json!(null)),
        world.legacy(rpc_request(1, "tools/call", json!([])).to_string()),
        world.legacy(rpc_request(1, "Tools/Call", call.clone()).to_string()),
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
        wrong.extend(with(key, value));
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
        wrong.push(world.legacy(body.to_string()));
    }
    for body in [
        "",
        "no JSON",
        "[]",
        "7",
        "\"tools/call\"",
        "{\"method\":\"tools/call\"}",
    ] {
        wrong.push(world.legacy(body.to_owned()));
    }
    for sent in wrong {
        world.same(&sent).await;
    }
}

/// SEP-2243: what is in the body must be in the header.
#[tokio::test]
async fn both_paths_check_parameter_headers_identically() {
    let world = World::with_a_page().await;
    let sent = world.modern(
        "tools/call",
        json!({ "name": "header", "arguments": { "n": 1 } }),
    );
    for (header, status) in [(Some("1"), 200), (Some("2"), 400), (None, 400)] {
        let heard = world
            .same(&sent.clone().header("mcp-param-n", header))
            .await;
        assert_eq!(heard.status, status, "{heard:?}");
    }
}
