//! The page socket with `--compat mcp-web`.

use serde_json::{Value, json};

use super::kit::{V1Page, compat, seen, tool};
use crate::kit::{bridge_with, tool_call};

#[tokio::test]
async fn an_error_key_that_is_null_makes_a_failure_too() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(tool("t")).await;
    let fits = |answer: &Value| answer["sessions"][0]["available_tools"] == json!(["t"]);
    seen(&bridge, "/sessions", fits).await;
    let reply = async {
        let call = page.call().await;
        page.respond(&call, json!({ "rows": [], "error": null }))
            .await;
    };
    let ((status, answer), ()) = tokio::join!(tool_call(&bridge, "t", json!({})), reply);
    assert_eq!(
        (status, &answer["isError"]),
        (200, &json!(true)),
        "{answer}"
    );
    bridge.shutdown().await;
}

#[tokio::test]
async fn an_output_schema_is_not_held_against_what_the_page_answers() {
    let bridge = bridge_with(compat()).await;
    let mut page = V1Page::connect(&bridge, "s").await;
    page.register_tool(json!({ "name": "t", "description": "d", "outputSchema":
        { "type": "object", "required": ["sum"] } }))
        .await;
    let fits = |answer: &Value| answer["sessions"][0]["available_tools"] == json!(["t"]);
    seen(&bridge, "/sessions", fits).await;
    let both = async { tokio::join!(tool_call(&bridge, "t", json!({ "n": 1 })), page.echo()) };
    let ((status, answer), ()) = both.await;
    assert_eq!(status, 200);
    assert_ne!(answer["isError"], true, "{answer}");
    bridge.shutdown().await;
}
