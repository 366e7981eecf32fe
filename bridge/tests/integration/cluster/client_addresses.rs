//! The owner of a realm knows the addresses of the clients and pages of other bridges.

use std::net::IpAddr;

use bridge::Audit;
use bridge_cluster::PeerHeader;
use bridge_output::CapturedLog;

use super::exchange::RawRequest;
use super::kit::*;
use super::peer_listener::{address, unix_now};
use crate::audit::{field, lines};
use crate::kit::*;

const CLIENT: &str = "192.0.2.66";

const PAGE: &str = "192.0.2.7";

#[tokio::test]
async fn the_audit_log_has_the_addresses_that_the_other_bridge_has_found() {
    let (log, _guard) = CapturedLog::start();
    let bridges = Bridges::start_with(2, |number, config| {
        // Only the bridge that clients reach has a proxy.
        if number == 1 {
            config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
        }
        config.monitoring.audit = Audit::Calls;
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let _first = Page::connect(owner, "first", TOKEN).await;
    let proxy = [("x-forwarded-for", PAGE)];
    let mut page = Page::open_with_headers(edge.local_addr(), "s", &proxy).await;
    page.authenticate("s", TOKEN).await;
    page.recv_authenticated().await;
    page.register(&[echo_tool()]).await;
    let client = McpClient::connect_from(edge, TOKEN, CLIENT).await;
    client.assert_echo(&mut page).await;
    let text = log.text();
    let lines = lines(&text);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(field(lines[0], "address"), Some(CLIENT), "{lines:?}");
    assert_eq!(field(lines[0], "page_address"), Some(PAGE), "{lines:?}");
}

/// The bridge to which they are passed on counts what the client of each request does.
#[tokio::test]
async fn refused_tokens_count_for_the_address_of_the_client() {
    let tokens = |number: usize, config: &mut bridge::Config| {
        config.identity.max_refused_tokens = 3;
        config.tokens.tokens = vec![TOKEN.to_owned()];
        if number == 1 {
            config.tokens.tokens.push(OTHER_TOKEN.to_owned());
        }
    };
    let bridges = Bridges::start_with(2, tokens).await;
    let view = bridges.directory().await;
    let owner = view.node_of(&bridges.nodes[0]).await;
    let edge = view.node_of(&bridges.nodes[1]).await;
    let status = async |client: &str| {
        let header = PeerHeader {
            node: edge.id,
            target: owner.id,
            realm: Some(view.realm(OTHER_TOKEN)),
            may_claim: false,
            client: client.parse::<IpAddr>().unwrap(),
            unix: unix_now(),
        };
        let signed = header.encode(&view.keys, "GET", "/tools");
        let request = RawRequest::new("GET", "/tools").token(OTHER_TOKEN);
        let request = request.header("mcp-web-peer", &signed);
        request.send(address(&owner)).await.code()
    };
    for _ in 0..3 {
        assert_eq!(status(CLIENT).await, 401);
    }
    assert_eq!(status(CLIENT).await, 429);
    assert_eq!(status("192.0.2.1").await, 401);
}
