//! Bridges that are cut off from others, from NATS, or from both: which of them remain.

use std::time::Duration;

use bridge::ServerHandle;
use bridge_cluster::NodeState;
use bridge_output::CapturedLog;
use bridge_protocol::CloseCode;

use super::cuttable_link::CuttableBridges;
use super::kit::*;
use crate::kit::*;
use crate::metrics::scrape;

const ISOLATED: &str = "mcp_web_cluster_realms_lost_total{reason=\"isolated\"}";

async fn is_ready(bridge: &ServerHandle) -> bool {
    let ready = http_client().get(format!("{}/readyz", bridge.url()));
    ready.send().await.unwrap().status() == 200
}

async fn wait_for_end_of_lease(bridge: &ServerHandle) {
    let lease = "mcp_web_cluster_lease_seconds";
    wait_for_metrics(bridge, "the end of the lease", |it| it[lease] == 0.0).await;
}

#[tokio::test]
async fn of_two_bridges_that_do_not_reach_each_other_the_one_with_the_smaller_id_remains() {
    let (log, _guard) = CapturedLog::start();
    let cuttable = CuttableBridges::start(2, |_| {}).await;
    let view = cuttable.bridges.directory().await;
    let [first, second] = &cuttable.bridges.nodes[..] else {
        panic!()
    };
    let (first_id, second_id) = (view.node_of(first).await.id, view.node_of(second).await.id);
    let (remaining, isolated) = if first_id < second_id {
        (first, second)
    } else {
        (second, first)
    };
    let mut kept = Page::connect(remaining, "s", TOKEN).await;
    let mut given = Page::connect(isolated, "s", OTHER_TOKEN).await;
    let isolated_id = first_id.max(second_id);
    assert_eq!(view.owner(OTHER_TOKEN).await, Some(isolated_id));
    for link in &cuttable.links {
        link.cut();
    }
    assert_eq!(given.recv_close().await.0, CloseCode::ServiceRestart.code());
    let text = wait_until_not_ready(isolated).await;
    assert!(text.contains("cut off"), "{text}");
    assert_eq!(view.owner(OTHER_TOKEN).await, None);
    view.wait_for_node(isolated, |it| it.state == NodeState::Draining)
        .await;
    assert_eq!(scrape(isolated).await[ISOLATED], 1.0);
    // The page finds the bridge that remains, which has its own ones still.
    let _moved = Page::connect(remaining, "s", OTHER_TOKEN).await;
    assert_eq!(view.owner(OTHER_TOKEN).await, Some(first_id.min(second_id)));
    kept.register(&[echo_tool()]).await;
    assert_echo(remaining, &mut kept).await;
    assert!(is_ready(remaining).await && scrape(remaining).await[ISOLATED] == 0.0);

    for link in &cuttable.links {
        link.restore();
    }
    wait_until_ready(isolated).await;
    view.wait_for_node(isolated, |it| it.state == NodeState::Serving)
        .await;
    let _new = Page::connect(isolated, "n", "token-of-a-new-user-0123456789").await;
    assert_echo(isolated, &mut kept).await;
    let log = log.text();
    for line in ["this bridge is cut off", "this bridge takes users again"] {
        assert_eq!(log.matches(line).count(), 1, "{log}");
    }
}

/// One outage of NATS must not take all bridges out.
#[tokio::test]
async fn bridges_that_reach_each_other_serve_without_nats_after_their_leases() {
    let (log, _guard) = CapturedLog::start();
    let mut bridges = Bridges::start_with(2, |_, config| {
        config.cluster.cluster_lease = Duration::from_secs(3);
    })
    .await;
    let (owner, edge) = bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let mut unknown = Page::connect(owner, "s", OTHER_TOKEN).await;
    unknown.register(&[echo_tool()]).await;
    assert_echo(edge, &mut page).await;
    bridges.nats.stop();
    let (owner, edge) = bridges.owner_and_edge();
    for bridge in [owner, edge] {
        wait_for_end_of_lease(bridge).await;
    }
    // Each bridge looks every ten seconds whether it has a lease: by then, that of the others is over.
    let reminded = async {
        while log.text().matches("has lost its record in NATS").count() < 2 {
            poll_pause().await;
        }
    };
    with_deadline("the reminders", reminded).await;
    for bridge in [owner, edge] {
        assert!(is_ready(bridge).await);
        let metrics = scrape(bridge).await;
        assert_eq!(metrics["mcp_web_cluster_nodes{state=\"serving\"}"], 1.0);
        assert_eq!(metrics[ISOLATED], 0.0);
    }
    assert_echo(edge, &mut page).await;
    // The edge asks the owner for a realm that it has never looked up.
    let sessions = get_json_as(edge, OTHER_TOKEN, "/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    bridges.nats.restart();
    bridges.wait_until_connected().await;
    assert_echo(&bridges.nodes[1], &mut page).await;
}

#[tokio::test]
async fn a_bridge_alone_serves_without_nats_after_its_lease() {
    let mut bridges = Bridges::start_with(1, |_, config| {
        config.cluster.cluster_lease = Duration::from_secs(3);
    })
    .await;
    let mut page = Page::with_tools(&bridges.nodes[0], "s", &[echo_tool()]).await;
    bridges.nats.stop();
    wait_for_end_of_lease(&bridges.nodes[0]).await;
    assert!(is_ready(&bridges.nodes[0]).await);
    assert_echo(&bridges.nodes[0], &mut page).await;
}

/// First the owner is cut off from NATS only, which changes nothing for its users, and then from the other
/// bridge too.
#[tokio::test]
async fn a_bridge_that_loses_nats_keeps_its_users_until_the_other_does_not_reach_it() {
    let cuttable = CuttableBridges::start(2, |config| {
        config.cluster.cluster_lease = Duration::from_secs(3);
    })
    .await;
    let view = cuttable.bridges.directory().await;
    let (owner, edge) = cuttable.bridges.owner_and_edge();
    let mut page = Page::with_tools(owner, "s", &[echo_tool()]).await;
    let _unknown = Page::connect(owner, "s", OTHER_TOKEN).await;
    let owner_id = view.node_of(owner).await.id;
    assert_echo(edge, &mut page).await;
    cuttable.nats_links[0].cut();
    wait_for_end_of_lease(owner).await;
    let lease = "mcp_web_cluster_nodes{state=\"dead\"}";
    wait_for_metrics(edge, "the end of the lease", |it| it[lease] == 1.0).await;
    assert_echo(edge, &mut page).await;
    let sessions = get_json_as(edge, OTHER_TOKEN, "/sessions").await;
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert!(is_ready(owner).await && is_ready(edge).await);
    let _tunnelled = Page::connect(edge, "t", TOKEN).await;
    assert_eq!(view.owner(TOKEN).await, Some(owner_id));

    cuttable.links[0].cut();
    assert_eq!(page.recv_close().await.0, CloseCode::ServiceRestart.code());
    let text = wait_until_not_ready(owner).await;
    assert!(text.contains("cut off"), "{text}");
    wait_for_metrics(edge, "the end of the owner", |it| it[lease] == 0.0).await;
    let mut page = Page::with_tools(edge, "s", &[echo_tool()]).await;
    assert_echo(edge, &mut page).await;
    let edge_id = view.node_of(edge).await.id;
    assert_eq!(view.owner(TOKEN).await, Some(edge_id));
    assert!(is_ready(edge).await);

    cuttable.links[0].restore();
    cuttable.nats_links[0].restore();
    wait_until_ready(owner).await;
    assert_echo(owner, &mut page).await;
    assert_eq!(view.owner(TOKEN).await, Some(edge_id));
}
