//! The owner of a realm knows the addresses of the clients and pages of other bridges.

use bridge::Audit;
use bridge_output::CapturedLog;

use super::kit::*;
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
