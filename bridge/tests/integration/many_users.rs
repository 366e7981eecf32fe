//! Thousands of users: the limits that follow from an ordinary machine, and a restart after which all
//! pages come back.

use std::time::Duration;

use bridge::{Config, ServerHandle};
use bridge_protocol::CloseCode;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use mcp_web_sdk::{McpWeb, Status, Token};
use serde_json::json;

use crate::kit::*;
use crate::metrics::{config_with_metrics, scrape};

const MIB: usize = 1024 * 1024;

/// How many clients connect at the same time, where the test is not about a burst.
const CONCURRENCY: usize = 50;

/// The default configuration on a machine with this memory.
fn config_for_machine(mib: usize) -> Config {
    bridge_edge::raise_open_file_limit();
    let mut config = config_with_metrics();
    config.memory.max_memory_bytes = Some(mib * MIB / 2);
    config
}

/// Another token for each number.
fn token(number: usize) -> String {
    format!("token-of-the-user-with-the-number-{number}")
}

/// Opens the sockets of pages at the same time. None of them has sent its token.
async fn open_pages(bridge: &ServerHandle, count: usize) -> Vec<Page> {
    let open = |number: usize| async move { Page::open(bridge, &number.to_string(), None).await };
    join_all((0..count).map(open)).await
}

/// Sends the tokens of all pages at the same time, and checks that each page is accepted.
async fn authenticate(pages: &mut [Page]) {
    let pages = pages.iter_mut().enumerate();
    join_all(pages.map(|(number, page)| async move {
        page.authenticate(&number.to_string(), &token(number)).await;
        page.recv_authenticated().await;
    }))
    .await;
}

async fn assert_connected(bridge: &ServerHandle, count: usize) {
    let metrics = scrape(bridge).await;
    let connected = metrics["mcp_web_sessions{state=\"connected\"}"];
    assert_eq!(connected, count as f64);
    for kind in ["max_pending_pages", "max_realms", "max_connections"] {
        let refused = metrics[&format!("mcp_web_refusals_total{{kind=\"{kind}\"}}")];
        assert_eq!(refused, 0.0, "{kind}");
    }
}

#[tokio::test]
async fn fifteen_hundred_users_with_a_page_and_a_client_use_the_defaults_of_a_gib() {
    const USERS: usize = 1_500;
    let bridge = start_bridge_with(config_for_machine(1024)).await;
    let bridge = &bridge;
    let users = stream::iter(0..USERS).map(|number| async move {
        let token = token(number);
        let mut page = Page::connect(bridge, "s", &token).await;
        page.register(&[echo_tool()]).await;
        (page, McpClient::connect(bridge, &token).await)
    });
    let mut users: Vec<_> = users.buffered(CONCURRENCY).collect().await;
    assert_connected(bridge, USERS).await;
    assert_eq!(scrape(bridge).await["mcp_web_mcp_sessions"], USERS as f64);
    for number in [0, USERS - 1] {
        let (page, client) = &mut users[number];
        client.assert_echo(page).await;
    }
}

#[tokio::test]
async fn three_thousand_pages_that_come_back_at_the_same_moment_are_all_accepted() {
    const PAGES: usize = 3_000;
    let mut config = config_for_machine(4096);
    // The pages that are opened first wait for the last one, also on a busy machine.
    config.page_timings.authenticate_within = Duration::from_secs(60);
    let bridge = start_bridge_with(config.clone()).await;
    let mut pages = open_pages(&bridge, PAGES).await;
    authenticate(&mut pages).await;
    assert_connected(&bridge, PAGES).await;

    config.network.bind = bridge.local_addr();
    bridge.shutdown().await;
    for page in &mut pages {
        let (code, reason) = page.recv_close().await;
        assert_eq!(code, CloseCode::ServiceRestart.code(), "{reason}");
    }
    drop(pages);

    // The slowest case: all sockets are open before the first page sends its token.
    let bridge = start_bridge_with(config).await;
    let mut pages = open_pages(&bridge, PAGES).await;
    authenticate(&mut pages).await;
    assert_connected(&bridge, PAGES).await;
}

/// The SDK retries, as that of pages does.
#[tokio::test]
async fn programs_that_a_full_bridge_refuses_come_back_by_themselves() {
    const PROGRAMS: usize = 300;
    let mut config = config_for_machine(1024);
    config.page_limits.max_pending_pages = Some(4);
    let bridge = start_bridge_with(config).await;
    let programs: Vec<_> = (0..PROGRAMS)
        .map(|number| {
            let app = McpWeb::builder("App").bridge(bridge.url());
            app.token(Token::new(token(number))).build().unwrap()
        })
        .collect();
    let connecting = join_all(programs.iter().map(McpWeb::connect));
    for connected in with_deadline("all programs", connecting).await {
        connected.unwrap();
    }
    let metrics = scrape(&bridge).await;
    assert_eq!(
        metrics["mcp_web_sessions{state=\"connected\"}"],
        PROGRAMS as f64
    );
    let refused = metrics["mcp_web_refusals_total{kind=\"max_pending_pages\"}"];
    assert!(refused > 0.0, "{refused}");
}

/// A page whose place another one has gets it when that one leaves.
#[tokio::test]
async fn a_program_waits_for_a_place_of_its_token() {
    let mut config = config_for_machine(1024);
    config.page_limits.max_sessions = 1;
    let bridge = start_bridge_with(config).await;
    let page = Page::connect(&bridge, "first", TOKEN).await;
    let app = McpWeb::builder("App").bridge(bridge.url());
    let app = app.token(Token::new(TOKEN)).build().unwrap();
    let mut status = app.status();
    let connecting = app.clone();
    let connecting = tokio::spawn(async move { connecting.connect().await });
    let refused = status.wait_for(|status| {
        matches!(status, Status::Reconnecting { error, retry_in: Some(_) }
            if error.code() == "SessionLimitExceeded")
    });
    let refused = with_deadline("refusal", refused).await.unwrap().clone();
    let Status::Reconnecting { error, retry_in } = refused else {
        unreachable!()
    };
    assert!(error.to_string().contains("`max_sessions`"), "{error}");
    assert!(
        (30..=60).contains(&retry_in.unwrap().as_secs()),
        "{retry_in:?}"
    );
    page.close().await;
    assert_eq!(
        get_json(&bridge, "/sessions").await,
        json!({ "sessions": [] })
    );
    // The program would connect in half a minute. It has not failed, so it can do so earlier.
    with_deadline("connection", app.connect()).await.unwrap();
    connecting.await.unwrap().unwrap();
}
