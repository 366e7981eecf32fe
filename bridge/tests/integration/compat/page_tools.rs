//! Tools of mcp-web 0.1 pages at a bridge without `--compat`: calls and results.

use serde_json::{Value, json};

use super::kit::*;
use crate::kit::*;

/// The response to a REST call of `t`, to which the page responds with or without a `result`.
async fn rest_call_result(
    bridge: &bridge::ServerHandle,
    page: &mut V1Page,
    result: Option<Value>,
) -> Value {
    let handler = async {
        let call = page.recv_call().await;
        match result {
            Some(result) => page.respond(&call, result).await,
            None => {
                let id = &call["requestId"];
                let frame = json!({ "type": "tool-response", "requestId": id });
                page.send_json(frame).await;
            }
        }
    };
    let ((status, answer), ()) = tokio::join!(post_tool_call(bridge, "t", json!({})), handler);
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test]
async fn registering_a_tool_again_replaces_it_in_place() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    for name in ["a", "b", "c"] {
        page.register_tool(tool(name)).await;
    }
    page.register_tool(json!({ "name": "a", "description": "again" }))
        .await;
    page.register_tool(tool("d")).await;
    assert_eq!(wait_for_tools(&bridge, 4).await, ["a", "b", "c", "d"]);
    let client = McpClient::connect(&bridge, TOKEN).await;
    let list = client.request("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let again = tools.iter().find(|tool| tool["name"] == "a").unwrap();
    assert_eq!(again["description"], "again");
}

#[tokio::test]
async fn a_removed_tool_stays_listed_and_its_calls_fail_in_the_page() {
    let (bridge, mut page) = start_with_tool("t").await;
    let error = json!({ "error": "Tool 't' not found" });
    let answer = rest_call_result(&bridge, &mut page, Some(error.clone())).await;
    assert_eq!(answer["isError"], true);
    assert_eq!(result_text(&answer), "Tool 't' not found");
    assert_eq!(error_code(&answer), Some("HandlerFailed"));
    assert_eq!(answer["_meta"]["mcp-web/error"]["data"], error);
    assert_eq!(wait_for_tools(&bridge, 1).await, ["t"]);
}

#[tokio::test]
async fn an_absent_result_is_an_empty_text() {
    let (bridge, mut page) = start_with_tool("t").await;
    for absent in [None, Some(json!(null))] {
        let answer = rest_call_result(&bridge, &mut page, absent).await;
        assert_eq!(
            answer,
            json!({ "content": [{ "type": "text", "text": "" }] })
        );
    }
}

