//! Tests without a bridge, and with one that rejects the token.

use serde_json::{Value, json};

use crate::client::{Client, Era, TOKEN, command, error_text, subscription_id};
use crate::server::{Server, ServerEvent, free_port, url};

const BUILTIN_TOOLS: [&str; 5] = [
    "list_active_sessions",
    "list_session_tools",
    "call_session_tool",
    "get_connection_status",
    "get_result",
];

/// Returns the capabilities that the bridge declares, whether or not a page is connected to it.
fn capabilities() -> Value {
    json!({
        "completions": {},
        "extensions": { "io.modelcontextprotocol/ui": {} },
        "logging": {},
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "tools": { "listChanged": true },
    })
}

#[tokio::test]
async fn initialize_negotiates_every_version() {
    let url = url(free_port().await);
    for (requested, negotiated) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::start(command(&url), Era::Session);
        let result = client.initialize(requested).await;
        assert_eq!(result["protocolVersion"], negotiated);
        assert_eq!(result["capabilities"], capabilities());
        assert_eq!(result["serverInfo"]["name"], "mcp-web-stdio");
        assert!(client.close().await.success());
    }
}

#[tokio::test]
async fn a_session_client_gets_an_answer_to_every_method() {
    let url = url(free_port().await);
    let mut client = Client::ready(&url, Era::Session).await;
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(client.tools().await, BUILTIN_TOOLS);
    for (method, key) in [
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(
            client.request(method, json!({})).await["result"],
            json!({ key: [] }),
            "{method}"
        );
    }
    let result = client.call("get_connection_status", json!({})).await;
    let expected = format!("no bridge at {url}: start it with `mcp-web bridge` and retry");
    assert_eq!(error_text(&result), expected);
    assert_eq!(result.get("resultType"), None, "older clients are strict");
    for (method, params) in [
        ("resources/read", json!({ "uri": "x://y" })),
        ("prompts/get", json!({ "name": "greet" })),
        ("extension/method", json!({})),
    ] {
        let answer = client.request(method, params).await;
        assert_eq!(answer["error"]["message"], expected, "{method}");
        assert_eq!(answer["error"]["code"], -32603);
    }
    for (method, params) in [
        ("logging/setLevel", json!({ "level": "debug" })),
        ("resources/subscribe", json!({ "uri": "x://y" })),
        ("resources/unsubscribe", json!({ "uri": "x://y" })),
    ] {
        assert_eq!(
            client.request(method, params).await["result"],
            json!({}),
            "{method}"
        );
    }
    let reference = json!({ "type": "ref/prompt", "name": "greet" });
    let params = json!({ "ref": reference, "argument": { "name": "who", "value": "a" } });
    let completion = client.request("completion/complete", params).await["result"].take();
    assert_eq!(completion["completion"]["values"], json!([]));
    assert!(client.close().await.success());
}

#[tokio::test]
async fn the_built_in_resources_report_that_no_bridge_is_online() {
    let url = url(free_port().await);
    for era in Era::BOTH {
        let mut client = Client::ready(&url, era).await;
        let list = client.request("resources/list", json!({})).await["result"].take();
        let resources = list["resources"].as_array().unwrap();
        let uris: Vec<_> = resources
            .iter()
            .map(|resource| resource["uri"].as_str().unwrap())
            .collect();
        assert_eq!(uris, ["sessions://list", "status://connection"]);
        let mut texts = Vec::new();
        for uri in uris {
            let response = client
                .request("resources/read", json!({ "uri": uri }))
                .await;
            let text = response["result"]["contents"][0]["text"].as_str().unwrap();
            texts.push(serde_json::from_str::<Value>(text).unwrap());
        }
        assert_eq!(texts[0], json!([]));
        assert_eq!(texts[1]["connected"], false);
        assert!(
            texts[1]["message"]
                .as_str()
                .unwrap()
                .starts_with("no bridge at")
        );
    }
}

#[tokio::test]
async fn an_unknown_version_is_an_error_with_the_supported_ones() {
    let mut client = Client::start(command(&url(free_port().await)), Era::Session);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = client.request("tools/list", json!({ "_meta": meta })).await;
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    let supported = answer["error"]["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn a_stateless_client_gets_an_answer_to_every_method() {
    let url = url(free_port().await);
    let mut client = Client::ready(&url, Era::Stateless).await;
    let discovered = client.request("server/discover", json!({})).await["result"].take();
    assert!(
        discovered["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28"))
    );
    assert_eq!(discovered["capabilities"], capabilities());
    let list = client.request("tools/list", json!({})).await["result"].take();
    assert_eq!(list["tools"].as_array().unwrap().len(), BUILTIN_TOOLS.len());
    assert_eq!(
        (&list["ttlMs"], &list["resultType"]),
        (&json!(0), &json!("complete"))
    );
    let result = client.call("call_session_tool", json!({})).await;
    assert!(error_text(&result).starts_with("no bridge at "));
    assert!(client.close().await.success());
}

