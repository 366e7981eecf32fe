//! Lists of tools, resources, prompts and sessions as mcp-web 0.1 formats them.

use serde_json::{Value, json};

use super::kit::*;
use super::mcp_client::*;
use crate::kit::*;

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Connects two pages with the tool `t`. The second one also has the tool `own`.
async fn connect_two_pages(bridge: &bridge::ServerHandle) -> (V1Page, V1Page) {
    let mut first = V1Page::connect(bridge, "first").await;
    first.register_tool(tool("t")).await;
    wait_for_tool(bridge, "t").await;
    let mut second = V1Page::connect(bridge, "second").await;
    let other = json!({ "name": "own", "description": "d", "inputSchema": { "type": "object",
        "properties": { "session_id": { "type": "number" } }, "required": ["session_id", "x"] } });
    second.register_tool(other).await;
    second.register_tool(tool("t")).await;
    wait_until_processed(bridge, &mut second, "second", "own").await;
    (first, second)
}

#[tokio::test]
async fn tools_follow_list_sessions_in_registration_order_with_exact_keys() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let meta = json!({ "ui": { "resourceUri": "ui://z/app.html" } });
    page.register_tool(
        json!({ "name": "z", "description": "last letter", "_meta": meta,
        "annotations": { "readOnlyHint": true }, "outputSchema": { "type": "object" },
        "inputSchema": { "type": "object", "additionalProperties": false,
            "properties": { "b": { "type": "string" }, "a": { "type": "array" } },
            "required": ["a"] } }),
    )
    .await;
    page.register_tool(json!({ "name": "a", "description": "first letter" }))
        .await;
    wait_until_processed(&bridge, &mut page, "s", "a").await;

    let mut listed = rpc_result(&bridge, "tools/list", json!({})).await;
    assert_eq!(names(&listed), ["list_sessions", "z", "a"]);
    let session = listed["tools"][1]["inputSchema"]["properties"]["session_id"].take();
    assert_eq!(session["type"], "string");
    let expected = json!({ "name": "z", "description": "last letter",
        "inputSchema": { "type": "object", "properties": { "session_id": null,
            "b": { "type": "string" }, "a": { "type": "array" } }, "required": ["a"] },
        "_meta": meta });
    assert_eq!(listed["tools"][1].to_string(), expected.to_string());
    assert_eq!(listed["tools"][2]["inputSchema"]["required"], json!([]));
    let no_arguments = json!({ "type": "object", "properties": {}, "required": [] });
    let schema = &listed["tools"][0]["inputSchema"];
    assert_eq!(schema.to_string(), no_arguments.to_string());
    assert_eq!(listed.as_object().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn with_two_pages_session_id_is_required_and_the_first_definition_wins() {
    let bridge = start_bridge_with(compat_config()).await;
    let (_first, _second) = connect_two_pages(&bridge).await;
    let listed = rpc_result(&bridge, "tools/list", json!({})).await;
    assert_eq!(names(&listed), ["list_sessions", "t", "own"]);
    assert_eq!(
        listed["tools"][1]["inputSchema"]["required"],
        json!(["session_id"])
    );
    let own = &listed["tools"][2]["inputSchema"];
    assert_eq!(own["required"], json!(["session_id", "x"]));
    let replaced = json!({ "session_id": { "type": "number" } });
    assert_eq!(
        own["properties"], replaced,
        "the definition of the tool replaces the added one"
    );
    let sessions = listed["_meta"]["available_sessions"].as_array().unwrap();
    assert_eq!(sessions[0]["session_id"], "first");
    assert_eq!(sessions[1]["available_tools"], json!(["own", "t"]));
}

#[tokio::test]
async fn a_valid_meta_session_id_lists_only_that_page() {
    let bridge = start_bridge_with(compat_config()).await;
    let (_first, _second) = connect_two_pages(&bridge).await;
    let for_session = |session: &str| json!({ "_meta": { "sessionId": session } });
    let listed = rpc_result(&bridge, "tools/list", for_session("second")).await;
    assert_eq!(names(&listed), ["list_sessions", "own", "t"]);
    assert_eq!(listed["tools"][2]["inputSchema"]["required"], json!([]));
    assert!(listed.get("_meta").is_none(), "{listed}");
    let listed = rpc_result(&bridge, "tools/list", for_session("nobody")).await;
    assert_eq!(names(&listed), ["list_sessions", "t", "own"]);
}

#[tokio::test]
async fn without_a_page_only_get_connection_status_is_listed() {
    let bridge = start_bridge_with(compat_config()).await;
    let listed = rpc_result(&bridge, "tools/list", json!({})).await;
    assert_eq!(names(&listed), ["get_connection_status"]);
    let params = json!({ "name": "get_connection_status" });
    let status = parse_text(&rpc_result(&bridge, "tools/call", params).await);
    assert_eq!(status["connected"], false);
    let listed = rpc_result(&bridge, "resources/list", json!({})).await;
    assert_eq!(listed["resources"][0]["uri"], "status://connection");
    assert_eq!(listed["resources"].as_array().unwrap().len(), 1);
    let params = json!({ "uri": "status://connection" });
    let read = rpc_result(&bridge, "resources/read", params).await;
    let text = read["contents"][0]["text"].as_str().unwrap();
    let status: Value = serde_json::from_str(text).unwrap();
    assert_eq!(status["connected"], false);
    let listed = rpc_result(&bridge, "prompts/list", json!({})).await;
    assert_eq!(listed, json!({ "prompts": [] }));
    let result = rpc_result(&bridge, "tools/call", json!({ "name": "t" })).await;
    assert_eq!(result["isError"], true);
    let text = result_text(&result);
    assert!(text.starts_with("No page is connected"), "{text}");
    assert!(text.contains("open the app in a browser"), "{text}");
}

#[tokio::test]
async fn a_page_tool_called_list_sessions_replaces_the_builtin_one() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("list_sessions")).await;
    page.register_tool(tool("t")).await;
    wait_for_tool(&bridge, "t").await;
    let listed = rpc_result(&bridge, "tools/list", json!({})).await;
    assert_eq!(names(&listed), ["list_sessions", "t"]);
    let call = rpc_call(&bridge, "tools/call", json!({ "name": "list_sessions" }));
    let handler = async {
        let call = page.recv_call().await;
        assert_eq!(call["toolName"], "list_sessions");
        page.respond(&call, json!("the page's own")).await;
    };
    let (answer, ()) = tokio::join!(call, handler);
    assert_eq!(result_text(&answer["result"]), "the page's own");
}

