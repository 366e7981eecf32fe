//! Pages that are connected to another bridge than the owner of their realm.

use bridge_protocol::CloseCode;
use mcp_web_sdk::{McpWeb, Status, Token};
use raw_page::V1Page;
use serde_json::json;

use super::kit::*;
use crate::kit::*;

const MIB: usize = 1024 * 1024;

/// Two bridges, and the page at the first that makes it the owner.
pub(super) async fn bridges_with_owner() -> (Bridges, Page) {
    let bridges = Bridges::start(2).await;
    let page = Page::connect(&bridges.nodes[0], "first", TOKEN).await;
    (bridges, page)
}

#[tokio::test]
async fn a_page_at_another_bridge_is_called_from_both() {
    let (bridges, _first) = bridges_with_owner().await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(edge, "s", &[echo_tool()]).await;
    wait_for_tunnels(edge, "edge", 1).await;
    wait_for_tunnels(owner, "owner", 1).await;
    for bridge in [owner, edge] {
        assert_echo(bridge, &mut page).await;
    }
    let text = "x".repeat(9 * MIB);
    for bridge in [owner, edge] {
        let call = post_tool_call(bridge, "echo", json!({ "n": 1 }));
        let (answer, _) = tokio::join!(call, page.serve_call(json!({ "text": text })));
        assert_eq!(answer.0, 200);
        assert!(answer.1["structuredContent"]["text"] == text.as_str());
    }
    page.close().await;
    wait_for_tunnels(edge, "edge", 0).await;
    wait_for_tunnels(owner, "owner", 0).await;
    let sessions = poll_json(edge, "/sessions", |it| {
        it["sessions"].as_array().unwrap().len() == 1
    });
    assert!(sessions.await.to_string().contains("\"first\""));
}

/// Its socket is full while it does not read: the tunnel waits, and others are not delayed.
#[tokio::test]
async fn a_page_that_reads_late_gets_everything() {
    const CALLS: usize = 8;
    let (bridges, mut first) = bridges_with_owner().await;
    let (owner, edge) = bridges.owner_and_edge();
    first.register(&[json!({ "name": "other" })]).await;
    let mut page = Page::with_tools(edge, "s", &[echo_tool()]).await;
    let text = "x".repeat(2 * MIB);
    let calls = (0..CALLS).map(|_| post_tool_call(owner, "echo", json!({ "text": text })));
    let calls = futures_util::future::join_all(calls);
    let pages = async {
        let other = post_tool_call(edge, "other", json!({ "n": 2 }));
        let ((status, _), ()) = tokio::join!(other, first.echo_call());
        assert_eq!(status, 200);
        for _ in 0..CALLS {
            page.echo_call().await;
        }
    };
    let (answers, ()) = tokio::join!(calls, pages);
    for (status, answer) in answers {
        assert_eq!(status, 200);
        assert!(answer["structuredContent"]["text"] == text.as_str());
    }
}

#[tokio::test]
async fn a_page_without_a_close_frame_ends_at_the_owner() {
    let (bridges, _first) = bridges_with_owner().await;
    let (owner, edge) = bridges.owner_and_edge();
    let page = Page::with_tools(edge, "s", &[echo_tool()]).await;
    wait_for_tunnels(owner, "owner", 1).await;
    drop(page);
    wait_for_tunnels(owner, "owner", 0).await;
    wait_for_tunnels(edge, "edge", 0).await;
}

#[tokio::test]
async fn the_close_code_of_the_owner_reaches_the_page() {
    let (mut bridges, first) = bridges_with_owner().await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::connect(edge, "s", TOKEN).await;
    // The tab has connected again, to the owner.
    let _again = Page::connect(owner, "s", TOKEN).await;
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, CloseCode::Superseded.code(), "{reason}");

    let mut page = Page::connect(edge, "other", TOKEN).await;
    drop(first);
    bridges.nodes.remove(0).shutdown().await;
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, CloseCode::ServiceRestart.code(), "{reason}");
}

#[tokio::test]
async fn a_program_of_the_sdk_comes_back_when_its_owner_has_stopped() {
    let (mut bridges, _first) = bridges_with_owner().await;
    let edge = &bridges.nodes[1];
    let app = McpWeb::builder("App").bridge(edge.url());
    let app = app.token(Token::new(TOKEN)).build().unwrap();
    with_deadline("connection", app.connect()).await.unwrap();
    wait_for_tunnels(edge, "edge", 1).await;
    bridges.nodes.remove(0).shutdown().await;
    let edge = &bridges.nodes[0];
    // The page may have been back before the owner had stopped.
    poll_json(edge, "/sessions", |it| {
        it["sessions"]
            .as_array()
            .is_some_and(|sessions| sessions.len() == 1)
    })
    .await;
    assert_eq!(tunnels(edge, "edge").await, 0.0);
    assert!(matches!(*app.status().borrow(), Status::Connected));
}

#[tokio::test]
async fn a_page_of_version_1_is_called_through_a_tunnel() {
    let (bridges, _first) = bridges_with_owner().await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = V1Page::connect_to(edge.local_addr(), "v1", TOKEN).await;
    page.register_tool(echo_tool()).await;
    wait_for_tunnels(owner, "owner", 1).await;
    poll_json(edge, "/tools", |it| it.to_string().contains("\"echo\"")).await;
    for bridge in [owner, edge] {
        let call = post_tool_call(bridge, "echo", json!({ "n": 1 }));
        let ((status, answer), ()) = tokio::join!(call, page.echo_call());
        assert_eq!(status, 200, "{answer}");
    }
}
