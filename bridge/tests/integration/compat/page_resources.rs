//! Resources of mcp-web 0.1 pages, as clients of a bridge without `--compat` list and read them.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::kit::*;
use crate::kit::*;

const URI: &str = "board://cards";

/// Connects a page with a resource, and a client that lists it.
async fn start_with_resource(bridge: &ServerHandle) -> (V1Page, McpClient) {
    let mut page = V1Page::connect(bridge, "s").await;
    page.register_resource(
        json!({ "uri": URI, "name": "Cards", "description": "All of them",
        "mimeType": "text/plain" }),
    )
    .await;
    let client = McpClient::connect(bridge, TOKEN).await;
    let listed = async {
        while page_resources(&client).await.is_empty() {
            poll_pause().await;
        }
    };
    with_deadline("resource", listed).await;
    (page, client)
}

/// The resources of the page, without the built-in ones.
async fn page_resources(client: &McpClient) -> Vec<Value> {
    let list = client.request("resources/list", json!({})).await;
    let all = list["result"]["resources"].as_array().unwrap();
    let of_page = |resource: &&Value| resource["uri"].as_str().unwrap().starts_with("board:");
    all.iter().filter(of_page).cloned().collect()
}

/// The response to `resources/read` when the page responds with these members.
async fn read_resource(page: &mut V1Page, client: &McpClient, members: Value) -> Value {
    let handler = async {
        let request = page.recv().await;
        let id = request["requestId"].clone();
        let expected = json!({ "type": "resource-read", "requestId": id, "uri": URI });
        assert_eq!(request, expected);
        let response = json!({ "type": "resource-response", "requestId": id });
        page.send_json(with_members(response, members)).await;
    };
    let request = client.request("resources/read", json!({ "uri": URI }));
    tokio::join!(request, handler).0
}

#[tokio::test]
async fn a_resource_is_listed_and_read_as_text_or_blob() {
    let bridge = start_bridge().await;
    let (mut page, client) = start_with_resource(&bridge).await;
    let listed = json!({ "uri": URI, "name": "Cards", "description": "All of them",
        "mimeType": "text/plain" });
    assert_eq!(page_resources(&client).await, [listed]);
    for (answer, content) in [
        (
            json!({ "content": "één\n", "mimeType": "text/plain" }),
            json!({ "uri": URI, "mimeType": "text/plain", "text": "één\n" }),
        ),
        (
            json!({ "blob": "AAAA", "mimeType": "image/png" }),
            json!({ "uri": URI, "mimeType": "image/png", "blob": "AAAA" }),
        ),
        (
            json!({ "mimeType": "text/plain" }),
            json!({ "uri": URI, "mimeType": "text/plain", "text": "" }),
        ),
        (
            json!({ "content": { "a": 1 }, "error": null }),
            json!({ "uri": URI, "text": "{\"a\":1}" }),
        ),
    ] {
        let result = read_resource(&mut page, &client, answer).await;
        assert_eq!(result["result"]["contents"], json!([content]), "{result}");
    }
}

#[tokio::test]
async fn a_resource_read_error_contains_the_text_of_the_page() {
    let bridge = start_bridge().await;
    let (mut page, client) = start_with_resource(&bridge).await;
    let answer = json!({ "mimeType": "text/plain", "error": "the board is locked" });
    let result = read_resource(&mut page, &client, answer).await;
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("the board is locked"), "{result}");
}

#[tokio::test]
async fn a_rejected_resource_does_not_affect_the_others() {
    let bridge = start_bridge().await;
    let (mut page, client) = start_with_resource(&bridge).await;
    page.register_resource(json!({ "uri": "no uri", "name": "odd" }))
        .await;
    page.register_resource(json!({ "uri": "board://more", "name": "More" }))
        .await;
    let both = async {
        while page_resources(&client).await.len() < 2 {
            poll_pause().await;
        }
    };
    with_deadline("resources", both).await;
}
