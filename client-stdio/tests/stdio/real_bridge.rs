//! The bridge itself behind the binary.

use std::net::SocketAddr;

use bridge::{App, Config, ServerHandle, StartError};
use serde_json::json;
use tokio::time::timeout;

use crate::client::{Client, DEADLINE, Era, error_text};
use crate::server::{free_port, url};

/// Starts on a port that another bridge may just be leaving.
async fn start(bind: SocketAddr) -> ServerHandle {
    let starting = async {
        loop {
            let config = Config {
                bind,
                ..Config::default()
            };
            match bridge::serve(config, App::default()).await {
                Ok(bridge) => return bridge,
                Err(StartError::Bind { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    timeout(DEADLINE, starting)
        .await
        .expect("the port becomes free")
}

#[tokio::test]
async fn the_list_without_a_bridge_is_the_bridges_own() {
    for era in [Era::Session, Era::Stateless] {
        let address = free_port().await;
        let mut client = Client::ready(&url(address), era).await;
        if era == Era::Stateless {
            client.listen().await;
        }
        let offline = client.request("tools/list", json!({})).await;
        let bridge = start(address).await;
        client.list_changed().await;
        let online = client.request("tools/list", json!({})).await;
        for key in ["tools", "resultType", "ttlMs", "cacheScope"] {
            assert_eq!(offline["result"][key], online["result"][key], "{key}");
        }
        assert!(client.close().await.success());
        bridge.shutdown().await;
    }
}

#[tokio::test]
async fn the_promises_without_a_bridge_are_the_bridges_own() {
    let address = free_port().await;
    let mut offline = Client::start(crate::client::command(&url(address)), Era::Session);
    let promised = offline.initialize("2025-06-18").await;
    let bridge = start(address).await;
    let mut online = Client::start(crate::client::command(&url(address)), Era::Session);
    let kept = online.initialize("2025-06-18").await;
    for key in ["protocolVersion", "capabilities"] {
        assert_eq!(promised[key], kept[key], "{key}");
    }
    bridge.shutdown().await;
}

#[tokio::test]
async fn a_graceful_restart_needs_nobody() {
    for era in [Era::Session, Era::Stateless] {
        let address = free_port().await;
        let bridge = start(address).await;
        let mut client = Client::ready(&url(address), era).await;
        if era == Era::Stateless {
            client.listen().await;
        }
        let status = client.call("get_connection_status", json!({})).await;
        assert_eq!(status["structuredContent"]["connected"], false);

        bridge.shutdown().await;
        client.list_changed().await;
        let bridge = start(address).await;
        client.list_changed().await;
        let again = client.call("get_connection_status", json!({})).await;
        assert_eq!(again["structuredContent"]["connected"], false);
        assert!(client.close().await.success());
        bridge.shutdown().await;
    }
}

#[tokio::test]
async fn what_the_bridge_refuses_is_said_in_its_words() {
    let bridge = start(free_port().await).await;
    for era in [Era::Session, Era::Stateless] {
        let mut client = Client::ready(&bridge.url(), era).await;
        let too_large = json!({ "arguments": { "text": "x".repeat(5 * 1024 * 1024) } });
        let result = client.call("call_session_tool", too_large).await;
        let text = error_text(&result);
        assert!(
            text.contains("refused: ") && text.contains("4194304"),
            "{text}"
        );
        let status = client.call("get_connection_status", json!({})).await;
        assert_eq!(status["structuredContent"]["connected"], false);
    }
    bridge.shutdown().await;
}
