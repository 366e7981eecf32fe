//! What a client asked for once outlives the bridge that it asked.

use serde_json::{Value, json};

use crate::client::{Client, Era, subscription_id};
use crate::raw_server::RawServer;

#[tokio::test]
async fn a_new_bridge_is_asked_for_the_log_level_and_the_resources_before_anything_else() {
    let mut server = RawServer::start().await;
    let (url, address) = (server.url(), server.address);
    let (mut client, _events) =
        tokio::join!(Client::ready(&url, Era::Session), server.begin_session());
    for (method, params) in [
        (
            "logging/setLevel",
            json!({ "level": "warning", "vendor": 1 }),
        ),
        ("resources/subscribe", json!({ "uri": "a://kept" })),
        ("resources/subscribe", json!({ "uri": "a://left" })),
        ("resources/unsubscribe", json!({ "uri": "a://left" })),
    ] {
        let id = client.send_request(method, params).await;
        server.post(method).await.answer(&json!({}));
        client.response(id).await;
    }
    let refused = client
        .send_request("resources/subscribe", json!({ "uri": "a://refused" }))
        .await;
    let refusal =
        json!({ "jsonrpc": "2.0", "id": refused, "error": { "code": -32602, "message": "no" } });
    server
        .post("resources/subscribe")
        .await
        .json(&refusal.to_string());
    client.response(refused).await;

    drop(server);
    client.list_changed().await;
    let mut server = RawServer::start_on(address).await;
    let call = client
        .send_request("tools/call", json!({ "name": "a" }))
        .await;
    server.initialize().await;
    server.post("notifications/initialized").await.accept();
    let level = server.post("logging/setLevel").await;
    assert_eq!(
        level.message()["params"],
        json!({ "level": "warning", "vendor": 1 })
    );
    level.answer(&json!({}));
    let kept = server.post("resources/subscribe").await;
    assert_eq!(kept.message()["params"], json!({ "uri": "a://kept" }));
    kept.answer(&json!({}));
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
    assert_eq!(updated["params"], json!({ "uri": "a://kept" }));
    assert!(client.close().await.success());
}

#[tokio::test]
async fn what_is_asked_for_without_a_bridge_is_asked_of_the_first() {
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
async fn a_listen_goes_on_at_a_new_bridge_with_all_that_it_asked_for() {
    let mut server = RawServer::start().await;
    let (url, address) = (server.url(), server.address);
    let mut client = Client::ready(&url, Era::Stateless).await;
    let wanted = json!({
        "toolsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["a://b"],
        "vendor": 1,
    });
    let listen = client
        .send_request("subscriptions/listen", json!({ "notifications": wanted }))
        .await;
    server.discover().await;
    let heard = server.post("subscriptions/listen").await;
    let asked = heard.text.clone();
    let events = heard.stream();
    events.send(&acknowledgement(listen)).await;
    let method = "notifications/subscriptions/acknowledged";
    assert_eq!(subscription_id(&client.notification(method).await), listen);

    drop(server);
    let mut server = RawServer::start_on(address).await;
    server.discover().await;
    let heard = server.post("subscriptions/listen").await;
    assert_eq!(heard.text, asked);
    let events = heard.stream();
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
            methods.iter().any(|seen| seen == method),
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
