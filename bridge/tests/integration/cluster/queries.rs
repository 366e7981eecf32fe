//! Queries whose agent reaches the bridges by way of any of them.

use bridge::ServerHandle;
use bridge_cluster::{NodeId, PeerHeader};
use serde_json::json;

use super::exchange::RawRequest;
use super::kit::*;
use super::peer_listener::{address, unix_now};
use super::route_table::ROUTES;
use super::stand_in::announce;
use crate::agent_queries::{query_message, recv_query_event, tools_status};
use crate::kit::mock_agent::{AcceptedQuery, MockAgent, UUID};
use crate::kit::*;

/// Two bridges with one agent, and a page of the first with a query that the agent has accepted.
struct Scene {
    bridges: Bridges,
    agent: MockAgent,
    page: Page,
    query: AcceptedQuery,
}

impl Scene {
    async fn start() -> Self {
        let mut agent = MockAgent::start().await;
        let agent_url = agent.config().agent.agent_url;
        let bridges = Bridges::start_with(2, |_, config| {
            config.agent.agent_url = agent_url.clone();
        })
        .await;
        let mut page = Page::with_tools(&bridges.nodes[0], "asks", &[echo_tool()]).await;
        page.send_json(query_message(UUID)).await;
        let query = agent.accept_query().await;
        assert_eq!(recv_query_event(&mut page).await["type"], "query_accepted");
        Self {
            bridges,
            agent,
            page,
            query,
        }
    }

    fn token(&self) -> &str {
        self.query.token.as_deref().unwrap()
    }

    /// The bridge to which the page is not connected.
    fn edge(&self) -> &ServerHandle {
        &self.bridges.nodes[1]
    }
}

/// The token of a query of a node.
fn token_of(node: NodeId) -> String {
    format!("mcp-web-query-{node}-{}", "0".repeat(64))
}

