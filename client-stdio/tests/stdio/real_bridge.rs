//! Tests with the real bridge.

use std::net::SocketAddr;

use bridge::{Config, MountedApp, Network, ServerHandle, StartError};
use bridge_protocol::limits;
use serde_json::json;
use tokio::time::timeout;

use crate::client::{Client, DEADLINE, Era, command, error_text};
use crate::server::{free_port, url};

/// Starts a bridge on a port that another bridge may not have released yet.
pub(crate) async fn start(bind: SocketAddr) -> ServerHandle {
    let starting = async {
        loop {
            let config = Config {
                network: Network {
                    bind,
                    ..Network::default()
                },
                ..Config::default()
            };
            match bridge::serve(config, MountedApp::default()).await {
                Ok(bridge) => return bridge,
                Err(StartError::Bind { .. }) => raw_page::poll_pause().await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    timeout(DEADLINE, starting)
        .await
        .expect("the port becomes free")
}

#[tokio::test]
async fn the_offline_tools_equal_the_built_in_tools_of_the_bridge() {
    for era in Era::BOTH {
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
async fn the_offline_capabilities_equal_those_of_the_bridge() {
    let address = free_port().await;
    let mut client = Client::start(command(&url(address)), Era::Session);
    let offline = client.initialize("2025-06-18").await;
    let bridge = start(address).await;
    let mut client = Client::start(command(&url(address)), Era::Session);
    let online = client.initialize("2025-06-18").await;
    for key in ["protocolVersion", "capabilities"] {
        assert_eq!(offline[key], online[key], "{key}");
    }
    bridge.shutdown().await;
}

#[tokio::test]
async fn the_client_reconnects_after_a_graceful_restart() {
    for era in Era::BOTH {
        let address = free_port().await;
        let bridge = start(address).await;
        let mut client = Client::ready(&url(address), era).await;
        if era == Era::Stateless {
            client.listen().await;
        }
        let status = client.call("get_connection_status", json!({})).await;
        assert_eq!(status["structuredContent"]["connected"], false);

        bridge.shutdown().await;
        let bridge = start(address).await;
        client.list_changed().await;
        let status = client.call("get_connection_status", json!({})).await;
        assert_eq!(status["structuredContent"]["connected"], false);
        assert!(client.close().await.success());
        bridge.shutdown().await;
    }
}

#[tokio::test]
async fn the_message_of_an_http_error_reaches_the_client() {
    let bridge = start(free_port().await).await;
    for era in Era::BOTH {
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

#[tokio::test]
async fn the_longest_token_reaches_the_bridge() {
    let bridge = start(free_port().await).await;
    for era in Era::BOTH {
        let mut command = command(&bridge.url());
        command.env("AUTH_TOKEN", "t".repeat(limits::MAX_TOKEN_BYTES));
        let mut client = Client::ready_with(command, era).await;
        let listed = client.call("list_active_sessions", json!({})).await;
        let sessions = &listed["structuredContent"]["sessions"];
        assert_eq!(*sessions, json!([]), "{listed}");
        assert!(client.close().await.success());
    }
    bridge.shutdown().await;
}
