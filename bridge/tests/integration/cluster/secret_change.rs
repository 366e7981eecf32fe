//! The secret of a cluster is changed on one bridge after another, while all serve.

use mcp_web_sdk::McpWeb;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::kit::*;
use crate::kit::*;

const OLD: &str = CLUSTER_SECRET;
const NEW: &str = "the-new-secret-of-the-cluster-0123456789";

/// A bridge that signs with one secret only must not meet one that does not know it yet: so the new secret
/// is accepted everywhere before the first bridge signs with it.
const STEPS: [&[&str]; 3] = [&[OLD, NEW], &[NEW, OLD], &[NEW]];

fn config_with_secrets(bridges: &Bridges, secrets: &[&str]) -> bridge::Config {
    let mut config = node_config(&bridges.nats);
    config.cluster.cluster_realm_secret = Some(secret(OLD));
    config.cluster.cluster_secret = secrets.iter().map(|it| secret(it)).collect();
    config
}

/// Calls `ping` at a bridge until it is stopped, and returns the number of calls.
fn keep_calling(url: String, token: String, stop: CancellationToken) -> JoinHandle<usize> {
    tokio::spawn(async move {
        let mut calls = 0;
        while !stop.is_cancelled() {
            assert_ping(&url, &token).await;
            calls += 1;
        }
        calls
    })
}

async fn assert_ping(url: &str, token: &str) {
    let (status, answer) = post_tool_call_to(url, token, "ping", json!({})).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["content"][0]["text"], "pong", "{answer}");
}

/// Connects a program, whose tool each bridge sees then.
async fn connected_program(bridge: &bridge::ServerHandle, token: &str) -> McpWeb {
    let app = start_program(bridge, token);
    let seen = async {
        while !get_json_as(bridge, token, "/tools")
            .await
            .to_string()
            .contains("\"ping\"")
        {}
    };
    with_deadline("the tool", seen).await;
    app
}

#[tokio::test]
async fn no_call_fails_while_the_secret_is_changed() {
    const NODES: usize = 3;
    let mut bridges = Bridges::start_with(NODES, |_, config| {
        config.cluster.cluster_realm_secret = Some(secret(OLD));
    })
    .await;
    for (step, secrets) in STEPS.into_iter().enumerate() {
        for restarted in 0..NODES {
            let token = format!("token-of-step-{step}-for-the-node-{restarted}-of-all");
            let [owner, other] = [1, 2].map(|next| (restarted + next) % NODES);
            let app = connected_program(&bridges.nodes[owner], &token).await;
            let stop = CancellationToken::new();
            let callers = [owner, other]
                .map(|node| keep_calling(bridges.nodes[node].url(), token.clone(), stop.clone()));
            bridges.nodes.remove(restarted).shutdown().await;
            let config = config_with_secrets(&bridges, secrets);
            bridges
                .nodes
                .insert(restarted, start_bridge_with(config).await);
            // All know each other, so that each has accepted the records of the others.
            bridges.wait_until_connected().await;
            let url = bridges.nodes[restarted].url();
            for _ in 0..3 {
                assert_ping(&url, &token).await;
            }
            stop.cancel();
            for caller in callers {
                assert!(caller.await.unwrap() > 0);
            }
            app.disconnect().await;
        }
    }
    for bridge in &bridges.nodes {
        let metrics = crate::metrics::scrape(bridge).await;
        assert_eq!(metrics["mcp_web_cluster_invalid_records_total"], 0.0);
    }
}