#[tokio::test]
async fn an_agent_calls_tools_and_reports_by_way_of_another_bridge() {
    let mut scene = Scene::start().await;
    let token = scene.token().to_owned();
    let edge = &scene.bridges.nodes[1];
    let client = McpClient::connect(edge, &token).await;
    client.assert_echo(&mut scene.page).await;
    let url = edge.url();
    let call = post_tool_call_to(&url, &token, "echo", json!({ "n": 1 }));
    let ((status, answer), ()) = tokio::join!(call, scene.page.echo_call());
    assert_eq!(status, 200, "{answer}");
    let stateless = StatelessClient {
        token: &token,
        ..StatelessClient::new(edge)
    };
    let listed = stateless.request("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "echo", "{listed}");

    let progress = json!({ "message": "looking" });
    scene.query.report_ok(edge, "progress", progress).await;
    let progress = recv_query_event(&mut scene.page).await;
    assert_eq!(progress["content"], "looking");
    let answer = json!({ "message": "42" });
    scene.query.report_ok(edge, "complete", answer).await;
    let complete = recv_query_event(&mut scene.page).await;
    assert_eq!(
        (&complete["type"], &complete["result"]),
        (&json!("query_complete"), &json!("42"))
    );
    assert_eq!(complete["toolCalls"].as_array().unwrap().len(), 2);
    assert!(forwards(edge, "ok").await >= 5.0);

    // The page of another user cannot use it, and its session has ended.
    assert_eq!(tools_status(edge, &token).await, 401);
    let late = client.post(&rpc_request(9, "tools/list", json!({}))).await;
    assert_eq!(late.status(), 401);
}

#[tokio::test]
async fn the_end_of_a_query_cancels_a_call_of_its_agent_at_another_bridge() {
    let mut scene = Scene::start().await;
    let client = McpClient::connect(scene.edge(), scene.token()).await;
    let call = tokio::spawn(async move { client.call("echo", json!({})).await });
    let called = scene.page.recv_call().await;
    let cancel = json!({ "type": "query_cancel", "uuid": UUID });
    scene.page.send_json(cancel).await;
    let cancelled = scene.page.recv_call_cancel().await;
    assert_eq!(cancelled.request_id, called.request_id);
    let answer = with_deadline("response", call).await.unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    scene.agent.recv_cancellation(UUID).await.respond(204);
    assert_eq!(tools_status(scene.edge(), scene.token()).await, 401);
}

#[tokio::test]
async fn each_route_answers_a_query_token_as_its_bridge_does() {
    let scene = Scene::start().await;
    let (owner, edge) = scene.bridges.owner_and_edge();
    let view = scene.bridges.directory().await;
    let ended = token_of(view.node_of(owner).await.id);
    for row in ROUTES {
        for token in [scene.token(), &ended] {
            for method in ["GET", "POST", "PUT", "DELETE"] {
                let request = RawRequest::new(method, row.path).token(token).body("{}");
                let before = forwards(edge, "ok").await;
                let at_owner = request.send(owner.local_addr()).await;
                let at_edge = request.send(edge.local_addr()).await;
                assert_eq!(at_edge, at_owner, "{method} {}", row.path);
                let passed_on = forwards(edge, "ok").await - before;
                let expected = f64::from(u8::from(row.belongs_to_realm));
                assert_eq!(passed_on, expected, "{method} {}", row.path);
            }
        }
    }
}

/// Neither waits for the end of a lease.
#[tokio::test]
async fn the_token_of_a_bridge_that_is_gone_is_refused_at_once() {
    let mut scene = Scene::start().await;
    let token = scene.token().to_owned();
    scene.bridges.nodes.remove(0).shutdown().await;
    let edge = &scene.bridges.nodes[0];
    for token in [&token, &token_of(NodeId::from_bytes([200; 16]))] {
        let request = RawRequest::new("POST", "/mcp").token(token).body("{}");
        let refused = request.send(edge.local_addr()).await;
        assert_eq!(refused.code(), 401, "{refused:?}");
        assert!(refused.body.contains("has ended"), "{refused:?}");
    }
    for outcome in ["ok", "misdirected", "lost", "unreachable"] {
        assert_eq!(forwards(edge, outcome).await, 0.0, "{outcome}");
    }
}

#[tokio::test]
async fn a_bridge_that_cannot_be_reached_has_lost_its_queries_only_if_nats_has_lost_it_too() {
    let bridges = Bridges::start(1).await;
    let view = DirectoryView::connect(&bridges.nats, NodeId::from_bytes([9; 16])).await;
    // Nothing listens at this address.
    let unused = bridge_cluster::ReservedPort::reserve();
    announce(&bridges, &view, unused.address()).await;
    let bridge = &bridges.nodes[0];
    let token = token_of(view.own);
    assert_eq!(tools_status(bridge, &token).await, 503);
    drop(view);
    // The server of NATS notices a moment later.
    let gone = async {
        while tools_status(bridge, &token).await != 401 {
            poll_pause().await;
        }
    };
    with_deadline("the refusal", gone).await;
}

/// A bridge never passes on what another one has passed on.
#[tokio::test]
async fn a_request_of_another_bridge_without_a_realm_needs_a_query_token_of_this_one() {
    let scene = Scene::start().await;
    let view = scene.bridges.directory().await;
    let owner = view.node_of(&scene.bridges.nodes[0]).await;
    let edge = view.node_of(&scene.bridges.nodes[1]).await;
    let send = async |token: &str, path: &str| {
        let header = PeerHeader {
            node: edge.id,
            target: owner.id,
            realm: None,
            may_claim: false,
            client: [192, 0, 2, 66].into(),
            unix: unix_now(),
        };
        let request = RawRequest::new("GET", path).token(token);
        let signed = header.encode(&view.keys, "GET", path);
        let request = request.header("mcp-web-peer", &signed);
        request.send(address(&owner)).await.code()
    };
    assert_eq!(send(scene.token(), "/tools").await, 200);
    assert_eq!(send(&token_of(owner.id), "/tools").await, 401);
    for foreign in [TOKEN, "mcp-web-query-none", &token_of(edge.id)] {
        assert_eq!(send(foreign, "/tools").await, 421, "{foreign}");
    }
}