#[tokio::test]
async fn resources_list_starts_with_sessions_list_and_defaults_to_text_html() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let app = json!({ "uri": "ui://chart/app.html", "name": "chart UI", "description": "an app",
        "mimeType": "text/html;profile=mcp-app" });
    page.register_resource(app.clone()).await;
    page.register_resource(json!({ "uri": "board://cards", "name": "cards", "size": 7 }))
        .await;
    page.register_tool(tool("t")).await;
    wait_until_processed(&bridge, &mut page, "s", "t").await;
    let listed = rpc_result(&bridge, "resources/list", json!({})).await;
    let resources = listed["resources"].as_array().unwrap();
    assert_eq!(resources[0]["uri"], "sessions://list");
    assert_eq!(resources[0]["name"], "sessions");
    assert_eq!(resources[0]["mimeType"], "application/json");
    assert_eq!(resources[1].to_string(), app.to_string());
    let cards = json!({ "uri": "board://cards", "name": "cards", "mimeType": "text/html" });
    assert_eq!(resources[2].to_string(), cards.to_string());
    assert_eq!(resources.len(), 3);
}

#[tokio::test]
async fn with_two_pages_resource_and_prompt_lists_ask_for_a_session() {
    let bridge = start_bridge_with(compat_config()).await;
    let (mut first, _second) = connect_two_pages(&bridge).await;
    first
        .register_resource(json!({ "uri": "board://cards", "name": "cards" }))
        .await;
    for (method, field, count) in [
        ("resources/list", "resources", 1),
        ("prompts/list", "prompts", 0),
    ] {
        let listed = rpc_result(&bridge, method, json!({})).await;
        assert_eq!(listed[field].as_array().unwrap().len(), count, "{listed}");
        assert_eq!(listed["isError"], true);
        assert_eq!(listed["error"], "SessionNotSpecified");
        assert!(listed["error_message"].is_string());
        assert_eq!(listed["error_is_fatal"], false);
        assert_eq!(listed["available_sessions"][1]["session_id"], "second");
    }
    let params = json!({ "_meta": { "sessionId": "second" } });
    let listed = rpc_result(&bridge, "prompts/list", params).await;
    assert_eq!(listed, json!({ "prompts": [] }));
}

