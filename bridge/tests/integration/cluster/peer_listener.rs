//! The listener for other bridges: who may send requests there, and for whom.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use bridge::ServerHandle;
use bridge_cluster::{ClusterKeys, NodeRecord, PeerHeader};
use serde_json::json;

use super::exchange::{RawRequest, RawResponse};
use super::kit::*;
use crate::kit::*;
use crate::metrics::scrape;

const CLIENT: &str = "192.0.2.66";

/// Two bridges, the page at the first, and the records of both.
struct Peers {
    bridges: Bridges,
    page: Page,
    view: DirectoryView,
    owner: NodeRecord,
    edge: NodeRecord,
}

impl Peers {
    async fn start() -> Self {
        let bridges = Bridges::start(2).await;
        let page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
        let view = bridges.directory().await;
        let owner = view.node_of(&bridges.nodes[0]).await;
        let edge = view.node_of(&bridges.nodes[1]).await;
        Self {
            bridges,
            page,
            view,
            owner,
            edge,
        }
    }

    /// The header with which the second bridge sends a request for the realm of [`TOKEN`] to the first.
    fn header(&self) -> PeerHeader {
        self.header_to(&self.owner, TOKEN)
    }

    fn header_to(&self, target: &NodeRecord, token: &str) -> PeerHeader {
        PeerHeader {
            node: self.edge.id,
            target: target.id,
            realm: Some(self.view.realm(token)),
            may_claim: false,
            client: CLIENT.parse().unwrap(),
            unix: unix_now(),
        }
    }

    fn sign(&self, header: &PeerHeader, request: &RawRequest) -> String {
        header.encode(&self.view.keys, &request.method, &request.path)
    }

    /// Sends a request with this header to the listener for bridges of a node.
    async fn send(&self, to: &NodeRecord, header: &PeerHeader, request: RawRequest) -> RawResponse {
        let signed = self.sign(header, &request);
        request
            .header("mcp-web-peer", &signed)
            .send(address(to))
            .await
    }
}

pub(super) fn address(node: &NodeRecord) -> SocketAddr {
    node.address.parse().unwrap()
}

pub(super) fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn tools() -> RawRequest {
    RawRequest::new("GET", "/tools").token(TOKEN)
}

fn is_not_owner(answer: &RawResponse) -> bool {
    let header = "mcp-web-not-owner: 1".to_owned();
    answer.code() == 421 && answer.headers.contains(&header) && answer.body.is_empty()
}

async fn refused_peers(bridge: &ServerHandle) -> f64 {
    scrape(bridge).await["mcp_web_refusals_total{kind=\"cluster_peer\"}"]
}

