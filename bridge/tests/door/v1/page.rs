//! The page socket.

use serde_json::json;

use super::kit::{V1Page, tool};
use crate::kit::{McpClient, TOKEN, bridge, text_of, tool_call};

#[tokio::test]
async fn a_page_without_a_version_speaks_v1() {
    let bridge = bridge().await;
    let mut page = V1Page::open(&bridge, "s").await;
    page.authenticate("s", json!({})).await;
    let welcome = page.hear().await;
    let exactly = json!({ "type": "authenticated", "sessionId": "s", "success": true });
    assert_eq!(welcome, exactly);
    page.register_tool(tool("add")).await;
    let client = McpClient::connect(&bridge, TOKEN).await;
    let reply = async {
        let call = page.call().await;
        assert_eq!(call["toolName"], "add");
        assert_eq!(call["toolInput"], json!({ "n": 1 }));
        assert_eq!(call.as_object().unwrap().len(), 4, "{call}");
        page.respond(&call, json!({ "sum": 2 })).await;
    };
    let (answer, ()) = tokio::join!(client.call("add", json!({ "n": 1 })), reply);
    assert_eq!(text_of(&answer["result"]), r#"{"sum":2}"#);
    let ((status, result), ()) =
        tokio::join!(tool_call(&bridge, "add", json!({ "n": 2 })), page.echo());
    assert_eq!((status, text_of(&result)), (200, r#"{"n":2}"#));
    bridge.shutdown().await;
}
