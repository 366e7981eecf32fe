//! "Lists, in this order".

use serde_json::json;

use super::client::*;
use super::kit::*;
use crate::kit::*;

#[tokio::test]
async fn one_page_has_list_sessions_and_its_tools_in_order_of_registration() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    let meta = json!({ "ui": { "resourceUri": "ui://z/app.html" } });
    page.register_tool(
        json!({ "name": "z", "description": "last letter", "_meta": meta,
        "annotations": { "readOnlyHint": true }, "outputSchema": { "type": "object" },
        "inputSchema": { "type": "object", "additionalProperties": false,
            "properties": { "b": { "type": "string" }, "a": { "type": "number" } },
            "required": ["a"] } }),
    )
    .await;
    page.register_tool(json!({ "name": "a", "description": "first letter" }))
        .await;
    page.settled(&bridge, "a").await;

    let mut listed = result(&bridge, "tools/list", json!({})).await;
    let names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["list_sessions", "z", "a"]);
    let description = listed["tools"][1]["inputSchema"]["properties"]["session_id"].take();
    assert_eq!(description["type"], "string");
    let expected = json!({ "name": "z", "description": "last letter",
        "inputSchema": { "type": "object", "properties": { "session_id": null,
            "b": { "type": "string" }, "a": { "type": "number" } }, "required": ["a"] },
        "_meta": meta });
    assert_eq!(listed["tools"][1].to_string(), expected.to_string());
    assert_eq!(listed["tools"][2]["inputSchema"]["required"], json!([]));
    let expected = json!({ "type": "object", "properties": {}, "required": [] });
    assert_eq!(
        listed["tools"][0]["inputSchema"].to_string(),
        expected.to_string()
    );
    assert_eq!(listed.as_object().unwrap().len(), 1);
    bridge.shutdown().await;
}
