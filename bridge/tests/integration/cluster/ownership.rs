//! Which bridge owns a realm, and how that changes.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use bridge_cluster::{Directory, NodeId};
use bridge_protocol::CloseCode;
use futures_util::future::join_all;
use mcp_web_sdk::{McpWeb, Token};
use serde_json::{Value, json};

use super::kit::*;
use super::stand_in::StandIn;
use crate::kit::*;

/// Calls `echo` at a bridge. Returns what the page has returned.
async fn echo_at(bridge: &bridge::ServerHandle, page: &mut Page, n: u64) -> Value {
    let call = post_tool_call(bridge, "echo", json!({ "n": n }));
    let ((status, answer), ()) = tokio::join!(call, page.echo_call());
    assert_eq!(status, 200, "{answer}");
    answer["structuredContent"]["n"].clone()
}

fn page_count(sessions: &Value) -> usize {
    sessions["sessions"].as_array().unwrap().len()
}

#[tokio::test]
async fn the_bridge_of_the_first_page_owns_the_realm() {
    let bridges = Bridges::start(3).await;
    let view = bridges.directory().await;
    assert_eq!(view.owner(TOKEN).await, None);
    // A request alone does not claim: there is nothing of the realm.
    for bridge in &bridges.nodes {
        assert_eq!(page_count(&get_json(bridge, "/sessions").await), 0);
    }
    assert_eq!(view.owner(TOKEN).await, None);
    let mut first = Page::with_tools(&bridges.nodes[1], "1", &[echo_tool()]).await;
    let owner = view.node_of(&bridges.nodes[1]).await.id;
    assert_eq!(view.owner(TOKEN).await, Some(owner));
    let _others = [
        Page::connect(&bridges.nodes[0], "0", TOKEN).await,
        Page::connect(&bridges.nodes[2], "2", TOKEN).await,
    ];
    assert_eq!(view.owner(TOKEN).await, Some(owner));
    for (n, bridge) in bridges.nodes.iter().enumerate() {
        assert_eq!(page_count(&get_json(bridge, "/sessions").await), 3);
        let input = json!({ "n": n, "session_id": "1" });
        let call = post_tool_call(bridge, "echo", input);
        let ((status, answer), ()) = tokio::join!(call, first.echo_call());
        assert_eq!(status, 200, "{answer}");
    }
}

#[tokio::test]
async fn a_client_that_is_first_owns_the_realm_and_sees_the_page_elsewhere() {
    let bridges = Bridges::start(2).await;
    let [of_page, of_client] = &bridges.nodes[..] else {
        panic!()
    };
    let view = bridges.directory().await;
    let client = McpClient::connect(of_client, TOKEN).await;
    let owner = view.node_of(of_client).await.id;
    assert_eq!(view.owner(TOKEN).await, Some(owner));
    let mut stream = client.listen().await;
    let mut page = Page::with_tools(of_page, "s", &[echo_tool()]).await;
    stream.find_method("notifications/tools/list_changed").await;
    client.assert_echo(&mut page).await;
    assert_eq!(view.owner(TOKEN).await, Some(owner));
    assert_eq!(tunnels(of_page, "edge").await, 1.0);
}

/// The programs come back by themselves, as pages do.
#[tokio::test]
async fn three_pages_of_a_token_at_three_bridges_at_once_see_each_other() {
    const ROUNDS: usize = 30;
    let bridges = Bridges::start(3).await;
    let view = bridges.directory().await;
    for round in 0..ROUNDS {
        let token = format!("token-of-the-round-with-the-number-{round}");
        let programs: Vec<_> = bridges
            .nodes
            .iter()
            .map(|bridge| {
                let app = McpWeb::builder("App").bridge(bridge.url());
                app.token(Token::new(token.clone())).build().unwrap()
            })
            .collect();
        let connecting = join_all(programs.iter().map(McpWeb::connect));
        for connected in with_deadline("all programs", connecting).await {
            connected.unwrap();
        }
        for bridge in &bridges.nodes {
            let sessions = get_json_as(bridge, &token, "/sessions").await;
            assert_eq!(page_count(&sessions), 3, "round {round}: {sessions}");
        }
        assert!(view.owner(&token).await.is_some());
        join_all(programs.iter().map(McpWeb::disconnect)).await;
    }
}

#[tokio::test]
async fn claims_are_written_again_after_a_restart_of_nats() {
    let mut bridges = Bridges::start(2).await;
    let mut page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    let owner = bridges
        .directory()
        .await
        .node_of(&bridges.nodes[0])
        .await
        .id;
    for (round, is_empty) in [(0, false), (1, true)] {
        bridges.nats.stop();
        if is_empty {
            bridges.nats.remove_store();
        }
        // The bridges know each other, and the owner of the realm.
        assert_eq!(echo_at(&bridges.nodes[0], &mut page, round).await, round);
        assert_eq!(echo_at(&bridges.nodes[1], &mut page, round).await, round);
        bridges.nats.restart();
        bridges.wait_until_connected().await;
        let view = bridges.directory().await;
        let written = async {
            while view.owner(TOKEN).await != Some(owner) {
                poll_pause().await;
            }
        };
        with_deadline("the record", written).await;
        assert_eq!(echo_at(&bridges.nodes[1], &mut page, round).await, round);
    }
}

