//! The pings between bridges, and what ends when a bridge does not answer them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bridge::ServerHandle;
use bridge_cluster::{NodeId, PeerHeader};
use bridge_output::CapturedLog;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::cuttable_link::CuttableBridges;
use super::exchange::RawRequest;
use super::kit::*;
use super::peer_listener::unix_now;
use super::stand_in::{PING_PATH, announce};
use crate::kit::*;

fn call() -> RawRequest {
    let body = json!({ "toolName": "echo", "toolInput": { "n": 1 } });
    let call = RawRequest::new("POST", "/tool-call").token(TOKEN);
    call.body(body.to_string())
}

fn tools() -> RawRequest {
    RawRequest::new("GET", "/tools").token(TOKEN)
}

#[tokio::test]
async fn the_record_of_each_bridge_names_those_that_answer_it() {
    let bridges = Bridges::start(3).await;
    let view = bridges.directory().await;
    let mut ids = Vec::new();
    for bridge in &bridges.nodes {
        ids.push(view.node_of(bridge).await.id);
    }
    for (bridge, own) in bridges.nodes.iter().zip(&ids) {
        let others: Vec<_> = ids.iter().filter(|id| *id != own).collect();
        let names_all = |reaches: &[NodeId]| others.iter().all(|id| reaches.contains(id));
        let record = view
            .wait_for_node(bridge, |it| names_all(&it.reaches))
            .await;
        assert_eq!(record.reaches.len(), 2);
        for other in others {
            wait_for_peer(bridge, other, true).await;
        }
    }
}

/// Ends what waits for a bridge that is silent, and nothing before.
#[tokio::test]
async fn what_waits_for_a_silent_owner_ends() {
    let (log, _guard) = CapturedLog::start();
    let cuttable = CuttableBridges::start(2, |_| {}).await;
    let (owner, edge) = cuttable.bridges.owner_and_edge();
    let view = cuttable.bridges.directory().await;
    let owner_id = view.node_of(owner).await.id;
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let mut tunnelled = Page::connect(edge, "t", TOKEN).await;
    let client = McpClient::connect(edge, TOKEN).await;
    let mut stream = client.listen().await;
    stream.first_event_id().await;
    let request = call();
    let waiting = request.send(edge.local_addr());
    let cut = async {
        let call = page.recv_call().await;
        cuttable.links[0].cut();
        call
    };
    let (answer, running) = tokio::join!(waiting, cut);
    assert_eq!(answer.code(), 504, "{answer:?}");
    for text in ["NodeLost", "may have run"] {
        assert!(answer.body.contains(text), "{answer:?}");
    }
    while tunnelled.recv_frame().await.is_some() {}
    while stream.next_event().await.is_some() {}
    wait_for_tunnels(edge, "edge", 0).await;
    wait_for_peer(edge, &owner_id, false).await;
    assert_eq!(forwards(edge, "lost").await, 1.0);

    // Nothing is sent to it now, so nothing waits for it.
    for request in [call(), tools()] {
        let answer = request.send(edge.local_addr()).await;
        assert_eq!(answer.code(), 503, "{answer:?}");
        assert!(answer.body.contains("ClusterUnavailable"), "{answer:?}");
        let headers = answer.headers.join("\n");
        assert!(headers.contains("retry-after:"), "{headers}");
    }
    assert_eq!(forwards(edge, "lost").await, 1.0);
    // The owner is connected to NATS, so no other bridge takes its realm, and its call continues.
    assert_eq!(view.owner(TOKEN).await, Some(owner_id));
    page.respond(&running, json!("late")).await;
    let calls = "mcp_web_running_calls";
    wait_for_metrics(owner, "the end of the call", |it| it[calls] == 0.0).await;

    cuttable.links[0].restore();
    wait_for_peer(edge, &owner_id, true).await;
    assert_echo(edge, &mut page).await;
    let _tunnelled = Page::connect(edge, "t", TOKEN).await;
    wait_for_tunnels(edge, "edge", 1).await;
    for line in ["has not answered five pings", "answers again"] {
        assert_eq!(log.text().matches(line).count(), 1, "{}", log.text());
    }
}

/// A node of the test that answers pings until the test ends that, and no other request: it sends the start
/// of a response to those without a body.
struct SilentNode {
    pings: Arc<AtomicUsize>,
    unanswered: Arc<AtomicUsize>,
    is_answering: watch::Sender<bool>,
}

impl SilentNode {
    async fn start(bridges: &Bridges) -> (Self, DirectoryView) {
        let view = bridges.directory().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_answering, answering) = watch::channel(true);
        let this = Self {
            pings: Arc::default(),
            unanswered: Arc::default(),
            is_answering,
        };
        let (pings, unanswered) = (Arc::clone(&this.pings), Arc::clone(&this.unanswered));
        tokio::spawn(async move {
            let mut open = Vec::new();
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let head = request_line(&mut socket).await;
                let is_ping = head.starts_with(&format!("GET {PING_PATH} "));
                let answer = if is_ping && *answering.borrow() {
                    pings.fetch_add(1, Ordering::Relaxed);
                    "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nmcp-web-reaches: 1\r\n\r\n"
                } else if is_ping {
                    unanswered.fetch_add(1, Ordering::Relaxed);
                    ""
                } else if head.starts_with("GET ") {
                    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nstart"
                } else {
                    ""
                };
                socket.write_all(answer.as_bytes()).await.unwrap();
                open.push(socket);
            }
        });
        announce(bridges, &view, address).await;
        view.claim_for(TOKEN, view.own, &address.to_string()).await;
        (this, view)
    }
}

