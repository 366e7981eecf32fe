//! How many realms the pages of an address may have claimed.

use bridge_protocol::CloseCode;

use super::kit::*;
use crate::kit::*;
use crate::metrics::scrape;

/// Each new token becomes a record in NATS.
#[tokio::test]
async fn an_address_has_only_so_many_new_tokens_that_pages_make_themselves() {
    let bridges = Bridges::start_with(1, |_, config| {
        config.cluster.max_cluster_lookups = 2;
        config.network.trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    })
    .await;
    let bridge = &bridges.nodes[0];
    let view = bridges.directory().await;
    let [first, second, third] = [1, 2, 3].map(|it| format!("token-of-a-page-0123456789-{it}"));
    let _first = Page::connect(bridge, "s", &first).await;
    let _second = Page::connect(bridge, "s", &second).await;
    let mut refused = Page::open(bridge, "s", None).await;
    refused.authenticate("s", &third).await;
    let (code, reason) = refused.recv_close().await;
    assert_eq!(code, CloseCode::TryAgainLater.code(), "{reason}");
    assert_eq!(view.owner(&third).await, None);
    let refusals = "mcp_web_refusals_total{kind=\"max_cluster_lookups\"}";
    assert_eq!(scrape(bridge).await[refusals], 1.0);
    // Tokens that are served already are not new.
    let _again = Page::connect(bridge, "t", &first).await;
    let other_address = [("x-forwarded-for", "192.0.2.1")];
    let mut other = Page::open_with_headers(bridge.local_addr(), "s", &other_address).await;
    other.authenticate("s", &third).await;
    other.recv_authenticated().await;
}

#[tokio::test]
async fn the_number_of_new_tokens_that_are_listed_is_not_limited() {
    let tokens = [1, 2, 3].map(|it| format!("token-of-a-page-0123456789-{it}"));
    let listed = tokens.to_vec();
    let bridges = Bridges::start_with(1, move |_, config| {
        config.cluster.max_cluster_lookups = 1;
        config.tokens.tokens.clone_from(&listed);
    })
    .await;
    for token in &tokens {
        let _page = Page::connect(&bridges.nodes[0], "s", token).await;
    }
}
