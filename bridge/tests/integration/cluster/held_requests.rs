//! Requests whose owner is gone wait for another one.

use axum::response::IntoResponse;
use bridge::{Config, ServerHandle};
use bridge_output::CapturedLog;
use futures_util::future::join_all;
use serde_json::json;

use super::exchange::RawRequest;
use super::kit::*;
use super::mortal_node::{LEASE, MortalNode};
use super::stand_in::{StandIn, announce_unreachable_owner};
use crate::kit::*;

const CALLS: usize = 10;

async fn ping(bridge: &ServerHandle) -> (u16, String) {
    let (status, answer) = post_tool_call(bridge, "ping", json!({})).await;
    (status, answer.to_string())
}

/// Checks that a bridge answers a call as one without pages.
async fn assert_no_page(bridge: &ServerHandle) {
    let (status, answer) = ping(bridge).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("NoSessionsFound"), "{answer}");
}

#[tokio::test]
async fn calls_after_the_death_of_an_owner_wait_until_its_page_is_back() {
    let (log, _guard) = CapturedLog::start();
    let (bridges, mut owner) = MortalNode::start_with_bridges(2).await;
    let [edge, other] = &bridges.nodes[..] else {
        panic!()
    };
    let calls = join_all((0..CALLS).map(|_| ping(edge)));
    let killed = async {
        owner.recv_requests(CALLS).await;
        owner.kill().await;
    };
    let (answers, ()) = tokio::join!(calls, killed);
    for (status, answer) in answers {
        assert_eq!(status, 502, "{answer}");
        assert!(answer.contains("NodeLost"), "{answer}");
    }
    let app = start_program(other, TOKEN);
    let calls = (0..CALLS).flat_map(|_| [ping(edge), ping(other)]);
    for (status, answer) in join_all(calls).await {
        assert_eq!(status, 200, "{answer}");
        assert!(answer.contains("pong"), "{answer}");
    }
    for bridge in [edge, other] {
        assert_eq!(held(bridge, "given_up").await, 0.0);
    }
    assert!(held(edge, "served").await > 0.0);
    assert_eq!(claims(other, "taken_over").await, 1.0);
    let log = log.text();
    assert!(log.contains("taken over from"), "{log}");
    app.disconnect().await;
}

#[tokio::test]
async fn without_a_page_the_realm_of_a_dead_owner_has_no_owner_in_the_end() {
    let (bridges, owner) = MortalNode::start_with_bridges(2).await;
    let view = bridges.directory().await;
    owner.kill().await;
    join_all(bridges.nodes.iter().map(assert_no_page)).await;
    assert_eq!(view.stored(TOKEN).await, None);
    for bridge in &bridges.nodes {
        assert_eq!(held(bridge, "served").await, 1.0);
        assert_no_page(bridge).await;
        assert_eq!(held(bridge, "served").await, 1.0);
    }
}