async fn request_line(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn each_ping_has_a_new_connection_and_five_without_an_answer_end_what_waits() {
    let bridges = Bridges::start(1).await;
    let edge = &bridges.nodes[0];
    let (node, view) = SilentNode::start(&bridges).await;
    wait_for_peer(edge, &view.own, true).await;
    let answered = async {
        while node.pings.load(Ordering::Relaxed) < 2 {
            poll_pause().await;
        }
    };
    with_deadline("two pings", answered).await;
    view.wait_for_node(edge, |it| it.reaches == [view.own])
        .await;
    node.is_answering.send_replace(false);
    let (call, tools) = (call(), tools());
    let (answer, partial) =
        tokio::join!(call.send(edge.local_addr()), tools.send(edge.local_addr()));
    assert_eq!(answer.code(), 504, "{answer:?}");
    // The connection of the client ends, because the rest of the body cannot come.
    assert_eq!((partial.code(), partial.body.as_str()), (200, "start"));
    // The next ping begins as soon as the fifth is too late.
    let unanswered = node.unanswered.load(Ordering::Relaxed);
    assert!((5..=6).contains(&unanswered), "{unanswered}");
    wait_for_peer(edge, &view.own, false).await;
    view.wait_for_node(edge, |it| it.reaches.is_empty()).await;
}

fn ping(view: &DirectoryView, node: NodeId, target: NodeId) -> RawRequest {
    let header = PeerHeader {
        node,
        target,
        realm: None,
        may_claim: false,
        client: [0, 0, 0, 0].into(),
        unix: unix_now(),
    };
    let signed = header.encode(&view.keys, "GET", PING_PATH);
    RawRequest::new("GET", PING_PATH).header("mcp-web-peer", &signed)
}

async fn reaches(bridge: &ServerHandle, view: &DirectoryView, node: NodeId) -> bool {
    let target = view.node_of(bridge).await;
    let ping = ping(view, node, target.id);
    let answer = ping.send(target.address.parse().unwrap()).await;
    assert_eq!(answer.code(), 200, "{answer:?}");
    let headers = answer.headers.join("\n");
    assert!(headers.contains("connection: close"), "{headers}");
    headers.contains("mcp-web-reaches: 1")
}

#[tokio::test]
async fn the_answer_to_a_ping_says_whether_its_sender_is_reached() {
    let bridges = Bridges::start(2).await;
    let view = bridges.directory().await;
    let [first, second] = &bridges.nodes[..] else {
        panic!()
    };
    let second_id = view.node_of(second).await.id;
    view.wait_for_node(first, |it| it.reaches == [second_id])
        .await;
    assert!(reaches(first, &view, second_id).await);
    assert!(!reaches(first, &view, NodeId::from_bytes([3; 16])).await);
    // The route is only for bridges.
    let address = view.node_of(first).await.address.parse().unwrap();
    let refused = RawRequest::new("GET", PING_PATH).send(address).await;
    assert_eq!(refused.code(), 401, "{refused:?}");
    let public = ping(&view, second_id, view.node_of(first).await.id);
    assert_eq!(public.send(first.local_addr()).await.code(), 404);
}

#[tokio::test]
async fn pings_are_answered_while_clients_have_all_connections() {
    const MAX_CONNECTIONS: usize = 20;
    let bridges = Bridges::start_with(2, |_, config| {
        config.network.max_connections = Some(MAX_CONNECTIONS);
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let view = bridges.directory().await;
    let _page = Page::connect(owner, "s", TOKEN).await;
    let edge_id = view.node_of(edge).await.id;
    view.wait_for_node(owner, |it| it.reaches == [edge_id])
        .await;
    assert_eq!(tools().send(edge.local_addr()).await.code(), 200);
    let address = view.node_of(owner).await.address;
    let mut open = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        open.push(TcpStream::connect(&address).await.unwrap());
    }
    assert!(reaches(owner, &view, edge_id).await);
    let refused = async {
        loop {
            let answer = tools().send(edge.local_addr()).await;
            if answer.code() == 503 {
                return answer;
            }
        }
    };
    let refused = with_deadline("a refusal", refused).await;
    assert!(refused.body.contains("max_connections"), "{refused:?}");
    assert!(
        refused.headers.join("\n").contains("retry-after: 5"),
        "{refused:?}"
    );
    assert!(reaches(owner, &view, edge_id).await);
    drop(open);
    let served = async {
        while tools().send(edge.local_addr()).await.code() != 200 {
            poll_pause().await;
        }
    };
    with_deadline("a free connection", served).await;
}
