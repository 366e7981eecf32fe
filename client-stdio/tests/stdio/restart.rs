//! Tests of a bridge that restarts: its client notices only the time that it takes.

use std::net::SocketAddr;

use bridge::ServerHandle;
use raw_page::Page;
use serde_json::{Value, json};

use crate::client::{Client, Era, TOKEN, command};
use crate::real_bridge::start;
use crate::server::{free_port, url};

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Connects a page with the tool `greet`.
async fn connect_page(address: SocketAddr) -> Page {
    connect_page_with(address, "tab", "greet").await
}

/// Connects a page with this session and tool.
async fn connect_page_with(address: SocketAddr, session: &str, tool: &str) -> Page {
    let mut page = Page::connect_to(address, session, TOKEN).await;
    page.register(&[json!({ "name": tool })]).await;
    page
}

/// Starts a bridge with a page, and a client that has listed its tools.
async fn start_with_client(address: SocketAddr, era: Era) -> (ServerHandle, Page, Client) {
    let bridge = start(address).await;
    let page = connect_page(address).await;
    let mut client = Client::ready(&url(address), era).await;
    if era == Era::Stateless {
        client.listen().await;
    }
    assert!(client.tools().await.contains(&"greet".to_owned()));
    (bridge, page, client)
}

/// Stops a bridge, whose page reads to the end.
async fn stop(bridge: ServerHandle, mut page: Page) {
    let end = async { while page.recv_frame().await.is_some() {} };
    tokio::join!(bridge.shutdown(), end);
}

async fn list(client: &mut Client) -> Value {
    client.request("tools/list", json!({})).await["result"].take()
}

#[tokio::test]
async fn the_tools_of_a_page_stay_listed_and_calls_wait() {
    for era in Era::BOTH {
        let address = free_port().await;
        let (bridge, page, mut client) = start_with_client(address, era).await;
        let before = list(&mut client).await;
        stop(bridge, page).await;
        assert_eq!(list(&mut client).await, before);
        let call = client.send_call("greet").await;
        let bridge = start(address).await;
        assert_eq!(list(&mut client).await, before);
        assert!(!client.has_received(LIST_CHANGED), "{era:?}");
        let mut page = connect_page(address).await;
        let handler = page.serve_call(json!("hello"));
        let (response, _call) = tokio::join!(client.response(call), handler);
        let text = &response["result"]["content"][0]["text"];
        assert_eq!(text, "hello", "{response}");
        client.list_changed().await;
        assert_eq!(list(&mut client).await, before);
        assert!(client.close().await.success());
        stop(bridge, page).await;
    }
}

#[tokio::test]
async fn a_page_that_does_not_return_is_waited_for_only_for_a_while() {
    let address = free_port().await;
    let (bridge, page, mut client) = start_with_client(address, Era::Session).await;
    stop(bridge, page).await;
    let bridge = start(address).await;
    client.list_changed().await;
    assert!(!client.tools().await.contains(&"greet".to_owned()));
    let status = client.call("get_connection_status", json!({})).await;
    assert_eq!(status["structuredContent"]["connected"], false);
    bridge.shutdown().await;
}

/// Answers a call in a page, and ends the client that made it.
async fn assert_answered(mut client: Client, call: u64, page: &mut Page) {
    let handler = page.serve_call(json!("hello"));
    let (response, _call) = tokio::join!(client.response(call), handler);
    let text = &response["result"]["content"][0]["text"];
    assert_eq!(text, "hello", "{response}");
    assert!(client.close().await.success());
}

/// The client has no subscription, so that it gets no notifications, and another page stays away.
#[tokio::test]
async fn a_call_waits_for_its_own_page_only() {
    for era in Era::BOTH {
        let address = free_port().await;
        let bridge = start(address).await;
        let page = connect_page(address).await;
        let other = connect_page_with(address, "other", "leave").await;
        let mut client = Client::ready(&url(address), era).await;
        let before = list(&mut client).await;
        let end = async {
            for mut page in [page, other] {
                while page.recv_frame().await.is_some() {}
            }
        };
        tokio::join!(bridge.shutdown(), end);
        // Without a stream, the client notices at its next request that the bridge has stopped.
        assert_eq!(list(&mut client).await, before, "{era:?}");
        let call = client.send_call("greet").await;
        let bridge = start(address).await;
        let mut page = connect_page(address).await;
        assert_answered(client, call, &mut page).await;
        stop(bridge, page).await;
    }
}

/// Another page has a tool of the same name, and is back first.
async fn a_selected_page_is_waited_for(era: Era, is_pinned: bool) {
    let address = free_port().await;
    let bridge = start(address).await;
    let page = connect_page(address).await;
    let mut command = command(&url(address));
    let mut arguments = json!({});
    if is_pinned {
        command.env("MCP_WEB_SESSION", "tab");
    } else {
        arguments["session_id"] = json!("tab");
    }
    let mut client = Client::ready_with(command, era).await;
    if era == Era::Stateless {
        client.listen().await;
    }
    list(&mut client).await;
    stop(bridge, page).await;
    let params = json!({ "name": "greet", "arguments": arguments });
    let call = client.send_request("tools/call", params).await;
    let bridge = start(address).await;
    let other = connect_page_with(address, "other", "greet").await;
    client.list_changed().await;
    let mut page = connect_page(address).await;
    assert_answered(client, call, &mut page).await;
    drop(other);
    stop(bridge, page).await;
}

#[tokio::test]
async fn a_call_that_selects_a_page_waits_for_this_page() {
    for era in Era::BOTH {
        for is_pinned in [false, true] {
            a_selected_page_is_waited_for(era, is_pinned).await;
        }
    }
}
