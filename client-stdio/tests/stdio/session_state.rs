//! Tests that the settings and subscriptions of a client are sent to each new bridge.

use serde_json::{Value, json};

use crate::client::{Client, Era, command, subscription_id};
use crate::raw_server::RawServer;

#[tokio::test]
async fn a_new_bridge_first_receives_the_log_level_and_the_subscriptions() {
    let mut server = RawServer::start().await;
    let (url, address) = (server.url(), server.address);
    let (mut client, _events) = server.connect(command(&url), Era::Session).await;
    for (method, params) in [
        (
            "logging/setLevel",
            json!({ "level": "warning", "vendor": 1 }),
        ),
        ("resources/subscribe", json!({ "uri": "a://subscribed" })),
        ("resources/subscribe", json!({ "uri": "a://unsubscribed" })),
        (
            "resources/unsubscribe",
            json!({ "uri": "a://unsubscribed" }),
        ),
    ] {
        let id = client.send_request(method, params).await;
        server.post(method).await.answer(&json!({}));
        client.response(id).await;
    }
    let id = client
        .send_request("resources/subscribe", json!({ "uri": "a://refused" }))
        .await;
    let error = json!({ "code": -32602, "message": "no" });
    let error = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    server.post("resources/subscribe").await.json(&error);
    client.response(id).await;

    drop(server);
    let mut server = RawServer::start_on(address).await;
    server.initialize_again().await;
    let call = client.send_call("a").await;
    server.post("notifications/initialized").await.accept();
    let level = server.post("logging/setLevel").await;
    assert_eq!(
        level.message()["params"],
        json!({ "level": "warning", "vendor": 1 })
    );
    level.answer(&json!({}));
    let subscription = server.post("resources/subscribe").await;
    assert_eq!(
        subscription.message()["params"],
        json!({ "uri": "a://subscribed" })
    );
    subscription.answer(&json!({}));
    server
        .post("tools/call")
        .await
        .answer(&json!({ "content": [] }));
    assert_eq!(
        client.response(call).await["result"],
        json!({ "content": [] })
    );
    for list in ["tools", "prompts", "resources"] {
        client
            .notification(&format!("notifications/{list}/list_changed"))
            .await;
    }
    let updated = client.notification("notifications/resources/updated").await;
    assert_eq!(updated["params"], json!({ "uri": "a://subscribed" }));
    assert!(client.close().await.success());
}

#[tokio::test]
async fn a_log_level_that_is_set_offline_is_sent_to_the_first_bridge() {
    let mut server = RawServer::start().await;
    let (url, address) = (server.url(), server.address);
    drop(server);
    let mut client = Client::ready(&url, Era::Session).await;
    let result = client
        .request("logging/setLevel", json!({ "level": "error" }))
        .await;
    assert_eq!(result["result"], json!({}));
    server = RawServer::start_on(address).await;
    server.initialize().await;
    server.post("notifications/initialized").await.accept();
    let level = server.post("logging/setLevel").await;
    assert_eq!(level.message()["params"]["level"], "error");
}

#[tokio::test]
async fn a_listen_is_sent_unchanged_to_a_new_bridge() {
    let mut server = RawServer::start().await;
    let (url, address) = (server.url(), server.address);
    let mut client = Client::ready(&url, Era::Stateless).await;
    let notifications = json!({
        "toolsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["a://b"],
        "vendor": 1,
    });
    let listen = client
        .send_request(
            "subscriptions/listen",
            json!({ "notifications": notifications }),
        )
        .await;
    server.discover().await;
    let request = server.post("subscriptions/listen").await;
    let text = request.text.clone();
    let events = request.stream();
    events.send(&acknowledgement(listen)).await;
    let method = "notifications/subscriptions/acknowledged";
    assert_eq!(subscription_id(&client.notification(method).await), listen);

    drop(server);
    let mut server = RawServer::start_on(address).await;
    server.discover().await;
    let request = server.post("subscriptions/listen").await;
    assert_eq!(request.text, text);
    let events = request.stream();
    events.send(&acknowledgement(listen)).await;
    events.send(&updated(listen)).await;
    let mut methods = Vec::new();
    while methods
        .iter()
        .filter(|method| *method == "notifications/resources/updated")
        .count()
        < 2
    {
        let message = client
            .wait_for(|message| message.get("method").is_some())
            .await;
        assert_eq!(subscription_id(&message), listen);
        methods.push(message["method"].as_str().unwrap().to_owned());
    }
    for (method, expected) in [
        ("notifications/subscriptions/acknowledged", false),
        ("notifications/tools/list_changed", true),
        ("notifications/prompts/list_changed", false),
        ("notifications/resources/list_changed", true),
    ] {
        assert_eq!(
            methods.iter().any(|received| received == method),
            expected,
            "{method}"
        );
    }
}

fn acknowledgement(listen: u64) -> String {
    subscription_message(
        listen,
        "notifications/subscriptions/acknowledged",
        json!({ "notifications": {} }),
    )
}

fn updated(listen: u64) -> String {
    subscription_message(
        listen,
        "notifications/resources/updated",
        json!({ "uri": "a://b" }),
    )
}

fn subscription_message(listen: u64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": listen });
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}