#[tokio::test]
async fn resources_read_uses_the_first_session_with_the_resource() {
    let bridge = start_bridge_with(compat_config()).await;
    let (mut first, mut second) = connect_two_pages(&bridge).await;
    second
        .register_resource(json!({ "uri": "board://cards", "name": "cards" }))
        .await;
    wait_until_processed(&bridge, &mut second, "second", "own").await;
    let params = json!({ "uri": "board://cards" });
    let reading = rpc_result(&bridge, "resources/read", params);
    let handler = async {
        let read = second.recv().await;
        assert_eq!(read["type"], "resource-read");
        let id = &read["requestId"];
        let answer = json!({ "type": "resource-response", "requestId": id, "content": "<p>",
            "mimeType": "text/html" });
        second.send_json(answer).await;
    };
    let (read, ()) = tokio::join!(reading, handler);
    let expected = json!({ "contents": [{ "uri": "board://cards", "mimeType": "text/html",
        "text": "<p>" }] });
    assert_eq!(read.to_string(), expected.to_string());

    let params = json!({ "uri": "board://cards", "_meta": { "sessionId": "first" } });
    let read = rpc_result(&bridge, "resources/read", params).await;
    assert_eq!(read, json!({ "error": "Resource not found" }));
    wait_until_processed(&bridge, &mut first, "first", "t").await;
}

#[tokio::test]
async fn resources_read_failures_are_results_with_an_error_key() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_resource(json!({ "uri": "a:b", "name": "n" }))
        .await;
    page.register_tool(tool("t")).await;
    wait_until_processed(&bridge, &mut page, "s", "t").await;
    let read = rpc_result(&bridge, "resources/read", json!({ "uri": "a:c" })).await;
    assert_eq!(read, json!({ "error": "Resource not found" }));
    let read = rpc_result(&bridge, "resources/read", json!({})).await;
    assert_eq!(read, json!({ "error": "Resource URI is required" }));

    let reading = rpc_result(&bridge, "resources/read", json!({ "uri": "a:b" }));
    let handler = async {
        let id = page.recv().await["requestId"].take();
        page.send_json(
            json!({ "type": "resource-response", "requestId": id, "mimeType": "text/html",
            "error": "the page's text" }),
        )
        .await;
    };
    let (read, ()) = tokio::join!(reading, handler);
    assert_eq!(read, json!({ "error": "the page's text" }));

    let reading = rpc_result(&bridge, "resources/read", json!({ "uri": "a:b" }));
    let handler = async {
        let _ = page.recv().await;
        page.close().await;
    };
    let (read, ()) = tokio::join!(reading, handler);
    assert_eq!(read, json!({ "error": "Session not available" }));
}

#[tokio::test]
async fn session_entries_omit_absent_keys_and_are_indented_by_two_spaces() {
    let bridge = start_bridge_with(compat_config()).await;
    let mut page = V1Page::open(&bridge, "bare").await;
    page.send_json(json!({ "type": "authenticate", "authToken": TOKEN, "timestamp": 7 }))
        .await;
    assert_eq!(page.recv().await["type"], "authenticated");
    page.register_tool(tool("t")).await;
    let activity = 1_700_000_000_123_u64;
    page.send_json(json!({ "type": "activity", "timestamp": activity }))
        .await;
    wait_until_processed(&bridge, &mut page, "bare", "t").await;

    let call = json!({ "name": "list_sessions", "arguments": {} });
    let listed = rpc_result(&bridge, "tools/call", call).await;
    let sessions = &parse_text(&listed)["sessions"];
    let keys: Vec<_> = sessions[0].as_object().unwrap().keys().collect();
    let expected = [
        "session_id",
        "connected_at",
        "last_activity",
        "available_tools",
    ];
    assert_eq!(keys, expected);
    assert_eq!(sessions[0]["last_activity"], "2023-11-14T22:13:20.123Z");
    let connected = sessions[0]["connected_at"].as_str().unwrap();
    assert!(
        connected.ends_with('Z') && connected.len() == 24,
        "{connected}"
    );
    let text = result_text(&listed);
    assert!(text.starts_with("{\n  \"sessions\": [\n    {\n      \"session_id\": \"bare\""));

    let read = rpc_result(
        &bridge,
        "resources/read",
        json!({ "uri": "sessions://list" }),
    )
    .await;
    let content = &read["contents"][0];
    assert_eq!(content["mimeType"], "application/json");
    let text = content["text"].as_str().unwrap();
    assert!(
        text.starts_with("[\n  {\n    \"session_id\": \"bare\""),
        "{text}"
    );
    let bare: Value = serde_json::from_str(text).unwrap();
    assert_eq!(&bare, sessions);
}