#[tokio::test]
async fn a_non_null_error_key_marks_a_failure() {
    let (bridge, mut page) = start_with_tool("t").await;
    for (result, text) in [
        (json!({ "error": "it broke" }), "it broke"),
        (
            json!({ "error": { "message": "inside" }, "more": 1 }),
            "inside",
        ),
        (json!({ "error": { "code": 7 } }), r#"{"code":7}"#),
        (json!({ "error": false }), "false"),
    ] {
        let answer = rest_call_result(&bridge, &mut page, Some(result)).await;
        assert_eq!(answer["isError"], true, "{answer}");
        assert_eq!(result_text(&answer), text);
    }
    for success in [
        json!({ "error": null, "rows": [1] }),
        json!({ "rows": [{ "error": "of a row" }] }),
        json!([{ "error": "in a list" }]),
        json!("\"error\""),
    ] {
        let answer = rest_call_result(&bridge, &mut page, Some(success)).await;
        assert_ne!(answer["isError"], true, "{answer}");
    }
}

#[tokio::test]
async fn results_have_the_native_shape_without_compat() {
    let (bridge, mut page) = start_with_tool("t").await;
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
    for (result, expected) in [
        (json!("hi"), text("hi")),
        (json!(7), text("7")),
        (
            json!({ "b": 1, "a": 2, "_meta": { "k": 1 } }),
            json!({ "content": [{ "type": "text", "text": r#"{"b":1,"a":2}"# }],
                "structuredContent": { "b": 1, "a": 2 }, "_meta": { "k": 1 } }),
        ),
        (
            json!("data:image/png;base64,AAAA"),
            json!({ "content": image }),
        ),
        (
            json!({ "dataUrl": "data:image/png;base64,AAAA" }),
            json!({ "content": image }),
        ),
    ] {
        assert_eq!(
            rest_call_result(&bridge, &mut page, Some(result)).await,
            expected
        );
    }
}

#[tokio::test]
async fn large_calls_and_results_are_single_frames() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(json!({ "name": "t", "description": "d" }))
        .await;
    wait_for_tools(&bridge, 1).await;
    let long = "ü\"\n".repeat(400_000);
    let input = json!({ "text": long });
    let call = post_tool_call(&bridge, "t", input.clone());
    let ((status, answer), ()) = tokio::join!(call, page.echo_call());
    assert_eq!(status, 200);
    assert_eq!(answer["structuredContent"], input);
}

#[tokio::test]
async fn tool_input_is_an_object_without_session_id() {
    let (bridge, mut page) = start_with_tool("t").await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (arguments, input) in [
        (json!({ "session_id": "s", "n": 1 }), json!({ "n": 1 })),
        (json!({}), json!({})),
    ] {
        let handler = async {
            let call = page.recv_call().await;
            assert_eq!(call["toolInput"], input);
            page.respond(&call, json!("ok")).await;
        };
        let (answer, ()) = tokio::join!(client.call("t", arguments), handler);
        assert_eq!(result_text(&answer["result"]), "ok");
    }
}

#[tokio::test]
async fn a_rejected_tool_is_a_registration_error_and_earlier_tools_stay() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    for (rejected, code, expected) in [
        (json!({ "name": "" }), "ToolNameRequired", "name"),
        (
            json!({ "name": "t", "inputSchema": 7 }),
            "ToolNotAllowed",
            "inputSchema",
        ),
        (
            json!({ "name": "call_session_tool" }),
            "ToolNotAllowed",
            "another name",
        ),
        (
            json!({ "name": "big", "description": "x".repeat(2_000_000) }),
            "ToolNotAllowed",
            "max_definition_bytes",
        ),
    ] {
        page.register_tool(rejected.clone()).await;
        let error = page.recv().await;
        assert_eq!(error["type"], "tool-registration-error", "{error}");
        assert_eq!(error["toolName"], rejected["name"]);
        assert_eq!(error["error"], code);
        assert!(
            error["message"].as_str().unwrap().contains(expected),
            "{error}"
        );
        assert_eq!(error.as_object().unwrap().len(), 4, "{error}");
    }
    assert_eq!(wait_for_tools(&bridge, 1).await, ["t"]);
}

#[tokio::test]
async fn output_schemas_are_neither_listed_nor_validated() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let tool_with_output = |name: &str, kind: &str| json!({ "name": name, "description": "d", "outputSchema": { "type": kind } });
    page.register_tool(tool_with_output("text", "string")).await;
    page.register_tool(tool_with_output("t", "object")).await;
    assert_eq!(wait_for_tools(&bridge, 2).await, ["text", "t"]);
    let client = McpClient::connect(&bridge, TOKEN).await;
    let list = client.request("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().unwrap();
    let listed = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    for name in ["text", "t"] {
        assert!(listed(name).get("outputSchema").is_none(), "{name}");
    }
    let call = client.call("t", json!({}));
    let handler = async {
        let call = page.recv_call().await;
        page.respond(&call, json!("no object")).await;
    };
    let (answer, ()) = tokio::join!(call, handler);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(result_text(&answer["result"]), "no object");
}

/// zod fills in defaults and drops unknown properties, which its published schema does not express.
#[tokio::test]
async fn arguments_are_not_validated_against_the_published_schema() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(
        json!({ "name": "t", "description": "d", "inputSchema": { "type": "object",
        "properties": { "size": { "type": "integer", "default": 8 } }, "required": ["size"],
        "additionalProperties": false } }),
    )
    .await;
    assert_eq!(wait_for_tools(&bridge, 1).await, ["t"]);
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (arguments, received) in [
        (json!({}), json!({})),
        (json!({ "other": 1 }), json!({ "other": 1 })),
        (
            json!({ "size": "x", "session_id": "s" }),
            json!({ "size": "x" }),
        ),
    ] {
        let call = client.call("t", arguments);
        let handler = async {
            let call = page.recv_call().await;
            assert_eq!(call["toolInput"], received);
            page.respond(&call, json!("done")).await;
        };
        let (answer, ()) = tokio::join!(call, handler);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[tokio::test]
async fn two_pages_keep_different_schemas_without_compat() {
    let bridge = start_bridge().await;
    let mut first = V1Page::connect(&bridge, "a").await;
    first.register_tool(tool("t")).await;
    let mut second = V1Page::connect(&bridge, "b").await;
    second
        .register_tool(
            json!({ "name": "t", "description": "d", "inputSchema": { "type": "object",
            "properties": { "text": { "type": "string" } }, "required": ["text"] } }),
        )
        .await;
    let has_tool = |session: &Value| session["available_tools"] == json!(["t"]);
    let both_listed = async { while !wait_for_sessions(&bridge, 2).await.iter().all(has_tool) {} };
    with_deadline("tools of both", both_listed).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    for (page, session, argument) in [(&mut first, "a", "n"), (&mut second, "b", "text")] {
        let session_id = json!({ "session_id": session });
        let listed = client.call("list_session_tools", session_id).await;
        let schema = &listed["result"]["structuredContent"]["tools"][0]["inputSchema"];
        assert!(schema["properties"][argument].is_object(), "{listed}");
        // The page validates arguments itself, so it also receives arguments that it would reject.
        let call = client.call("t", json!({ "session_id": session, "n": 1 }));
        let (answer, ()) = tokio::join!(call, page.echo_call());
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
}

#[tokio::test]
async fn list_sessions_is_callable_without_compat_unless_a_page_defines_it() {
    let bridge = start_bridge().await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let none = client.call("list_sessions", json!({})).await;
    assert_eq!(
        none["result"]["structuredContent"],
        json!({ "sessions": [] })
    );
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    wait_for_tools(&bridge, 1).await;
    let one = client.call("list_sessions", json!({})).await;
    let sessions = &one["result"]["structuredContent"]["sessions"];
    assert_eq!(sessions[0]["session_id"], "s", "{one}");
    assert!(
        !client
            .tool_names()
            .await
            .contains(&"list_sessions".to_owned())
    );
    page.register_tool(tool("list_sessions")).await;
    wait_for_tools(&bridge, 2).await;
    let call = client.call("list_sessions", json!({ "n": 1 }));
    let (answer, ()) = tokio::join!(call, page.echo_call());
    let content = &answer["result"]["structuredContent"];
    assert_eq!(content, &json!({ "n": 1 }), "{answer}");
}

#[tokio::test]
async fn tools_after_a_long_one_are_registered_after_it() {
    let bridge = start_bridge().await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let properties: serde_json::Map<_, _> = (0..3_000)
        .map(|n| {
            (
                format!("property-{n}"),
                json!({ "type": "string", "minLength": n }),
            )
        })
        .collect();
    // Both are invalid, because a page is notified of failures only.
    let schema = json!({ "type": "object", "properties": properties, "required": "all" });
    page.register_tool(
        json!({ "name": "long", "description": "d", "inputSchema": schema,
        "outputSchema": {} }),
    )
    .await;
    page.register_tool(json!({ "name": "short", "inputSchema": { "type": "string" } }))
        .await;
    for name in ["long", "short"] {
        let failure = page.recv().await;
        assert_eq!(failure["type"], "tool-registration-error", "{failure}");
        assert_eq!(failure["toolName"], name, "{failure}");
    }
}
