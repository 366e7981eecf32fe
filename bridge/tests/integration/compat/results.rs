//! Results of `tools/call` in the format of mcp-web 0.1.

use serde_json::{Value, json};

use super::kit::*;
use super::mcp_client::*;
use crate::kit::*;

/// A result with one text block.
fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

#[tokio::test]
async fn a_top_level_error_key_makes_the_whole_object_an_error() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let answer = json!({ "a": 1, "error": "no", "_meta": { "k": 1 } });
    let mut expected =
        text("{\n  \"a\": 1,\n  \"error\": \"no\",\n  \"_meta\": {\n    \"k\": 1\n  }\n}");
    expected["isError"] = json!(true);
    assert_eq!(call_result(&bridge, &mut page, answer).await, expected);
    let result = call_result(&bridge, &mut page, json!({ "error": null })).await;
    assert_eq!(result["isError"], true, "{result}");
    let result = call_result(&bridge, &mut page, json!({ "inner": { "error": "x" } })).await;
    assert!(result.get("isError").is_none(), "{result}");
}

#[tokio::test]
async fn objects_and_arrays_are_indented_in_their_original_key_order() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let result = call_result(
        &bridge,
        &mut page,
        json!({ "z": [1, { "y": null }], "a": "é\n" }),
    )
    .await;
    let printed =
        "{\n  \"z\": [\n    1,\n    {\n      \"y\": null\n    }\n  ],\n  \"a\": \"é\\n\"\n}";
    assert_eq!(result, text(printed));
    let result = call_result(&bridge, &mut page, json!([])).await;
    assert_eq!(result, text("[]"));
}

#[tokio::test]
async fn an_object_meta_is_lifted_and_any_other_meta_is_dropped() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let meta = json!({ "ui": { "resourceUri": "ui://t/app.html" } });
    let result = call_result(&bridge, &mut page, json!({ "_meta": meta, "a": 1 })).await;
    let mut expected = text("{\n  \"a\": 1\n}");
    assert_eq!(
        call_result(&bridge, &mut page, json!({ "_meta": 7, "a": 1 })).await,
        expected
    );
    expected["_meta"] = meta;
    assert_eq!(result, expected);
}

#[tokio::test]
async fn scalars_are_formatted_as_javascript_does() {
    let (bridge, mut page) = start_compat_with_tool().await;
    for (answer, printed) in [
        (json!("as \"is\"\n"), "as \"is\"\n"),
        (json!(1.0), "1"),
        (json!(1e21), "1e+21"),
        (json!(true), "true"),
        (json!(null), ""),
    ] {
        assert_eq!(call_result(&bridge, &mut page, answer).await, text(printed));
    }
    let handler = async {
        let id = page.recv_call().await["requestId"].take();
        page.send_json(json!({ "type": "tool-response", "requestId": id }))
            .await;
    };
    let params = json!({ "name": "t", "arguments": {} });
    let (result, ()) = tokio::join!(rpc_result(&bridge, "tools/call", params), handler);
    assert_eq!(result, text(""));
}

#[tokio::test]
async fn a_data_url_is_one_image_block_and_the_rest_is_dropped() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let url = "data:image/png;base64,AAAA";
    let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
    let result = call_result(&bridge, &mut page, json!(url)).await;
    assert_eq!(result, json!({ "content": image }));
    let answer = json!({ "caption": "c", "dataUrl": url, "_meta": { "k": 1 } });
    let result = call_result(&bridge, &mut page, answer).await;
    assert_eq!(result, json!({ "content": image, "_meta": { "k": 1 } }));
}

#[tokio::test]
async fn a_large_result_has_the_same_shape() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let rows: Vec<_> = (0..20_000)
        .map(|n| json!({ "id": n, "name": "a row" }))
        .collect();
    let rows = json!({ "rows": rows, "_meta": { "k": 1 } });
    let result = call_result(&bridge, &mut page, rows.clone()).await;
    assert_eq!(parse_text(&result)["rows"], rows["rows"]);
    assert_eq!(result["_meta"], rows["_meta"]);
}

#[tokio::test]
async fn bridge_errors_have_the_compat_texts_and_list_alternatives() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let answer = rejected_call(&bridge, "", json!({})).await;
    assert_eq!(answer, json!({ "error": "ToolNameRequired" }));
    let answer = rejected_call(&bridge, "u", json!({})).await;
    assert_eq!(
        answer,
        json!({ "error": "ToolNotFound", "available_tools": ["t"] })
    );
    let answer = rejected_call(&bridge, "t", json!({ "session_id": "nobody" })).await;
    assert_eq!(answer, json!({ "error": "SessionNotFound" }));
    let answer = rejected_call(&bridge, "t", json!([1])).await;
    assert_eq!(answer["error"], "InvalidArguments");

    let _other = V1Page::connect(&bridge, "other").await;
    for arguments in [
        json!({}),
        json!({ "session_id": "nobody" }),
        json!({ "session_id": 7 }),
    ] {
        let answer = rejected_call(&bridge, "t", arguments).await;
        let keys: Vec<_> = answer.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["error", "error_message", "available_sessions"]);
        assert_eq!(answer["error"], "SessionNotSpecified");
        assert_eq!(answer["available_sessions"][1]["session_id"], "other");
    }
    let params = json!({ "name": "t", "arguments": { "session_id": "s" } });
    let handler = async {
        let _ = page.recv_call().await;
        page.close().await;
    };
    let (failed, ()) = tokio::join!(rpc_result(&bridge, "tools/call", params), handler);
    assert_eq!(
        parse_text(&failed),
        json!({ "error": "Session not available" })
    );
    assert_eq!(failed["isError"], true);
}

