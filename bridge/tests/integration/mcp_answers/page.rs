//! A page with tools, prompts and resources that always answers the same.

use bridge_protocol::{BridgeToPage, Kind};
use serde_json::{Value, json};

use crate::kit::*;

pub(super) fn tools() -> Vec<Value> {
    let output_schema = json!({ "type": "object", "required": ["n"] });
    let mut header = echo_tool();
    header["name"] = json!("header");
    header["inputSchema"]["properties"]["n"]["x-mcp-header"] = json!("N");
    let unions = json!({ "type": "object", "anyOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    vec![
        echo_tool(),
        json!({ "name": "progress", "title": "Progress", "annotations": { "readOnlyHint": true } }),
        json!({ "name": "picture", "icons": [{ "src": "a.png" }] }),
        json!({ "name": "blocks", "_meta": { "a/b": [1] } }),
        json!({ "name": "malformed" }),
        json!({ "name": "fails" }),
        json!({ "name": "violates its schema", "outputSchema": output_schema }),
        json!({ "name": "unions", "inputSchema": unions }),
        header,
    ]
}

/// The prompts and resources of the page.
pub(super) fn items() -> Vec<(Kind, Value)> {
    vec![
        (
            Kind::Prompt,
            json!({ "name": "review", "arguments": [{ "name": "card", "required": true }] }),
        ),
        (
            Kind::Resource,
            json!({ "uri": "board://cards", "name": "cards" }),
        ),
        (
            Kind::ResourceTemplate,
            json!({ "uriTemplate": "board://cards/{id}", "name": "card" }),
        ),
    ]
}

/// Responds to each call of the page according to its kind, and to the name of the tool.
pub(super) async fn serve_calls(mut page: Page) {
    while let Some(message) = page.recv_without_deadline().await {
        let call = match message {
            BridgeToPage::ToolCall(call) => call,
            BridgeToPage::PromptGet(get) => {
                let text = format!("Review {}", get.arguments.get());
                let content = json!({ "type": "text", "text": text });
                let messages = json!([{ "role": "user", "content": content, "own": 1 }]);
                let prompt = json!({ "description": "d", "messages": messages, "own": 2 });
                page.respond_to(&get.request_id, prompt).await;
                continue;
            }
            BridgeToPage::ResourceRead(read) => {
                let content = json!({ "uri": read.uri, "text": "[]", "own": 1 });
                let contents = json!({ "contents": [content], "_meta": { "k": 1 }, "own": 2 });
                page.respond_to(&read.request_id, contents).await;
                continue;
            }
            BridgeToPage::Completion(complete) => {
                let values = json!({ "values": ["one", "two"], "total": 2 });
                page.respond_to(&complete.request_id, values).await;
                continue;
            }
            _ => continue,
        };
        let id = &call.request_id;
        page.send_json(json!({ "type": "call-received", "requestId": id }))
            .await;
        let response = |members: Value| {
            with_members(json!({ "type": "call-response", "requestId": id }), members)
        };
        let message = match call.tool_name.as_str() {
            "progress" => {
                let progress = json!({ "type": "call-progress", "requestId": id, "progress": 1,
                    "total": 2, "message": "half" });
                page.send_json(progress).await;
                response(json!({ "result": "plain \"words\"\né" }))
            }
            "picture" => response(json!({ "result": "data:image/png;base64,AAAA" })),
            "blocks" => response(json!({ "content": [
                { "type": "text", "text": "t", "annotations": { "priority": 1.0 } },
                { "type": "resource_link", "uri": "a:b", "name": "n" },
                { "type": "resource", "resource": { "uri": "a:b", "text": "r" } }],
                "structuredContent": { "a": [null, 1.5] }, "_meta": { "k": 1 } })),
            "malformed" => response(json!({ "content": [
                { "type": "text", "text": "t", "annotations": { "priority": "high" } }] })),
            "fails" => json!({ "type": "call-error", "requestId": id, "code": "HandlerFailed",
                "message": "no", "data": { "why": 1 } }),
            "violates its schema" => response(json!({ "result": { "m": 1 } })),
            _ => {
                let input: Value = serde_json::from_str(call.tool_input.get()).unwrap();
                let client = &call.context.client.as_ref().unwrap().info.name;
                response(json!({ "result": { "input": input, "client": client } }))
            }
        };
        page.send_json(message).await;
    }
}