/// It is connected to NATS, but not to the other bridges.
#[tokio::test]
async fn the_realm_of_a_living_owner_is_not_taken_although_it_cannot_be_reached() {
    let bridges = Bridges::start(1).await;
    let edge = &bridges.nodes[0];
    let (view, _port) = announce_unreachable_owner(&bridges).await;
    let requests = [
        RawRequest::new("POST", "/tool-call").body(r#"{"toolName":"a"}"#),
        RawRequest::new("POST", "/tool-call").body(" ".repeat(70_000)),
        RawRequest::new("GET", "/tools"),
    ];
    let requests = requests.map(|request| request.token(TOKEN));
    let answers = requests.iter().map(|it| it.send(edge.local_addr()));
    for answer in join_all(answers).await {
        assert_eq!(answer.code(), 503, "{answer:?}");
        assert!(answer.body.contains("ClusterUnavailable"), "{answer:?}");
        assert!(answer.body.contains("retry"), "{answer:?}");
        let headers = answer.headers.join("\n");
        assert!(headers.contains("retry-after:"), "{headers}");
    }
    assert_eq!(view.owner(TOKEN).await, Some(view.own));
    assert_eq!(forwards(edge, "lost").await, 0.0);
    let unreachable = forwards(edge, "unreachable").await;
    assert!((1.0..=3.0).contains(&unreachable), "{unreachable}");
    assert!(held(edge, "given_up").await >= 2.0);
}

/// It is cut off from NATS only.
#[tokio::test]
async fn an_owner_whose_lease_is_over_is_asked_and_serves_its_realm() {
    let change = |_, config: &mut Config| config.cluster.cluster_lease = LEASE;
    let bridges = Bridges::start_with(1, change).await;
    let edge = &bridges.nodes[0];
    let owner = StandIn::start(&bridges, |_, request| async move {
        request.uri().path().to_owned().into_response()
    });
    let owner = owner.await;
    owner.claim().await;
    wait_for_metrics(edge, "the end of the lease", |metrics| {
        metrics["mcp_web_cluster_nodes{state=\"serving\"}"] == 0.0
    })
    .await;
    let request = RawRequest::new("GET", "/tools").token(TOKEN);
    let answer = request.send(edge.local_addr()).await;
    assert_eq!((answer.code(), answer.body.as_str()), (200, "/tools"));
    assert_eq!(owner.view.owner(TOKEN).await, Some(owner.view.own));
}

/// They are held as other requests are, while a client that connects claims the realm.
#[tokio::test]
async fn calls_and_lists_of_clients_without_sessions_do_not_claim_a_realm() {
    let bridges = Bridges::start(2).await;
    let [edge, other] = &bridges.nodes[..] else {
        panic!()
    };
    let view = bridges.directory().await;
    view.give_away(TOKEN).await;
    let client = StatelessClient::new(edge);
    let call = json!({ "name": "ping", "arguments": {} });
    let call = client.request("tools/call", call);
    let list = client.request("tools/list", json!({}));
    let requests = async { tokio::join!(call, list) };
    let requests = waiting(edge, requests).await;
    assert_eq!(view.owner(TOKEN).await, None);
    assert_eq!(claims(edge, "taken_over").await, 0.0);
    let app = start_program(other, TOKEN);
    let (called, listed) = requests.await;
    assert_eq!(called["result"]["content"][0]["text"], "pong", "{called}");
    assert!(listed.to_string().contains("\"ping\""), "{listed}");
    assert_eq!(held(edge, "served").await, 2.0);
    let owner = view.node_of(other).await.id;
    assert_eq!(view.owner(TOKEN).await, Some(owner));
    app.disconnect().await;
}

#[tokio::test]
async fn a_client_that_connects_claims_a_realm_that_was_given_away() {
    let bridges = Bridges::start(2).await;
    let [edge, other] = &bridges.nodes[..] else {
        panic!()
    };
    let view = bridges.directory().await;
    view.give_away(TOKEN).await;
    let client = McpClient::connect(edge, TOKEN).await;
    assert_eq!(view.owner(TOKEN).await, Some(view.node_of(edge).await.id));
    assert_eq!(held(edge, "served").await, 0.0);
    assert_eq!(claims(edge, "taken_over").await, 1.0);
    let app = start_program(other, TOKEN);
    let called = client.call("ping", json!({})).await;
    assert_eq!(called["result"]["content"][0]["text"], "pong", "{called}");
    app.disconnect().await;
}

#[tokio::test]
async fn held_requests_end_when_their_bridge_stops() {
    let mut bridges = Bridges::start(1).await;
    let view = bridges.directory().await;
    view.give_away(TOKEN).await;
    let edge = bridges.nodes.remove(0);
    let address = edge.local_addr();
    let request = RawRequest::new("GET", "/tools").token(TOKEN);
    let answer = waiting(&edge, request.send(address)).await;
    let ((), answer) = tokio::join!(edge.shutdown(), answer);
    assert_eq!(answer.code(), 503, "{answer:?}");
}