#[tokio::test]
async fn requests_before_initialize_are_errors() {
    let mut client = Client::start(command(&url(free_port().await)), Era::Session);
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(
        client.request("tools/list", json!({})).await["error"]["code"],
        -32600
    );
    client.initialize("2025-06-18").await;
    assert_eq!(client.tools().await, BUILTIN_TOOLS);
}

#[tokio::test]
async fn a_session_client_is_notified_when_a_bridge_is_online() {
    let address = free_port().await;
    let mut client = Client::ready(&url(address), Era::Session).await;
    assert_eq!(client.tools().await, BUILTIN_TOOLS);
    let _server = Server::start_on(address).await;
    client.list_changed().await;
    assert!(client.tools().await.contains(&"echo".to_owned()));
    client.echo("hi").await;
}

#[tokio::test]
async fn a_listen_that_is_opened_offline_gets_all_notifications() {
    let address = free_port().await;
    let mut client = Client::ready(&url(address), Era::Stateless).await;
    let listen = client.listen().await;
    let mut server = Server::start_on(address).await;
    assert_eq!(subscription_id(&client.list_changed().await), listen);
    assert!(client.tools().await.contains(&"echo".to_owned()));
    server.next_event().await;
    server.change_list();
    assert_eq!(subscription_id(&client.list_changed().await), listen);
    client.cancel(listen).await;
    assert_eq!(server.next_event().await, ServerEvent::ListenCancelled);
}

#[tokio::test]
async fn a_request_connects_without_waiting_for_the_backoff() {
    let address = free_port().await;
    let mut client = Client::ready(&url(address), Era::Session).await;
    let _server = Server::start_on(address).await;
    client.echo("hi").await;
}

/// On this machine, `localhost` may stand for another address than the one of the bridge.
#[tokio::test]
async fn localhost_is_each_loopback_address() {
    let mut addresses = vec![free_port().await];
    // A machine may have no IPv6.
    if let Ok(listener) = std::net::TcpListener::bind("[::1]:0") {
        addresses.push(listener.local_addr().unwrap());
    }
    for address in addresses {
        let _server = Server::start_on(address).await;
        let url = format!("http://localhost:{}/mcp", address.port());
        let mut client = Client::ready(&url, Era::Session).await;
        client.echo("hi").await;
    }
}

#[tokio::test]
async fn a_refused_token_is_explained_and_never_printed() {
    let server = Server::start().await;
    let mut command = command(&server.url().replace("http://", "http://user:pass@"));
    command.env("AUTH_TOKEN", "not-the-right-token");
    let mut client = Client::start(command, Era::Session);
    client.initialize("2025-11-25").await;
    assert_eq!(client.tools().await, BUILTIN_TOOLS);
    for _ in 0..2 {
        let result = client.call("echo", json!({ "text": "hi" })).await;
        let text = error_text(&result);
        assert!(
            text.contains("refused the token") && text.contains("AUTH_TOKEN"),
            "{text}"
        );
        assert!(
            !text.contains("not-the-right-token") && !text.contains("user:pass"),
            "{text}"
        );
    }
    assert!(client.is_alive());
    assert!(client.close().await.success());
}

#[tokio::test]
async fn a_missing_token_is_explained() {
    let server = Server::start().await;
    for era in Era::BOTH {
        let mut command = command(&server.url());
        command.env("AUTH_TOKEN", "");
        let mut client = Client::ready_with(command, era).await;
        assert_eq!(client.tools().await, BUILTIN_TOOLS);
        let result = client.call("echo", json!({ "text": "hi" })).await;
        assert!(
            error_text(&result).contains("configuration panel"),
            "{result}"
        );
        assert!(client.close().await.success());
    }
}

#[tokio::test]
async fn a_token_in_the_url_is_used() {
    let server = Server::start().await;
    let mut command = command(&format!("{}?token={TOKEN}", server.url()));
    command.env_remove("AUTH_TOKEN");
    let mut client = Client::start(command, Era::Session);
    client.initialize("2025-11-25").await;
    client.echo("hi").await;
}