#[tokio::test]
async fn a_request_without_a_valid_header_is_refused() {
    let peers = Peers::start().await;
    let valid = peers.header();
    let accepted = peers.send(&peers.owner, &valid, tools()).await;
    assert_eq!(accepted.code(), 200, "{accepted:?}");

    let signed = peers.sign(&valid, &tools());
    let other_keys = ClusterKeys::new(&[secret(&"another secret".repeat(3))], None);
    let with = |change: &dyn Fn(&mut PeerHeader)| {
        let mut header = valid.clone();
        change(&mut header);
        peers.sign(&header, &tools())
    };
    let mut refused = vec![
        (
            "of another secret",
            valid.encode(&other_keys, "GET", "/tools"),
        ),
        (
            "of another method",
            valid.encode(&peers.view.keys, "POST", "/tools"),
        ),
        (
            "of another path",
            valid.encode(&peers.view.keys, "GET", "/sessions"),
        ),
        (
            "with another query",
            valid.encode(&peers.view.keys, "GET", "/tools?a=1"),
        ),
        ("that is old", with(&|it| it.unix -= 310)),
        ("of the future", with(&|it| it.unix += 310)),
        ("with another client", signed.replace(CLIENT, "192.0.2.1")),
        ("without its end", signed[..signed.len() - 4].to_owned()),
        ("that is empty", String::new()),
        ("of another version", signed.replacen("v1", "v2", 1)),
    ];
    refused.push(("that is endless", "v1 ".repeat(2_000)));
    // As for a node that had this address before.
    let header = with(&|it| it.target = it.node);
    let request = tools().header("mcp-web-peer", &header);
    let answer = request.send(address(&peers.owner)).await;
    assert_eq!(
        (answer.code(), answer.body.as_str()),
        (421, ""),
        "{answer:?}"
    );
    let owner = &peers.bridges.nodes[0];
    let before = refused_peers(owner).await;
    for (number, (kind, header)) in refused.iter().enumerate() {
        let answer = tools()
            .header("mcp-web-peer", header)
            .send(address(&peers.owner))
            .await;
        assert_eq!(
            (answer.code(), answer.body.as_str()),
            (401, ""),
            "{kind}: {answer:?}"
        );
        assert!(
            answer.headers.contains(&"connection: close".to_owned()),
            "{kind}"
        );
        assert_eq!(
            refused_peers(owner).await - before,
            (number + 1) as f64,
            "{kind}"
        );
    }
    // A client that found the port.
    for path in [
        "/",
        "/mcp",
        "/tools",
        "/healthz",
        "/metrics",
        "/_cluster/owns",
        "/ws?session=s",
    ] {
        let answer = RawRequest::new("GET", path)
            .token(TOKEN)
            .send(address(&peers.owner))
            .await;
        assert_eq!(answer.code(), 401, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn a_request_for_a_realm_of_another_node_is_not_passed_on_again() {
    let peers = Peers::start().await;
    let (owner, edge) = peers.bridges.owner_and_edge();
    let _other = Page::connect(edge, "other", OTHER_TOKEN).await;
    // To a node that does not own the realm.
    let header = peers.header_to(&peers.edge, TOKEN);
    for request in [
        tools(),
        RawRequest::new("POST", "/mcp")
            .token(TOKEN)
            .body(initialize()),
        RawRequest::new("POST", "/tool-call")
            .token(TOKEN)
            .body("{}")
            .chunked(),
        RawRequest::new("GET", "/ws?session=s")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        RawRequest::new("GET", "/_cluster/owns"),
    ] {
        let answer = peers.send(&peers.edge, &header, request).await;
        assert!(is_not_owner(&answer), "{answer:?}");
    }
    // To the owner of the realm, with the token of another one, which the owner does not know.
    let header = peers.header();
    for request in [
        RawRequest::new("GET", "/tools").token(OTHER_TOKEN),
        RawRequest::new("POST", "/mcp")
            .token(OTHER_TOKEN)
            .body(initialize()),
    ] {
        let answer = peers.send(&peers.owner, &header, request).await;
        assert!(is_not_owner(&answer), "{answer:?}");
    }
    // Without a realm.
    let header = PeerHeader {
        realm: None,
        ..peers.header()
    };
    let answer = peers.send(&peers.owner, &header, tools()).await;
    assert!(is_not_owner(&answer), "{answer:?}");
    for bridge in [owner, edge] {
        for outcome in ["ok", "misdirected", "lost", "unreachable"] {
            assert_eq!(forwards(bridge, outcome).await, 0.0, "{outcome}");
        }
    }
    assert_eq!(peers.view.owner(OTHER_TOKEN).await, Some(peers.edge.id));
}

fn initialize() -> String {
    let info = json!({ "name": "n", "version": "1" });
    initialize_request("2025-11-25", json!({}), info).to_string()
}

#[tokio::test]
async fn a_node_answers_whether_it_owns_a_realm() {
    let peers = Peers::start().await;
    let owns = || RawRequest::new("GET", "/_cluster/owns");
    let header = peers.header();
    let answer = peers.send(&peers.owner, &header, owns()).await;
    assert_eq!(answer.code(), 200);
    let proof = answer.headers.iter();
    let proof = proof.filter_map(|it| it.strip_prefix("mcp-web-peer-answer: "));
    let question = peers.sign(&header, &owns());
    let is_proof = |it: &str| PeerHeader::is_answered_by(&question, &peers.view.keys, it);
    assert!(proof.into_iter().any(is_proof), "{answer:?}");
    let header = peers.header_to(&peers.owner, OTHER_TOKEN);
    let answer = peers.send(&peers.owner, &header, owns()).await;
    assert!(is_not_owner(&answer), "{answer:?}");
}

/// The header names one realm, and the first frame has the token of another.
#[tokio::test]
async fn a_page_with_the_token_of_another_realm_is_not_served() {
    let peers = Peers::start().await;
    let owner = &peers.bridges.nodes[0];
    let _other = Page::connect(owner, "other", OTHER_TOKEN).await;
    let path = RawRequest::new("GET", "/ws?session=t");
    let signed = peers.sign(&peers.header(), &path);
    let headers = [("mcp-web-peer", signed.as_str())];
    for (token, is_served) in [(OTHER_TOKEN, false), (TOKEN, true)] {
        let mut page = Page::open_with_headers(&peers.owner.address, "t", &headers).await;
        page.authenticate("t", token).await;
        if is_served {
            page.recv_authenticated().await;
        } else {
            assert_eq!(page.recv_close().await.0, 1012);
        }
    }
    let sessions = get_json_as(owner, OTHER_TOKEN, "/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

/// A bridge never sends its requests to the public listener.
#[tokio::test]
async fn a_valid_header_at_the_public_listener_changes_nothing() {
    let mut peers = Peers::start().await;
    let header = peers.header_to(&peers.edge, TOKEN);
    let body = json!({ "toolName": "echo", "toolInput": { "n": 1 } }).to_string();
    let call = RawRequest::new("POST", "/tool-call")
        .token(TOKEN)
        .body(body);
    let signed = peers.sign(&header, &call);
    let call = call.header("mcp-web-peer", &signed);
    let edge = peers.bridges.nodes[1].local_addr();
    let (answer, ()) = tokio::join!(call.send(edge), peers.page.echo_call());
    assert_eq!(answer.code(), 200, "{answer:?}");
    let answer = RawRequest::new("GET", "/_cluster/owns").header("mcp-web-peer", &signed);
    let answer = answer.send(edge).await;
    assert_eq!(answer.code(), 404, "{answer:?}");
}