/// A bridge that does not know the owner asks the others.
#[tokio::test]
async fn a_realm_is_found_without_nats() {
    let mut bridges = Bridges::start(2).await;
    let mut page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    bridges.nats.stop();
    let edge = &bridges.nodes[1];
    assert_eq!(echo_at(edge, &mut page, 1).await, 1);
    let lookups = "mcp_web_cluster_lookups_total{outcome=\"peer\"}";
    assert_eq!(crate::metrics::scrape(edge).await[lookups], 1.0);
    // No bridge owns the realm of the other token, as far as one can know.
    let request = http_client().get(format!("{}/tools", edge.url()));
    let refused = request.bearer_auth(OTHER_TOKEN).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn an_owner_whose_record_names_another_bridge_gives_the_realm_up() {
    let mut bridges = Bridges::start(2).await;
    let view = bridges.directory().await;
    let mut page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    let other = view.node_of(&bridges.nodes[1]).await;
    view.replace_owner(TOKEN, other.id, &other.address).await;
    // It looks after its claims when it has connected again.
    bridges.nats.stop();
    bridges.nats.restart();
    let (code, reason) = page.recv_close().await;
    assert_eq!(code, CloseCode::ServiceRestart.code(), "{reason}");
    bridges.wait_until_connected().await;
    let (former, owner) = bridges.owner_and_edge();
    wait_for_metrics(former, "the end of the realm", |metrics| {
        metrics["mcp_web_cluster_realms_lost_total{reason=\"record\"}"] == 1.0
            && metrics["mcp_web_cluster_realms{state=\"owned\"}"] == 0.0
    })
    .await;
    let mut page = Page::with_tools(former, "s", &[echo_tool()]).await;
    assert_eq!(tunnels(former, "edge").await, 1.0);
    for bridge in [former, owner] {
        assert_eq!(echo_at(bridge, &mut page, 1).await, 1);
    }
    let view = bridges.directory().await;
    assert_eq!(view.owner(TOKEN).await, Some(other.id));
}

/// A record that was written without the secret is not followed, and not replaced.
#[tokio::test]
async fn a_forged_record_is_ignored() {
    use bridge_cluster::Directory;
    let bridges = Bridges::start(2).await;
    let view = bridges.directory().await;
    let node = NodeId::from_bytes([9; 16]);
    let forged = format!("v1 {node} 127.0.0.1:1 AAAAAAAAAAAAAAAAAAAAAA");
    view.directory
        .create(&view.realm(TOKEN), forged.clone())
        .await
        .unwrap();
    for bridge in &bridges.nodes {
        assert_eq!(page_count(&get_json(bridge, "/sessions").await), 0);
        let metrics = crate::metrics::scrape(bridge).await;
        assert_eq!(metrics["mcp_web_cluster_invalid_records_total"], 1.0);
        assert_eq!(forwards(bridge, "unreachable").await, 0.0);
    }
    assert_eq!(view.stored(TOKEN).await.unwrap().record, forged);
}

#[tokio::test]
async fn pages_find_a_new_owner_when_theirs_is_gone() {
    let mut bridges = Bridges::start(3).await;
    let view = bridges.directory().await;
    let first = Page::connect(&bridges.nodes[0], "first", TOKEN).await;
    let mut page = Page::connect(&bridges.nodes[1], "s", TOKEN).await;
    drop(first);
    bridges.nodes.remove(0).shutdown().await;
    assert_eq!(page.recv_close().await.0, CloseCode::ServiceRestart.code());
    let [edge, other] = &bridges.nodes[..] else {
        panic!()
    };
    let app = McpWeb::builder("App").bridge(other.url());
    let app = app.token(Token::new(TOKEN)).build().unwrap();
    with_deadline("connection", app.connect()).await.unwrap();
    let owner = view.node_of(other).await.id;
    assert_eq!(view.owner(TOKEN).await, Some(owner));
    let sessions = get_json(edge, "/sessions").await;
    assert_eq!(page_count(&sessions), 1, "{sessions}");
}

/// Its address belongs to another server now, which answers everything with 200.
#[tokio::test]
async fn a_dead_bridge_keeps_no_realm_by_what_has_got_its_address() {
    let bridges = Bridges::start(1).await;
    let bridge = &bridges.nodes[0];
    let other = StandIn::start(&bridges, |_, _| async {
        let headers = [("mcp-web-peer-answer", "1")];
        (StatusCode::OK, headers, "welcome").into_response()
    })
    .await;
    other.claim().await;
    let view = &other.view;
    view.directory.withdraw(&view.own).await.unwrap();
    wait_for_metrics(bridge, "its end", |it| {
        it["mcp_web_cluster_nodes{state=\"serving\"}"] == 0.0
    })
    .await;
    let _page = Page::connect(bridge, "s", TOKEN).await;
    assert!(other.received() > 0);
    let node = view.node_of(bridge).await;
    assert_eq!(view.owner(TOKEN).await, Some(node.id));
}
