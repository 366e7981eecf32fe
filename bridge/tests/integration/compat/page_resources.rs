//! The page socket: resources, as our own clients list and read them.

use bridge::ServerHandle;
use serde_json::{Value, json};

use super::kit::CompatPage;
use crate::kit::{McpClient, TOKEN, start_bridge};

const URI: &str = "board://cards";

/// A page with a resource, and a client that sees it.
async fn with_resource(bridge: &ServerHandle) -> (CompatPage, McpClient) {
    let mut page = CompatPage::connect(bridge, "s").await;
    page.register_resource(
        json!({ "uri": URI, "name": "Cards", "description": "All of them",
        "mimeType": "text/plain" }),
    )
    .await;
    let client = McpClient::connect(bridge, TOKEN).await;
    let listed = async { while resources(&client).await.is_empty() {} };
    crate::kit::with_deadline("resource", listed).await;
    (page, client)
}

/// The resources that are not the bridge's own.
async fn resources(client: &McpClient) -> Vec<Value> {
    let list = client.request("resources/list", json!({})).await;
    let all = list["result"]["resources"].as_array().unwrap();
    let of_page = |resource: &&Value| resource["uri"].as_str().unwrap().starts_with("board:");
    all.iter().filter(of_page).cloned().collect()
}

/// What `resources/read` answers when the page answers so.
async fn read(page: &mut CompatPage, client: &McpClient, answer: Value) -> Value {
    let reply = async {
        let asked = page.recv().await;
        let id = asked["requestId"].clone();
        let exactly = json!({ "type": "resource-read", "requestId": id, "uri": URI });
        assert_eq!(asked, exactly);
        let mut frame = json!({ "type": "resource-response", "requestId": id });
        for (key, value) in answer.as_object().unwrap() {
            frame[key] = value.clone();
        }
        page.send(frame).await;
    };
    let request = client.request("resources/read", json!({ "uri": URI }));
    tokio::join!(request, reply).0
}

#[tokio::test]
async fn a_resource_is_listed_and_read_as_text_or_blob() {
    let bridge = start_bridge().await;
    let (mut page, client) = with_resource(&bridge).await;
    let listed = json!({ "uri": URI, "name": "Cards", "description": "All of them",
        "mimeType": "text/plain" });
    assert_eq!(resources(&client).await, [listed]);
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
        let result = read(&mut page, &client, answer).await;
        assert_eq!(result["result"]["contents"], json!([content]), "{result}");
    }
}

#[tokio::test]
async fn a_resource_read_error_contains_the_text_of_the_page() {
    let bridge = start_bridge().await;
    let (mut page, client) = with_resource(&bridge).await;
    let answer = json!({ "mimeType": "text/plain", "error": "the board is locked" });
    let result = read(&mut page, &client, answer).await;
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("the board is locked"), "{result}");
}

#[tokio::test]
async fn a_rejected_resource_does_not_affect_the_others() {
    let bridge = start_bridge().await;
    let (mut page, client) = with_resource(&bridge).await;
    page.register_resource(json!({ "uri": "no uri", "name": "odd" }))
        .await;
    page.register_resource(json!({ "uri": "board://more", "name": "More" }))
        .await;
    let both = async { while resources(&client).await.len() < 2 {} };
    crate::kit::with_deadline("resources", both).await;
}