#[tokio::test]
async fn the_session_id_argument_overrides_meta_and_never_reaches_the_page() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let mut other = V1Page::connect(&bridge, "other").await;
    other.register_tool(tool("t")).await;
    let listed = json!({ "_meta": { "sessionId": "other" } });
    assert_eq!(
        rpc_result(&bridge, "tools/list", listed).await["tools"][0]["name"],
        "list_sessions"
    );
    for (params, expected) in [
        (
            json!({ "name": "t", "arguments": { "n": 1, "session_id": "s" },
                "_meta": { "sessionId": "other" } }),
            json!({ "n": 1 }),
        ),
        (
            json!({ "name": "t", "_meta": { "sessionId": "s" } }),
            json!({}),
        ),
    ] {
        let handler = async {
            let call = page.recv_call().await;
            assert_eq!(call["toolInput"], expected);
            page.respond(&call, json!("s")).await;
        };
        let (result, ()) = tokio::join!(rpc_result(&bridge, "tools/call", params), handler);
        assert_eq!(result, text("s"));
    }
}

#[tokio::test]
async fn arguments_are_validated_for_native_pages_but_not_for_compat_pages() {
    let (bridge, mut page) = start_compat_with_tool().await;
    let params = json!({ "name": "t", "arguments": { "n": "no integer" } });
    let (answer, ()) = tokio::join!(rpc_result(&bridge, "tools/call", params), page.echo_call());
    assert_eq!(parse_text(&answer), json!({ "n": "no integer" }));
    page.close().await;

    let mut native = Page::with_tools(&bridge, "native", &[echo_tool()]).await;
    let answer = rejected_call(&bridge, "echo", json!({ "n": "no integer" })).await;
    assert!(
        answer["error"].as_str().unwrap().contains("input schema"),
        "{answer}"
    );
    let params = json!({ "name": "echo", "arguments": { "n": 3 } });
    let (answer, ()) = tokio::join!(
        rpc_result(&bridge, "tools/call", params),
        native.echo_call()
    );
    assert_eq!(answer, text("{\n  \"n\": 3\n}"));
}

#[tokio::test]
async fn native_pages_keep_content_blocks_and_lose_structured_content() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = Page::with_tools(&bridge, "native", &[echo_tool()]).await;
    let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    let handler = async {
        let call = page.recv_call().await;
        page.send_json(
            json!({ "type": "call-response", "requestId": call.request_id,
            "content": blocks, "structuredContent": { "a": 1 }, "_meta": { "k": 1 } }),
        )
        .await;
    };
    let params = json!({ "name": "echo", "arguments": {} });
    let (answer, ()) = tokio::join!(rpc_result(&bridge, "tools/call", params.clone()), handler);
    assert_eq!(answer, json!({ "content": blocks, "_meta": { "k": 1 } }));

    let handler = async {
        let call = page.recv_call().await;
        page.send_json(json!({ "type": "call-error", "requestId": call.request_id,
            "code": "HandlerFailed", "message": "thrown", "data": { "error": "hidden" } }))
            .await;
    };
    let (answer, ()) = tokio::join!(rpc_result(&bridge, "tools/call", params), handler);
    assert_eq!(parse_text(&answer), json!({ "error": "thrown" }));
    assert_eq!(answer["isError"], true);
}

#[tokio::test]
async fn slow_calls_and_reads_report_a_timeout() {
    let mut config = compat_config();
    config.calls.call_timeout = std::time::Duration::from_millis(50);
    let bridge = start_bridge_with(config).await;
    let mut native = Page::with_tools(&bridge, "native", &[echo_tool()]).await;
    let item = json!({ "uri": "a:b", "name": "n" });
    native
        .register_items(&[(bridge_protocol::Kind::Resource, item)])
        .await;
    let answer = rejected_call(&bridge, "echo", json!({})).await;
    assert_eq!(answer, json!({ "error": "Tool call timeout" }));
    let read = rpc_result(&bridge, "resources/read", json!({ "uri": "a:b" })).await;
    assert_eq!(read, json!({ "error": "Resource read timeout" }));
}
